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

    /// Workers, for what and how many; without a number where no pool suffices.
    package struct Workers: Codable, Hashable, Sendable {
        /// To meet the deadline while misses are fetched as well; nil when no number does.
        package let forDeadline: Int?
        /// To keep on-demand fetches within their wait at the peak; nil when no number does.
        package let forOnDemand: Int?
        /// The same with the correction that was not chosen.
        package let forOnDemandOtherwise: Int?
        /// The larger of both, at least one; nil when either is.
        package let needed: Int?
        /// Those that may fail at once.
        package let spare: Int
        /// The same without headroom, for what more than needed there is; nil when no number does.
        package let barelyNeeded: Int?
        /// By square-root staffing, for on-demand fetches; a check.
        package let squareRootCheck: Int?
        /// Of the needed, those to have before the load comes, because booting takes its time while
        /// load rises.
        package let aheadForBoot: Int
        /// Why no pool suffices; empty when one does.
        package let stops: [Stop]
        /// From so many on nothing is gained by more, for the fill and on demand: an origin's limit
        /// binds, or workers are in each other's way. Nil where more always help.
        package let mostUsefulForDeadline: Int?
        package let mostUsefulOnDemand: Int?

        /// So many come as near to both goals as any number does; nil where more always help.
        package var mostUseful: Int? {
            guard let one = forDeadline ?? mostUsefulForDeadline,
                let other = forOnDemand ?? mostUsefulOnDemand
            else { return nil }
            return max(1, one, other)
        }

        /// What is bought: the needed and the spare ones; nil when no pool suffices.
        package let total: Int?
    }

    /// A goal that no number of workers reaches, and what stops it.
    package struct Stop: Codable, Hashable, Sendable {
        package enum Goal: String, Codable, Sendable { case deadline, onDemand }

        package let goal: Goal
        /// The input that stops it: `origin.requestsPerSecond`; `pool.headroom` where the goal is
        /// reached, but not with so much of the pool to spare; `workers` for the million that is the
        /// most a pool may have.
        package let limit: String
    }

    package struct Machines: Codable, Hashable, Sendable {
        /// Nil when no pool suffices.
        package let workers: Int?
        package let coordinators: Int
        /// The server and its standby.
        package let database: Int
        package let edge: Int

        /// Nil when no pool suffices.
        package let total: Int?
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
        /// That workers can open to origins, and those allow; nil where neither is known.
        package let originMost: Int?
        /// In use there on average at the worse of night and peak: Little's law.
        package let originInUse: Double
        package let database: Int
        /// Of workers to coordinators: a request for work that is held open and one for cooldowns.
        package let coordinators: Int?
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
        let fill = WorkerSpeed(values, bytes: demand.fillSegmentBytes)
        let miss = WorkerSpeed(values, bytes: demand.missBytes)
        self.demand = demand
        fillSpeed = fill
        missSpeed = miss
        workers = Workers(values, demand, fill, miss)
        database = Database(values, demand, workers: workers.total ?? 0)
        machines = Machines(values, demand, workers: workers.total, database)
        connections = Connections(
            values, demand, workers: workers.total, database, fill, miss)
        origin = OriginUse(values, demand, fill, miss)
    }
}
