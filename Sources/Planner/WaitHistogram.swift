/// How long jobs waited, in bounded memory: exact mean and maximum, quantiles to 0.4 %.
///
/// Buckets are 1/128 of a power of two wide, from a nanosecond to 500 years; what waits less counts
/// as no wait at all. Histograms add up without loss.
package struct WaitHistogram: Sendable, Hashable {
    private var buckets: [UInt64] = []
    /// Those that waited for less than a nanosecond.
    package private(set) var immediate = 0
    package private(set) var count = 0
    package private(set) var sumSeconds = 0.0
    package private(set) var sumSquares = 0.0
    package private(set) var maximumSeconds = 0.0

    private static let bits: UInt64 = 7
    private static let lowest = 0x1p-30.bitPattern >> (52 - bits)
    private static let size = Int(64 << bits)

    package init() {}

    package mutating func add(_ seconds: Double) {
        count += 1
        guard seconds >= 0x1p-30 else { return immediate += 1 }
        if buckets.isEmpty { buckets = [UInt64](repeating: 0, count: Self.size) }
        sumSeconds += seconds
        sumSquares += seconds * seconds
        if seconds > maximumSeconds { maximumSeconds = seconds }
        let bucket = Int((seconds.bitPattern >> (52 - Self.bits)) - Self.lowest)
        buckets[min(bucket, Self.size - 1)] += 1
    }

    package mutating func add(_ other: WaitHistogram) {
        count += other.count
        immediate += other.immediate
        sumSeconds += other.sumSeconds
        sumSquares += other.sumSquares
        maximumSeconds = max(maximumSeconds, other.maximumSeconds)
        if buckets.isEmpty {
            buckets = other.buckets
        } else {
            for (index, number) in other.buckets.enumerated() { buckets[index] += number }
        }
    }

    /// 0 when there is nothing.
    package var meanSeconds: Double { count > 0 ? sumSeconds / Double(count) : 0 }

    /// Variance over squared mean; 0 when nothing waited.
    package var cv2: Double {
        let mean = meanSeconds
        return mean > 0 ? max(0, sumSquares / Double(count) / (mean * mean) - 1) : 0
    }

    /// The wait that a share of `quantile` (0 to 1) does not exceed.
    package func seconds(quantile: Double) -> Double {
        precondition((0...1).contains(quantile))
        let rank = max(1, Int((quantile * Double(count)).rounded(.up)))
        guard rank > immediate, count > 0 else { return 0 }
        var seen = immediate
        for (index, number) in buckets.enumerated() where number > 0 {
            seen += Int(number)
            if seen >= rank {
                let bits = (UInt64(index) + Self.lowest) << (52 - Self.bits)
                let middle = Double(bitPattern: bits | 1 << (51 - Self.bits))
                return min(middle, maximumSeconds)
            }
        }
        return maximumSeconds
    }

    /// The share that waited no longer than `seconds`, to a bucket's width.
    package func share(within seconds: Double) -> Double {
        guard count > 0 else { return 1 }
        guard seconds >= 0x1p-30 else { return Double(immediate) / Double(count) }
        let bits = seconds.bitPattern >> (52 - Self.bits)
        let last = min(Int(bits - Self.lowest), Self.size - 1)
        let waited = buckets.isEmpty ? 0 : buckets[...last].reduce(0, +)
        return Double(immediate + Int(waited)) / Double(count)
    }
}
