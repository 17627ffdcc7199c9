/// A distribution of waits or other amounts in bounded memory: exact mean and maximum, quantiles to
/// 0.4 %.
///
/// Buckets are 1/128 of a power of two wide, from 2⁻³⁰ (a nanosecond) to 2³⁴ (500 years, or 16
/// GiB); smaller values count as 0. Histograms are added without loss.
package struct WaitHistogram: Sendable, Hashable {
    private var buckets: [UInt64] = []
    /// Number of values below 2⁻³⁰.
    package private(set) var zeros = 0
    package private(set) var count = 0
    package private(set) var sum = 0.0
    package private(set) var sumOfSquares = 0.0
    package private(set) var maximum = 0.0

    private static let bits: UInt64 = 7
    private static let least = 0x1p-30
    private static let lowest = least.bitPattern >> (52 - bits)
    private static let size = Int(64 << bits)

    package init() {}

    /// Adds a value, 0 or more.
    package mutating func add(_ value: Double) {
        count += 1
        guard value >= Self.least else { return zeros += 1 }
        if buckets.isEmpty { buckets = [UInt64](repeating: 0, count: Self.size) }
        sum += value
        sumOfSquares += value * value
        if value > maximum { maximum = value }
        buckets[Self.bucket(value)] += 1
    }

    package mutating func add(_ other: WaitHistogram) {
        count += other.count
        zeros += other.zeros
        sum += other.sum
        sumOfSquares += other.sumOfSquares
        maximum = max(maximum, other.maximum)
        if buckets.isEmpty {
            buckets = other.buckets
        } else {
            for (index, number) in other.buckets.enumerated() { buckets[index] += number }
        }
    }

    private static func bucket(_ value: Double) -> Int {
        min(Int((value.bitPattern >> (52 - bits)) - lowest), size - 1)
    }

    /// Mean; 0 without values.
    package var mean: Double { count > 0 ? sum / Double(count) : 0 }

    /// Variance over squared mean; 0 if all values are 0.
    package var cv2: Double {
        mean > 0 ? max(0, sumOfSquares / Double(count) / (mean * mean) - 1) : 0
    }

    /// Returns the value that a share of `share` (0 to 1) does not exceed.
    package func quantile(_ share: Double) -> Double {
        precondition((0...1).contains(share))
        let rank = max(1, Int((share * Double(count)).rounded(.up)))
        guard rank > zeros, count > 0 else { return 0 }
        var seen = zeros
        for (index, number) in buckets.enumerated() where number > 0 {
            seen += Int(number)
            if seen >= rank {
                let low = (UInt64(index) + Self.lowest) << (52 - Self.bits)
                return min(Double(bitPattern: low | 1 << (51 - Self.bits)), maximum)
            }
        }
        return maximum
    }

    /// Returns the share of values up to `value`, to a bucket's width.
    package func share(atMost value: Double) -> Double {
        guard count > 0 else { return 1 }
        guard value >= Self.least, !buckets.isEmpty else { return Double(zeros) / Double(count) }
        let number = buckets[...Self.bucket(value)].reduce(0, +)
        return Double(zeros + Int(number)) / Double(count)
    }
}
