import JobQueue
import Metrics

/// Counts and measures the attempts of a coordinator to send deliveries. Safe from any thread.
final class WebhookMetrics: Sendable {
    let duration: DurationHistogram
    private let attempts: BoundedSeries<Counter>

    init(in registry: MetricRegistry) {
        attempts = registry.counters(
            "dray_webhook_attempts", ["outcome"], maxSeries: Webhooks.Outcome.allCases.count + 1,
            "Attempts to send deliveries to webhooks: delivered, to be retried, or dead: the last "
                + "one of a delivery, or of one that has waited for seven days."
        )
        duration = registry.histogram(
            "dray_webhook_attempt_duration_seconds", exponents: DurationHistogram.requestExponents,
            "Time of an attempt to send a delivery, up to the answer or the failure.")
        // From 0 on: `increase` of Prometheus misses the first addition to a new series.
        for outcome in Webhooks.Outcome.allCases { _ = attempts[outcome.rawValue] }
    }

    /// - Parameter outcome: nil for an attempt that does not count.
    func count(_ outcome: Webhooks.Outcome?, _ number: Int = 1) {
        if let outcome { attempts[outcome.rawValue].add(number) }
    }
}
