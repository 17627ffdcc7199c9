package import API
import Model
import Text

/// Words what is known of webhooks.
package enum WebhookText {
    /// A failure with its time, such as `2026-11-22 17:00 UTC: status 500 (origin.http.500)`.
    package static func line(_ last: WebhookStatus.LastFailure) -> String {
        "\(TimeText.minute(ofSeconds: last.time)): \(printable(last.failure.message)) "
            + "(\(last.failure.code))"
    }
}
