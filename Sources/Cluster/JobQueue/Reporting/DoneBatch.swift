import API
import Model
import Postgres

/// Results of fetches from several reports, as columns of `Reporting.settleDone`.
struct DoneBatch {
    private var leases: [LeaseID] = []
    private var workers: [WorkerID] = []
    private var reports = 0

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
    /// Number of the report, and the result's position in its `done`.
    private var sources: [(report: Int, place: Int)] = []
    /// Outcomes of origins, by index; of few results only.
    private var origins: [Int: [OriginOutcome]] = [:]

    mutating func add(_ report: DoneReport) {
        let firstLease = leases.count
        for (position, index) in report.done.enumerated() {
            let result = report.results[index]
            guard case .done(let done) = result.outcome, let stored = done.stored else { continue }
            if let outcomes = result.origins { origins[jobs.count] = outcomes }
            jobs.append(result.job.rawValue)
            leaseNumbers.append(
                Int64(number(of: result.lease, after: firstLease, report.worker)))
            bytes.append(stored.bytes)
            sha256.append(stored.sha256)
            areReused.append(done.isReused)
            areVerified.append(done.isVerified)
            validators.append(done.validator)
            milliseconds.append(Int64(done.milliseconds ?? 0))
            refreshSeconds.append(done.freshSeconds.map(RefreshTime.seconds(ofFresh:)))
            sources.append((reports, position))
        }
        reports += 1
    }

    /// Returns the number of a report's lease: mostly that of the result before.
    private mutating func number(
        of lease: LeaseID, after first: Int, _ worker: WorkerID
    ) -> Int {
        if let known = leases[first...].lastIndex(of: lease) { return known + 1 }
        leases.append(lease)
        workers.append(worker)
        return leases.count
    }

    /// Orders the results by job, as rows are locked. Of a report that was sent twice the first one
    /// counts.
    mutating func sort() {
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
        var served: (places: [Int64], names: [String]) = ([], [])
        for (index, outcomes) in origins.sorted(by: { $0.key < $1.key }) {
            for outcome in outcomes where outcome.code == nil {
                served.places.append(Int64(index + 1))
                served.names.append(outcome.origin)
            }
        }
        return [
            "jobs": .int64Array(jobs), "lease_numbers": .int64Array(leaseNumbers),
            "bytes": .int64Array(bytes), "sha256": .optionalTextArray(sha256),
            "adopted": .boolArray(areReused), "leases": .uuidArray(leases),
            "workers": .uuidArray(workers), "verified": .boolArray(areVerified),
            "served_numbers": .int64Array(served.places),
            "served_origins": .textArray(served.names),
            "validators": .optionalTextArray(validators),
            "transfer_ms": .int64Array(milliseconds),
            "refresh_seconds": .optionalIntArray(refreshSeconds),
        ]
    }

    /// Which results of each report were accepted. `places` counts from 1 and is nil for all.
    func accepted(places: [Int64]?, of all: [DoneReport]) -> [[Bool]] {
        var accepted = all.map { [Bool](repeating: false, count: $0.done.count) }
        for index in places?.map({ Int($0) - 1 }) ?? Array(sources.indices) {
            accepted[sources[index].report][sources[index].place] = true
        }
        return accepted
    }
}
