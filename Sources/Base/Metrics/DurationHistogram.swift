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
    private let exponents: ClosedRange<Int>
    private let buckets: [Bucket]
    private let nanoseconds = Atomic<Int64>(0)

    private final class Bucket: Sendable {
        let count = Atomic<Int64>(0)
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

    package var snapshot: HistogramSnapshot {
        HistogramSnapshot(
            bounds: exponents.map { Double(sign: .plus, exponent: $0, significand: 1) },
            counts: buckets.map { $0.count.load(ordering: .relaxed) },
            sum: Double(nanoseconds.load(ordering: .relaxed)) / 1e9)
    }
}

/// The counts of a histogram at one time.
package struct HistogramSnapshot: Sendable, Equatable {
    /// Upper bounds of all buckets but the last, in rising order.
    package var bounds: [Double]
    /// Number of values in each bucket, one more than bounds.
    package var counts: [Int64]
    package var sum: Double

    package init(bounds: [Double], counts: [Int64], sum: Double) {
        precondition(counts.count == bounds.count + 1, "a bucket for each bound, and one above")
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }
}
