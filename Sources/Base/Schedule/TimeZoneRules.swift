internal import Foundation

/// How far from UTC the clocks of a time zone are.
///
/// From the IANA database that Foundation carries: a machine needs no zone files for it.
package struct TimeZoneRules: Sendable {
    private let zone: TimeZone

    /// Nil when there is no zone of that name: `UTC`, or an area and a place, as `Europe/Berlin`.
    package init?(_ name: String) {
        // Foundation also takes abbreviations, and makes of some what nobody meant: BST, PST, GMT+3.
        guard name == "UTC" || name.contains("/"), let zone = TimeZone(identifier: name) else {
            return nil
        }
        self.zone = zone
    }

    /// Seconds to be added to UTC's, at an instant in seconds since 1970.
    package func offsetSeconds(at seconds: Double) -> Int {
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: seconds))
    }
}
