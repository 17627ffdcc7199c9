import Rendering
import Services

/// Formats times for people.
package enum TimeText {
    /// Returns text such as `2026-11-22 17:00 UTC`.
    package static func minute(ofSeconds seconds: Double) -> String {
        String(timestamp(ofSeconds: seconds).prefix(16)).replacing("T", with: " ") + " UTC"
    }

    /// Returns text such as `2026-11-22 17:00:42 UTC`.
    package static func second(ofSeconds seconds: Double) -> String {
        String(timestamp(ofSeconds: seconds).prefix(19)).replacing("T", with: " ") + " UTC"
    }

    /// Returns text such as `in 0:42`, `at 22:00 UTC (in 3:10:05)` or `at 2026-11-27 06:00 UTC (in
    /// 1 d 12 h)`.
    ///
    /// - Parameter until: the time that is so many seconds from now; nil if unknown.
    static func coming(_ until: Double?, seconds: Double) -> String {
        let left =
            "in "
            + (seconds < 86_400
                ? HumanFormat.clock(seconds: seconds) : HumanFormat.duration(seconds: seconds))
        guard seconds >= 3_600, let until else { return left }
        let text = minute(ofSeconds: until)
        // Within a day, the time needs no date.
        return "at \(seconds < 72_000 ? String(text.suffix(9)) : text) (\(left))"
    }
}
