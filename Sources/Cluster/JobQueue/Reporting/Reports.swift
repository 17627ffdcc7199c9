package import API
package import Model
import Postgres
import Services

/// Reports of what became of leased jobs.
package struct Reports: Sendable {
    let database: QueueDatabase
    let writer: ReportPlanExecutor
    let renewals: URLRenewals
    let delays: RetryDelays
    /// Batches of reports that arrive at the same time share a statement.
    let groups = GroupedCalls<Key, DoneBatch, Result<[Int], Failure>>(
        width: 3, maxWeight: 2_000, besideWeight: 400)

    /// All batches go together.
    enum Key { case all }

    /// Records what became of leased jobs, each under its own lease: one verdict a result.
    ///
    /// The fence: a result counts only from the lease that holds the job now, of the worker that
    /// reports. Anything else is `stale` and changes nothing. Done fetches of whole objects, which
    /// are most results, are settled by one function; the others by a plan of what each changes.
    package func record(
        _ request: ReportRequest
    ) async throws(Failure) -> [ReportAnswer.Verdict] {
        let results = request.results
        var verdicts = [ReportAnswer.Verdict](repeating: .stale, count: results.count)
        var acceptedJobs: Set<JobID> = []
        let done = DoneBatch(request)
        if done.count > 0 {
            let accepted = try await settle(done)
            for index in accepted { verdicts[index] = .accepted }
            if accepted.count == results.count { return verdicts }
            for index in accepted { acceptedJobs.insert(results[index].job) }
        }
        // The first result of a job counts, whatever it says.
        let rest = results.filter { !acceptedJobs.contains($0.job) }
        guard !rest.isEmpty else { return verdicts }
        var settled = try await reportRest(rest, request.worker)
        for index in results.indices {
            // A second result for the same job is stale.
            guard let verdict = settled.removeValue(forKey: results[index].job) else { continue }
            verdicts[index] = verdict
        }
        return verdicts
    }

    /// Settles done fetches; returns the indexes of the accepted results in their report.
    private func settle(_ done: DoneBatch) async throws(Failure) -> [Int] {
        try await groups.answer(to: done, of: .all, weight: max(done.count, minGroupedWeight)) {
            batches in
            await retryIndividually(batches) { (batches) async throws(Failure) in
                let batch = DoneBatch(batches)
                let values = batch.values
                let numbers = try await database.withConnection { connection in
                    try await connection.query(SQL.Reporting.settleDone, values).only()
                        .optionalInt64Array("places")
                }
                return batch.accepted(numbers: numbers)
            }
        }.get()
    }

    /// Records results by what each job is; those that are missing from the answer are stale.
    private func reportRest(
        _ results: [JobReport], _ worker: WorkerID
    ) async throws(Failure) -> [JobID: ReportAnswer.Verdict] {
        try await database.transaction { connection in
            // The first result of a job counts, with the lease that it names.
            var named: Set<JobID> = []
            let ordered = results.filter { named.insert($0.job).inserted }.sorted {
                $0.job < $1.job
            }
            var held = try await HeldJob.find(
                ordered.map(\.job), ordered.map(\.lease), worker, connection)
            var plan = writer.plan(
                rejections: try await renewals.rejections(of: results, held, connection))
            var verdicts: [JobID: ReportAnswer.Verdict] = [:]
            var answers: [(segment: Int64, answer: CacheAnswer)] = []
            for result in results {
                guard let job = held.removeValue(forKey: result.job) else { continue }
                let isSensible = plan.add(result, of: job, delay: delays.seconds)
                if isSensible, let segment = job.segment,
                    let answer = result.done?.cache.flatMap({ CacheAnswer(text: $0) })
                {
                    answers.append((segment, answer))
                }
                verdicts[result.job] = isSensible ? .accepted : .rejected
            }
            try await writer.execute(plan, connection)
            try await CacheAnswers.note(answers, connection)
            return verdicts
        }
    }
}
