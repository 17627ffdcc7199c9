package import API
package import Model
import Postgres

/// Workers, and the status of the cluster.
package struct Workers: Sendable {
    let database: QueueDatabase
    let statuses: StatusReader

    /// Returns an overview of the cluster: the latest catalogs, the queues, and workers seen
    /// lately.
    package func clusterStatus() async throws(Failure) -> ClusterStatus {
        let catalogs = statuses.latest
        // Each of the three statements about catalogs takes milliseconds.
        return try await database.together(
            { try await $0.pipelinePlannedOnce([catalogs.status, catalogs.waits]) },
            { connection in
                let results = try await connection.pipelinePlannedOnce([
                    catalogs.limits, PostgresStatement(SQL.Browsing.queues),
                    PostgresStatement(
                        SQL.Workers.seen, ["seconds": .double(ClusterStatus.resultsSeconds)]),
                ])
                return (results, try await LoadTests.read(nil, connection))
            },
            combine: { first, second in
                let (others, tests) = second
                var status = ClusterStatus(
                    version: drayVersion, schemaVersion: Migrations.currentVersion,
                    catalogs: try StatusReader.read(first[0], waits: first[1], limits: others[0]),
                    queues: try Sites.queues(others[1]),
                    workers: try others[2].rows.map(ClusterStatus.WorkerStatus.init(row:)))
                let running = tests.filter { $0.state != .ended }
                status.loadTests = running.isEmpty ? nil : running
                return status
            })
    }

    /// Notes which workers were silent for so long, and returns how many: twice as long as an idle one
    /// may be.
    package func noteSilent(
        forSeconds seconds: Double = 2 * Double(WireLimits.idleHeartbeatSeconds)
    ) async throws(Failure) -> Int {
        try await database.withConnection { connection in
            try await connection.query(SQL.Workers.silent, ["seconds": .double(seconds)]).rowCount
        }
    }

    /// Returns the work of queue `name`, or of all queues if it is nil. Throws `input.notFound`.
    package func load(ofQueue name: String?) async throws(Failure) -> PoolLoad {
        try await database.withConnection { connection in
            let results = try await connection.pipeline([
                PostgresStatement(SQL.Workers.backlog, ["queue": .optionalText(name)]),
                PostgresStatement(SQL.Workers.busy, ["queue": .optionalText(name)]),
                PostgresStatement(
                    SQL.Leasing.queuesWithWork, ["names": .textArray(name.map { [$0] } ?? [])]),
                PostgresStatement(SQL.Browsing.queues),
            ])
            if let name, !(try Sites.queues(results[3]).contains { $0.name == name }) {
                // Its workers wait for its first catalog.
                guard try await Self.count(ofQueue: name, connection) > 0 else {
                    throw try await Failure.unknownQueue(name, connection)
                }
            }
            let row = results[1].firstRow
            let busy = Int(try row?.int64("busy") ?? 0)
            return PoolLoad(
                backlogs: try results[0].rows.map { row in
                    PoolLoad.Backlog(
                        jobs: Int(try row.int64("jobs")),
                        deadlineSeconds: try row.optionalDouble("deadline_seconds"),
                        beginsSeconds: try row.double("begins_seconds"),
                        runningSeconds: try row.double("running_seconds"),
                        isOpen: try row.bool("is_open"), isFaulty: try row.bool("is_faulty"))
                },
                leased: Int(try row?.int64("leased") ?? 0), busy: busy,
                // A worker may hold jobs before its first heartbeat.
                workers: max(busy, Int(try row?.int64("workers") ?? 0)),
                hasWork: !results[2].rows.isEmpty)
        }
    }

    /// Returns how many live workers take jobs of a queue by its name.
    static func count(
        ofQueue name: String, _ connection: PostgresConnection
    ) async throws -> Int {
        Int(
            try await connection.query(SQL.Workers.ofQueue, ["queue": .text(name)]).only()
                .int64("workers"))
    }

    /// Adds to a minute of a worker's history.
    static func note(_ done: WorkDone, of worker: WorkerID) -> PostgresStatement {
        PostgresStatement(
            SQL.Workers.noteMinute,
            [
                "worker": .uuid(worker), "fetches": .int(Int64(done.fetches)),
                "bytes": .int(done.bytes), "busy_seconds": .double(done.busySeconds),
                "seconds": .double(done.seconds), "seconds2": .double(done.seconds2),
                "seconds3": .double(done.seconds3), "seconds4": .double(done.seconds4),
                "cpu_seconds": .optionalDouble(done.cpuSeconds),
                "connections": .int(Int64(done.connections)), "cores": .int(Int64(done.cores)),
            ])
    }

    /// Adds to a worker's work for runs of catalogs.
    static func note(_ runs: [RunWork], of worker: WorkerID) -> [PostgresStatement] {
        guard !runs.isEmpty else { return [] }
        return [
            PostgresStatement(
                SQL.Workers.noteRuns,
                [
                    "worker": .uuid(worker), "runs": .int64Array(runs.map(\.run.rawValue)),
                    "ages": .doubleArray(runs.map(\.ageSeconds)),
                    "connections": .int64Array(runs.map { Int64($0.connections) }),
                    "fetches": .int64Array(runs.map { Int64($0.fetches) }),
                    "seconds": .doubleArray(runs.map(\.seconds)),
                    "seconds2": .doubleArray(runs.map(\.seconds2)),
                    "connection_seconds": .doubleArray(runs.map(\.connectionSeconds)),
                ])
        ]
    }

    /// Returns the workers' work for the present or last run of a catalog; what is older than
    /// `WorkersHistory.keptSeconds` is forgotten. Throws `input.notFound`.
    package func work(for catalog: CatalogID) async throws(Failure) -> CatalogWork {
        try await database.withConnection { connection in
            let rows = try await connection.query(
                SQL.Workers.ofRun, ["catalog": .int(catalog.rawValue)])
            guard let row = rows.firstRow else { throw Failure.unknownCatalog(catalog) }
            return CatalogWork(
                workers: Int(try row.int64("workers")),
                connections: Int(try row.int64("connections")),
                fetches: Int(try row.int64("fetches")),
                seconds: try row.double("seconds"), seconds2: try row.double("seconds2"),
                usedSeconds: try row.double("used_seconds"),
                connectionSeconds: try row.double("connection_seconds"))
        }
    }

    /// Returns the workers' history of the last `seconds`, 1 to `WorkersHistory.keptSeconds`.
    package func history(seconds: Int) async throws(Failure) -> WorkersHistory {
        try await database.withConnection { connection in
            let minutes = try await connection.query(
                SQL.Workers.history,
                [
                    "seconds": .double(Double(seconds)),
                    "limit": .int(Int64(WorkersHistory.maxMinutes)),
                ]
            ).rows.map { row in
                var done = WorkDone(
                    connections: Int(try row.int64("connections")),
                    cores: Int(try row.int64("cores")))
                done.fetches = Int(try row.int64("fetches"))
                done.bytes = try row.int64("bytes")
                done.busySeconds = try row.double("busy_seconds")
                done.seconds = try row.double("seconds")
                done.seconds2 = try row.double("seconds2")
                done.seconds3 = try row.double("seconds3")
                done.seconds4 = try row.double("seconds4")
                done.cpuSeconds = try row.optionalDouble("cpu_seconds")
                return WorkersHistory.Minute(
                    start: try row.double("start"), workers: Int(try row.int64("workers")),
                    longestBusySeconds: try row.double("longest"),
                    slotSeconds: try row.double("slot_seconds"), done: done)
            }
            return WorkersHistory(minutes: minutes.reversed())
        }
    }

    /// Name of a worker in the process of a private cluster.
    package static func embeddedName(process: Int32, number: Int) -> String {
        "embedded-\(process)-worker-\(number)"
    }

    /// Forgets what workers had under way, all of which are gone: a private cluster calls it before
    /// it starts. Their leases end as others do, so that a job that kills workers is found.
    package func forgetWorkers() async throws(Failure) {
        try await database.withConnection { connection in
            _ = try await connection.query(
                SQL.Workers.forgetWorkers,
                ["names": .text(#"^embedded-[0-9]+-worker-[0-9]+$"#)])
        }
    }
}

extension ClusterStatus.WorkerStatus {
    /// Decodes a row of `Workers.seen`.
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: try row.uuid("id"), name: try row.string("name"),
            activeTransfers: Int(try row.int64("active_transfers")),
            silentSeconds: try row.double("silent_seconds"))
        issue = try Failure(in: row, code: "issue_code", message: "issue_message")
        version = try row.optionalString("version")
        leases = try row.int("leases")
        leaseSeconds = try row.optionalDouble("lease_seconds")
        resultSeconds = try row.optionalDouble("result_seconds").map { max($0, 0) }
    }
}
