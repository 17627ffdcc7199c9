/// The requests that the edge cannot answer, from its content.
///
/// A store of the most popular titles misses the others, by Zipf's law. It also misses what changed
/// since the last fill: at the peak, in the evening, that is a day's change. A segment that is
/// fetched on demand is stored, so each new segment is missed once at each site at most.
package struct Missed: Hashable, Sendable {
    /// Share of requests for titles that are not stored.
    package let tail: Double
    /// Share of requests for titles that changed since the last fill; 1 for live.
    package let new: Double
    /// New segments per second, of all sites.
    package let newSegmentsPerSecond: Double
    private let isLive: Bool

    package init(_ values: ScenarioValues, _ demand: Demand) {
        let stored = values[.storedShare]
        tail =
            1
            - ZipfPopularity(titles: values[.titles], exponent: values[.zipfExponent])
            .ofMostPopular(share: stored)
        let sites = values[.sites]
        isLive = values.service == .live
        switch values.service {
        case .live:
            new = 1
            // All renditions of each channel.
            let perStretch = Double(values.ladder.count) + values[.tracks] - 1
            newSegmentsPerSecond =
                values[.titles] * perStretch / values[.segmentSeconds] * sites
        case .vod, .downloads:
            new = min(1, values[.changePerDay] * values[.newTitleFactor])
            newSegmentsPerSecond =
                demand.catalogSegments * values[.changePerDay] * sites / 86_400
        }
    }

    /// Returns the misses among `requests` per second, `mean` of which are the day's mean.
    ///
    /// The first requests for new segments come with the load; live segments come evenly.
    func perSecond(_ requests: Double, mean: Double) -> Double {
        let first =
            isLive || mean == 0 ? newSegmentsPerSecond : newSegmentsPerSecond * requests / mean
        let stored = requests * (1 - tail)
        return requests * tail + min(stored * new, first)
    }
}
