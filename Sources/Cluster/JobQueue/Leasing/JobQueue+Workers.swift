package import Model
import Postgres

/// What there is to do for workers now.
package struct PoolLoad: Sendable {
    package var backlogs: [Backlog]
    /// Jobs that workers hold.
    package var leased: Int
    /// Workers that hold jobs.
    package var busy: Int
    /// Workers that are heard of.
    package var workers: Int
    /// Whether a queue has a job that can be leased now, of a catalog or not.
    package var hasWork: Bool

    package init(backlogs: [Backlog], leased: Int, busy: Int, workers: Int, hasWork: Bool) {
        self.backlogs = backlogs
        self.leased = leased
        self.busy = busy
        self.workers = workers
        self.hasWork = hasWork
    }

    /// What a running catalog lacks.
    package struct Backlog: Sendable {
        /// Jobs to do, those that are leased among them.
        package var jobs: Int
        /// Until its deadline, by the database's clock; negative when it is over, nil without one.
        package var deadlineSeconds: Double?
        /// Until its work may be handed out; 0 or less when it may.
        package var beginsSeconds: Double
        /// Since its work could be handed out first.
        package var runningSeconds: Double
        /// Its queue is not paused, and its site's schedule lets it be fed.
        package var isOpen: Bool
        /// Its site cannot be written, or no worker that is heard of may write it: its work waits, but for what tries
        /// whether it can be again.
        package var isFaulty: Bool

        package init(
            jobs: Int, deadlineSeconds: Double? = nil, beginsSeconds: Double = 0,
            runningSeconds: Double = 0, isOpen: Bool = true, isFaulty: Bool = false
        ) {
            self.jobs = jobs
            self.deadlineSeconds = deadlineSeconds
            self.beginsSeconds = beginsSeconds
            self.runningSeconds = runningSeconds
            self.isOpen = isOpen
            self.isFaulty = isFaulty
        }
    }
}

extension JobQueue {
    /// What there is to do in queue `name`, in all of them when it is nil. Throws `input.notFound`.
    package func poolLoad(ofQueue name: String?) async throws(Failure) -> PoolLoad {
        try await withConnection { connection in
            let results = try await connection.pipeline([
                PostgresStatement(SQL.Workers.backlog, ["queue": .optionalText(name)]),
                PostgresStatement(SQL.Workers.busy, ["queue": .optionalText(name)]),
                PostgresStatement(
                    SQL.Leasing.queuesWithWork, ["names": .textArray(name.map { [$0] } ?? [])]),
                PostgresStatement(SQL.Browsing.queues),
            ])
            if let name, !(try Self.queues(results[3]).contains { $0.name == name }) {
                throw Failure(.inputNotFound, "There is no queue \(name.prefix(100)).")
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
                // One may hold jobs before its first heartbeat.
                workers: max(busy, Int(try row?.int64("workers") ?? 0)),
                hasWork: !results[2].rows.isEmpty)
        }
    }
}

// MARK: What they have done

extension JobQueue {
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

    /// What workers did in the last `seconds`, 1 to `WorkersHistory.keptSeconds`.
    package func workersHistory(seconds: Int) async throws(Failure) -> WorkersHistory {
        try await withConnection { connection in
            let minutes = try await connection.query(
                SQL.Workers.history,
                [
                    "seconds": .double(Double(seconds)),
                    "limit": .int(Int64(WorkersHistory.mostMinutes)),
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
}
