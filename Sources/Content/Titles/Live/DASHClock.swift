import WebURL

/// The clock by which segments of a dynamic MPD become available: UTCTiming (ISO/IEC 23009-1,
/// 5.8.4.11).
package enum DASHClock: Sendable, Equatable {
    /// The time at which the MPD was sent, in seconds since 1970.
    case direct(Double)
    /// The body at this URL is the current time.
    case url(String)

    /// Nil for a scheme that is not supported.
    init?(scheme: String, value: String, base: WebURL) {
        switch scheme {
        case "urn:mpeg:dash:utc:direct:2014", "urn:mpeg:dash:utc:direct:2012":
            guard let seconds = Self.seconds(value) else { return nil }
            self = .direct(seconds)
        case "urn:mpeg:dash:utc:http-xsdate:2014", "urn:mpeg:dash:utc:http-xsdate:2012",
            "urn:mpeg:dash:utc:http-iso:2014", "urn:mpeg:dash:utc:http-iso:2012":
            // Several are separated by blanks; the first is preferred.
            let first = value.split { $0 == " " || $0 == "\n" || $0 == "\t" }.first
            guard let first, let url = try? base.resolve(String(first)) else { return nil }
            self = .url(url.text)
        default: return nil
        }
    }

    /// Parses a time, which may have blanks around it, to seconds since 1970.
    package static func seconds(_ text: String) -> Double? {
        XMLTime.seconds(
            dateTime: String(text.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }))
    }
}
