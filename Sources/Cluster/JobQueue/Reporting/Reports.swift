package import API
package import Model
import Postgres

/// Reports of what became of leased jobs.
package struct Reports: Sendable {
    let database: QueueDatabase
    let done: DoneReports
    let writer: ReportPlanExecutor
    let renewals: URLRenewals
    let delays: RetryDelays

    /// Records what became of leased jobs, each under its own lease: one verdict a result.
    ///
    /// The fence: a result counts only from the lease that holds the job now, of the worker that
    /// reports. Anything else is `stale` and changes nothing. Reports that come at the same time go to
    /// PostgreSQL together.
    package func record(
        _ request: ReportRequest
    ) async throws(Failure) -> [ReportAnswer.Verdict] {
        let results = request.results
        // The first result of a job counts, whatever it says.
        let done = Self.firsts(of: results).filter { Self.isSettledAlone(results[$0]) }
        var verdicts = [ReportAnswer.Verdict](repeating: .stale, count: results.count)
        var acceptedJobs: Set<JobID> = []
        if !done.isEmpty {
            let accepted = try await self.done.settle(
                DoneReport(worker: request.worker, results: results, done: done))
            for (index, isAccepted) in zip(done, accepted) where isAccepted {
                verdicts[index] = .accepted
            }
            if done.count == results.count, !accepted.contains(false) { return verdicts }
            for index in done where verdicts[index] == .accepted {
                acceptedJobs.insert(results[index].job)
            }
        }
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

    /// Returns true for a fetch that is done, unless another origin has failed at it before or a
    /// cache has answered.
    private static func isSettledAlone(_ report: JobReport) -> Bool {
        guard case .done(let done) = report.outcome else { return false }
        return done.segments == nil && done.stored?.isPlausible == true
            && done.cache == nil && report.origins?.contains { $0.code != nil } != true
    }

    /// Returns the index of the first result of each job.
    private static func firsts(of results: [JobReport]) -> [Int] {
        let isAscending = results.indices.dropFirst().allSatisfy {
            results[$0 - 1].job < results[$0].job
        }
        if isAscending { return Array(results.indices) }
        var jobs: Set<JobID> = Set(minimumCapacity: results.count)
        return results.indices.filter { jobs.insert(results[$0].job).inserted }
    }

    /// The long way, by what each job is; those that are missing from the answer are stale.
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
