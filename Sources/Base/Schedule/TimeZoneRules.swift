internal import Foundation

/// The UTC offsets of a time zone.
///
/// From Foundation's own IANA database: the machine needs no zone files.
package struct TimeZoneRules: Sendable {
    private let zone: TimeZone

    /// Creates the rules of a zone such as `UTC` or `Europe/Berlin`; returns nil if it does not
    /// exist.
    package init?(_ name: String) {
        // Foundation also accepts abbreviations, and interprets some unexpectedly: BST, PST, GMT+3.
        guard name == "UTC" || name.contains("/"), let zone = TimeZone(identifier: name) else {
            return nil
        }
        self.zone = zone
    }

    /// Returns the seconds to add to UTC at an instant in seconds since 1970.
    package func offsetSeconds(at seconds: Double) -> Int {
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: seconds))
    }
}
