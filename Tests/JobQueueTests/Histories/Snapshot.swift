import API
import Model
import TestSupport

/// What can be seen of the queue: the status and pages of its API, and the work that is stored.
struct Snapshot: Sendable {
    struct Catalog: Sendable {
        var state: CatalogState
        var generation: Int
        var isHeldBack: Bool
        var isOverdue: Bool
        /// What becomes of its deadline.
        var outlook: DeadlineOutlook.Kind?
        /// The names of the reasons why none of its jobs runs.
        var waits: Set<String>
        var totals: Totals
        var assets: [String: Asset]
        /// Stored files: what lies under which key.
        var files: [File: StoredObject]
    }

    struct Totals: Equatable, Sendable {
        var assets = 0
        var completed = 0
        var failed = 0
        var cancelled = 0
        var segments = 0
        var segmentsDone = 0
        var segmentsFailed = 0
        var bytes: Int64 = 0
        var adoptedBytes: Int64 = 0
        var retries = 0
    }

    struct Asset: Sendable {
        var counts: Counts
        /// And has not ended.
        var isPaused: Bool
        var failure: FailureCode?
    }

    struct Counts: Equatable, Sendable {
        var state: AssetState
        var segments: Int
        var segmentsDone: Int
        var bytes: Int64
        var retries: Int
    }

    struct Job: Sendable {
        /// The one that holds it, if one does.
        var lease: Int?
        /// Of its lane; nil for its catalog's.
        var priority: Int?
    }

    struct File: Hashable, Sendable {
        var asset: String
        var key: String
    }

    var catalogs: [Int: Catalog] = [:]
    var jobs: [Work: Job] = [:]
    /// Rows that no history may leave.
    var violations: [String] = []

    /// What a lease holds.
    func held(by lease: Int) -> [Work] { jobs.filter { $0.value.lease == lease }.keys.sorted() }
}

extension Snapshot.Totals {
    init(_ totals: CatalogTotals) {
        self.init(
            assets: totals.assets, completed: totals.completed, failed: totals.failed,
            cancelled: totals.cancelled ?? 0, segments: totals.segments,
            segmentsDone: totals.segmentsDone, segmentsFailed: totals.segmentsFailed,
            bytes: totals.bytes, adoptedBytes: totals.adoptedBytes, retries: totals.retries)
    }
}

extension QueueModel {
    /// How a snapshot differs from what must be; nothing when it agrees.
    func disagreements(with seen: Snapshot) -> [String] {
        var found = seen.violations
        func compare<Value: Equatable>(
            _ what: @autoclosure () -> String, _ own: Value, _ its: Value
        ) {
            if own != its { found.append("\(what()): expected \(own), found \(its)") }
        }
        for work in Set(jobs.keys).union(seen.jobs.keys).sorted() {
            guard let its = seen.jobs[work] else {
                found.append("\(work): the job is missing")
                continue
            }
            guard let job = jobs[work] else {
                found.append("\(work): there is a job (lease \(its.lease ?? -1)), none is expected")
                continue
            }
            compare("\(work): held by lease", job.hold?.lease, its.lease)
            compare("\(work): priority", job.priority, its.priority)
        }
        compare("catalogs", catalogs.keys.sorted(), seen.catalogs.keys.sorted())
        for (number, catalog) in catalogs {
            guard let its = seen.catalogs[number] else { continue }
            compare("c\(number) state", catalog.state, its.state)
            compare("c\(number) generation", catalog.generation, its.generation)
            compare("c\(number) held back", catalog.isHeldBack, its.isHeldBack)
            compare("c\(number) overdue", catalog.isOverdue, its.isOverdue)
            compare("c\(number) outlook", catalog.outlook, its.outlook)
            if let gates = gates(number, catalog) {
                compare("c\(number) waits", gates, its.waits.intersection(Self.allGates))
            }
            let listed = catalog.assets.filter { $0.value.generation >= catalog.generation }
            let held = held(number)
            compare("c\(number) assets", listed.keys.sorted(), its.assets.keys.sorted())
            for (name, asset) in listed {
                guard let row = its.assets[name] else { continue }
                var counts = asset.counts
                if counts.state == .ready, held.contains(name) { counts.state = .inProgress }
                compare("c\(number)/\(name) state", counts.state, row.counts.state)
                compare("c\(number)/\(name) retries", asset.retries, row.counts.retries)
                compare("c\(number)/\(name)", counts, row.counts)
                compare(
                    "c\(number)/\(name) paused", asset.isPaused && !asset.state.isSettled,
                    row.isPaused)
                let isFitting =
                    row.failure.map(asset.failures.contains) ?? asset.failures.isEmpty
                if !isFitting {
                    let expected = asset.failures.map(\.rawValue).sorted()
                    found.append(
                        "c\(number)/\(name) failure: expected one of \(expected), found "
                            + (row.failure?.rawValue ?? "none"))
                }
            }
            compare("c\(number) totals", catalog.totals, its.totals)
            compare("c\(number) files", Self.files(listed), its.files)
        }
        return found
    }

    /// Names of assets of which workers hold jobs: those that are ready are shown in progress.
    private func held(_ catalog: Int) -> Set<String> {
        Set(
            jobs.filter {
                $0.key.catalog == catalog && $0.value.hold != nil && $0.key.kind != .checksums
            }.keys.map(\.name))
    }

    private static let allGates: Set<String> = ["notBefore", "queuePaused", "schedule"]

    /// What keeps all of a catalog's jobs from being leased; nil while a lease holds some of them, which may be over by
    /// now.
    private func gates(_ number: Int, _ catalog: Catalog) -> Set<String>? {
        guard catalog.state == .running else { return [] }
        guard !jobs.contains(where: { $0.key.catalog == number && $0.value.hold != nil }) else {
            return nil
        }
        var gates: Set<String> = catalog.isHeldBack ? ["notBefore"] : []
        if queues[catalog.site] == .paused { gates.insert("queuePaused") }
        return gates
    }

    /// Keeps, of failures that came together, the one that is shown.
    mutating func learnFailures(from seen: Snapshot) {
        for (number, catalog) in seen.catalogs {
            for (name, asset) in catalog.assets {
                guard let code = asset.failure else { continue }
                catalogs[number]?.assets[name]?.failures = [code]
            }
        }
    }

    private static func files(_ assets: [String: Asset]) -> [Snapshot.File: StoredObject] {
        var files: [Snapshot.File: StoredObject] = [:]
        for (name, asset) in assets {
            for segment in asset.segments.values {
                files[Snapshot.File(asset: name, key: segment.spec.key)] = segment.whole.stored
            }
        }
        return files
    }
}

extension QueueModel.Asset {
    var counts: Snapshot.Counts {
        Snapshot.Counts(
            state: state, segments: segmentCount, segmentsDone: doneCount, bytes: bytes,
            retries: retries)
    }
}

extension QueueModel.Catalog {
    /// Of its deadline.
    var outlook: DeadlineOutlook.Kind? {
        isOverdue && [.running, .completed, .failed].contains(state) ? .missed : nil
    }

    var totals: Snapshot.Totals {
        var totals = Snapshot.Totals()
        totals.retries = checksumsRetries
        for asset in assets.values where asset.isCounted {
            totals.assets += 1
            totals.completed += asset.state == .completed ? 1 : 0
            totals.failed += asset.state == .failed ? 1 : 0
            totals.cancelled += asset.state == .cancelled ? 1 : 0
            totals.segments += asset.segmentCount
            totals.segmentsDone += asset.doneCount
            totals.segmentsFailed += asset.failedCount
            totals.bytes += asset.bytes
            totals.adoptedBytes += asset.adoptedBytes
            totals.retries += asset.retries
        }
        return totals
    }
}
