/// The inputs that a plan is sized for: each figure suffices in a stated share of the draws.
///
/// A plan on likely values suffices in few draws, because most inputs are skewed and many act
/// together. The inputs move from their likely values towards their unfavourable ends, group by
/// group, until each figure reaches its quantile over the draws. So all figures of a plan are those
/// of one scenario.
struct DesignPoint {
    let values: ScenarioValues

    /// Searches with this many steps, to a millionth of an input's range.
    private static let steps = 20

    init(_ scenario: Scenario, confidence: Double, _ figures: Figures) {
        var search = Search(scenario: scenario)
        // A quantile of draws has an error of its own: 1.28 of its standard deviations more are
        // enough in nine of ten plans.
        let count = Double(max(1, figures.draws.count))
        let level = min(1, confidence + 1.28 * (confidence * (1 - confidence) / count).squareRoot())
        func goal(_ figure: (Figures.Draw) -> Double) -> Double {
            figures.quantile(level, of: figure) * (1 - 1e-9)
        }
        let (requests, egress) = (goal(\.requests), goal(\.egress))
        let (storage, fill) = (goal(\.storage), goal(\.fill))
        let (edgeCores, workers) = (goal(\.edgeCores), goal(\.workers))
        search.raise(.audience) { values in
            let demand = Demand(values)
            return demand.peakRequestsPerSecond >= requests
                && demand.peakEgressBitsPerSecond >= egress
        }
        search.raise(.catalog) { values in
            let demand = Demand(values)
            return demand.edgeStorageBytes >= storage && demand.fillBitsPerSecond >= fill
        }
        search.raise(.edge) { values in
            Sizing.Edge.Load(values, Demand(values)).cores >= edgeCores
        }
        search.raise(.pool) { values in
            (Sizing(values).workers.total.map { Double($0) } ?? .infinity) >= workers
        }
        values = search.values
    }

    private struct Search {
        let scenario: Scenario
        /// Shares of the way from likely to unfavourable values.
        private var levels: [Adversity.Group: Double] = [:]

        init(scenario: Scenario) { self.scenario = scenario }

        var values: ScenarioValues {
            ScenarioValues(scenario) { input, estimate in
                let adversity = Adversity(input)
                let end = adversity.isMoreHarder ? estimate.high : estimate.low
                return estimate.likely
                    + (levels[adversity.group] ?? 0) * (end - estimate.likely)
            }
        }

        /// Raises the level of a group until `isEnough`, or to its end.
        mutating func raise(_ group: Adversity.Group, until isEnough: (ScenarioValues) -> Bool) {
            func suffices(_ level: Double) -> Bool {
                levels[group] = level
                return isEnough(values)
            }
            var (low, high) = (0.0, 1.0)
            if suffices(low) { return }
            for _ in 0..<DesignPoint.steps {
                let middle = (low + high) / 2
                if suffices(middle) { high = middle } else { low = middle }
            }
            levels[group] = high
        }
    }
}

/// Which end of an input is unfavourable, and for which figures.
struct Adversity {
    enum Group: Hashable {
        /// Requests and egress.
        case audience
        /// Storage and fill.
        case catalog
        /// CPU of the edge.
        case edge
        /// Workers.
        case pool
        /// Nothing that is sized: growth, failures.
        case none
    }

    let group: Group
    let isMoreHarder: Bool

    /// Actions have no input of their own.
    init(_ input: ScenarioInput?) {
        guard let input else {
            (group, isMoreHarder) = (.audience, true)
            return
        }
        group = Self.group(input)
        isMoreHarder = !Self.lessIsHarder.contains(input)
    }

    private static let lessIsHarder: Set<ScenarioInput> = [
        .segmentSeconds, .compression, .userMegabits, .zipfExponent, .fillSegmentBytes,
        .storedShare, .hitRatio, .edgeRequestsPerCore, .diskMegabytes, .diskGigabytes, .edgeCores,
        .edgeMegabits, .originConnections, .originRequests, .originMegabits, .connectionMegabits,
        .connectionEfficiency, .segmentsPerSecond, .workerMegabits, .rampMinutes,
        .hoursBetweenFailures,
        .deadlineHours, .machineCores, .nicMegabits, .memoryGigabytes, .workerCores, .connections,
        .waitSeconds, .databaseCores, .coordinatorCores, .storageGigabytes,
    ]

    private static func group(_ input: ScenarioInput) -> Group {
        switch input {
        case .monthlyActiveUsers, .dailyActiveShare, .dailyActiveUsers, .peakShare,
            .peakConcurrentUsers, .peakToMean, .userMegabits, .minutesPerDay, .segmentSeconds,
            .tracks, .kilobitsPerSecond, .width, .height, .framesPerSecond, .bitsPerPixel,
            .compression, .meanRequests, .peakRequests, .requestBytes:
            .audience
        case .titles, .minutesPerTitle, .catalogGigabytes, .changePerDay, .storageFreeShare,
            .sites:
            .catalog
        case .edgeRequestsPerCore, .edgeCPUPerGigabyte, .diskGigabytes, .diskMegabytes:
            .edge
        case .audienceGrowth, .catalogGrowth, .hoursBetweenFailures, .loadTestHours: .none
        default: .pool
        }
    }
}
