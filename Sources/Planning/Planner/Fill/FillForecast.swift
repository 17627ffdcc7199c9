import Glibc

/// Predicts a site's hit ratio: what fills from earlier slices of the logs would have served in
/// later ones.
///
/// A ratio over the requests that chose the titles does not predict later ones, since popularity
/// changes and new titles come. So each slice is tested with a fill from the slices before it alone (rolling-origin evaluation: Tashman, "Out-of-sample tests of forecasting accuracy",
/// International Journal of Forecasting 16, 2000).
package struct FillForecast: Sendable {
    /// A ratio with the range in which nine of ten later slices are expected.
    package struct Ratio: Sendable, Hashable {
        package var likely: Double
        /// Nil if a single slice was tested.
        package var range: ClosedRange<Double>?
    }

    /// Weight of a slice that is so many slices old: a half.
    package let halfLifeSlices: Double
    package let testedSlices: Int
    package let requestHits: Ratio
    package let byteHits: Ratio
    /// Mean of a tested slice: all requests, those served, and what the fill before it fetched; nil
    /// if only the first fill, of the whole site, was tested.
    package let wanted: FillHistory.Count
    package let served: FillHistory.Count
    package let fetchedBytes: Double?

    private static let halfLives = [1.0, 2, 4, 8, 16, 32]
    private static let maxTests = 14

    /// Tests a half-life, or the best of several. Nil if the logs have less than two slices with
    /// requests.
    package init?(
        _ slices: [FillHistory.Slice], sizes: [Double], _ limits: FillLimits,
        halfLifeSlices: Double?
    ) {
        let tests = Self.tests(slices)
        guard !tests.isEmpty else { return nil }
        let all = (halfLifeSlices.map { [$0] } ?? Self.halfLives).map {
            Replay(slices, sizes: sizes, limits, halfLife: $0, tests: tests)
        }
        guard
            let best = all.max(by: { $0.value(limits.order) < $1.value(limits.order) }),
            !best.results.isEmpty
        else { return nil }
        self.halfLifeSlices = best.halfLife
        testedSlices = best.results.count
        requestHits = Self.ratio(best.results.map { $0.served.requests / $0.wanted.requests })
        byteHits = Self.ratio(
            best.results.map { $0.wanted.bytes > 0 ? $0.served.bytes / $0.wanted.bytes : 0 })
        let count = Double(best.results.count)
        func mean(_ value: (Replay.Result) -> Double) -> Double {
            best.results.reduce(0) { $0 + value($1) } / count
        }
        wanted = FillHistory.Count(
            requests: mean(\.wanted.requests), bytes: mean(\.wanted.bytes))
        served = FillHistory.Count(
            requests: mean(\.served.requests), bytes: mean(\.served.bytes))
        let fetched = best.results.compactMap(\.fetchedBytes)
        fetchedBytes =
            fetched.isEmpty ? nil : fetched.reduce(0, +) / Double(fetched.count)
    }

    /// Returns the slices to test: the later half, without those of few requests, such as the rest
    /// of a last day.
    private static func tests(_ slices: [FillHistory.Slice]) -> Range<Int> {
        guard slices.count > 1 else { return 0..<0 }
        let mean = slices.reduce(0) { $0 + $1.total.requests } / Double(slices.count)
        var end = slices.count
        while end > 1, slices[end - 1].total.requests < mean / 4 { end -= 1 }
        let begin = max(1, end / 2, end - maxTests)
        return begin < end ? begin..<end : 0..<0
    }

    /// The range is that of one more slice: Student's t for the mean and for itself.
    private static func ratio(_ values: [Double]) -> Ratio {
        let count = Double(values.count)
        let mean = values.reduce(0, +) / count
        guard values.count > 1 else { return Ratio(likely: mean) }
        let variance = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / (count - 1)
        let margin = student95(values.count - 1) * (variance * (1 + 1 / count)).squareRoot()
        return Ratio(likely: mean, range: max(0, mean - margin)...min(1, mean + margin))
    }

    /// Quantile 0.95 of Student's t.
    private static func student95(_ degrees: Int) -> Double {
        let table = [
            6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782,
            1.771,
        ]
        return degrees <= table.count ? table[degrees - 1] : 1.76
    }

    /// Returns how much each title is wanted after the last slice.
    package static func wanted(
        _ slices: [FillHistory.Slice], titles: Int, halfLifeSlices: Double
    ) -> [FillHistory.Count] {
        var popularity = Popularity(titles: titles, halfLife: halfLifeSlices)
        for slice in slices { popularity.add(slice) }
        return popularity.wanted
    }
}

/// Requests of titles, of which older ones count less.
private struct Popularity {
    private(set) var wanted: [FillHistory.Count]
    private let decay: Double

    init(titles: Int, halfLife: Double) {
        wanted = [FillHistory.Count](repeating: FillHistory.Count(), count: titles)
        decay = exp2(-1 / halfLife)
    }

    mutating func add(_ slice: FillHistory.Slice) {
        for title in wanted.indices {
            wanted[title].requests *= decay
            wanted[title].bytes *= decay
        }
        for (title, count) in slice.titles { wanted[Int(title)].add(count) }
    }
}

/// The fills of a site over the slices of its logs, each from the slices before.
private struct Replay {
    struct Result {
        var wanted: FillHistory.Count
        var served: FillHistory.Count
        /// Nil for the first fill, which is of the whole site.
        var fetchedBytes: Double?
    }

    let halfLife: Double
    private(set) var results: [Result] = []

    init(
        _ slices: [FillHistory.Slice], sizes: [Double], _ limits: FillLimits, halfLife: Double,
        tests: Range<Int>
    ) {
        self.halfLife = halfLife
        var popularity = Popularity(titles: sizes.count, halfLife: halfLife)
        var site = SiteFill(sizes: sizes, limits: limits)
        for (index, slice) in slices.prefix(tests.upperBound).enumerated() {
            if index >= max(1, tests.lowerBound - 1) {
                // The site has been filled before; from then on the window limits what is new.
                let isFirst = index == max(1, tests.lowerBound - 1)
                let fetched = site.fill(popularity.wanted, isWhole: isFirst)
                if tests.contains(index), slice.total.requests > 0 {
                    results.append(
                        Result(
                            wanted: slice.total, served: site.served(slice),
                            fetchedBytes: isFirst ? nil : fetched))
                }
            }
            popularity.add(slice)
        }
    }

    func value(_ order: FillLimits.Order) -> Double {
        func sum(_ count: (Result) -> FillHistory.Count) -> Double {
            results.reduce(0) {
                $0 + (order == .bytes ? count($1).bytes : count($1).requests)
            }
        }
        return sum(\.served) / max(sum(\.wanted), .leastNonzeroMagnitude)
    }
}
