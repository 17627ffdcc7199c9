import Glibc

/// What a player thinks its connection can carry: two averages of the throughput of downloads that forget at
/// different speeds, of which the lesser counts. One falls soon when throughput does, the other rises
/// late.
///
/// A download weighs as much as it took time, so that without forgetting the average would be all bits
/// over all the time. Source: Shaka Player's `EwmaBandwidthEstimator` and `Ewma`, with its values; hls.js
/// has the same with half-lives of 3 and 9 s.
struct ThroughputEstimate: Sendable {
    private static let fastHalfLifeSeconds = 2.0
    private static let slowHalfLifeSeconds = 5.0
    /// Smaller downloads tell of the latency more than of the throughput.
    private static let leastSampleBytes: Int64 = 16_000
    /// What there is no estimate before.
    private static let leastBytes: Int64 = 128_000
    /// The clock of a browser has no finer step.
    private static let leastSeconds = 0.001

    private var bytes: Int64 = 0
    private var seconds = 0.0
    private var fast = 0.0
    private var slow = 0.0

    /// Nil before there were enough downloads to tell.
    var bitsPerSecond: Double? {
        guard bytes >= Self.leastBytes else { return nil }
        // Both averages began at 0; this takes the share of that out again.
        func whole(_ average: Double, _ halfLife: Double) -> Double {
            average / (1 - pow(2, -seconds / halfLife))
        }
        return min(
            whole(fast, Self.fastHalfLifeSeconds), whole(slow, Self.slowHalfLifeSeconds))
    }

    mutating func add(bytes count: Int64, tookSeconds: Double) {
        guard count >= Self.leastSampleBytes else { return }
        let took = max(tookSeconds, Self.leastSeconds)
        let rate = Double(count) * 8 / took
        bytes += count
        seconds += took
        let keptFast = pow(2, -took / Self.fastHalfLifeSeconds)
        fast = keptFast * fast + (1 - keptFast) * rate
        let keptSlow = pow(2, -took / Self.slowHalfLifeSeconds)
        slow = keptSlow * slow + (1 - keptSlow) * rate
    }
}
