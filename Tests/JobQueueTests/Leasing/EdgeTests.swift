import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Every change of state that a table lists is seen of the running queue: here, or by `HistoryTests`.
@Suite struct EdgeTests {
    private typealias L = LoadTestTests

    @Test func ofLoadTestsAndTheirShards() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            try await Self.endBeforeTheStart(queue)
            try await Self.fail(queue)
            try await Self.run(fixture)
            try await fixture.expectSeen(TransitionLog.ofLoadTests)
        }
    }

    /// One that ends before its start, with a shard that is ready and one that is not.
    private static func endBeforeTheStart(_ queue: JobQueue) async throws {
        let test = L.test(workers: 3)
        _ = try await queue.loadTests.create(test)
        let (ready, joined) = (WorkerID.random(), WorkerID.random())
        for worker in [ready, joined] { _ = try await L.join(queue, test.id, worker) }
        _ = try await queue.loadTests.shards.report(L.report(ready, .ready), of: test.id)
        #expect(try await queue.loadTests.stop(test.id).state == .ended)
    }

    /// Shards that cannot be prepared, one of them after it was ready, and one that fails under load.
    private static func fail(_ queue: JobQueue) async throws {
        for isReady in [false, true] {
            let test = L.test(workers: 2)
            _ = try await queue.loadTests.create(test)
            let worker = WorkerID.random()
            _ = try await L.join(queue, test.id, worker)
            if isReady {
                _ = try await queue.loadTests.shards.report(L.report(worker, .ready), of: test.id)
            }
            _ = try await queue.loadTests.shards.report(L.report(worker, .failed), of: test.id)
            #expect(try await queue.loadTests.status(of: test.id).state == .ended)
        }
        let (id, workers) = try await L.running(queue)
        for worker in workers {
            _ = try await queue.loadTests.shards.report(L.report(worker, .failed), of: id)
        }
        #expect(try await queue.loadTests.status(of: id).state == .ended)
    }

    /// One that ends when its last shard has, without a shard that was lost, and one that is stopped.
    private static func run(_ fixture: QueueFixture) async throws {
        let queue = fixture.queue
        let (id, workers) = try await L.running(queue)
        try await fixture.pool.query(
            "UPDATE load_shard SET reported_at = now() - interval '11 s' WHERE number = 1")
        _ = try await queue.loadTests.supervision.reconcile()
        _ = try await queue.loadTests.shards.report(L.report(workers[0], .finished), of: id)
        #expect(try await queue.loadTests.status(of: id).state == .ended)

        let stopped = try await L.running(queue)
        #expect(try await queue.loadTests.stop(stopped.id).state == .stopping)
        for worker in stopped.workers {
            _ = try await queue.loadTests.shards.report(L.report(worker, .finished), of: stopped.id)
        }
        #expect(try await queue.loadTests.status(of: stopped.id).state == .ended)
    }

    /// What starts and has nothing to do: a submission without assets, or of assets whose keys hold
    /// other objects. Random histories have none of these.
    @Test func ofSubmissionsThatNothingIsFetchedOf() async throws {
        try await QueueFixture.with { fixture in
            for end in End.allCases {
                let names = ["empty", "refused"].map { "\($0)-\(end)" }
                for name in names { try await Self.submit(name, end, fixture) }
                // Nothing is stored under these keys any more, or was yet: another catalog has them.
                let others = names.map { Self.other($0) }
                try await fixture.submit(others, catalog: "holder-\(end)")
                try await fixture.drain()
                try await fixture.submit([], catalog: names[0])
                try await fixture.submit([QueueFixture.file(names[1])], catalog: names[1])
            }
            try await fixture.expectSeen(Self.ofEndedSubmissions)
        }
    }

    /// How a catalog is before it is submitted again.
    private enum End: CaseIterable {
        case new, interrupted, cancelled, interruptedThenCancelled, failed, completed, removed
    }

    /// Another object with the key of the file of that name.
    private static func other(_ name: String) -> AssetSubmission {
        AssetSubmission(
            name: name, url: "http://origin.test/others/\(name)", kind: .file,
            key: "origin.test/files/\(name)")
    }

    private static func submit(_ name: String, _ end: End, _ fixture: QueueFixture) async throws {
        guard end != .new else { return }
        let queue = fixture.queue
        // A completed file keeps its key: then the next submission names another one.
        let file = QueueFixture.file(end == .completed ? "\(name)-first" : name)
        let catalog = try await fixture.submit([file], catalog: name)
        switch end {
        case .new: break
        case .interrupted: try await queue.catalogs.submissions.interrupt(catalog)
        case .cancelled, .interruptedThenCancelled:
            if end != .cancelled { try await queue.catalogs.submissions.interrupt(catalog) }
            _ = try await queue.catalogs.selections.apply(
                SelectionAction(.cancel, catalog: CatalogReference(catalog)))
        case .failed:
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { QueueFixture.failed($0, grant, "origin.http.404") })
        case .completed: try await fixture.drain()
        case .removed:
            try await fixture.drain()
            _ = try await queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(catalog)))
            try await RemovalTests.purge(fixture)
        }
        try await fixture.fold()
    }

    /// Multipart files that are cancelled early and late, one whose parts do not match, and one that fails.
    @Test func ofMultipartFiles() async throws {
        try await QueueFixture.with { fixture in
            let selections = fixture.queue.catalogs.selections
            for (name, code) in [
                ("stopped", nil), ("cancelled", nil), ("interrupted", nil),
                ("mismatched", "integrity.multipartMismatch"), ("failed", "origin.http.404"),
            ] as [(String, FailureCode?)] {
                let id = try await Self.storeParts(
                    of: name, count: name == "stopped" ? 1 : 2, fixture)
                if name == "interrupted" {
                    try await fixture.queue.catalogs.submissions.interrupt(id)
                }
                if let code {
                    let verify = try await fixture.lease()
                    let job = try #require(verify.jobs.first)
                    #expect(job.kind == .verify)
                    _ = try await fixture.report([QueueFixture.failed(job, verify, code)])
                }
                // No job of it is in the way of the next.
                let catalog = CatalogReference(name: name)
                _ = try await selections.apply(SelectionAction(.cancel, catalog: catalog))
            }
            try await fixture.expectSeen(
                Self.ofAssets("inProgress", "verifying").filter { $0 != Self.failure })
        }
    }

    /// A title of which a segment fails when another is stored.
    @Test func ofATitleThatFails() async throws {
        try await QueueFixture.with { fixture in
            try await fixture.submit([QueueFixture.title("t")])
            let resolve = try await fixture.lease()
            let batch = TitleTests.batch(fixture, resolve, TitleTests.segments(2))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            var resolved = QueueFixture.done(resolve.jobs[0], resolve)
            resolved.segments = 2
            _ = try await fixture.report([resolved])
            let fetch = try await fixture.lease()
            _ = try await fixture.report([QueueFixture.done(fetch.jobs[0], fetch)])
            _ = try await fixture.report([
                QueueFixture.failed(fetch.jobs[1], fetch, "origin.http.404")
            ])
            try await fixture.expectSeen([Self.failure])
        }
    }

    /// Assets that are submitted again with another URL, in any state.
    @Test func ofRedefinedAssets() async throws {
        try await QueueFixture.with { fixture in
            for end in End.allCases where end != .new {
                try await Self.submit("\(end)", end, fixture)
                let name = end == .completed ? "\(end)-first" : "\(end)"
                var other = Self.other(name)
                other.key = QueueFixture.file(name).key
                try await fixture.submit([other], catalog: "\(end)")
                try await fixture.drain()
            }
            try await fixture.submit([QueueFixture.file("ready")], catalog: "ready")
            try await fixture.submit([Self.other("ready")], catalog: "ready")
            try await fixture.drain()
            for (name, parts) in [("inProgress", 1), ("verifying", 2)] {
                _ = try await Self.storeParts(of: name, count: parts, fixture)
                try await fixture.submit([Self.other(name)], catalog: name)
                try await fixture.drain()
            }
            try await fixture.submit([QueueFixture.title("resolving")], catalog: "resolving")
            var title = QueueFixture.title("resolving")
            title.url += "8"
            try await fixture.submit([title], catalog: "resolving")
            try await fixture.expectSeen(
                Self.ofAssets.filter {
                    $0.new == "new" && $0.old != "refreshing" && !Self.gone.contains($0.old)
                })
        }
    }

    /// Submits a file of two parts and stores some of them; after both its verification is outstanding.
    private static func storeParts(
        of name: String, count: Int, _ fixture: QueueFixture
    ) async throws -> CatalogID {
        let id = try await fixture.submit([QueueFixture.file(name)], catalog: name)
        let grant = try await fixture.lease()
        let request = SplitTests.request(
            fixture, grant, total: 2 * SplitTests.part, multipart: .random())
        #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
        let second = try await fixture.lease()
        for (job, lease) in [(grant.jobs[0], grant), (second.jobs[0], second)].prefix(count) {
            _ = try await fixture.report([
                QueueFixture.done(job, lease, bytes: SplitTests.part)
            ])
        }
        return id
    }

    /// Changes that the tests above, `PublicationTests`, `RefreshTests` and `SiteAuditTests` see; random histories have few of them.
    static let ofAssets: Set<TransitionLog.Edge> = {
        var edges: [(AssetState, AssetState)] = [
            (.inProgress, .cancelled), (.inProgress, .failed), (.verifying, .cancelled),
            (.verifying, .inProgress), (.verifying, .failed), (.verifying, .interrupted),
            (.publishing, .failed), (.completed, .failed),
        ]
        for (state, events) in AssetState.machine.table where events.values.contains(.new) {
            edges.append((state, .new))
        }
        return Set(
            edges.map { .init(table: "asset", old: $0.0.rawValue, new: $0.1.rawValue) })
    }()

    private static let gone = AssetState.allCases.filter(\.isGone).map(\.rawValue)

    /// Changes that `RemovalTests` see.
    static let ofRemovals: Set<TransitionLog.Edge> = {
        let gone = [AssetState.removing, .removed].map(\.rawValue)
        let emptied = CatalogState.removed.rawValue
        let running = CatalogState.running.rawValue
        return TransitionLog.edges(AssetState.machine, "asset").filter { gone.contains($0.new) }
            .union([
                .init(table: "catalog", old: running, new: emptied),
                .init(table: "catalog", old: emptied, new: running),
            ])
    }()

    /// Changes that `RightsTests` see.
    static let ofExpiry: Set<TransitionLog.Edge> = {
        let gone = [AssetState.expiring, .expired].map(\.rawValue)
        return TransitionLog.edges(AssetState.machine, "asset").filter {
            gone.contains($0.new) || gone.contains($0.old)
        }
    }()

    private static let failure = TransitionLog.Edge(
        table: "asset", old: "inProgress", new: "failed")

    /// Those of them that leave one of these states other than by another definition.
    private static func ofAssets(_ states: String...) -> Set<TransitionLog.Edge> {
        ofAssets.filter { states.contains($0.old) && $0.new != "new" }
    }

    /// Changes that `ofSubmissionsThatNothingIsFetchedOf` sees, and no random history.
    static let ofEndedSubmissions: Set<TransitionLog.Edge> = {
        var edges: Set<TransitionLog.Edge> = []
        for old in [AssetState.new, .interrupted, .cancelled] {
            edges.insert(.init(table: "asset", old: old.rawValue, new: "failed"))
        }
        edges.insert(.init(table: "asset", old: "interrupted", new: "cancelled"))
        for (old, events) in CatalogState.machine.table where old != .running {
            for new in events.values where new != .running {
                edges.insert(.init(table: "catalog", old: old.rawValue, new: new.rawValue))
            }
        }
        return edges
    }()
}

extension QueueFixture {
    /// Records each of these changes that no row has made.
    func expectSeen(_ edges: Set<TransitionLog.Edge>) async throws {
        let seen = try await transitions.seen()
        for edge in edges.subtracting(seen).sorted() { Issue.record("never seen: \(edge)") }
    }
}
