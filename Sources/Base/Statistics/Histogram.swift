/// Durations counted in bins whose width is at most a thousandth of their value.
///
/// The bins are those of HdrHistogram with three significant digits and a lowest value of one unit, so that
/// histograms of any number of threads, processes and machines are merged without loss by adding counts.
/// The unit is the microsecond, the range 0 to a day; what is longer counts as a day and in `clamped`. Of
/// 229 KiB, whatever is recorded. A value: used by one owner at a time.
///
/// Source: G. Tene, HdrHistogram, hdrhistogram.org.
package struct Histogram: Sendable, Equatable {
    package static let significantDigits = 3
    /// A day, in microseconds.
    package static let highest: Int64 = 86_400_000_000

    /// Bins of one power of two: the least power of two that is no less than 2 × 10³.
    static let subBuckets: Int64 = 2_048
    static let halfMagnitude = 10
    static let half = 1 << halfMagnitude
    static let bins = index(of: highest) / half * half + half

    package private(set) var total: Int64 = 0
    /// Of what was recorded, how much was longer than `highest`.
    package private(set) var clamped: Int64 = 0
    /// As recorded; nil when nothing was.
    package private(set) var minimum: Int64?
    package private(set) var maximum: Int64?
    /// Of all that was recorded; of what another program wrote, of the middles of its bins. Whole, and the same
    /// in whatever order parts are added, up to 2⁵³.
    package private(set) var sum = 0.0
    private(set) var counts = [Int64](repeating: 0, count: bins)

    package init() {}

    package var isEmpty: Bool { total == 0 }

    /// Counts a duration `count` times, 0 or more; one below 0 as 0.
    package mutating func record(_ microseconds: Int64, count: Int64 = 1) {
        guard count > 0 else { return }
        let value = min(max(microseconds, 0), Self.highest)
        if microseconds > Self.highest { clamped &+= count }
        counts[Self.index(of: value)] &+= count
        total &+= count
        sum += Double(value) * Double(count)
        minimum = min(minimum ?? value, value)
        maximum = max(maximum ?? value, value)
    }

    /// Adds all that another one counted.
    package mutating func add(_ other: Histogram) {
        guard !other.isEmpty else { return }
        for index in Self.index(of: other.minimum ?? 0)...Self.index(of: other.maximum ?? 0) {
            counts[index] &+= other.counts[index]
        }
        total &+= other.total
        clamped &+= other.clamped
        sum += other.sum
        minimum = [minimum, other.minimum].compactMap(\.self).min()
        maximum = [maximum, other.maximum].compactMap(\.self).max()
    }

    /// What is left without all that a part of it counted; the least and the longest to their bins.
    package func subtracting(_ part: Histogram) -> Histogram {
        var rest = Histogram()
        for (index, count) in counts.enumerated() where count > part.counts[index] {
            let value = min(Self.value(ofBin: index), Self.highest)
            rest.record(value, count: count - part.counts[index])
        }
        rest.clamped = max(clamped - part.clamped, 0)
        rest.sum = max(sum - part.sum, 0)
        return rest
    }

    /// The least value of which a share `quantile` (0 to 1) is no longer, by nearest rank: the upper end of its
    /// bin, at most the maximum. 0 when nothing was recorded.
    package func value(quantile: Double) -> Int64 {
        guard let maximum, total > 0 else { return 0 }
        let share = min(max(quantile, 0), 1)
        // What rounding adds to a product that should be whole is not one more.
        let rank = max(Int64((share * Double(total) * (1 - 1e-12)).rounded(.up)), 1)
        var seen: Int64 = 0
        for (index, count) in counts.enumerated() where count > 0 {
            seen += count
            if seen >= rank { return min(Self.highestEquivalent(ofBin: index), maximum) }
        }
        return maximum
    }

    /// The share, 0 to 1, of what was no longer than `microseconds`, to the width of its bin.
    package func share(within microseconds: Int64) -> Double {
        total > 0 ? Double(count(within: microseconds)) / Double(total) : 1
    }

    /// How many were no longer than `microseconds`, to the width of its bin.
    package func count(within microseconds: Int64) -> Int64 {
        guard microseconds >= 0 else { return 0 }
        return counts[...Self.index(of: min(microseconds, Self.highest))].reduce(0, +)
    }

    /// 0 when nothing was recorded.
    package var mean: Double { total > 0 ? sum / Double(total) : 0 }

    /// The square root of the mean squared distance of the bins' middles from `mean`.
    package var standardDeviation: Double {
        guard total > 0 else { return 0 }
        let mean = mean
        let squares = occupied.reduce(0) {
            $0 + ($1.middle - mean) * ($1.middle - mean) * Double($1.count)
        }
        return (squares / Double(total)).squareRoot()
    }

    /// What bins do not tell of what was recorded.
    package struct Exact: Sendable, Codable, Equatable {
        package var minimum: Int64
        package var maximum: Int64
        package var sum: Double
        package var clamped: Int64
    }

    /// Nil when nothing was recorded.
    package var exact: Exact? {
        guard let minimum, let maximum else { return nil }
        return Exact(minimum: minimum, maximum: maximum, sum: sum, clamped: clamped)
    }

    /// Takes what goes with bins that were read; throws where it cannot be that of these.
    package mutating func take(_ exact: Exact) throws(HistogramError) {
        let range = 0...Self.highest
        guard let minimum, let maximum, range.contains(exact.minimum),
            range.contains(exact.maximum), exact.minimum <= exact.maximum,
            Self.index(of: exact.minimum) == Self.index(of: minimum),
            Self.index(of: exact.maximum) == Self.index(of: maximum)
        else { throw HistogramError(detail: "its minimum or maximum is in another bin") }
        // A sum beyond 2⁵³ is rounded.
        let least = occupied.reduce(0) { $0 + Double($1.lowest) * Double($1.count) }
        let most = occupied.reduce(0) { $0 + 2 * $1.middle * Double($1.count) } - least
        guard (least * (1 - 1e-9)...most * (1 + 1e-9)).contains(exact.sum) else {
            throw HistogramError(detail: "its sum does not match its bins")
        }
        guard (0...counts[Self.index(of: Self.highest)]).contains(exact.clamped) else {
            throw HistogramError(detail: "it has more values over a day than the last bin")
        }
        self.minimum = exact.minimum
        self.maximum = exact.maximum
        sum = exact.sum
        clamped = exact.clamped
    }

    /// Has the sum be that of the bins' middles: what is known of a histogram without `Exact`.
    mutating func takeMiddles() { sum = occupied.reduce(0) { $0 + $1.middle * Double($1.count) } }

    /// The bins that count something, in order.
    package var occupied: some Sequence<(lowest: Int64, middle: Double, count: Int64)> {
        counts.enumerated().lazy.filter { $0.element > 0 }.map { index, count in
            let lowest = Self.value(ofBin: index)
            let highest = Self.highestEquivalent(ofBin: index)
            return (lowest, Double(lowest + highest) / 2, count)
        }
    }

    /// The bin of a value from 0 to `highest`.
    static func index(of value: Int64) -> Int {
        let bucket = 64 - (value | (subBuckets - 1)).leadingZeroBitCount - (halfMagnitude + 1)
        return (bucket + 1) << halfMagnitude + Int(value >> Int64(bucket)) - half
    }

    /// The least value of a bin.
    static func value(ofBin index: Int) -> Int64 {
        let bucket = index >> halfMagnitude - 1
        let within = Int64(index & (half - 1))
        return bucket < 0 ? within : (within + Int64(half)) << Int64(bucket)
    }

    /// The greatest value of a bin.
    static func highestEquivalent(ofBin index: Int) -> Int64 {
        value(ofBin: index) + (1 << Int64(max(index >> halfMagnitude - 1, 0))) - 1
    }
}
