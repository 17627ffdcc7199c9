package import Model
import Postgres

extension JobQueue {
    /// Records what became of leased jobs, each under its own lease: one verdict a result.
    ///
    /// The fence: a result counts only from the lease that holds the job now, of the worker that
    /// reports. Anything else is `stale` and changes nothing.
    package func report(
        _ request: ReportRequest
    ) async throws(Failure) -> [ReportAnswer.Verdict] {
        try await transaction { connection in
            let ordered = request.results.sorted { $0.job < $1.job }
            var held = try await Self.held(
                ordered.map(\.job), ordered.map(\.lease), request.worker, connection)
            var plan = ReportPlan()
            var verdicts: [ReportAnswer.Verdict] = []
            verdicts.reserveCapacity(request.results.count)
            for result in request.results {
                // Removing it makes a second result for the same job stale.
                guard let job = held.removeValue(forKey: result.job) else {
                    verdicts.append(.stale)
                    continue
                }
                let isSensible = plan.add(result, of: job, delay: self.delaySeconds)
                verdicts.append(isSensible ? .accepted : .rejected)
            }
            try await self.carryOut(plan, connection)
            return verdicts
        }
    }

    /// Those of `jobs` that the lease beside each holds for this worker; locked with their assets.
    static func held(
        _ jobs: [JobID], _ leases: [LeaseID], _ worker: WorkerID, _ connection: PostgresConnection
    ) async throws -> [JobID: HeldJob] {
        let values: [PostgresValue] = [
            .int64Array(jobs.map(\.rawValue)), .uuidArray(leases), .uuid(worker),
        ]
        var rows = try await connection.query(SQL.reportedJobs, values).rows
        // A split that came first is seen by the next statement, under the locks of this one.
        if try rows.contains(where: { try $0.bool("is_unseen") }) {
            rows = try await connection.query(SQL.reportedJobs, values).rows
        }
        return try heldJobs(rows)
    }

    static func heldJobs(_ rows: PostgresRows) throws -> [JobID: HeldJob] {
        var held: [JobID: HeldJob] = [:]
        held.reserveCapacity(rows.count)
        for row in rows {
            let job = HeldJob(
                id: JobID(try row.int64(0)), kind: JobKind(rawValue: try row.string(1)) ?? .fetch,
                attempt: Int(try row.int64(2)), asset: try row.int64(3),
                segment: try row.optionalInt64(4), parent: try row.optionalInt64(7),
                partBytes: try row.optionalInt64(8),
                wholeAttempt: try row.optionalInt64(9).map { Int($0) })
            held[job.id] = job
        }
        return held
    }

    /// Writes a plan; the jobs in it are locked by this transaction.
    func carryOut(_ plan: ReportPlan, _ connection: PostgresConnection) async throws {
        var wakes = !plan.released.isEmpty
        if !plan.settled.jobs.isEmpty {
            let settled = plan.settled
            let answer = try await connection.query(
                SQL.settleFetches,
                [
                    .int64Array(settled.jobs), .boolArray(settled.done),
                    .optionalIntArray(settled.bytes), .optionalTextArray(settled.digests),
                    .boolArray(settled.adopted), .optionalTextArray(settled.codes),
                    .optionalTextArray(settled.messages),
                ])
            wakes = try wakes || Self.madeSums(answer)
        }
        if !plan.retried.jobs.isEmpty {
            _ = try await connection.query(
                SQL.jobsRetry,
                [
                    .int64Array(plan.retried.jobs), .doubleArray(plan.retried.seconds),
                    .int64Array(plan.retried.refunds),
                ])
        }
        if !plan.released.isEmpty {
            _ = try await connection.query(SQL.jobsRelease, [.int64Array(plan.released)])
        }
        for step in plan.steps {
            if try await carryOut(step, connection) { wakes = true }
        }
        if wakes { _ = try await connection.query(SQL.notifyWork, []) }
    }

    /// Writes one step; true when there is a new job that idle workers should hear of.
    private func carryOut(
        _ step: ReportPlan.Step, _ connection: PostgresConnection
    ) async throws -> Bool {
        switch step {
        case .resolved(let job, let segments):
            return try await resolved(job, segments: segments, connection)
        case .resolveFailed(let job, let failure):
            _ = try await connection.query(SQL.jobDelete, [.int(job.id.rawValue)])
            return try await settleAsset(job.asset, failure, resolveFailed: true, connection)
        case .partDone(let whole):
            return try await connection.query(SQL.partDone, [.int(whole)]).affectedRowCount > 0
        case .partFailed(let whole, let asset, let failure):
            let first = try await !connection.query(
                SQL.partFailed, [.int(whole)]
            ).rows.isEmpty
            guard first else { return false }
            return try await settleAsset(asset, failure, verifiesFailed: 1, connection)
        case .reset(let whole, let seconds):
            _ = try await connection.query(SQL.assemblyJobs, [.int(whole)])
            _ = try await connection.query(
                SQL.assemblyReset, [.int(whole), .double(seconds)])
            return false
        case .verified(let job, let stored):
            _ = try await connection.query(
                SQL.verified,
                [
                    .int(job.id.rawValue), .int(job.segment ?? 0), .int(stored.bytes),
                    .text(stored.sha256), .int(Int64(job.attempt)),
                ])
            return try await settleAsset(job.asset, nil, verifiesDone: 1, connection)
        case .verifyFailed(let job, let failure):
            _ = try await connection.query(
                SQL.verifyFailed,
                [
                    .int(job.id.rawValue), .int(job.segment ?? 0), .text(failure.code.rawValue),
                    .text(failure.message), .int(Int64(job.attempt)),
                ])
            return try await settleAsset(job.asset, failure, verifiesFailed: 1, connection)
        case .sumsWritten, .sumsFailed:
            try await settleSums(step, connection)
            return false
        case .cooldown(let job, let seconds, let reason):
            _ = try await connection.query(
                SQL.originCooldown,
                [
                    job.segment.map(PostgresValue.int) ?? .null, .int(job.asset),
                    .double(seconds), .text(reason),
                ])
            return false
        }
    }

    private func settleAsset(
        _ asset: Int64, _ failure: Failure?, verifiesDone: Int64 = 0, verifiesFailed: Int64 = 0,
        resolveFailed: Bool = false, _ connection: PostgresConnection
    ) async throws -> Bool {
        let answer = try await connection.query(
            SQL.settleAsset,
            [
                .int(asset), .int(verifiesDone), .int(verifiesFailed),
                failure.map { .text($0.code.rawValue) } ?? .null,
                failure.map { .text($0.message) } ?? .null, .bool(resolveFailed),
            ])
        return try Self.madeSums(answer)
    }

    private static func madeSums(_ answer: PostgresResult) throws -> Bool {
        try answer.rows.contains { try $0.int64("sums_jobs") > 0 }
    }

    private func settleSums(
        _ step: ReportPlan.Step, _ connection: PostgresConnection
    ) async throws {
        switch step {
        case .sumsWritten(let job):
            let isStale = try await connection.query(
                SQL.sumsIsStale, [.int(job.id.rawValue)]
            ).only().bool("stale")
            if isStale {
                _ = try await connection.query(
                    SQL.jobsRetry,
                    [.int64Array([job.id.rawValue]), .doubleArray([2]), .int64Array([1])])
            } else {
                _ = try await connection.query(
                    SQL.settleSums, [.int(job.id.rawValue), .int(0)])
            }
        case .sumsFailed(let job):
            _ = try await connection.query(SQL.settleSums, [.int(job.id.rawValue), .int(1)])
        default:
            break
        }
    }
}
