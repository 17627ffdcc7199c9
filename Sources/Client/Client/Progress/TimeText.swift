import Services

/// Words a time for people.
package enum TimeText {
    /// `2026-11-22 17:00 UTC`
    package static func minute(ofSeconds seconds: Double) -> String {
        String(timestamp(ofSeconds: seconds).prefix(16)).replacing("T", with: " ") + " UTC"
    }
}
