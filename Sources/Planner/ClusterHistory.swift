package import Model

/// What a cluster's own history says about the inputs of a plan.
package struct ClusterHistory: Sendable {
    /// By the input's place in a scenario.
    package private(set) var values: [String: Measured] = [:]
    /// Catalogs that were learned from.
    package private(set) var catalogs = 0

    /// Catalogs with fewer say more about their start and end than about workers.
    package static let leastSegments = 100

    /// Learns from catalogs that have ended. What a worker does is their segments over their time and
    /// over the workers that are heard of now: of catalogs that ran side by side less than it can.
    package init(_ status: ClusterStatus) {
        let ended = status.catalogs.filter { catalog in
            catalog.state.isTerminal && catalog.totals.segmentsDone >= Self.leastSegments
                && catalog.totals.seconds > 0
                // What lay there already took no fetch.
                && catalog.totals.adoptedBytes == 0
        }
        catalogs = ended.count
        guard !ended.isEmpty else { return }
        let workers = Double(status.workers.count)
        if workers > 0 {
            let rates = Moments(
                ended.map { Double($0.totals.segmentsDone) / $0.totals.seconds / workers })
            let mean = rates.meanEstimate
            values["worker.segmentsPerSecond"] = Measured(
                low: max(0, mean.low), likely: mean.likely, high: mean.high, count: mean.count)
        }
        let tries = Moments(
            ended.map { 1 + Double($0.totals.retries) / Double(max(1, $0.totals.segments)) }
        ).meanEstimate
        values["worker.attemptsPerSegment"] = Measured(
            low: max(1, tries.low), likely: tries.likely, high: tries.high, count: tries.count)
    }
}
