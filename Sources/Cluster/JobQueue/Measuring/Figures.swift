import API
package import Model
import Postgres

/// Reads figures of the cluster for metrics, at a bounded cost; its parts those of days and of the database.
package struct Figures: Sendable {
    let database: QueueDatabase
    let statuses: StatusReader
    package let daily: DailyFigures
    package let metFailures: MetFailures
    package let diagnoses: Diagnoses

    init(database: QueueDatabase, statuses: StatusReader) {
        self.database = database
        self.statuses = statuses
        daily = DailyFigures(database: database)
        metFailures = MetFailures(database: database)
        diagnoses = Diagnoses(database: database)
    }

    /// Maximum numbers of rows.
    package static let maxQueues = 200
    package static let maxDeadlines = 100
    package static let maxOriginsInCooldown = 50
    package static let maxLimitedOrigins = 30
    /// Maximum number of leases whose jobs are counted, and of delayed jobs of each queue.
    private static let maxLeases = 20_000
    private static let maxDelayed = 1_000
    /// Maximum number of waiting deliveries of each webhook that are counted.
    private static let maxWaitingDeliveries = 1_000

    package func read() async throws(Failure) -> ClusterFigures {
        try await database.withConnection { connection in
            let results = try await connection.pipeline([
                PostgresStatement(
                    SQL.Figures.queues,
                    [
                        "max_leases": .int(Int64(Self.maxLeases)),
                        "max_delayed": .int(Int64(Self.maxDelayed)),
                        "limit": .int(Int64(Self.maxQueues)),
                    ]),
                PostgresStatement(SQL.Figures.workers),
                PostgresStatement(SQL.Figures.catalogs),
                PostgresStatement(
                    SQL.Figures.deadlines, ["limit": .int(Int64(Self.maxDeadlines))]),
                PostgresStatement(SQL.Figures.origins),
                PostgresStatement(
                    SQL.Figures.cooldowns, ["limit": .int(Int64(Self.maxOriginsInCooldown))]),
                PostgresStatement(
                    SQL.Figures.quotas, ["limit": .int(Int64(Self.maxLimitedOrigins))]),
                PostgresStatement(
                    SQL.Figures.webhooks,
                    [
                        "max_waiting": .int(Int64(Self.maxWaitingDeliveries)),
                        "limit": .int(Int64(Webhooks.maxWebhooks)),
                    ]),
                PostgresStatement(
                    SQL.Figures.audits, ["limit": .int(Int64(Self.maxQueues))]),
            ])
            let ends =
                results[3].rows.isEmpty ? [:] : try await self.ends(connection)
            return try Self.figures(results, ends: ends)
        }
    }

    /// Estimated ends of running catalogs, of the 100 latest ones, in seconds since 1970.
    private func ends(_ connection: PostgresConnection) async throws -> [CatalogID: Double] {
        let results = try await connection.pipelinePlannedOnce(statuses.latest.all)
        var ends: [CatalogID: Double] = [:]
        for catalog in try StatusReader.read(
            results[0], waits: results[1], limits: results[2])
        {
            guard case .finishes(let at, _, _) = catalog.finish?.estimate else { continue }
            ends[catalog.id] = at
        }
        return ends
    }

    private static func figures(
        _ results: [PostgresResult], ends: [CatalogID: Double]
    ) throws -> ClusterFigures {
        let workers = try results[1].only()
        var figures = ClusterFigures()
        figures.queues = try results[0].rows.map { try queue($0) }
        figures.workers = try workers.int("workers")
        figures.failingWorkers = try workers.int("failing")
        figures.catalogs = try results[2].rows.map {
            ClusterFigures.Count(state: try $0.string("state"), count: try $0.int64("catalogs"))
        }
        figures.deadlines = try results[3].rows.map {
            ClusterFigures.Deadline(
                catalog: try $0.string("name"), queue: try $0.string("queue"),
                deadline: try $0.double("deadline"), jobs: try $0.int64("jobs"),
                finishesAt: ends[CatalogID(try $0.int64("id"))])
        }
        figures.origins = try results[4].rows.map {
            ClusterFigures.Count(state: try $0.string("breaker"), count: try $0.int64("origins"))
        }
        figures.originsInCooldown = try results[5].rows.map {
            ClusterFigures.OriginInCooldown(
                origin: try $0.string("url"), breaker: try $0.string("breaker"),
                seconds: try $0.optionalDouble("seconds") ?? 0)
        }
        figures.quotas = try results[6].rows.map { try quota($0) }
        figures.webhooks = try results[7].rows.map {
            ClusterFigures.Webhook(
                id: WebhookID(try $0.int64("id")), waiting: try $0.int64("waiting"),
                oldestSeconds: try $0.optionalDouble("oldest_seconds"))
        }
        figures.audits = try results[8].rows.map {
            ClusterFigures.Audit(
                queue: try $0.string("queue"), endedAt: try $0.double("ended"),
                damaged: try $0.int64("damaged"), foreign: try $0.int64("foreign_files"),
                others: try $0.int64("others"))
        }
        return figures
    }

    private static func queue(_ row: PostgresRow) throws -> ClusterFigures.Queue {
        func jobs(_ state: String, _ count: Int64, _ seconds: Double?) -> ClusterFigures.Jobs {
            // A delayed job is late from its time on.
            let age = count > 0 ? seconds.map { max($0, 0) } : nil
            return ClusterFigures.Jobs(state: state, count: count, oldestSeconds: age)
        }
        var states = [
            jobs(
                "waiting", try row.int64("waiting"), try row.optionalDouble("waiting_seconds")),
            jobs("scheduled", try row.int64("scheduled"), nil),
            jobs("leased", try row.int64("leased"), try row.optionalDouble("leased_seconds")),
            jobs(
                "delayed", try row.int64("delayed"), try row.optionalDouble("delayed_seconds")),
        ]
        // Most queues have none of these.
        states.removeAll { $0.count == 0 && ["scheduled", "delayed"].contains($0.state) }
        let isPaused = try row.bool("is_paused") || row.bool("closed")
        return ClusterFigures.Queue(
            name: try row.string("name"), storageURL: try row.string("storage_url"),
            isActive: !isPaused, jobs: states, leases: try row.int64("leases"),
            leaseLeftSeconds: try row.optionalDouble("lease_left_seconds"),
            workers: try row.int64("workers"),
            availableBytes: try row.optionalInt64("available_bytes"),
            floorBytes: try row.optionalInt64("floor_bytes"),
            quotaBytes: try row.optionalInt64("quota_bytes"),
            usedBytes: try row.int64("used_bytes"),
            failure: try row.optionalString("fault_code"),
            bytesPerSecond: try row.optionalInt64("bytes_per_second"),
            heldBytesPerSecond: try row.optionalInt64("held_bytes_per_second"))
    }

    private static func quota(_ row: PostgresRow) throws -> ClusterFigures.OriginQuota {
        var resources: [ClusterFigures.Resource] = []
        func add(_ name: String, _ limit: Double?, _ held: Int64?) {
            guard let limit else { return }
            resources.append(
                ClusterFigures.Resource(name: name, limit: limit, held: Double(held ?? 0)))
        }
        add(
            "connections", try row.optionalInt64("connections").map { Double($0) },
            try row.optionalInt64("held_connections"))
        add(
            "requests_per_second", try row.optionalDouble("requests_per_second"),
            try row.optionalInt64("held_requests"))
        add(
            "bytes_per_second", try row.optionalInt64("bytes_per_second").map { Double($0) },
            try row.optionalInt64("held_bytes"))
        return ClusterFigures.OriginQuota(
            origin: try row.string("url"), resources: resources)
    }
}
