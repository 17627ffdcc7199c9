import Synchronization

/// Durations in buckets whose bounds are powers of two seconds. Safe from any thread; recording
/// takes no lock and allocates nothing.
///
/// These bounds are those of Prometheus's native histograms of schema 0, so that a query gives the
/// same answer for both. Source: Prometheus, "Native histograms", section "Schema".
package final class DurationHistogram: MetricSeries {
    /// Bounds for requests: 0.24 ms to 64 s.
    package static let requestExponents = -12...6
    /// Bounds for transfers: 1 ms to 17 minutes.
    package static let transferExponents = -10...10

    /// Exponents of the bounds.
    package let exponents: ClosedRange<Int>
    private let buckets: [Bucket]
    private let nanoseconds = Atomic<Int64>(0)

    private final class Bucket: Sendable {
        let count = Atomic<Int64>(0)
    }

    /// Counts at one time.
    package struct Snapshot: Sendable, Equatable {
        package var exponents: ClosedRange<Int>
        /// Number of durations in each bucket, the last one without an upper bound.
        package var counts: [Int64]
        package var sumSeconds: Double
    }

    init(exponents: ClosedRange<Int>) {
        self.exponents = exponents
        buckets = (0...exponents.count).map { _ in Bucket() }
    }

    /// Records a duration; a negative one counts as 0.
    package func record(seconds: Double) {
        let seconds = seconds > 0 ? min(seconds, Self.longestSeconds) : 0
        buckets[index(of: seconds)].count.wrappingAdd(1, ordering: .relaxed)
        nanoseconds.wrappingAdd(Int64(seconds * 1e9), ordering: .relaxed)
    }

    package func record(_ duration: Duration) { record(seconds: duration / .seconds(1)) }

    /// The longest duration that counts in sums: a day.
    private static let longestSeconds = 86_400.0

    /// Bounds belong to the bucket below them.
    private func index(of seconds: Double) -> Int {
        guard seconds > 0 else { return 0 }
        let exponent = Int(seconds.exponent) + (seconds.significand == 1 ? 0 : 1)
        return min(max(exponent - exponents.lowerBound, 0), exponents.count)
    }

    package var snapshot: Snapshot {
        Snapshot(
            exponents: exponents, counts: buckets.map { $0.count.load(ordering: .relaxed) },
            sumSeconds: Double(nanoseconds.load(ordering: .relaxed)) / 1e9)
    }
}
