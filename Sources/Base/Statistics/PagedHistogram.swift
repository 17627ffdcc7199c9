/// Durations in the bins of `Histogram`, with memory only for the ranges that occur.
///
/// For the many histograms of the groups of a load test: a page of 8 KiB has the bins of one power of
/// two, so durations from 2 ms to 1 s take 80 KiB. Recording allocates nothing but a page, once. A
/// value: used by one owner at a time.
package struct PagedHistogram: Sendable, Equatable {
    static let pageBins = Histogram.half

    /// By index of a page; empty for a range without values.
    private(set) var pages = [[Int64]](repeating: [], count: Histogram.bins / pageBins)
    package private(set) var total: Int64 = 0
    private(set) var clamped: Int64 = 0
    private(set) var minimum: Int64?
    private(set) var maximum: Int64?
    private(set) var sum = 0.0

    package init() {}

    /// Copies the counts of a histogram.
    package init(_ histogram: Histogram) { add(histogram) }

    package var isEmpty: Bool { total == 0 }

    /// Records a duration; a negative one counts as 0, one over a day as a day.
    package mutating func record(_ microseconds: Int64) {
        let value = min(max(microseconds, 0), Histogram.highest)
        if microseconds > Histogram.highest { clamped &+= 1 }
        let index = Histogram.index(of: value)
        open(index / Self.pageBins)
        pages[index / Self.pageBins][index % Self.pageBins] &+= 1
        total &+= 1
        sum += Double(value)
        minimum = min(minimum ?? value, value)
        maximum = max(maximum ?? value, value)
    }

    private mutating func open(_ page: Int) {
        if pages[page].isEmpty { pages[page] = [Int64](repeating: 0, count: Self.pageBins) }
    }

    /// Adds the counts of another one. Counts of other processes may be any; they wrap.
    package mutating func add(_ other: PagedHistogram) {
        for (page, counts) in other.pages.enumerated() where !counts.isEmpty {
            open(page)
            for index in counts.indices { pages[page][index] &+= counts[index] }
        }
        total &+= other.total
        clamped &+= other.clamped
        sum += other.sum
        minimum = [minimum, other.minimum].compactMap(\.self).min()
        maximum = [maximum, other.maximum].compactMap(\.self).max()
    }

    private mutating func add(_ histogram: Histogram) {
        for (index, count) in histogram.counts.enumerated() where count > 0 {
            open(index / Self.pageBins)
            pages[index / Self.pageBins][index % Self.pageBins] &+= count
        }
        total = histogram.total
        clamped = histogram.clamped
        sum = histogram.sum
        minimum = histogram.minimum
        maximum = histogram.maximum
    }
}
