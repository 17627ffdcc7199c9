/// Which end of an estimate is unfavourable, and for which figures.
///
/// For figures of the demand that depends on what else is known: shorter segments are more requests
/// and the same bytes, but fewer bytes if the requests were measured. So both ends are tried.
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

        /// The figures of the demand that the group is for.
        var figures: [Figure] {
            switch self {
            case .audience: [.requests, .egress]
            case .catalog: [.storage, .fill]
            case .edge, .pool, .none: []
            }
        }
    }

    /// A figure of the demand.
    enum Figure {
        case requests, egress, storage, fill

        func value(_ demand: Demand) -> Double {
            switch self {
            case .requests: demand.peakRequestsPerSecond
            case .egress: demand.peakEgressBitsPerSecond
            case .storage: demand.edgeStorageBytes
            case .fill: demand.fillBitsPerSecond
            }
        }
    }

    /// Nil for a part of an action.
    let input: ScenarioInput?
    let group: Group
    let isMoreHarder: Bool
    /// The figures of its group that it changes; an input that changes none of them stays likely.
    let figures: Set<Figure>

    /// Returns one for each estimate, in the order in which `ScenarioValues` chooses them.
    static func all(_ scenario: Scenario) -> [Adversity] {
        var estimates: [(input: ScenarioInput?, estimate: Estimate)] = []
        _ = ScenarioValues(scenario) { input, estimate in
            estimates.append((input, estimate))
            return estimate.likely
        }
        func demand(_ changed: Int, _ value: Double) -> Demand {
            var index = 0
            return Demand(
                ScenarioValues(scenario) { _, estimate in
                    defer { index += 1 }
                    return index == changed ? value : estimate.likely
                })
        }
        return estimates.enumerated().map { index, entry in
            let group = entry.input.map(group) ?? .audience
            guard !group.figures.isEmpty, !entry.estimate.isExact else {
                return Adversity(entry.input, group)
            }
            return Adversity(
                entry.input, group, low: demand(index, entry.estimate.low),
                high: demand(index, entry.estimate.high))
        }
    }

    /// Takes the end from the table.
    private init(_ input: ScenarioInput?, _ group: Group) {
        self.input = input
        self.group = group
        isMoreHarder = input.map { !Self.lessIsHarder.contains($0) } ?? true
        figures = []
    }

    /// Takes the end that demands more: of the group's figures, or of a month's egress if that
    /// changes more.
    private init(_ input: ScenarioInput?, _ group: Group, low: Demand, high: Demand) {
        self.input = input
        self.group = group
        func change(_ value: (Demand) -> Double) -> Double {
            let (low, high) = (value(low), value(high))
            let change = (high - low) / max(low, high, .leastNormalMagnitude)
            return abs(change) < 1e-9 ? 0 : change
        }
        let changes = group.figures.map { figure in (figure, change(figure.value)) }
        figures = Set(changes.filter { $0.1 != 0 }.map(\.0))
        let sum = changes.map(\.1).reduce(0, +)
        var decisive = sum
        if group == .audience {
            // A peak that is a share of users falls a little with the minutes that they watch.
            let month = change(\.egressBytesPerMonth)
            if abs(month) > abs(sum) { decisive = month }
        }
        isMoreHarder = decisive >= 0
    }

    /// Inputs for other figures than those of the demand.
    private static let lessIsHarder: Set<ScenarioInput> = [
        .zipfExponent, .fillSegmentBytes, .storedShare, .hitRatio, .edgeRequestsPerCore,
        .diskMegabytes, .diskGigabytes, .edgeCores,
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
