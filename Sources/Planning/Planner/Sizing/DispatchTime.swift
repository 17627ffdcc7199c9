import Glibc
import Statistics

/// The time from a job's submission to its lease by an idle worker, by median and 99th percentile.
///
/// The distribution between and beyond them is assumed to be lognormal.
package struct DispatchTime: Sendable {
    private let median: Double
    private let p99: Double

    package init(_ values: ScenarioValues) {
        p99 = values[.dispatchSeconds]
        median = min(values[.dispatchMedian], p99)
    }

    /// Returns the seconds that a share of `quantile` (above 0, below 1) does not exceed.
    package func seconds(quantile: Double) -> Double {
        guard median > 0 else { return quantile > 0.5 ? p99 : 0 }
        return median * pow(p99 / median, normalQuantile(quantile) / Self.normalP99)
    }

    private static let normalP99 = normalQuantile(0.99)
}
