import Schedule
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

    /// Maximum number of clocks of an MPD that are read.
    static let maxClocks = 8

    /// Parses a time, which may have blanks around it, to seconds since 1970.
    package static func seconds(_ text: String) -> Double? {
        XMLTime.seconds(
            dateTime: String(text.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }))
    }
}

/// The times that a clock of an MPD is compared with, in seconds since 1970.
package struct ClockReferences: Sendable {
    /// Time of the MPD's answer by the origin: `Date`, and `Age`; nil if it has none.
    package var answeredSeconds: Double?
    /// Time of this machine.
    package var machineSeconds: Double
    /// `MPD@publishTime`; nil without one.
    package var publishedSeconds: Double?

    package init(
        answeredSeconds: Double? = nil, machineSeconds: Double, publishedSeconds: Double?
    ) {
        self.answeredSeconds = answeredSeconds
        self.machineSeconds = machineSeconds
        self.publishedSeconds = publishedSeconds
    }

    /// A clock is believed that differs from one of them by so many seconds at most. Wrong zones
    /// make a quarter of an hour at least.
    package static let maxDifferenceSeconds = 300.0

    /// Returns why a clock's answer is rejected, with both times; nil if it agrees with one of them.
    ///
    /// One is enough: a machine may be wrong, and a whole title may be of another time.
    package func rejection(of seconds: Double) -> String? {
        let all = [answeredSeconds, machineSeconds, publishedSeconds].compactMap { $0 }
        guard !all.contains(where: { abs($0 - seconds) <= Self.maxDifferenceSeconds }) else {
            return nil
        }
        let other =
            answeredSeconds.map { "the MPD was answered at \(Self.text($0))" }
            ?? "this machine has \(Self.text(machineSeconds))"
        return "says \(Self.text(seconds)), but \(other)"
    }

    private static func text(_ seconds: Double) -> String {
        // Clocks have four digits of years; machines are no further.
        let whole = Int(min(max(seconds, -1e11), 1e12).rounded(.down))
        let ofDay = ((whole % 86_400) + 86_400) % 86_400
        let date = civilDate(ofDay: (whole - ofDay) / 86_400)
        func padded(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let time = [ofDay / 3_600, ofDay / 60 % 60, ofDay % 60].map(padded)
        return "\(date.year)-\(padded(date.month))-\(padded(date.day))T"
            + time.joined(separator: ":") + "Z"
    }
}
