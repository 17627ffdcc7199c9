/// A forecast: the demand of each month compared with today's resources.
package struct Growth: Codable, Hashable, Sendable {
    package let months: [Month]
    /// The limits in the order in which they bind; those that never bind come last.
    package let limits: [Limit]

    /// The demand of a month.
    package struct Month: Codable, Hashable, Sendable {
        package let month: Int
        package let monthlyActiveUsers: Double
        package let peakRequestsPerSecond: Double
        package let peakEgressBitsPerSecond: Double
        package let edgeStorageBytes: Double
        /// Resources of a plan for that month; nil if no pool suffices.
        package let workers: Int?
        package let machines: Int?
        /// Utilization of today's resources, by limit; nil without a limit.
        package let shares: [String: Double]
    }

    package enum Resource: String, Codable, CaseIterable, Sendable {
        /// Workers needed without headroom over bought workers; covers every bottleneck of a
        /// worker.
        case workers
        /// CPU time and network interface of the bought workers.
        case workerCPU, workerNetwork
        /// CPU time and network interface of the bought edge servers.
        case edgeCPU, edgeNetwork
        case database, origin, storage
    }

    package struct Limit: Codable, Hashable, Sendable {
        package let resource: Resource
        /// Utilization in the first month; nil without a limit or without bought resources.
        package let shareNow: Double?
        /// The first month with full utilization; nil if there is none.
        package let bindsInMonth: Int?
    }

    /// A month of the forecast with everything that was calculated.
    struct Step {
        let values: ScenarioValues
        let sizing: Sizing
    }

    /// More users than people: the forecast ends there.
    package static let maxUsers = 1e10

    /// Returns the steps of `count` months from now, 0 to 120; the first is the plan itself. They
    /// end before `maxUsers` is exceeded.
    ///
    /// - Parameter method: for the waits of later months.
    static func forecast(
        _ values: ScenarioValues, _ now: Sizing, months count: Int, _ method: WaitMethod
    ) -> [Step] {
        var steps = [Step(values: values, sizing: now)]
        for month in 0..<max(0, count) {
            let grown = Self.grown(values, by: month + 1)
            let sizing = Sizing(grown, method)
            if sizing.demand.monthlyActiveUsers > Self.maxUsers { break }
            steps.append(Step(values: grown, sizing: sizing))
        }
        return steps
    }

    /// Compares each step with the resources of the first.
    init(_ steps: [Step]) {
        guard let first = steps.first else {
            (months, limits) = ([], [])
            return
        }
        let (values, now) = (first.values, first.sizing)
        var months: [Month] = []
        // Also counts months for which no number of workers suffices, which have no utilization.
        var workersBindIn: Int?
        for (month, step) in steps.enumerated() {
            let sizing = step.sizing
            let shares = Self.shares(values, of: now, in: sizing)
            let isEnough = sizing.workers.barelyNeeded.map { $0 <= now.workers.total ?? 0 }
            if now.workers.total != nil, isEnough != true, workersBindIn == nil {
                workersBindIn = month
            }
            months.append(
                Month(
                    month: month, monthlyActiveUsers: sizing.demand.monthlyActiveUsers,
                    peakRequestsPerSecond: sizing.demand.peakRequestsPerSecond,
                    peakEgressBitsPerSecond: sizing.demand.peakEgressBitsPerSecond,
                    edgeStorageBytes: sizing.demand.edgeStorageBytes,
                    workers: sizing.workers.total, machines: sizing.machines.total,
                    shares: Dictionary(
                        uniqueKeysWithValues: shares.map { ($0.key.rawValue, $0.value) })))
        }
        self.months = months
        limits = Resource.allCases.map { resource in
            let key = resource.rawValue
            return Limit(
                resource: resource, shareNow: months.first?.shares[key],
                bindsInMonth: resource == .workers
                    ? workersBindIn : months.first { ($0.shares[key] ?? 0) > 1 }?.month)
        }.sorted { ($0.bindsInMonth ?? .max) < ($1.bindsInMonth ?? .max) }
    }

    /// Returns the values of a later month: only audience and catalog grow.
    private static func grown(
        _ values: ScenarioValues, by month: Int
    ) -> ScenarioValues {
        var grown = values
        let audience = power(1 + values[.audienceGrowth], month)
        let catalog = power(1 + values[.catalogGrowth], month)
        // Absolute numbers grow; ratios stay.
        let numbers: [ScenarioInput] = [
            .monthlyActiveUsers, .dailyActiveUsers, .peakConcurrentUsers, .meanRequests,
            .peakRequests,
        ]
        for input in numbers {
            if let number = values.known(input) { grown[input] = number * audience }
        }
        if let bytes = values.known(.catalogGigabytes) {
            grown[.catalogGigabytes] = bytes * catalog
        }
        grown[.titles] = values[.titles] * catalog
        return grown
    }

    private static func power(_ base: Double, _ exponent: Int) -> Double {
        (0..<exponent).reduce(1) { result, _ in result * base }
    }

    /// Returns the utilization of `now` by `later`; headroom and spares count as available.
    private static func shares(
        _ values: ScenarioValues, of now: Sizing, in later: Sizing
    ) -> [Resource: Double] {
        var shares: [Resource: Double] = [:]
        let demand = later.demand
        if let workers = now.workers.total.map({ Double($0) }) {
            shares[.workers] = later.workers.barelyNeeded.map { Double($0) / workers }
            func used(_ each: (WorkerSpeed) -> Double) -> Double {
                let (fill, miss) = (each(later.fillSpeed), each(later.missSpeed))
                return max(
                    demand.fillSegmentsPerSecond * fill + demand.meanMissesPerSecond * miss,
                    demand.peakMissesPerSecond * miss) / workers
            }
            shares[.workerCPU] = used { $0.cpuSeconds } / WorkerSpeed.cores(values)
            shares[.workerNetwork] =
                used { $0.segmentBytes } / WorkerSpeed.bytesPerSecond(values)
        }
        let edge = Double(now.edge.servers)
        shares[.edgeCPU] = later.edge.coresInUse / (edge * now.edge.cores)
        shares[.edgeNetwork] =
            demand.peakEgressBitsPerSecond / (edge * now.edge.megabitsPerSecond * 1e6)
        shares[.database] = later.database.coresInUse / values[.databaseCores]
        if let origin = later.origin { shares[.origin] = origin.share }
        let bought =
            values.known(.storageGigabytes).map { $0 * 1e9 } ?? now.demand.edgeStorageBytes
        let full = later.demand.edgeStorageBytes * (1 - values[.storageFreeShare])
        shares[.storage] = full / bought
        return shares
    }
}
