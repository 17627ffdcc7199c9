package import Model
import Postgres
import Synchronization

extension JobQueue {
    /// Results of one worker, some of which say that a fetch of a whole object is done.
    struct DoneReport: Sendable {
        /// All go together.
        enum Place { case all }

        var worker: WorkerID
        var results: [JobReport]
        /// Where those are in `results`, no job twice.
        var done: [Int]
    }

    /// Records what became of leased jobs, each under its own lease: one verdict a result.
    ///
    /// The fence: a result counts only from the lease that holds the job now, of the worker that
    /// reports. Anything else is `stale` and changes nothing. Reports that come at the same time go to
    /// PostgreSQL together.
    package func report(
        _ request: ReportRequest
    ) async throws(Failure) -> [ReportAnswer.Verdict] {
        let results = request.results
        // The first result of a job counts, whatever it says.
        let done = Self.firsts(of: results).filter { place in
            results[place].outcome == .done && results[place].segments == nil
                && results[place].stored?.isPlausible == true
                // One that another origin has failed at before.
                && results[place].origins?.contains { $0.code != nil } != true
        }
        var verdicts = [ReportAnswer.Verdict](repeating: .stale, count: results.count)
        var acceptedJobs: Set<JobID> = []
        if !done.isEmpty {
            let accepted = try await reportDone(
                DoneReport(worker: request.worker, results: results, done: done))
            for (place, isAccepted) in zip(done, accepted) where isAccepted {
                verdicts[place] = .accepted
            }
            if done.count == results.count, !accepted.contains(false) { return verdicts }
            for place in done where verdicts[place] == .accepted {
                acceptedJobs.insert(results[place].job)
            }
        }
        let rest = results.filter { !acceptedJobs.contains($0.job) }
        guard !rest.isEmpty else { return verdicts }
        var settled = try await reportRest(rest, request.worker)
        for place in results.indices {
            // A second result for the same job is stale.
            guard let verdict = settled.removeValue(forKey: results[place].job) else { continue }
            verdicts[place] = verdict
        }
        return verdicts
    }

    /// Where the first result of each job is.
    private static func firsts(of results: [JobReport]) -> [Int] {
        let isAscending = results.indices.dropFirst().allSatisfy {
            results[$0 - 1].job < results[$0].job
        }
        if isAscending { return Array(results.indices) }
        var jobs: Set<JobID> = Set(minimumCapacity: results.count)
        return results.indices.filter { jobs.insert(results[$0].job).inserted }
    }

    /// The short way, in one statement: fetches of whole objects that are done. Answers for each
    /// whether it was accepted; of the others nothing is known yet.
    private func reportDone(_ report: DoneReport) async throws(Failure) -> [Bool] {
        try await doneReports.answer(
            to: report, of: .all, weight: max(report.done.count, Self.leastWeight)
        ) { reports in
            await Self.eachForItself(reports) { (reports) async throws(Failure) in
                try await self.settle(reports)
            }
        }.get()
    }

    /// What `run` answers to all calls together, or, when one of them may be to blame that they fail,
    /// to each alone.
    static func eachForItself<Call, Answer>(
        _ calls: [Call], _ run: ([Call]) async throws(Failure) -> [Answer]
    ) async -> [Result<Answer, Failure>] {
        do throws(Failure) {
            return try await run(calls).map { .success($0) }
        } catch {
            guard calls.count > 1, error.code == .workerInternal else {
                return calls.map { _ in .failure(error) }
            }
        }
        var answers: [Result<Answer, Failure>] = []
        for call in calls {
            do throws(Failure) {
                answers += try await run([call]).map { .success($0) }
            } catch {
                answers.append(.failure(error))
            }
        }
        return answers
    }

    /// Settles reports together; for each the results that were accepted.
    private func settle(_ reports: [DoneReport]) async throws(Failure) -> [[Bool]] {
        var batch = DoneBatch()
        for report in reports { batch.add(report) }
        batch.sort()
        let values = batch.values
        let places = try await withConnection { connection in
            try await self.settleDone(values, connection)
        }
        return batch.accepted(places: places, of: reports)
    }

    /// Nearly all segments have no result yet, and a plain insert costs a sixth less than one that
    /// asks. Where one is refused nothing was written; segments that are done again come in runs.
    private func settleDone(
        _ values: SQLValues, _ connection: PostgresConnection
    ) async throws -> [Int64]? {
        if replacingCalls.load(ordering: .relaxed) <= 0 {
            do throws(PostgresError) {
                return try await connection.query(SQL.Reporting.settleDone, values).only()
                    .optionalInt64Array("places")
            } catch {
                guard error.sqlState == "23505" else { throw error }
                replacingCalls.store(Self.replacingRun, ordering: .relaxed)
            }
        }
        replacingCalls.subtract(1, ordering: .relaxed)
        return try await connection.query(SQL.Reporting.settleDoneAgain, values).only()
            .optionalInt64Array("places")
    }

    private static let replacingRun = 100

    /// The long way, by what each job is; those that are missing from the answer are stale.
    private func reportRest(
        _ results: [JobReport], _ worker: WorkerID
    ) async throws(Failure) -> [JobID: ReportAnswer.Verdict] {
        try await transaction { connection in
            // The first result of a job counts, with the lease that it names.
            var named: Set<JobID> = []
            let ordered = results.filter { named.insert($0.job).inserted }.sorted {
                $0.job < $1.job
            }
            var held = try await Self.held(
                ordered.map(\.job), ordered.map(\.lease), worker, connection)
            var plan = ReportPlan(
                mostAttemptsAtMirrors: self.settings.mostAttemptsAtMirrors,
                refusals: try await self.refusals(of: results, held, connection))
            var verdicts: [JobID: ReportAnswer.Verdict] = [:]
            for result in results {
                guard let job = held.removeValue(forKey: result.job) else { continue }
                let isSensible = plan.add(result, of: job, delay: self.delaySeconds)
                verdicts[result.job] = isSensible ? .accepted : .rejected
            }
            try await self.carryOut(plan, connection)
            return verdicts
        }
    }

    /// Those of `jobs` that the lease beside each holds for this worker; locked with their assets.
    static func held(
        _ jobs: [JobID], _ leases: [LeaseID], _ worker: WorkerID, _ connection: PostgresConnection
    ) async throws -> [JobID: HeldJob] {
        let values: SQLValues = [
            "jobs": .int64Array(jobs.map(\.rawValue)), "leases": .uuidArray(leases),
            "worker": .uuid(worker),
        ]
        var result = try await connection.query(SQL.Reporting.reportedJobs, values)
        // A split that came first is seen by the next statement, under the locks of this one.
        let isUnseen = try result.column("is_unseen")
        if try result.rows.contains(where: { try $0.bool(isUnseen) }) {
            result = try await connection.query(SQL.Reporting.reportedJobs, values)
        }
        return try HeldJob.byID(result)
    }

    /// Writes a plan; the jobs in it are locked by this transaction.
    func carryOut(_ plan: ReportPlan, _ connection: PostgresConnection) async throws {
        var wakes = false
        if !plan.settled.jobs.isEmpty {
            let settled = plan.settled
            _ = try await connection.query(
                SQL.Reporting.settleFetches,
                [
                    "lanes": .int64Array(settled.lanes), "jobs": .int64Array(settled.jobs),
                    "done": .boolArray(settled.done), "bytes": .optionalIntArray(settled.bytes),
                    "sha256": .optionalTextArray(settled.digests),
                    "adopted": .boolArray(settled.adopted),
                    "codes": .optionalTextArray(settled.codes),
                    "messages": .optionalTextArray(settled.messages),
                    "verified": .boolArray(settled.verified),
                    "validators": .optionalTextArray(settled.validators),
                ])
        }
        if !plan.refreshes.jobs.isEmpty { try await Self.settle(plan.refreshes, connection) }
        let retried = plan.retried
        if !plan.sums.jobs.isEmpty {
            _ = try await connection.query(
                SQL.ChecksumFiles.settle,
                [
                    "lanes": .int64Array(plan.sums.lanes), "jobs": .int64Array(plan.sums.jobs),
                    "failed": .int64Array(plan.sums.failed),
                ])
        }
        if !retried.jobs.isEmpty {
            _ = try await connection.query(
                SQL.Reporting.retry,
                [
                    "lanes": .int64Array(retried.lanes), "jobs": .int64Array(retried.jobs),
                    "seconds": .doubleArray(retried.seconds),
                    "attempts": .int64Array(retried.attempts), "counts": .boolArray(retried.counts),
                    "codes": .optionalTextArray(retried.codes),
                    "messages": .optionalTextArray(retried.messages),
                    "await_own_origins": .boolArray(retried.awaitOwnOrigins),
                    "isolate": .boolArray(retried.isolate),
                    "reasons": .optionalTextArray(retried.reasons),
                    "refused_codes": .optionalTextArray(retried.refusedCodes),
                    "refused_messages": .optionalTextArray(retried.refusedMessages),
                ])
            wakes = retried.seconds.contains { $0 <= 0 }
        }
        if !plan.renewals.isEmpty { try await Self.queue(plan.renewals, connection) }
        if !plan.origins.isEmpty { try await book(plan.origins, connection) }
        for step in plan.steps {
            if try await carryOut(step, connection) { wakes = true }
        }
        if wakes { _ = try await connection.query(SQL.Common.notifyWork) }
        if !plan.siteFailures.lanes.isEmpty { try await fail(plan.siteFailures, connection) }
    }

    /// Writes one step; true when there is a new job that idle workers should hear of.
    private func carryOut(
        _ step: ReportPlan.Step, _ connection: PostgresConnection
    ) async throws -> Bool {
        switch step {
        case .resolved(let job, _) where job.isRenewal:
            return try await endRenewal(job, nil, connection)
        case .resolveFailed(let job, let failure) where job.isRenewal:
            return try await endRenewal(job, failure, connection)
        case .resolved(let job, let segments):
            return try await resolved(job, segments: segments, connection)
        case .resolveFailed(let job, let failure):
            _ = try await connection.query(
                SQL.Reporting.deleteJob, ["lane": .int(job.lane), "job": .int(job.id.rawValue)])
            try await settleAsset(job.asset, failure, resolveFailed: true, connection)
            return false
        case .partDone(let whole, let bytes, let stated):
            return try await connection.query(
                SQL.Multipart.partDone,
                ["whole": .int(whole), "digests": .text(stated), "bytes": .int(bytes)]
            ).affectedRowCount > 0
        case .partFailed(let whole, let asset, let failure):
            try await failPart(of: whole, asset, failure, connection)
            return false
        case .reset(let whole, let seconds, let counts, let isDivisible):
            // The job that reports it is one of them, so this runs twice at least.
            while try await connection.query(
                SQL.Multipart.deleteJobs, ["whole": .int(whole)]
            ).only().int64("jobs") > 0 {}
            _ = try await connection.query(
                SQL.Multipart.reset,
                [
                    "whole": .int(whole), "seconds": .double(seconds),
                    "uncounted": .int(counts ? 0 : 1), "is_whole": .bool(!isDivisible),
                ])
            return false
        case .verified(let job, let stored, let isCompared):
            _ = try await connection.query(
                SQL.Multipart.verified,
                [
                    "job": .int(job.id.rawValue), "segment": .int(job.segment ?? 0),
                    "bytes": .int(stored.bytes), "sha256": .text(stored.sha256),
                    "attempts": .int(Int64(job.attempt)), "lane": .int(job.lane),
                    "verified": .bool(isCompared),
                ])
            try await settleAsset(job.asset, nil, verifiesDone: 1, connection)
            return false
        case .verifyFailed(let job, let failure):
            _ = try await connection.query(
                SQL.Multipart.verifyFailed,
                [
                    "job": .int(job.id.rawValue), "segment": .int(job.segment ?? 0),
                    "code": .text(failure.code.rawValue), "message": .text(failure.message),
                    "attempts": .int(Int64(job.attempt)), "lane": .int(job.lane),
                ])
            try await settleAsset(job.asset, failure, verifiesFailed: 1, connection)
            return false
        case .switchFailed(let job, let failure):
            _ = try await connection.query(
                SQL.Refreshing.failSwitch,
                [
                    "lane": .int(job.lane), "job": .int(job.id.rawValue),
                    "code": .text(failure.code.rawValue), "message": .text(failure.message),
                ])
            return false
        }
    }

    /// Fails a file in parts, unless another part of it has.
    func failPart(
        of whole: Int64, _ asset: Int64, _ failure: Failure, _ connection: PostgresConnection
    ) async throws {
        let first = try await !connection.query(SQL.Multipart.partFailed, ["whole": .int(whole)])
            .rows.isEmpty
        guard first else { return }
        try await settleAsset(asset, failure, verifiesFailed: 1, connection)
    }

    func settleAsset(
        _ asset: Int64, _ failure: Failure?, verifiesDone: Int64 = 0, verifiesFailed: Int64 = 0,
        resolveFailed: Bool = false, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            SQL.Reporting.settleAsset,
            [
                "asset": .int(asset), "verifies_done": .int(verifiesDone),
                "verifies_failed": .int(verifiesFailed),
                "failure_code": failure.map { .text($0.code.rawValue) } ?? .null,
                "failure_message": failure.map { .text($0.message) } ?? .null,
                "resolve_failed": .bool(resolveFailed),
            ])
    }
}
