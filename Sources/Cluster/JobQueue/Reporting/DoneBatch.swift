import API
import Model
import Postgres

/// Results of fetches of whole objects that are done, of one report or of several, as columns of
/// `Reporting.settleDone`.
struct DoneBatch: Sendable {
    // Columns, with a value for each lease of a report.
    private var leases: [LeaseID] = []
    private var workers: [WorkerID] = []
    /// The first and the last of the jobs in `jobs`, which are looked for among the lease's.
    private var firstJobs: [Int64] = []
    private var lastJobs: [Int64] = []
    private var reports = 1

    // Columns, with a value for each result.
    private var jobs: [Int64] = []
    /// Numbers of leases in `leases`, from 1.
    private var leaseNumbers: [Int64] = []
    private var bytes: [Int64] = []
    private var sha256: [String?] = []
    private var areReused: [Bool] = []
    private var areVerified: [Bool] = []
    private var validators: [String?] = []
    private var milliseconds: [Int64] = []
    private var refreshSeconds: [Int64?] = []
    /// The report, from 0, and the result's index in it.
    private var sources: [(report: Int, index: Int)] = []
    /// Outcomes of origins, by index; of few results only.
    private var origins: [Int: [OriginOutcome]] = [:]

    /// Number of results.
    var count: Int { jobs.count }

    /// Takes the results of a report that one function settles; of a job that is named twice, only
    /// the first.
    init(_ request: ReportRequest) {
        for index in Self.firsts(of: request.results) {
            let result = request.results[index]
            guard case .done(let done) = result.outcome, let stored = done.stored,
                done.segments == nil, stored.isPlausible, done.cache == nil,
                result.origins?.contains(where: { $0.code != nil }) != true
            else { continue }
            if let outcomes = result.origins { origins[jobs.count] = outcomes }
            let job = result.job.rawValue
            jobs.append(job)
            leaseNumbers.append(Int64(number(of: result.lease, request.worker, with: job)))
            bytes.append(stored.bytes)
            sha256.append(stored.sha256)
            areReused.append(done.isReused)
            areVerified.append(done.isVerified)
            validators.append(done.validator)
            milliseconds.append(Int64(done.milliseconds ?? 0))
            refreshSeconds.append(done.freshSeconds.map(RefreshTime.seconds(ofFresh:)))
            sources.append((0, index))
        }
    }

    /// Combines the batches of reports that arrived at the same time.
    init(_ batches: [DoneBatch]) {
        self = batches[0]
        for other in batches.dropFirst() { append(other) }
        sort()
    }

    private mutating func append(_ other: DoneBatch) {
        for (index, outcomes) in other.origins { origins[jobs.count + index] = outcomes }
        let firstLease = Int64(leases.count)
        leases += other.leases
        workers += other.workers
        firstJobs += other.firstJobs
        lastJobs += other.lastJobs
        jobs += other.jobs
        leaseNumbers += other.leaseNumbers.map { $0 + firstLease }
        bytes += other.bytes
        sha256 += other.sha256
        areReused += other.areReused
        areVerified += other.areVerified
        validators += other.validators
        milliseconds += other.milliseconds
        refreshSeconds += other.refreshSeconds
        sources += other.sources.map { ($0.report + reports, $0.index) }
        reports += other.reports
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

    /// Returns the number of the lease that a job names: mostly that of the result before.
    private mutating func number(
        of lease: LeaseID, _ worker: WorkerID, with job: Int64
    ) -> Int {
        if let known = leases.lastIndex(of: lease) {
            firstJobs[known] = min(firstJobs[known], job)
            lastJobs[known] = max(lastJobs[known], job)
            return known + 1
        }
        leases.append(lease)
        workers.append(worker)
        firstJobs.append(job)
        lastJobs.append(job)
        return leases.count
    }

    /// Orders the results by job, as rows are locked. Of a report that was sent twice the first one
    /// counts.
    private mutating func sort() {
        let isSorted = zip(jobs, jobs.dropFirst()).allSatisfy { $0 < $1 }
        if isSorted { return }
        let order = jobs.indices.sorted {
            (jobs[$0], sources[$0].report) < (jobs[$1], sources[$1].report)
        }
        func sorted<Value>(_ column: [Value]) -> [Value] { order.map { column[$0] } }
        jobs = sorted(jobs)
        leaseNumbers = sorted(leaseNumbers)
        bytes = sorted(bytes)
        sha256 = sorted(sha256)
        areReused = sorted(areReused)
        areVerified = sorted(areVerified)
        validators = sorted(validators)
        milliseconds = sorted(milliseconds)
        refreshSeconds = sorted(refreshSeconds)
        sources = sorted(sources)
        guard !origins.isEmpty else { return }
        var moved: [Int: [OriginOutcome]] = [:]
        for (index, previous) in order.enumerated() { moved[index] = origins[previous] }
        origins = moved
    }

    var values: SQLValues {
        var served: (numbers: [Int64], names: [String]) = ([], [])
        for (index, outcomes) in origins.sorted(by: { $0.key < $1.key }) {
            for outcome in outcomes where outcome.code == nil {
                served.numbers.append(Int64(index + 1))
                served.names.append(outcome.origin)
            }
        }
        return [
            "jobs": .binaryInt64Array(jobs), "lease_numbers": .binaryInt64Array(leaseNumbers),
            "bytes": .binaryInt64Array(bytes), "sha256": .binaryTextArray(sha256),
            "adopted": .boolArray(Self.orNone(areReused) { $0 }),
            "verified": .boolArray(Self.orNone(areVerified) { $0 }),
            "validators": .binaryTextArray(Self.orNone(validators) { $0 != nil }),
            "transfer_ms": .binaryInt64Array(milliseconds),
            "refresh_seconds": .optionalIntArray(Self.orNone(refreshSeconds) { $0 != nil }),
            "leases": .uuidArray(leases), "workers": .uuidArray(workers),
            "first_jobs": .int64Array(firstJobs), "last_jobs": .int64Array(lastJobs),
            "served_numbers": .int64Array(served.numbers),
            "served_origins": .textArray(served.names),
        ]
    }

    /// Returns the column, or an empty one if it has only default values.
    private static func orNone<Value>(
        _ column: [Value], _ hasValue: (Value) -> Bool
    ) -> [Value] {
        column.contains(where: hasValue) ? column : []
    }

    /// Returns the indexes of the accepted results, by report. `numbers` count the results of the
    /// batch from 1; nil for all.
    func accepted(numbers: [Int64]?) -> [[Int]] {
        var accepted = [[Int]](repeating: [], count: reports)
        for source in numbers?.map({ sources[Int($0) - 1] }) ?? sources {
            accepted[source.report].append(source.index)
        }
        return accepted
    }
}
