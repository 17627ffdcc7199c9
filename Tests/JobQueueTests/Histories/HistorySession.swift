import API
import Foundation
import JobQueue
import Model
import TestSupport

/// The names that one history uses, and how its steps become requests to the queue.
struct HistorySession: Sendable {
    let cluster: HistoryCluster
    private(set) var catalogs: [Int: CatalogID] = [:]
    private var jobs: [Ticket: JobID] = [:]
    /// Own origins of files that were leased in the lanes of mirrors.
    private var origins: [Ticket: String] = [:]
    /// Storage URLs of the sites, and the names of their queues.
    static let sites = ["file:///srv/edge/one", "file:///srv/edge/two"]
    private static let queues = ["srv-edge-one", "srv-edge-two"]
    /// The result of a step: the answer, and the numbers of its jobs.
    struct Outcome: Sendable {
        var answer: Answer
        var jobs: [Ticket: JobID] = [:]
        var origins: [Ticket: String] = [:]
    }

    init(_ cluster: HistoryCluster) { self.cluster = cluster }

    mutating func keep(_ outcome: Outcome) {
        jobs.merge(outcome.jobs) { $1 }
        origins.merge(outcome.origins) { $1 }
    }

    // MARK: Names

    private enum Kind: Int {
        case worker = 1
        case lease
        case split
        case volume
    }

    private static func uuid(_ kind: Kind, _ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "0000000\(kind.rawValue)-0000-4000-8000-"
            + String(repeating: "0", count: 12 - digits.count) + digits
    }

    private static func number(_ id: UniqueID<some Any>) -> Int {
        Int(id.description.suffix(12), radix: 16) ?? -1
    }

    private static func id<Entity>(_ kind: Kind, _ number: Int) -> UniqueID<Entity> {
        UniqueID(stringLiteral: uuid(kind, number))
    }

    static func worker(_ number: Int) -> WorkerID { id(.worker, number) }
    static func lease(_ number: Int) -> LeaseID { id(.lease, number) }

    /// A job's number is not what it is known by, but it has to be named in requests.
    private func job(_ ticket: Ticket) -> JobID { jobs[ticket] ?? JobID(0) }

    /// What a job is of, from its key: catalog, folder, asset, and file of a title.
    private static func work(_ job: Job) -> Work {
        let path = job.key.split(separator: "/")
        let catalog = path.first.flatMap { Int($0.dropFirst()) } ?? -1
        if job.kind == .checksums { return .checksums(catalog, job.key) }
        let asset = AssetKey(catalog: catalog, name: path.count > 2 ? String(path[2]) : "")
        let ordinal = path.count > 3 ? Int(path[3].prefix { $0 != "." }) ?? 0 : 0
        switch job.kind {
        case .resolve: return .resolve(asset)
        case .verify: return .verify(asset, ordinal)
        case .refresh: return .refresh(asset)
        case .publish: return .publish(asset)
        default: return .fetch(asset, ordinal, offset: job.offset)
        }
    }

    private static func granted(_ job: Job) -> Granted {
        let work = work(job)
        var granted = Granted(work: work, attempt: job.attempt)
        granted.length = job.length
        granted.sha256 = job.sha256
        if job.kind == .fetch { granted.known = job.previous }
        if work.offset != nil || job.kind == .verify {
            granted.split = job.multipart.map { number($0.id) }
        }
        if job.kind == .verify {
            granted.parts = Dictionary(
                (job.multipart?.parts ?? []).map { ($0.offset, $0.sha256) }
            ) { first, _ in first }
        }
        return granted
    }

    // MARK: Requests

    /// Asks a coordinator for a step.
    func run(_ step: Step, on coordinator: Int) async throws -> Outcome {
        do {
            return try await request(step, cluster.coordinators[coordinator])
        } catch let failure as Failure {
            switch failure.code {
            case "cluster.databaseUnreachable": return Outcome(answer: .unknown)
            case "worker.internal": return Outcome(answer: .broken(failure.message))
            default: return Outcome(answer: .refused(failure.code))
            }
        }
    }

    private func request(_ step: Step, _ queue: JobQueue) async throws -> Outcome {
        switch step {
        case .open(let catalog):
            var submission = CatalogSubmission(
                name: "c\(catalog)", storageURL: Self.sites[QueueModel.site(ofCatalog: catalog)],
                deadline: QueueModel.deadline(ofCatalog: catalog))
            var titles = TitleOptions()
            titles.keyQueries = leftOutOfKeys
            submission.titles = titles
            let handle = try await queue.catalogs.submissions.open(submission)
            return Outcome(answer: .opened(generation: handle.generation))
        case .add(let catalog, let generation, let specs):
            try await queue.catalogs.submissions.add(
                specs.map(\.submission), to: id(catalog), generation: generation)
        case .start(let catalog, let generation):
            try await queue.catalogs.submissions.start(id(catalog), generation: generation)
        case .interrupt(let catalog): try await queue.catalogs.submissions.interrupt(id(catalog))
        case .claim(let lease, let worker, let sites, let most):
            return try await claim(lease, worker, sites, most, queue)
        case .release(let worker, let lease):
            try await queue.jobs.leases.release(
                LeaseRelease(worker: Self.worker(worker), lease: Self.lease(lease)))
        case .heartbeat(let worker, let leases):
            let answer = try await queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: Self.worker(worker), leases: leases.map(Self.lease), progress: [:],
                    name: "w\(worker)", activeTransfers: 0))
            return Outcome(
                answer: .leases(
                    Set(answer.leases.map(Self.number)),
                    cancelled: works(of: answer.cancelled ?? [], heldBy: leases)))
        case .reportRest, .choose: break
        case .operate(let operation):
            var answer = try await queue.catalogs.selections.apply(
                SelectionAction(
                    operation.action, catalog: operation.catalog.map { CatalogReference(id($0)) },
                    asset: operation.asset, failureCode: operation.code,
                    priority: operation.priority,
                    notBefore: operation.action != .reschedule
                        ? nil : operation.isHeldBack ? Self.never : 0))
            // Only what follows a refresh needs its number.
            answer.catalog = nil
            return Outcome(answer: .selected(answer))
        case .control(let site, let state):
            let status = try await queue.sites.set(state, ofQueue: Self.queues[site])
            return Outcome(answer: .queue(status.state, leased: status.leased))
        case .recordVolume(let worker, let lease, let site, let volume, let fileSystem):
            let id = try await queue.sites.list().sites.first { $0.storageURL == Self.sites[site] }?
                .id
            let recorded = try await queue.sites.volumes.volume(
                SiteVolumeRequest(
                    worker: Self.worker(worker), site: id ?? SiteID(1_000_000),
                    lease: Self.lease(lease), volume: Self.id(.volume, volume),
                    fileSystem: fileSystem.flatMap { FileSystemID("\($0)") }))
            return Outcome(
                answer: .volume(
                    recorded.volume.map { Self.number($0) },
                    fileSystem: recorded.fileSystem.flatMap { Int($0.description) }))
        case .acceptVolume(let site):
            var settings = SiteSettings(site: Self.sites[site])
            settings.acceptsVolume = true
            return Outcome(
                answer: .volume(
                    try await queue.sites.configure(settings).volume.map { Self.number($0) },
                    fileSystem: nil))
        case .report(let worker, let results):
            return Outcome(answer: .verdicts(try await report(results, by: worker, queue)))
        case .addSegments(let worker, let ticket, let segments):
            let verdict = try await queue.jobs.segments.add(
                SegmentBatch(
                    worker: Self.worker(worker), job: job(ticket), lease: Self.lease(ticket.lease),
                    segments: segments.map(\.resolved)))
            return Outcome(answer: .verdicts([verdict]))
        case .split(let worker, let ticket, let number, let totalBytes):
            return try await split(ticket, by: worker, number, totalBytes, queue)
        case .beginRefresh(let worker, let ticket):
            _ = try await queue.files.refreshes.files(
                RefreshFilesRequest(
                    worker: Self.worker(worker), job: job(ticket),
                    lease: Self.lease(ticket.lease)))
        case .handIn(let worker, let ticket, let spec, let object, let publishes):
            let verdict = try await queue.files.refreshes.add(
                RefreshBatch(
                    worker: Self.worker(worker), job: job(ticket), lease: Self.lease(ticket.lease),
                    files: [Self.file(spec, of: ticket.work, object, publishes)],
                    publication: publishes ? RefreshBatch.Publication() : nil))
            return Outcome(answer: .verdicts([verdict]))
        case .sweep(let times): return Outcome(answer: .swept(try await sweep(times, queue)))
        case .fold: _ = try await queue.housekeeping.tallies.fold()
        case .tidy:
            try await cluster.database.age()
            try await queue.housekeeping.tables.delete()
            try await queue.housekeeping.multipartFiles.release()
        case .expire(let leases): try await cluster.database.expire(leases.map(Self.lease))
        case .due: try await cluster.database.makeDue()
        }
        return Outcome(answer: .nothing)
    }

    private static func file(
        _ spec: SegmentSpec, of work: Work, _ object: StoredObject, _ isStaged: Bool
    ) -> RefreshedFile {
        var segment = spec.resolved
        segment.role = work.name.hasPrefix("t") ? .media : .file
        segment.bytes = spec.bytes
        segment.sha256 = spec.sha256
        return RefreshedFile(segment: segment, stored: object, staged: isStaged ? 1 : nil)
    }

    /// In seconds since 1970.
    private static let never = 4e9

    private func id(_ catalog: Int) -> CatalogID { catalogs[catalog] ?? CatalogID(1_000_000) }

    /// What jobs are of that were cancelled.
    private func works(of cancelled: [JobID], heldBy leases: [Int]) -> [Work] {
        cancelled.compactMap { id in
            jobs.first { $0.value == id && leases.contains($0.key.lease) }?.key.work.wholeFile
        }.sorted()
    }

    private func claim(
        _ lease: Int, _ worker: Int, _ sites: [Int], _ most: Int, _ queue: JobQueue
    ) async throws -> Outcome {
        // What has a mirror is found there, as it is once a second.
        try await queue.origins.mirrors.move()
        let grant = try await queue.jobs.claims.lease(
            LeaseRequest(
                worker: Self.worker(worker), queues: sites.map { Self.queues[$0] }, maxJobs: most,
                waitMilliseconds: 0), as: Self.lease(lease))
        var outcome = Outcome(answer: .granted(grant.jobs.map(Self.granted)))
        for job in grant.jobs {
            let ticket = Ticket(lease: lease, work: Self.work(job))
            outcome.jobs[ticket] = job.id
            if job.mirrorOrigin != nil { outcome.origins[ticket] = originOf(job.url) }
        }
        return outcome
    }

    private func split(
        _ ticket: Ticket, by worker: Int, _ number: Int, _ totalBytes: Int64, _ queue: JobQueue
    ) async throws -> Outcome {
        let verdict = try await queue.jobs.splits.split(
            SplitRequest(
                worker: Self.worker(worker), job: job(ticket), lease: Self.lease(ticket.lease),
                multipart: Self.id(.split, number), totalBytes: totalBytes,
                partBytes: Step.partBytes, validator: "\"v\(number)\""))
        return Outcome(answer: .splitInto(verdict))
    }

    /// So many coordinators at once, each of which looks for work that mirrors can do meanwhile; what they took back
    /// together.
    private func sweep(_ times: Int, _ queue: JobQueue) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<times {
                let sweeper = number == 0 ? queue : cluster.coordinators[number]
                group.addTask { try await sweeper.jobs.leases.sweep() }
                group.addTask {
                    try await sweeper.origins.mirrors.move()
                    return 0
                }
            }
            return try await group.reduce(0, +)
        }
    }

    // MARK: Reports

    private func report(
        _ results: [WorkResult], by worker: Int, _ queue: JobQueue
    ) async throws -> [ReportAnswer.Verdict] {
        let reports = results.map { result in
            var report = JobReport(
                job: job(result.ticket), lease: Self.lease(result.ticket.lease), outcome: .done())
            result.outcome.fill(&report)
            let whole = Ticket(lease: result.ticket.lease, work: result.ticket.work.wholeFile)
            if let code = report.failure?.code, let origin = origins[whole] {
                // Whoever else was asked first.
                report.origins = [
                    OriginOutcome(
                        origin: origin, code: code, retryAfterSeconds: report.retryAfterSeconds)
                ]
            }
            return report
        }
        guard cluster.fence == .none else {
            return try await queue.jobs.reports.record(
                ReportRequest(worker: Self.worker(worker), results: reports))
        }
        var verdicts: [ReportAnswer.Verdict] = []
        for (result, report) in zip(results, reports) {
            let passed = try await passed(report, of: result.ticket.work, by: worker)
            verdicts += try await queue.jobs.reports.record(passed)
        }
        return verdicts
    }

    /// A report under the lease that holds its job now, whichever worker sent it.
    private func passed(
        _ report: JobReport, of work: Work, by worker: Int
    ) async throws -> ReportRequest {
        var request = ReportRequest(worker: Self.worker(worker), results: [report])
        let holders = try await cluster.database.jobs().filter { $0.lease != nil }
        if let holder = holders.first(where: { Self.work($0) == work }), let lease = holder.lease,
            let owner = holder.worker
        {
            request.worker = owner
            request.results[0].job = holder.id
            request.results[0].lease = lease
        }
        return request
    }

    // MARK: Looking

    private static func work(_ job: HistoryDatabase.StoredJob) -> Work {
        Work(
            kind: JobKind(rawValue: job.kind) ?? .fetch,
            catalog: Int(job.catalog.dropFirst()) ?? -1, name: job.name,
            ordinal: Int(job.ordinal), offset: job.offset)
    }

    /// Reads all that can be seen, and learns the numbers of catalogs and jobs.
    mutating func look() async throws -> Snapshot {
        let queue = cluster.coordinators[0]
        try await cluster.database.settleTotals(queue)
        var seen = Snapshot()
        for status in try await queue.workers.clusterStatus().catalogs {
            guard let number = Int(status.name.dropFirst()) else { continue }
            catalogs[number] = status.id
            let page = try await queue.catalogs.assets(
                of: status.id, after: AssetID(0), state: nil, limit: 100)
            var names: [AssetID: String] = [:]
            var assets: [String: Snapshot.Asset] = [:]
            for asset in page.assets {
                names[asset.id] = asset.name
                let counts = Snapshot.Counts(
                    state: asset.state, segments: asset.segments,
                    segmentsDone: asset.segmentsDone, bytes: asset.bytes, retries: asset.retries)
                assets[asset.name] = Snapshot.Asset(
                    counts: counts, isPaused: asset.isPaused ?? false,
                    failure: asset.failure?.code)
            }
            var files: [Snapshot.File: StoredObject] = [:]
            for file in try await queue.catalogs.files(of: status.id, after: nil, limit: 1_000)
                .files
            {
                let index = Snapshot.File(asset: names[file.asset] ?? "?", key: file.path)
                files[index] = StoredObject(bytes: file.bytes, sha256: file.sha256)
            }
            seen.catalogs[number] = Snapshot.Catalog(
                state: status.state, generation: status.generation,
                isHeldBack: status.notBefore != nil, isOverdue: status.deadline != nil,
                outlook: status.outlook?.kind,
                waits: Set((status.waits ?? []).map(\.reason.name)),
                totals: Snapshot.Totals(status.totals), assets: assets, files: files)
        }
        for job in try await cluster.database.jobs() {
            let work = Self.work(job)
            if seen.jobs[work] != nil { seen.violations.append("\(work): two jobs") }
            let lease = job.lease.map(Self.number)
            seen.jobs[work] = Snapshot.Job(
                lease: lease, priority: job.priority == -1 ? nil : Int(job.priority))
            // Of a claim whose answer never came, or a split.
            if let lease, jobs[Ticket(lease: lease, work: work)] == nil {
                jobs[Ticket(lease: lease, work: work)] = job.id
                origins[Ticket(lease: lease, work: work.wholeFile)] = job.ownOrigin
            }
        }
        seen.violations += try await cluster.database.violations()
        return seen
    }
}

extension WorkResult.Outcome {
    /// Adds it to a report of `done`.
    func fill(_ report: inout JobReport) {
        switch self {
        case .stored(let bytes, let sha256, let isReused):
            report.stored = StoredObject(bytes: bytes, sha256: sha256)
            report.isReused = isReused
        case .resolved(let count): report.segments = count
        case .written, .nothingStored: break
        case .refreshed(let outcome): report.refreshed = outcome
        case .failed(let code, let retryAfter):
            report.outcome = .failed(
                JobReport.Failed(
                    Failure(code, "as the history has it"), retryAfterSeconds: retryAfter))
        case .returned: report.outcome = .returned()
        }
    }
}
