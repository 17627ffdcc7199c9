package import API
import FoundationEssentials
package import Model
import Postgres

/// Leases after their grant: heartbeats extend them, workers return them, and a sweep ends expired
/// ones.
package struct Leases: Sendable {
    let database: QueueDatabase
    let reports: Reports
    let quotas: Quotas
    let closedSites: ClosedSites
    let leaseSeconds: Double
    /// See `JobQueue.Settings.machine`.
    let machine: String?

    /// Returns all jobs of a lease whose grant its worker did not receive, and prevents a later
    /// grant. Changes nothing for another worker's lease.
    package func release(_ release: LeaseRelease) async throws(Failure) {
        let values: SQLValues = [
            "lease": .uuid(release.lease), "worker": .uuid(release.worker),
        ]
        let jobs = try await database.withConnection { connection in
            guard try await connection.query(SQL.Leasing.release, values).rows.isEmpty else {
                return [JobID]()
            }
            return try await connection.query(SQL.Leasing.jobsHeld, values).rows.map {
                JobID(try $0.int64("id"))
            }
        }
        guard !jobs.isEmpty else { return }
        _ = try await reports.record(
            ReportRequest(
                worker: release.worker,
                results: jobs.map { JobReport(job: $0, lease: release.lease, outcome: .returned()) }
            ))
    }

    /// Extends a worker's leases and records its activity; leases that are missing from the answer
    /// are lost.
    package func heartbeat(_ heartbeat: Heartbeat) async throws(Failure) -> HeartbeatAnswer {
        let seconds = leaseSeconds
        let busy = Set(
            (heartbeat.origins ?? []).lazy.filter { $0.active + $0.waiting > 0 }.map(\.origin))
        let presence = try Self.presence(heartbeat)
        let done =
            [heartbeat.done.map { Workers.note($0, of: heartbeat.worker) }].compactMap(\.self)
            + Workers.note(heartbeat.runs ?? [], of: heartbeat.worker)
        let isIdle =
            heartbeat.leases.isEmpty && busy.isEmpty && heartbeat.siteShares?.isEmpty != false
            && heartbeat.originShares?.isEmpty != false && heartbeat.sites?.isEmpty != false
        return try await database.withConnection { connection in
            if isIdle {
                // Nothing must survive a crash, and nothing is reported to the worker.
                _ = try await connection.pipeline(
                    [PostgresStatement(SQL.Common.commitLater), presence]
                        + done)
                return HeartbeatAnswer(leases: [], seconds: seconds)
            }
            var statements = [
                presence,
                PostgresStatement(
                    SQL.Leasing.extend,
                    [
                        "worker": .uuid(heartbeat.worker), "leases": .uuidArray(heartbeat.leases),
                        "seconds": .double(seconds),
                    ]
                ),
                PostgresStatement(
                    SQL.Leasing.stoppedJobs,
                    ["leases": .uuidArray(heartbeat.leases), "worker": .uuid(heartbeat.worker)]),
            ]
            if let origins = heartbeat.origins, !origins.isEmpty {
                statements.append(Self.decisions(origins, of: heartbeat.worker))
            }
            statements += done
            let surplus = Int64(heartbeat.surplusJobs ?? 0)
            if surplus > 0 {
                statements.append(
                    PostgresStatement(
                        SQL.Leasing.wantedJobs,
                        ["worker": .uuid(heartbeat.worker), "surplus": .int(surplus)]))
            }
            let results = try await connection.pipeline(statements)
            var answer = HeartbeatAnswer(
                leases: try results[1].rows.map { try $0.uuid("id") }, seconds: seconds)
            var (cancelled, paused): ([JobID], [JobID]) = ([], [])
            for row in results[2].rows {
                let job = JobID(try row.int64("job_id"))
                if try row.bool("is_paused") { paused.append(job) } else { cancelled.append(job) }
            }
            answer.cancelled = cancelled.isEmpty ? nil : cancelled
            answer.paused = paused.isEmpty ? nil : paused
            if surplus > 0 {
                let wanted = try results.last?.firstRow?.int("jobs") ?? 0
                answer.wantedJobs = wanted > 0 ? wanted : nil
            }
            let uses = (heartbeat.originShares ?? [], heartbeat.siteShares ?? [])
            if quotas.areNeeded || !uses.0.isEmpty || !uses.1.isEmpty {
                let shares = try await quotas.divide(
                    for: heartbeat.worker, after: .report, origins: uses.0, sites: uses.1,
                    busy: busy, connection)
                (answer.shares, answer.siteShares) = (shares.origins, shares.sites)
            }
            try await closedSites.note(heartbeat.sites ?? [], connection)
            return answer
        }
    }

    private static func presence(_ heartbeat: Heartbeat) throws(Failure) -> PostgresStatement {
        PostgresStatement(
            SQL.Leasing.worker,
            [
                "worker": .uuid(heartbeat.worker), "name": .text(heartbeat.name),
                "active_transfers": .int(Int64(heartbeat.activeTransfers)),
                "idle_connections": .int(Int64(heartbeat.idleConnections ?? 0)),
                "surplus_jobs": .int(Int64(heartbeat.surplusJobs ?? 0)),
                "progress": .text(try text(of: heartbeat.progress)),
                "issue_code": .optionalText(heartbeat.issue?.code.rawValue),
                "issue_message": .optionalText(heartbeat.issue?.message),
                "roots": heartbeat.roots.map { PostgresValue.textArray($0) } ?? .null,
                "refused_sites": .int64Array((heartbeat.refusedSites ?? []).map(\.rawValue)),
                "queues": heartbeat.queues.map { PostgresValue.textArray($0) } ?? .null,
                "version": .optionalText(heartbeat.version),
            ])
    }

    private static func decisions(
        _ origins: [OriginReport], of worker: WorkerID
    ) -> PostgresStatement {
        PostgresStatement(
            SQL.Origins.decide,
            [
                "worker": .uuid(worker), "origins": .optionalTextArray(origins.map(\.origin)),
                "concurrency": .int64Array(origins.map { Int64($0.concurrency) }),
                "bytes_per_second": .int64Array(origins.map(\.bytesPerSecond)),
                "decisions": .optionalTextArray(origins.map(\.decision)),
                "reasons": .optionalTextArray(origins.map(\.reason)),
            ])
    }

    private static func text(
        of progress: [String: TransferProgress]
    ) throws(Failure) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(progress), as: UTF8.self)
        } catch {
            throw Failure(.workerInternal, "A heartbeat cannot be encoded: \(error)")
        }
    }

    // MARK: The sweep

    /// Ends expired leases: their jobs wait again, or fail with `worker.lost` after too many
    /// attempts. A job with which a worker died is tried alone from then on, and fails with
    /// `worker.poison` at the second death. A worker has died with its jobs only if coordinators
    /// swept leases since its last heartbeat without a pause of half a lease: after an outage of
    /// all coordinators nothing is known. Returns the number of jobs taken back. Safe to run on all
    /// coordinators at once.
    @discardableResult
    package func sweep() async throws(Failure) -> Int {
        try await database.withConnection { connection in
            _ = try await connection.query(
                SQL.Leasing.served,
                [
                    "pause_seconds": .double(leaseSeconds / 2),
                    "machine": .optionalText(machine),
                ])
        }
        var jobs = 0
        while true {
            let ended = try await sweepSome()
            jobs += ended.jobs
            if ended.leases < Self.leasesPerSweep { return jobs }
        }
    }

    /// A lease holds up to `WireLimits.jobsPerLease` jobs, all of which one transaction reads.
    private static let leasesPerSweep = 50

    /// Returns the leases of workers that are thought dead; a live one lets go of a lease by letting it
    /// run out.
    private static func dead(_ ended: PostgresRows) throws -> [LeaseID] {
        try ended.filter { try $0.bool("is_dead") }.map { try $0.uuid("id") }
    }

    private func sweepSome() async throws(Failure) -> (leases: Int, jobs: Int) {
        try await database.transaction { connection in
            let ended = try await connection.query(
                SQL.Leasing.sweep,
                [
                    "limit": .int(Int64(Self.leasesPerSweep)),
                    "lease_seconds": .double(leaseSeconds),
                ]
            ).rows
            guard !ended.isEmpty else { return (0, 0) }
            let leases: [LeaseID] = try ended.map { try $0.uuid("id") }
            let jobs = try await connection.query(
                SQL.Leasing.jobsOfLeases, ["leases": .uuidArray(leases)]
            ).rows
            _ = try await connection.query(
                SQL.Leasing.noteLost,
                [
                    "dead": .uuidArray(try Self.dead(ended)),
                    "leases": .uuidArray(try jobs.map { try $0.uuid("lease_id") as LeaseID }),
                    "lanes": .int64Array(try jobs.map { try $0.int64("lane_id") }),
                ])
            guard !jobs.isEmpty else { return (leases.count, 0) }
            let held = try HeldJob.byID(
                try await connection.query(
                    SQL.Leasing.lostJobs,
                    [
                        "lanes": .int64Array(try jobs.map { try $0.int64("lane_id") }),
                        "jobs": .int64Array(try jobs.map { try $0.int64("id") }),
                    ]))
            var plan = reports.writer.plan()
            let lost = Failure(.workerLost, "The worker's lease ran out.")
            let deaths = try await WorkerDeaths.record(ended, jobs, connection)
            for job in held.values.sorted(by: { $0.id < $1.id }) {
                guard let deaths = deaths[job.id] else {
                    // No delay: the failure was the worker's, not the origin's.
                    plan.fail(job, lost, retryAfter: nil) { _, _ in 0 }
                    continue
                }
                plan.died(with: job, lost, deaths)
            }
            try await reports.writer.execute(plan, connection)
            _ = try await connection.query(SQL.Common.notifyWork)
            return (leases.count, jobs.count)
        }
    }
}
