internal import Curl

/// The delay of a `Retry-After` header (RFC 9110, 10.2.3).
///
/// It is obeyed by the transfers of the process (`OriginScheduler+Cooldown.swift`), by all workers
/// through the origin's cooldown (`OriginCooldowns`), and by the next attempt of the job
/// (`Backoff`). Webhooks obey those of their receivers (`Webhooks.record`).
package enum RetryAfter {
    /// Maximum delay: a wrong header must not park a job for a year.
    package static let maximumSeconds = 3_600.0

    /// Returns the seconds to wait, 0 to `maximumSeconds`; nil without a valid value.
    ///
    /// A date is measured from the response's own `Date`, so that local clocks do not matter.
    /// Without one it is ignored.
    package static func seconds(_ value: String?, date: String?) -> Double? {
        guard let value, !value.isEmpty else { return nil }
        if value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            return min(Double(value) ?? maximumSeconds, maximumSeconds)
        }
        guard let until = HTTPDate.seconds(value), let date, let now = HTTPDate.seconds(date)
        else { return nil }
        return min(max(Double(until - now), 0), maximumSeconds)
    }
}
