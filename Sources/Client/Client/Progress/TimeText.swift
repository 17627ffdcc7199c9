import Services

/// Formats times for people.
package enum TimeText {
    /// Returns text such as `2026-11-22 17:00 UTC`.
    package static func minute(ofSeconds seconds: Double) -> String {
        String(timestamp(ofSeconds: seconds).prefix(16)).replacing("T", with: " ") + " UTC"
    }
}
