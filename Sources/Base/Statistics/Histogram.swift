/// A histogram of durations with bins of at most a thousandth of their value.
///
/// The bins are those of HdrHistogram with three significant digits and a lowest value of one unit.
/// Histograms of any number of threads, processes and machines are merged without loss by adding
/// counts. The unit is the microsecond, the range 0 to a day; longer values count as a day and in
/// `clamped`. It takes 229 KiB, whatever is recorded. A value: used by one owner at a time.
///
/// Source: G. Tene, HdrHistogram, hdrhistogram.org.
package struct Histogram: Sendable, Equatable {
    package static let significantDigits = 3
    /// A day, in microseconds.
    package static let highest: Int64 = 86_400_000_000

    /// Bins per power of two: the smallest power of two that is at least 2 × 10³.
    static let subBuckets: Int64 = 2_048
    static let halfMagnitude = 10
    static let half = 1 << halfMagnitude
    static let bins = index(of: highest) / half * half + half

    package private(set) var total: Int64 = 0
    /// Number of recorded values above `highest`.
    package private(set) var clamped: Int64 = 0
    /// The smallest recorded value; nil without values.
    package private(set) var minimum: Int64?
    package private(set) var maximum: Int64?
    /// Sum of the recorded values; for histograms of other programs, of the middles of their bins.
    /// Whole, and independent of the order of additions, up to 2⁵³.
    package private(set) var sum = 0.0
    private(set) var counts = [Int64](repeating: 0, count: bins)

    package init() {}

    package var isEmpty: Bool { total == 0 }

    /// Records a duration `count` times, 0 or more; a negative duration counts as 0.
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

    /// Adds the counts of another histogram.
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

    /// Copies the counts of a histogram in pages.
    package init(_ paged: PagedHistogram) {
        for (page, counts) in paged.pages.enumerated() where !counts.isEmpty {
            let start = page * PagedHistogram.pageBins
            self.counts.replaceSubrange(start..<(start + counts.count), with: counts)
        }
        total = paged.total
        clamped = paged.clamped
        sum = paged.sum
        minimum = paged.minimum
        maximum = paged.maximum
    }

    /// Returns the histogram without a part of it; minimum and maximum are exact only to their
    /// bins.
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

    /// Returns the smallest value that a share `quantile` (0 to 1) does not exceed, by nearest
    /// rank: the upper end of its bin, at most the maximum. 0 without values.
    package func value(quantile: Double) -> Int64 {
        guard let maximum, total > 0 else { return 0 }
        let share = min(max(quantile, 0), 1)
        // A rounding error does not raise the rank.
        let rank = max(Int64((share * Double(total) * (1 - 1e-12)).rounded(.up)), 1)
        var seen: Int64 = 0
        for (index, count) in counts.enumerated() where count > 0 {
            seen += count
            if seen >= rank { return min(Self.highestEquivalent(ofBin: index), maximum) }
        }
        return maximum
    }

    /// Returns the share, 0 to 1, of values up to `microseconds`, to the width of its bin.
    package func share(within microseconds: Int64) -> Double {
        total > 0 ? Double(count(within: microseconds)) / Double(total) : 1
    }

    /// Returns the number of values up to `microseconds`, to the width of its bin.
    package func count(within microseconds: Int64) -> Int64 {
        guard microseconds >= 0 else { return 0 }
        return counts[...Self.index(of: min(microseconds, Self.highest))].reduce(0, +)
    }

    /// Mean; 0 without values.
    package var mean: Double { total > 0 ? sum / Double(total) : 0 }

    /// Square root of the mean squared distance of the bins' middles from `mean`.
    package var standardDeviation: Double {
        guard total > 0 else { return 0 }
        let mean = mean
        let squares = occupied.reduce(0) {
            $0 + ($1.middle - mean) * ($1.middle - mean) * Double($1.count)
        }
        return (squares / Double(total)).squareRoot()
    }

    /// Exact values that the bins lose.
    package struct Exact: Sendable, Codable, Equatable {
        package var minimum: Int64
        package var maximum: Int64
        package var sum: Double
        package var clamped: Int64
    }

    /// Nil without values.
    package var exact: Exact? {
        guard let minimum, let maximum else { return nil }
        return Exact(minimum: minimum, maximum: maximum, sum: sum, clamped: clamped)
    }

    /// Sets exact values after decoding; throws if they contradict the bins.
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

    /// Estimates the sum from the bins' middles, for a histogram without `Exact`.
    mutating func takeMiddles() { sum = occupied.reduce(0) { $0 + $1.middle * Double($1.count) } }

    /// The bins with a count, in order.
    package var occupied: some Sequence<(lowest: Int64, middle: Double, count: Int64)> {
        counts.enumerated().lazy.filter { $0.element > 0 }.map { index, count in
            let lowest = Self.value(ofBin: index)
            let highest = Self.highestEquivalent(ofBin: index)
            return (lowest, Double(lowest + highest) / 2, count)
        }
    }

    /// Returns the bin of a value from 0 to `highest`.
    static func index(of value: Int64) -> Int {
        let bucket = 64 - (value | (subBuckets - 1)).leadingZeroBitCount - (halfMagnitude + 1)
        return (bucket + 1) << halfMagnitude + Int(value >> Int64(bucket)) - half
    }

    /// Returns the lowest value of a bin.
    static func value(ofBin index: Int) -> Int64 {
        let bucket = index >> halfMagnitude - 1
        let within = Int64(index & (half - 1))
        return bucket < 0 ? within : (within + Int64(half)) << Int64(bucket)
    }

    /// Returns the highest value of a bin.
    static func highestEquivalent(ofBin index: Int) -> Int64 {
        value(ofBin: index) + (1 << Int64(max(index >> halfMagnitude - 1, 0))) - 1
    }
}
