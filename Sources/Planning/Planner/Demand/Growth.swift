/// How long a plan lasts: demand month by month against what is bought today.
package struct Growth: Codable, Hashable, Sendable {
    package let months: [Month]
    /// The limits in the order in which they bind; those that do not come last.
    package let limits: [Limit]

    /// The demand of a month.
    package struct Month: Codable, Hashable, Sendable {
        package let month: Int
        package let monthlyActiveUsers: Double
        package let peakRequestsPerSecond: Double
        package let peakEgressBitsPerSecond: Double
        package let edgeStorageBytes: Double
        /// That a plan made for that month has; nil when no pool suffices any more.
        package let workers: Int?
        package let machines: Int?
        /// Of what is bought today, by limit; nil where there is no limit.
        package let shares: [String: Double]
    }

    package enum Resource: String, Codable, CaseIterable, Sendable {
        /// Workers needed without headroom, of those bought: what binds first of all that makes one
        /// slow.
        case workers
        /// CPU time and interface of the workers that are bought.
        case workerCPU, workerNetwork
        /// Of the edge servers that are bought.
        case edgeCPU, edgeNetwork
        case database, origin, storage
    }

    package struct Limit: Codable, Hashable, Sendable {
        package let resource: Resource
        /// What is in use in the first month; nil where there is no limit, or nothing is bought.
        package let shareNow: Double?
        /// The first month in which all of it is in use; nil when none of them is.
        package let bindsInMonth: Int?
    }

    /// More users than people: no later month is planned for.
    package static let mostUsers = 1e10

    /// `months` months from now, 0 to 120; month 0 is the plan itself. Ends before there would be more
    /// than `mostUsers`.
    init(_ values: ScenarioValues, _ now: Sizing, months count: Int) {
        var months: [Month] = []
        // Also where no number of them would do, which is no share of anything.
        var workersBindIn: Int?
        for month in 0...max(0, count) {
            let sizing = month == 0 ? now : Sizing(Self.grown(values, by: month))
            if month > 0, sizing.demand.monthlyActiveUsers > Self.mostUsers { break }
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

    /// The values of a later month: audience and catalog grown, all else as it is.
    private static func grown(
        _ values: ScenarioValues, by month: Int
    ) -> ScenarioValues {
        var grown = values
        let audience = power(1 + values[.audienceGrowth], month)
        let catalog = power(1 + values[.catalogGrowth], month)
        // What is known in numbers grows; shares of it stay.
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

    /// What `later` takes of everything that `now` buys, its headroom and spare included.
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
        let edge = Double(now.machines.edge)
        shares[.edgeCPU] =
            demand.peakRequestsPerSecond
            / (edge * values[.machineCores] * values[.edgeRequestsPerCore])
        shares[.edgeNetwork] = demand.peakEgressBitsPerSecond / (edge * values[.nicMegabits] * 1e6)
        shares[.database] = later.database.coresInUse / values[.databaseCores]
        if let origin = later.origin { shares[.origin] = origin.share }
        let bought =
            values.known(.storageGigabytes).map { $0 * 1e9 } ?? now.demand.edgeStorageBytes
        let full = later.demand.edgeStorageBytes * (1 - values[.storageFreeShare])
        shares[.storage] = full / bought
        return shares
    }
}
