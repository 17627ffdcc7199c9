/// The resources for a demand.
package struct Sizing: Codable, Hashable, Sendable {
    package let demand: Demand
    /// Speed with fetches of the nightly fill, and of misses.
    package let fillSpeed: WorkerSpeed
    package let missSpeed: WorkerSpeed
    package let workers: Workers
    package let machines: Machines
    package let edge: Edge
    package let database: Database
    package let connections: Connections
    /// Nil if the origin has no limits.
    package let origin: OriginUse?

    /// Numbers of workers by purpose; nil if no pool suffices.
    package struct Workers: Codable, Hashable, Sendable {
        /// Workers that meet the deadline while misses are fetched; nil if no number does.
        package let forDeadline: Int?
        /// Workers that keep on-demand fetches within their wait at the peak; nil if no number
        /// does.
        package let forOnDemand: Int?
        /// The same with the alternative correction.
        package let forOnDemandOtherwise: Int?
        /// The larger of both, at least one; nil if either is nil.
        package let needed: Int?
        /// Workers that may fail at the same time.
        package let spare: Int
        /// The needed workers without headroom, which shows over-provisioning; nil if no number
        /// suffices.
        package let barelyNeeded: Int?
        /// Square-root staffing for on-demand fetches; a check.
        package let squareRootCheck: Int?
        /// Part of the needed workers to start before the load rises, because of their boot time.
        package let aheadForBoot: Int
        /// Reasons why no pool suffices; empty if one does.
        package let stops: [Stop]
        /// Number of workers beyond which more gain nothing, for the fill and on demand: an
        /// origin's limit binds, or contention does. Nil if more always help. Keys of the plan's JSON.
        package let mostUsefulForDeadline: Int?
        package let mostUsefulOnDemand: Int?

        /// Number of workers that comes closest to both goals; nil if more always help.
        package var maxUseful: Int? {
            guard let one = forDeadline ?? mostUsefulForDeadline,
                let other = forOnDemand ?? mostUsefulOnDemand
            else { return nil }
            return max(1, one, other)
        }

        /// Purchased workers: needed and spare ones; nil if no pool suffices.
        package let total: Int?
    }

    /// A goal that no number of workers reaches, and its limit.
    package struct Stop: Codable, Hashable, Sendable {
        package enum Goal: String, Codable, Sendable { case deadline, onDemand }

        package let goal: Goal
        /// The limiting input: `origin.requestsPerSecond`; `pool.headroom` if the goal is reached
        /// only with less headroom; `workers` for the maximum of a million.
        package let limit: String
    }

    package struct Machines: Codable, Hashable, Sendable {
        /// Nil if no pool suffices.
        package let workers: Int?
        package let coordinators: Int
        /// The server and its standby.
        package let database: Int
        package let edge: Int

        /// Nil if no pool suffices.
        package let total: Int?
    }

    /// The load on PostgreSQL, and its coordinators.
    package struct Database: Codable, Hashable, Sendable {
        /// Segments per second through the queue, at the higher of night and peak.
        package let segmentsPerSecond: Double
        package let statementsPerSecond: Double
        package let rowsPerSecond: Double
        package let walBytesPerSecond: Double
        package let coresInUse: Double
        package let diskBytes: Double
        package let coordinators: Int
    }

    package struct Connections: Codable, Hashable, Sendable {
        /// Connections of viewers to the edge: one each, as with HTTP/2.
        package let edge: Double
        /// Connections that workers can open and origins allow; nil if neither is known.
        package let originMost: Int?
        /// Mean connections in use at the higher of night and peak: Little's law.
        package let originInUse: Double
        package let database: Int
        /// Connections of workers to coordinators: a held lease request, and one for cooldowns.
        package let coordinators: Int?
    }

    /// Utilization of an origin's limits; above 1 they are exceeded.
    package struct OriginUse: Codable, Hashable, Sendable {
        package let connectionShare: Double?
        package let requestShare: Double?
        package let bandwidthShare: Double?

        package var share: Double {
            max(connectionShare ?? 0, requestShare ?? 0, bandwidthShare ?? 0)
        }
    }

    /// Maximum size of a pool.
    package static let maxWorkers = 1_000_000

    package init(_ values: ScenarioValues, _ method: WaitMethod = .formulas) {
        let demand = Demand(values)
        let fill = WorkerSpeed(values, bytes: demand.fillSegmentBytes)
        let miss = WorkerSpeed(values, bytes: demand.missBytes)
        self.demand = demand
        fillSpeed = fill
        missSpeed = miss
        workers = Workers(values, demand, fill, miss, method)
        database = Database(values, demand, workers: workers.total ?? 0)
        edge = Edge(values, demand)
        machines = Machines(values, workers: workers.total, database, edge: edge.servers)
        connections = Connections(
            values, demand, workers: workers.total, database, fill, miss)
        origin = OriginUse(values, demand, fill, miss)
    }
}
