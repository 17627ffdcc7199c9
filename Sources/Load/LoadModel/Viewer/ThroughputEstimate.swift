import Glibc

/// A player's estimate of its throughput: the lower of two moving averages with different
/// half-lives. The fast one falls soon when throughput drops, the slow one rises late.
///
/// Downloads are weighted by their duration, so that without decay the average would be all bits
/// over all the time. Source: Shaka Player's `EwmaBandwidthEstimator` and `Ewma`, with its values;
/// hls.js has the same with half-lives of 3 and 9 s.
struct ThroughputEstimate: Sendable {
    private static let fastHalfLifeSeconds = 2.0
    private static let slowHalfLifeSeconds = 5.0
    /// Smaller downloads measure latency rather than throughput.
    private static let minSampleBytes: Int64 = 16_000
    /// Minimum sum of downloads for an estimate.
    private static let minBytes: Int64 = 128_000
    /// The clock of a browser has no finer step.
    private static let minSeconds = 0.001

    private var bytes: Int64 = 0
    private var seconds = 0.0
    private var fast = 0.0
    private var slow = 0.0

    /// Nil until there are enough downloads.
    var bitsPerSecond: Double? {
        guard bytes >= Self.minBytes else { return nil }
        // Both averages began at 0; this removes that bias.
        func whole(_ average: Double, _ halfLife: Double) -> Double {
            average / (1 - pow(2, -seconds / halfLife))
        }
        return min(
            whole(fast, Self.fastHalfLifeSeconds), whole(slow, Self.slowHalfLifeSeconds))
    }

    mutating func add(bytes count: Int64, tookSeconds: Double) {
        guard count >= Self.minSampleBytes else { return }
        let took = max(tookSeconds, Self.minSeconds)
        let rate = Double(count) * 8 / took
        bytes += count
        seconds += took
        let keptFast = pow(2, -took / Self.fastHalfLifeSeconds)
        fast = keptFast * fast + (1 - keptFast) * rate
        let keptSlow = pow(2, -took / Self.slowHalfLifeSeconds)
        slow = keptSlow * slow + (1 - keptSlow) * rate
    }
}
