/// How many of everything a demand needs.
package struct Sizing: Codable, Hashable, Sendable {
    package let demand: Demand
    /// With fetches of the nightly fill, and of misses.
    package let fillSpeed: WorkerSpeed
    package let missSpeed: WorkerSpeed
    package let workers: Workers
    package let machines: Machines
    package let database: Database
    package let connections: Connections
    /// Nil where the origin has no limits.
    package let origin: OriginUse?

    /// Workers, for what and how many.
    package struct Workers: Codable, Hashable, Sendable {
        /// To meet the deadline while misses are fetched as well; nil when no number does.
        package let forDeadline: Int?
        /// To keep on-demand fetches within their wait at the peak; nil when no number does.
        package let forOnDemand: Int?
        /// The larger of both, at least one; no number does when either is nil.
        package let needed: Int
        /// Those that may fail at once.
        package let spare: Int
        /// The same without headroom, for what more than needed there is.
        package let barelyNeeded: Int
        /// By square-root staffing, for on-demand fetches; a check.
        package let squareRootCheck: Int
        /// Of the needed, those to have before the load comes, because booting takes its time while
        /// load rises.
        package let aheadForBoot: Int

        package var total: Int { needed + spare }
        package var isEnough: Bool { forDeadline != nil && forOnDemand != nil }
    }

    package struct Machines: Codable, Hashable, Sendable {
        package let workers: Int
        package let coordinators: Int
        /// The server and its standby.
        package let database: Int
        package let edge: Int

        package var total: Int { workers + coordinators + database + edge }
    }

    /// The load on PostgreSQL, and who stands in front of it.
    package struct Database: Codable, Hashable, Sendable {
        /// Segments a second that go through the queue, at the worse of night and peak.
        package let segmentsPerSecond: Double
        package let statementsPerSecond: Double
        package let rowsPerSecond: Double
        package let walBytesPerSecond: Double
        package let coresInUse: Double
        package let diskBytes: Double
        package let coordinators: Int
    }

    package struct Connections: Codable, Hashable, Sendable {
        /// Of viewers to the edge: one each, as HTTP/2 has it.
        package let edge: Double
        /// That workers can open to origins.
        package let originMost: Int
        /// In use there on average at the worse of night and peak: Little's law.
        package let originInUse: Double
        package let database: Int
        /// Of workers to coordinators: a request for work that is held open and one for cooldowns.
        package let coordinators: Int
    }

    /// What an origin's limits allow, and what of that is used; shares above 1 are too much.
    package struct OriginUse: Codable, Hashable, Sendable {
        package let connectionShare: Double?
        package let requestShare: Double?
        package let bandwidthShare: Double?

        package var share: Double {
            max(connectionShare ?? 0, requestShare ?? 0, bandwidthShare ?? 0)
        }
        /// The limit that binds first.
        package var bindingInput: ScenarioInput {
            if share == connectionShare { return .originConnections }
            return share == requestShare ? .originRequests : .originMegabits
        }
    }

    /// No pool has more: what no number up to here does, none does.
    package static let mostWorkers = 1_000_000

    package init(_ values: ScenarioValues) {
        let demand = Demand(values)
        let pool = OnDemandPool(values, demand)
        let fill = WorkerSpeed(values, bytes: demand.fillSegmentBytes)
        let miss = WorkerSpeed(values, bytes: demand.missBytes)
        self.demand = demand
        fillSpeed = fill
        missSpeed = miss
        workers = Workers(values, demand, pool, fill)
        database = Database(values, demand, workers: workers.total)
        machines = Machines(values, demand, workers: workers.total, database)
        connections = Connections(
            values, demand, workers: workers.total, database, fill, miss)
        origin = OriginUse(values, demand, fill, miss)
    }
}

extension Sizing.Workers {
    init(_ values: ScenarioValues, _ demand: Demand, _ pool: OnDemandPool, _ fill: WorkerSpeed) {
        let most = Sizing.mostWorkers
        let night = NightPool(values, demand, fill: fill, miss: pool.scalability.gamma)
        let used = 1 - values[.headroom]
        func onDemand(_ utilisation: Double) -> Int? {
            pool.fewest(
                level: values[.percentile], withinSeconds: values[.waitSeconds],
                mostUtilisation: utilisation, atMost: most)
        }
        forDeadline = night.fewest(utilisation: used, atMost: most)
        forOnDemand = onDemand(used)
        needed = max(1, forDeadline ?? most, forOnDemand ?? most)
        barelyNeeded = min(
            needed,
            max(1, night.fewest(utilisation: 1, atMost: most) ?? most, onDemand(0.999) ?? most))
        spare = Int(values[.spareWorkers])
        squareRootCheck = pool.squareRootStaffing(
            sizedAs: min(needed, most), waiting: 1 - values[.percentile])
        let rise = 1 - 1 / values[.peakToMean]
        let booting = min(1, values[.bootSeconds] / (values[.rampMinutes] * 60))
        aheadForBoot = Int((Double(forOnDemand ?? 0) * rise * booting).rounded(.up))
    }
}

/// The pool while the fill runs: fetches of the fill, and misses at their mean.
package struct NightPool: Sendable {
    package let segmentsPerSecond: Double
    package let missesPerSecond: Double
    package let scalability: Scalability

    package init(_ values: ScenarioValues, _ demand: Demand, fill: WorkerSpeed, miss: Double) {
        let misses = demand.meanMissesPerSecond
        let all = demand.fillSegmentsPerSecond + misses
        // What a worker does of a mixture: the harmonic mean of what it does of each.
        let seconds =
            all > 0
            ? (demand.fillSegmentsPerSecond / fill.segmentsPerSecond + misses / miss) / all : 1
        segmentsPerSecond = all
        missesPerSecond = misses
        scalability = Scalability(
            alpha: values[.contention], beta: values[.coherency], gamma: 1 / seconds)
    }

    func fewest(utilisation: Double, atMost: Int) -> Int? {
        guard segmentsPerSecond > 0 else { return 0 }
        return scalability.fewest(
            forThroughput: segmentsPerSecond / utilisation, atMost: atMost)
    }

    /// How long `workers` workers need for a day's fill; nil when they never end.
    package func hours(_ demand: Demand, workers: Int) -> Double? {
        guard workers > 0 else { return nil }
        let left = scalability.throughput(Double(workers)) - missesPerSecond
        return left > 0 ? demand.fillSegmentsPerDay / left / 3_600 : nil
    }
}
