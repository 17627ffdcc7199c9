import API
import JobQueue
import Model
import Postgres
import Statistics
import TestSupport
import Testing

/// Random histories of assets that are stored, removed, evicted and expire, with workers that die
/// at any moment, against a site of which only the names are kept.
@Suite struct LifecycleTests: SelectionSuite {
    @Test func whatIsRecordedIsStoredAndWhatNobodyNeedsIsDeleted() async throws {
        try await F.with("lifecycle") { fixture in
            for seed in 1...UInt64(Self.seeds) {
                var history = LifecycleHistory(fixture: fixture, seed: seed)
                for _ in 0..<Self.steps {
                    try await history.step()
                    guard try await history.agrees() else { return }
                }
                guard try await history.end() else { return }
            }
            for kind in ["evicted", "removed", "expired", "paused", "interrupted"] {
                #expect(try await fixture.count("event WHERE kind = 'asset.\(kind)'") > 0)
            }
        }
    }

    private static let seeds = 12
    private static let steps = 60
}

/// One history: the site, and what workers hold.
private struct LifecycleHistory {
    typealias F = QueueFixture

    /// A purge job that a worker has, and what it has deleted and not reported.
    private struct Purge {
        var request: PurgeRequest
        var report: JobReport
    }

    let fixture: F
    let seed: UInt64
    private var random: SeededRandom
    private var disk: Set<String> = []
    /// Stored by workers whose reports did not count; nobody knows of these.
    private var orphans: Set<String> = []
    private var fetches: [(job: Job, grant: LeaseGrant)] = []
    private var purges: [Purge] = []
    private var log: [String] = []

    init(fixture: F, seed: UInt64) {
        self.fixture = fixture
        self.seed = seed
        random = SeededRandom(seed: seed)
    }

    private static let refusals: [FailureCode] = [.clusterBusy, .inputNotFound]
    private static let catalogs = ["c0", "c1", "c2"]

    // MARK: Steps

    mutating func step() async throws {
        do {
            switch random.below(20) {
            case 0...3: try await submit()
            case 4...6: try await lease()
            case 7...10: try await report()
            case 11: try await select([.remove, .remove, .cancel, .retry][random.below(4)])
            case 12: try await select([.pause, .resume, .pin, .unpin][random.below(4)])
            case 13: try await evict()
            case 14: try await pass()
            case 15: try await interrupt()
            case 16: try await die()
            default: try await purge()
            }
            _ = try await fixture.queue.purges.reconcile()
        } catch {
            guard let failure = error as? Failure, Self.refusals.contains(failure.code) else {
                throw error
            }
            log.append("refused: \(failure.code)")
        }
    }

    private mutating func submit() async throws {
        let catalog = Self.catalogs[random.below(3)]
        let names = (0..<5).filter { _ in random.below(2) == 0 }
        log.append("submit \(catalog) \(names)")
        let expires = random.below(3) == 0
        let now = try await fixture.pool.query("SELECT extract(epoch FROM now())::float8")
        let seconds = try now.firstRow?.double(0) ?? 0
        let assets = names.map { number in
            var asset = F.file("f\(number)")
            if expires { asset.expiresAt = seconds + 1_000 }
            return asset
        }
        let handle = try await fixture.queue.submissions.open(
            CatalogSubmission(name: catalog, storageURL: F.site))
        if !assets.isEmpty {
            try await fixture.queue.submissions.add(
                assets, to: handle.id, generation: handle.generation)
        }
        try await fixture.queue.submissions.start(handle.id, generation: handle.generation)
    }

    private mutating func lease() async throws {
        let grant = try await fixture.lease(1 + random.below(4))
        for job in grant.jobs {
            log.append("lease \(job.kind) \(job.key)")
            switch job.kind {
            case .purge:
                purges.append(
                    Purge(
                        request: PurgeRequest(
                            worker: fixture.worker, job: job.id, lease: grant.lease ?? ""),
                        report: F.done(job, grant)))
            case .checksums: _ = try await fixture.report([F.done(job, grant)])
            default: fetches.append((job, grant))
            }
        }
    }

    private mutating func report() async throws {
        guard !fetches.isEmpty else { return }
        let (job, grant) = fetches.remove(at: random.below(fetches.count))
        if random.below(6) == 0 {
            log.append("fail \(job.key)")
            _ = try await fixture.report([F.failed(job, grant, "origin.http.404")])
            return
        }
        let isNew = disk.insert(job.key).inserted
        let verdict = try await fixture.report([F.done(job, grant, bytes: 100)])
        log.append("store \(job.key) \(verdict)")
        if verdict != [.accepted], isNew { orphans.insert(job.key) }
    }

    /// Asks for a page, deletes some of it, and reports, or dies with it.
    private mutating func purge() async throws {
        guard !purges.isEmpty else { return try await lease() }
        let index = random.below(purges.count)
        var purge = purges.remove(at: index)
        guard let page = try? await fixture.queue.purges.next(purge.request) else { return }
        let count = random.below(3) == 0 ? page.files.count / 2 : page.files.count
        let deleted = page.files.prefix(count)
        log.append("delete \(deleted.map(\.key)) of \(page.files.map(\.key))")
        purge.request.results = deleted.map {
            PurgeRequest.Result(file: $0.file, deleted: disk.remove($0.key) != nil)
        }
        orphans.subtract(deleted.map(\.key))
        if random.below(4) == 0 {
            log.append("die with it")
            try await die()
        } else if page.files.isEmpty {
            _ = try await fixture.report([purge.report])
        } else {
            purges.append(purge)
        }
    }

    private mutating func select(_ action: SelectionAction.Action) async throws {
        let catalog = Self.catalogs[random.below(3)]
        var selection = SelectionAction(action, catalog: CatalogReference(name: catalog))
        if random.below(2) == 0 { selection.name = "f\(random.below(5))" }
        log.append("\(action) \(catalog) \(selection.name ?? "*")")
        _ = try await fixture.queue.catalogs.selections.apply(selection)
    }

    private mutating func evict() async throws {
        let bytes = Int64(1 + random.below(300))
        let answer = try await fixture.queue.evictions.evict(
            SiteEviction(site: F.site, bytes: bytes))
        log.append("evict \(bytes): \(answer.first.map { "\($0.catalogName)/\($0.name)" })")
    }

    private mutating func pass() async throws {
        log.append("expire")
        try await fixture.pool.query(
            "UPDATE asset SET expires_at = expires_at - interval '2000 seconds'")
        _ = try await fixture.queue.purges.applyRights()
    }

    private mutating func interrupt() async throws {
        let name = Self.catalogs[random.below(3)]
        log.append("interrupt \(name)")
        let catalog = try await fixture.queue.catalogs.selections.catalog(
            CatalogReference(name: name))
        try await fixture.queue.submissions.interrupt(catalog)
    }

    /// All workers die: what they had stored or deleted and not reported stays so.
    private mutating func die() async throws {
        log.append("die")
        for (job, _) in fetches where random.below(3) == 0 {
            if disk.insert(job.key).inserted { orphans.insert(job.key) }
        }
        (fetches, purges) = ([], [])
        try await fixture.expireLeases()
        try await fixture.pool.query(
            "UPDATE unneeded_file SET due_at = now() WHERE due_at < 'infinity'")
        try await fixture.pool.query("DELETE FROM job_loss")
        try await fixture.pool.query("UPDATE delayed_job SET available_at = now()")
    }

    // MARK: Checks

    /// True if every file that an asset has a result of is stored.
    func agrees() async throws -> Bool {
        let recorded = try await fixture.pool.query(
            """
            SELECT DISTINCT s.key FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
            JOIN asset a ON a.id = s.asset_id
            """
        ).rows.map { try $0.string(0) }
        let missing = Set(recorded).subtracting(disk).sorted()
        guard missing.isEmpty else {
            Issue.record("seed \(seed): recorded and not stored: \(missing); \(tail)")
            return false
        }
        return true
    }

    private var tail: String { log.suffix(40).joined(separator: "\n") }

    /// Lets everything end, names all files once more, and removes them. True if nothing is left
    /// but what nobody knows of.
    mutating func end() async throws -> Bool {
        try await die()
        for catalog in Self.catalogs {
            try await work()
            let handle = try await fixture.queue.submissions.open(
                CatalogSubmission(name: catalog, storageURL: F.site))
            try await fixture.queue.submissions.add(
                (0..<5).map { F.file("f\($0)") }, to: handle.id, generation: handle.generation)
            try await fixture.queue.submissions.start(
                handle.id, generation: handle.generation)
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.resume, catalog: CatalogReference(name: catalog)))
        }
        try await work()
        guard try await agrees() else { return false }
        let completed = try await fixture.count("asset WHERE state = 'completed'")
        for catalog in Self.catalogs {
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(name: catalog)))
        }
        try await work()
        let left = disk.subtracting(orphans).sorted()
        let rows = try await fixture.count("unneeded_file")
        let busy = try await fixture.count("asset WHERE state <> 'removed'")
        guard completed == 15, left.isEmpty, rows == 0, busy == 0 else {
            Issue.record(
                """
                seed \(seed): \(completed) completed, left \(left), \(rows) rows, \(busy) assets;
                \(tail)
                """)
            return false
        }
        return true
    }

    /// Works until nothing is left to do.
    private mutating func work() async throws {
        var idle = 0
        while idle < 3 {
            try await fixture.pool.query(
                "UPDATE unneeded_file SET due_at = now() WHERE due_at < 'infinity'")
            try await fixture.skipDelays()
            _ = try await fixture.queue.purges.reconcile()
            let grant = try await fixture.lease()
            idle = grant.jobs.isEmpty ? idle + 1 : 0
            for job in grant.jobs {
                if job.kind == .purge {
                    disk.subtract(
                        try await RemovalTests.deleteAll(of: job, grant.lease ?? "", fixture))
                } else if job.kind == .fetch {
                    disk.insert(job.key)
                }
                _ = try await fixture.report([F.done(job, grant, bytes: 100)])
            }
        }
    }
}

extension SeededRandom {
    fileprivate mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
}
