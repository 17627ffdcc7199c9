import API
import Model
import Postgres

/// Results of fetches out of several reports, as `Reporting.settleDone` takes them.
struct DoneBatch {
    private struct Entry {
        var job: Int64
        /// Its place in `leases`, from 1.
        var lease: Int
        var report: Int
        var place: Int
        var stored: StoredObject
        var isAdopted: Bool
        var isVerified: Bool
        var validator: String?
        var origins: [OriginOutcome]?
    }

    private var leases: [LeaseID] = []
    private var workers: [WorkerID] = []
    private var entries: [Entry] = []
    private var reports = 0

    mutating func add(_ report: DoneReport) {
        let firstLease = leases.count
        entries.reserveCapacity(entries.count + report.done.count)
        for (place, index) in report.done.enumerated() {
            guard let stored = report.results[index].stored else { continue }
            let name = report.results[index].lease
            let lease: Int
            // Mostly that of the result before.
            if let known = leases[firstLease...].lastIndex(of: name) {
                lease = known
            } else {
                lease = leases.count
                leases.append(name)
                workers.append(report.worker)
            }
            entries.append(
                Entry(
                    job: report.results[index].job.rawValue, lease: lease + 1, report: reports,
                    place: place, stored: stored,
                    isAdopted: report.results[index].isReused,
                    isVerified: report.results[index].isVerified,
                    validator: report.results[index].validator,
                    origins: report.results[index].origins))
        }
        reports += 1
    }

    /// By job, as rows are locked. Of a report that was sent twice the first one counts.
    mutating func sort() {
        let isSorted = entries.indices.dropFirst().allSatisfy {
            entries[$0 - 1].job < entries[$0].job
        }
        if isSorted { return }
        entries.sort { ($0.job, $0.report) < ($1.job, $1.report) }
    }

    var values: SQLValues {
        // Of few results only.
        var served: (places: [Int64], names: [String]) = ([], [])
        for (place, entry) in entries.enumerated() {
            for outcome in entry.origins ?? [] where outcome.code == nil {
                served.places.append(Int64(place + 1))
                served.names.append(outcome.origin)
            }
        }
        return [
            "jobs": .int64Array(entries.map(\.job)),
            "lease_numbers": .int64Array(entries.map { Int64($0.lease) }),
            "bytes": .int64Array(entries.map(\.stored.bytes)),
            "sha256": .optionalTextArray(entries.map(\.stored.sha256)),
            "adopted": .boolArray(entries.map(\.isAdopted)), "leases": .uuidArray(leases),
            "workers": .uuidArray(workers), "verified": .boolArray(entries.map(\.isVerified)),
            "served_numbers": .int64Array(served.places),
            "served_origins": .textArray(served.names),
            "validators": .optionalTextArray(entries.map(\.validator)),
        ]
    }

    /// Which results of each report were accepted. `places` counts from 1 and is nil for all.
    func accepted(places: [Int64]?, of all: [DoneReport]) -> [[Bool]] {
        var accepted = all.map { [Bool](repeating: false, count: $0.done.count) }
        func accept(_ entry: Entry) { accepted[entry.report][entry.place] = true }
        if let places {
            for place in places { accept(entries[Int(place) - 1]) }
        } else {
            for entry in entries { accept(entry) }
        }
        return accepted
    }
}
