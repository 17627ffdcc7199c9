import API
import JobQueue
import Model
import Postgres
import Statistics
import TestSupport
import Testing

/// One history: what operators and submitters ask for, at random, and what follows from it.
struct LifeHistory {
    typealias F = QueueFixture

    let fixture: F
    let seed: UInt64
    var random: SeededRandom
    /// Keys of the files at the site.
    var disk: Set<String> = []
    /// Stored by workers whose reports did not count; they are not recorded.
    var orphans: Set<String> = []
    /// Gone without a deletion, until they are stored again.
    var damaged: Set<String> = []
    var held: [HeldWork] = []
    /// What operators, evictions and the clock have taken from the edge since it was last started.
    var gone: Set<LifeAsset> = []
    /// Ends of rights, by the clock below.
    var ends: [LifeAsset: Double] = [:]
    /// Those that were named last with their other URL.
    var others: Set<LifeAsset> = []
    /// Changes that it has not seen yet, and goes for.
    var unseen: Set<TransitionLog.Edge> = []
    /// Seconds that have passed. Times in the database lie so much earlier.
    private(set) var clock = 0.0
    var log: [String] = []

    /// A job that a worker has.
    struct HeldWork {
        var job: Job
        var grant: LeaseGrant
        /// What it has deleted and not reported.
        var deleted: [PurgeRequest.Result] = []
        /// The publication of its staged file was granted.
        var isPublishing = false
    }

    init(fixture: F, seed: UInt64, unseen: Set<TransitionLog.Edge> = []) {
        self.fixture = fixture
        self.unseen = unseen
        self.seed = seed
        random = SeededRandom(seed: seed)
    }

    static let catalogs = ["c0", "c1", "c2"]
    static let names = ["f0", "f1", "f2", "t0", "t1"]
    /// What is in the way of a request, and passes.
    private static let rejections: Set<FailureCode> = [
        .clusterBusy, .inputNotFound, .inputField,
    ]

    mutating func step() async throws {
        do {
            if below(3) == 0, try await pursue() {
                log.append("(pursued)")
            } else {
                try await anyStep()
            }
            _ = try await fixture.queue.files.purges.reconcile()
        } catch {
            guard let failure = error as? Failure, Self.rejections.contains(failure.code) else {
                Issue.record("seed \(seed): \(error); \(tail)")
                throw error
            }
            log.append("rejected: \(failure.code)")
        }
        try await fixture.fold()
    }

    private mutating func anyStep() async throws {
        switch below(100) {
        case 0..<10: try await submit()
        case 10..<25: try await lease()
        case 25..<55: try await work()
        case 55..<60: try await failCheck()
        case 60..<65: try await select([.remove, .remove, .cancel, .retry][below(4)])
        case 65..<71: try await select([.refresh, .refresh, .refresh, .cancel][below(4)])
        case 71..<75: try await select([.pause, .resume, .pin, .unpin][below(4)])
        case 75..<77: try await prune(Self.catalogs[below(3)])
        case 77..<80: try await evict()
        case 80..<83: try await pass([50, 500, 5_000][below(3)])
        case 83..<86: try await interrupt(Self.catalogs[below(3)])
        case 86..<89:
            try await lose(disk.sorted().randomElement(using: &random), isGone: below(2) == 0)
        case 89..<91: try await die()
        case 91..<96: try await finish(rounds: 1 + below(3))
        default: try await fixture.skipDelays()
        }
    }

    /// What has happened, a line each; of a long history the last part.
    var tail: String { "\n" + log.suffix(300).joined(separator: "\n") }

    mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    // MARK: Submitters

    /// Names a few assets: some with rights that end, some with another URL than before, which is
    /// another object under their keys.
    private mutating func submit() async throws {
        let names = Self.names.filter { _ in below(2) == 0 }
        let named = names.map { name in
            Named(
                name: name, isOther: below(8) == 0,
                rights: below(3) == 0 ? [100, 1_000, 10_000][below(3)] : nil,
                hasPoster: name == "f2" && below(2) == 0)
        }
        try await submit(named, to: Self.catalogs[below(3)], isStarted: below(8) != 0)
    }

    /// An entry of a list.
    struct Named {
        var name: String
        var isOther = false
        /// Seconds until they end; nil for none.
        var rights: Double?
        /// With another file.
        var hasPoster = false
    }

    mutating func submit(
        _ named: [Named], to catalog: String, isStarted: Bool = true
    ) async throws {
        let now = try await seconds()
        let assets = named.map { entry in
            var asset = Self.asset(entry.name, isOther: entry.isOther)
            asset.expiresAt = entry.rights.map { now + $0 }
            if entry.hasPoster {
                let key = "origin.test/posters/\(entry.name)"
                asset.sidecars = [
                    SidecarSubmission(url: "http://\(key)", key: key, role: .image)
                ]
            }
            return asset
        }
        let words = named.map { entry in
            entry.name + (entry.isOther ? "'" : "") + (entry.hasPoster ? "+" : "")
                + (entry.rights.map { " \(Int($0)) s" } ?? "")
        }
        log.append(
            "\(isStarted ? "submit" : "add to") \(catalog) \(words.joined(separator: ", "))")
        let submissions = fixture.queue.catalogs.submissions
        let handle = try await submissions.open(
            CatalogSubmission(name: catalog, storageURL: F.site))
        if !assets.isEmpty {
            try await submissions.add(assets, to: handle.id, generation: handle.generation)
        }
        for entry in named {
            let asset = LifeAsset(catalog: catalog, name: entry.name)
            ends[asset] = entry.rights.map { clock + $0 }
            if entry.isOther { others.insert(asset) } else { others.remove(asset) }
        }
        guard isStarted else { return }
        try await submissions.start(handle.id, generation: handle.generation)
        gone.subtract(named.map { LifeAsset(catalog: catalog, name: $0.name) })
    }

    static func asset(_ name: String, isOther: Bool = false) -> AssetSubmission {
        var asset = name.hasPrefix("f") ? F.file(name) : F.title(name)
        if isOther { asset.url = "http://other.test/\(asset.key)" }
        return asset
    }

    mutating func interrupt(_ name: String) async throws {
        log.append("interrupt \(name)")
        try await fixture.queue.catalogs.submissions.interrupt(try await id(of: name))
    }

    // MARK: Operators

    private mutating func select(_ action: SelectionAction.Action) async throws {
        let name = below(2) == 0 ? Self.names[below(Self.names.count)] : nil
        try await select(action, name, in: Self.catalogs[below(3)])
    }

    mutating func select(
        _ action: SelectionAction.Action, _ name: String?, in catalog: String
    ) async throws {
        var selection = SelectionAction(action, catalog: CatalogReference(name: catalog))
        selection.name = name
        log.append("\(action) \(catalog) \(selection.name ?? "*")")
        let isRemoval = action == .remove
        let before = isRemoval ? try await states() : [:]
        _ = try await fixture.queue.catalogs.selections.apply(selection)
        guard isRemoval else { return }
        // What left the list and has ended stays, unless it is asked for.
        let named = before.filter { asset, found in
            asset.catalog == catalog && (selection.name ?? asset.name) == asset.name
                && (found.isListed || !found.state.isSettled)
        }
        gone.formUnion(named.keys)
        try await expectGone(
            named.filter { AssetState.machine.sources(of: .remove).contains($0.value.state) }.map(
                \.key), "removed")
    }

    /// Removes what a catalog's list no longer names.
    private mutating func prune(_ catalog: String) async throws {
        log.append("prune \(catalog)")
        let left = try await states().filter { asset, found in
            asset.catalog == catalog && !found.isListed && !found.state.isGone
        }
        var selection = SelectionAction(.remove, catalog: CatalogReference(name: catalog))
        selection.ofLeft = true
        _ = try await fixture.queue.catalogs.selections.apply(selection)
        gone.formUnion(left.keys)
        try await expectGone(
            left.filter { AssetState.machine.sources(of: .remove).contains($0.value.state) }.map(
                \.key), "pruned")
    }

    /// Names a stored asset again, and fails the check of one of its files; some of them are removed
    /// then, and the rights of others end.
    private mutating func failCheck() async throws {
        let stored = try await states().filter { $0.value.state == .completed }
        guard
            let asset = stored.keys.sorted(by: { $0.description < $1.description }).randomElement(
                using: &random)
        else { return try await lease() }
        let entry = Named(
            name: asset.name, isOther: others.contains(asset), rights: below(3) == 0 ? 100 : nil)
        try await submit([entry], to: asset.catalog)
        try await lease(100)
        let index = held.firstIndex {
            $0.job.asset == stored[asset]?.id && $0.job.kind == .fetch && $0.job.offset == nil
        }
        guard let index else { return }
        try await fail(held.remove(at: index), "origin.http.404")
        if below(3) == 0 { try await select(.remove, asset.name, in: asset.catalog) }
    }

    private mutating func evict() async throws {
        let before = try await states()
        let bytes = Int64(1 + below(300))
        let answer = try await fixture.queue.files.evictions.evict(
            SiteEviction(site: F.site, bytes: bytes))
        let evicted = answer.first.map { LifeAsset(catalog: $0.catalogName, name: $0.name) }
        log.append("evict \(bytes): \(evicted)")
        gone.formUnion(evicted)
        try await expectGone(evicted, "evicted")
        for asset in evicted where before[asset]?.isPinned == true {
            Issue.record("seed \(seed): \(asset) is pinned and evicted; \(tail)")
        }
    }

    /// Lets time pass: what rights say is done when they end, neither earlier nor later.
    mutating func pass(_ seconds: Double) async throws {
        log.append("pass \(Int(seconds)) s")
        let before = try await states()
        clock += seconds
        try await fixture.pool.query(
            "UPDATE asset SET expires_at = expires_at - make_interval(secs => $1)",
            [.double(seconds)])
        let over = ends.filter { $0.value <= clock }.map(\.key)
        gone.formUnion(over)
        _ = try await fixture.queue.files.purges.applyRights()
        try await expectGone(
            over.filter {
                before[$0].map { AssetState.machine.sources(of: .expire).contains($0.state) }
                    == true
            },
            "over")
        for (asset, found) in try await states()
        where [.expiring, .expired].contains(found.state) && before[asset]?.state.isGone == false
            && !over.contains(asset)
        {
            Issue.record("seed \(seed): \(asset) has expired too early; \(tail)")
        }
    }

    /// An audit finds that a file is missing, or damaged, and repairs it.
    mutating func lose(_ key: String?, isGone: Bool) async throws {
        guard let key else { return }
        let audits = fixture.queue.sites.audits
        let audit = try await audits.create(
            SiteAuditSubmission(site: F.site, isDeep: true, repairs: true)
        ).id
        let lease = LeaseID.random()
        _ = try await audits.work.lease(
            audit, WorkLeaseRequest(worker: fixture.worker, name: "w", lease: lease))
        let page = try await audits.work.records(
            audit, SiteAuditRecordsRequest(worker: fixture.worker, lease: lease, page: 0))
        let record = page.content.split(separator: "\n").first { $0.hasSuffix(":\(key)") }
        var report = SiteAuditReport(worker: fixture.worker, lease: lease, page: 0)
        report.number = 0
        (report.isPageDone, report.isEnd) = (true, true)
        if let fields = record?.split(separator: ":")[0].split(separator: " ") {
            log.append("\(isGone ? "lose" : "damage") \(key)")
            if isGone {
                disk.remove(key)
                damaged.insert(key)
            }
            var finding = SiteAuditReport.Finding(kind: isGone ? .missing : .changed, path: key)
            finding.segment = Int64(fields[1])
            finding.sha256 = String(fields[3])
            report.findings = [finding]
        }
        _ = try await audits.work.report(audit, report)
    }

    /// Loses a file without a request to delete it: only here to be caught.
    mutating func loseSilently() {
        if let key = disk.subtracting(orphans).sorted().first { disk.remove(key) }
    }

    /// Files that lie at the edge without a record are forgotten: only here to be caught.
    func forgetSilently() async throws {
        try await fixture.pool.query("DELETE FROM unneeded_file WHERE due_at = 'infinity'")
    }

    // MARK: Looking

    func id(of catalog: String) async throws -> CatalogID {
        try await fixture.queue.catalogs.selections.catalog(CatalogReference(name: catalog))
    }

    /// The database's time.
    private func seconds() async throws -> Double {
        try await fixture.pool.query("SELECT extract(epoch FROM now())::float8")
            .firstRow?.double(0) ?? 0
    }

    /// An asset as the database has it.
    struct Found {
        var id: AssetID
        var state: AssetState
        /// The list that was started last names it.
        var isListed: Bool
        var isResolved: Bool
        var isPaused: Bool
        var isPinned: Bool
    }

    func states() async throws -> [LifeAsset: Found] {
        let rows = try await fixture.pool.query(
            """
            SELECT c.name, a.name, a.state, a.generation = c.generation, a.id, a.resolved,
                   a.is_paused, a.is_pinned
            FROM asset a JOIN catalog c ON c.id = a.catalog_id
            """
        ).rows
        return Dictionary(
            uniqueKeysWithValues: try rows.map { row in
                let asset = LifeAsset(catalog: try row.string(0), name: try row.string(1))
                let state = try #require(AssetState(rawValue: try row.string(2)))
                let found = Found(
                    id: AssetID(try row.int64(4)), state: state, isListed: try row.bool(3),
                    isResolved: try row.bool(5), isPaused: try row.bool(6),
                    isPinned: try row.bool(7))
                return (asset, found)
            })
    }

    /// Records each of these assets that is still at the edge.
    private func expectGone(_ assets: [LifeAsset], _ why: String) async throws {
        let states = try await states()
        for asset in assets {
            guard let state = states[asset]?.state, !state.isGone else { continue }
            Issue.record("seed \(seed): \(asset) is \(why) and \(state); \(tail)")
        }
    }
}

/// An asset by the names of its catalog and itself.
struct LifeAsset: Hashable, CustomStringConvertible {
    var catalog: String
    var name: String

    var isTitle: Bool { name.hasPrefix("t") }
    var description: String { "\(catalog)/\(name)" }
}
