/// The titles that one site is to hold, and the expected hit ratio.
package struct SitePlan: Sendable {
    /// Basis of a prediction.
    package enum Basis: Sendable, Hashable {
        /// Fills from earlier slices of logs, tested with later ones.
        case logs(testedSlices: Int, halfLifeSlices: Double)
        /// The logs that chose the titles: too short for a test.
        case shortLogs
        /// Given weights, or a Zipf distribution.
        case weights
    }

    /// The expected state after a number of windows, from an empty site.
    package struct Night: Sendable, Hashable {
        package var number: Int
        package var bytes: Double
        package var requestHits: Double
        package var byteHits: Double
    }

    package let site: String
    package let limits: FillLimits
    package let basis: Basis
    /// Indexes of titles, the most wanted for each byte first.
    package let titles: [Int]
    package let bytes: Double
    package let requestHits: FillForecast.Ratio
    package let byteHits: FillForecast.Ratio
    /// Counts of a slice: requests and bytes wanted, those the site serves, and what is fetched for it;
    /// nil without logs.
    package let slice: (wanted: FillHistory.Count, served: FillHistory.Count, fetched: Double?)?
    package let nights: [Night]
    /// Wanted titles that cannot be stored, since their size is unknown.
    package let titlesWithoutSize: Int

    /// Plans from logs. Nil if they have no request.
    package init?(
        site: String, _ history: FillHistory, sizes: [Double], _ limits: FillLimits,
        halfLifeSlices: Double?
    ) {
        let slices = history.slices
        let total = slices.reduce(into: FillHistory.Count()) { $0.add($1.total) }
        guard total.requests > 0 else { return nil }
        let forecast = FillForecast(
            slices, sizes: sizes, limits, halfLifeSlices: halfLifeSlices)
        let halfLife = forecast?.halfLifeSlices ?? halfLifeSlices ?? Self.longHalfLife
        let wanted = FillForecast.wanted(
            slices, titles: sizes.count, halfLifeSlices: halfLife)
        if let forecast {
            self.init(
                site: site, wanted, sizes: sizes, limits,
                basis: .logs(testedSlices: forecast.testedSlices, halfLifeSlices: halfLife),
                ratios: { _ in (forecast.requestHits, forecast.byteHits) },
                slice: (forecast.wanted, forecast.served, forecast.fetchedBytes))
        } else {
            self.init(
                site: site, wanted, sizes: sizes, limits, basis: .shortLogs,
                ratios: { Self.shares(of: $0, wanted, total) }, slice: nil)
        }
    }

    /// Without a test all slices count alike.
    private static let longHalfLife = 1e6

    /// Plans from weights: each request wants a whole title. `low` and `high` are other weights that
    /// are as possible, for the range.
    package init(
        site: String, weights: [Double], low: [Double]?, high: [Double]?, sizes: [Double],
        _ limits: FillLimits
    ) {
        func counts(_ weights: [Double]) -> [FillHistory.Count] {
            zip(weights, sizes).map { FillHistory.Count(requests: $0, bytes: $0 * $1) }
        }
        let wanted = counts(weights)
        let others = [low, high].compactMap(\.self).map(counts)
        self.init(
            site: site, wanted, sizes: sizes, limits, basis: .weights,
            ratios: { titles in
                let likely = Self.shares(of: titles, wanted, Self.sum(wanted))
                guard !others.isEmpty else { return likely }
                let all = ([wanted] + others).map { Self.shares(of: titles, $0, Self.sum($0)) }
                func ranged(_ ratio: ((FillForecast.Ratio, FillForecast.Ratio)) -> Double)
                    -> FillForecast.Ratio
                {
                    let values = all.map(ratio)
                    return FillForecast.Ratio(
                        likely: ratio(likely),
                        range: (values.min() ?? 0)...(values.max() ?? 1))
                }
                return (ranged { $0.0.likely }, ranged { $0.1.likely })
            }, slice: nil)
    }

    private init(
        site: String, _ wanted: [FillHistory.Count], sizes: [Double], _ limits: FillLimits,
        basis: Basis, ratios: ([Int]) -> (FillForecast.Ratio, FillForecast.Ratio),
        slice: (wanted: FillHistory.Count, served: FillHistory.Count, fetched: Double?)?
    ) {
        self.site = site
        self.limits = limits
        self.basis = basis
        self.slice = slice
        let ranked = SiteFill.ranked(wanted, sizes: sizes, by: limits.order)
        titles = SiteFill.head(ranked, sizes: sizes, storageBytes: limits.storageBytes)
        bytes = titles.reduce(0) { $0 + sizes[$1] }
        titlesWithoutSize = wanted.indices.count { wanted[$0].requests > 0 && sizes[$0] <= 0 }
        (requestHits, byteHits) = ratios(titles)
        nights = Self.nights(
            titles, wanted, sizes, limits, full: (requestHits.likely, byteHits.likely))
    }

    /// Returns the share of requests and bytes that a set of titles serves.
    private static func shares(
        of titles: [Int], _ wanted: [FillHistory.Count], _ total: FillHistory.Count
    ) -> (FillForecast.Ratio, FillForecast.Ratio) {
        let served = titles.reduce(into: FillHistory.Count()) { $0.add(wanted[$1]) }
        return (
            FillForecast.Ratio(
                likely: total.requests > 0 ? min(1, served.requests / total.requests) : 0),
            FillForecast.Ratio(likely: total.bytes > 0 ? min(1, served.bytes / total.bytes) : 0)
        )
    }

    private static func sum(_ counts: [FillHistory.Count]) -> FillHistory.Count {
        counts.reduce(into: FillHistory.Count()) { $0.add($1) }
    }

    // MARK: Nights

    private static let maxNights = 400

    /// Returns the state after each window until all titles are there, or after `maxNights`: the expected ratio times the
    /// share of it that the head holds.
    private static func nights(
        _ titles: [Int], _ wanted: [FillHistory.Count], _ sizes: [Double], _ limits: FillLimits,
        full: (requests: Double, bytes: Double)
    ) -> [Night] {
        let all = titles.reduce(into: FillHistory.Count()) { $0.add(wanted[$1]) }
        guard !titles.isEmpty, limits.bytesPerFill.isFinite, limits.bytesPerFill > 0 else {
            return []
        }
        var nights: [Night] = []
        var (held, bytes, index) = (FillHistory.Count(), 0.0, 0)
        for number in 1...maxNights {
            let most = Double(number) * limits.bytesPerFill
            while index < titles.count, bytes + sizes[titles[index]] <= most {
                bytes += sizes[titles[index]]
                held.add(wanted[titles[index]])
                index += 1
            }
            nights.append(
                Night(
                    number: number, bytes: bytes,
                    requestHits: all.requests > 0
                        ? full.requests * held.requests / all.requests : 0,
                    byteHits: all.bytes > 0 ? full.bytes * held.bytes / all.bytes : 0))
            if index == titles.count { break }
        }
        return nights
    }
}
