import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Sites that are filled from others: who waits for whom, and where files are fetched from.
@Suite struct NeighbourTests {
    typealias F = QueueFixture

    private static let first = "file:///srv/edge-a"
    private static let second = "file:///srv/edge-b"
    private static let serves = "http://edge-a.test/base"

    private static func open(
        _ fixture: F, _ site: String, neighbours: [String]?
    ) async throws -> CatalogHandle {
        var submission = CatalogSubmission(name: "movies", storageURL: site)
        submission.neighbours = neighbours
        return try await fixture.queue.catalogs.submissions.open(submission)
    }

    /// Submits to both sites; the first one serves its files.
    private static func submit(
        _ fixture: F, _ assets: [AssetSubmission], serves: String = serves
    ) async throws -> (first: CatalogID, second: CatalogID) {
        let one = try await open(fixture, first, neighbours: nil)
        if !serves.isEmpty { try await set(serves, fixture) }
        let two = try await open(fixture, second, neighbours: [first])
        for handle in [one, two] {
            try await fixture.queue.catalogs.submissions.add(
                assets, to: handle.id, generation: handle.generation)
        }
        for handle in [one, two] {
            try await fixture.queue.catalogs.submissions.start(
                handle.id, generation: handle.generation)
        }
        return (one.id, two.id)
    }

    private static func set(
        _ serves: String, _ fixture: F, of site: String = first
    ) async throws {
        var settings = SiteSettings(site: site)
        settings.serves = serves
        let status = try await fixture.queue.sites.configure(settings)
        #expect(status.serves == (serves.isEmpty ? nil : serves))
    }

    private static func lease(_ fixture: F, _ site: String, _ most: Int = 100) async throws
        -> LeaseGrant
    {
        let name = site.dropFirst("file:///".count).replacing("/", with: "-")
        return try await fixture.queue.jobs.claims.lease(
            LeaseRequest(
                worker: fixture.worker, queues: [String(name)], maxJobs: most, waitMilliseconds: 0),
            as: .random())
    }

    private static func fetches(_ grant: LeaseGrant) -> [Fetch] {
        grant.jobs.compactMap { if case .fetch(let fetch) = $0.task { fetch } else { nil } }
    }

    /// As if that much time had passed without a worker at the first site.
    private static func age(_ fixture: F, seconds: Int) async throws {
        try await fixture.pool.query(
            "UPDATE neighbour SET active_at = active_at - make_interval(secs => \(seconds))")
    }

    private static func done(_ job: Job, _ grant: LeaseGrant) -> JobReport {
        var report = F.done(job, grant)
        if case .done(var done) = report.outcome {
            done.validator = "\"v1\""
            report.outcome = .done(done)
        }
        return report
    }

    @Test func whatTheFirstSiteHasStoredIsFetchedFromThere() async throws {
        try await F.with { fixture in
            let catalogs = try await Self.submit(fixture, [F.file("a b?"), F.file("b")])
            try await fixture.queue.origins.neighbours.release()
            #expect(try await Self.lease(fixture, Self.second).lease == nil)
            let waits = try await fixture.queue.catalogs.status(of: catalogs.second).waits
            #expect(
                waits?.map(\.reason).contains(.neighbour(queue: "srv-edge-a", assets: 2)) == true)
            let grant = try await Self.lease(fixture, Self.first, 1)
            _ = try await fixture.report([Self.done(grant.jobs[0], grant)])
            try await fixture.queue.origins.neighbours.release()
            // The other asset still waits.
            let filled = try await Self.lease(fixture, Self.second)
            let fetch = try #require(Self.fetches(filled).first)
            #expect(filled.jobs.count == 1)
            #expect(
                fetch.neighbour?.url(of: fetch.key) == "\(Self.serves)/origin.test/files/a%20b%3F")
            #expect(fetch.neighbour?.sha256 == F.digest(of: fetch.key))
            #expect(fetch.neighbour?.validator == "\"v1\"")
            #expect(fetch.mirrorOrigin == "http://edge-a.test")
            _ = try await fixture.report([Self.done(filled.jobs[0], filled)])
            let rest = try await Self.lease(fixture, Self.first)
            _ = try await fixture.report(
                rest.jobs.map { F.failed($0, rest, "origin.http.404") })
            try await fixture.queue.origins.neighbours.release()
            // What the first one has not got comes from the origin.
            let last = try await Self.lease(fixture, Self.second)
            #expect(
                Self.fetches(last).first.map { $0.neighbour == nil && $0.url.hasSuffix("/b") }
                    == true)
        }
    }

    @Test func whatANeighbourDoesNotServeComesFromTheOrigin() async throws {
        try await F.with { fixture in
            _ = try await Self.submit(fixture, [F.file("a")])
            let grant = try await Self.lease(fixture, Self.first)
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            try await fixture.queue.origins.neighbours.release()
            let filled = try await Self.lease(fixture, Self.second)
            var failed = F.failed(filled.jobs[0], filled, "origin.http.404")
            failed.origins = [OriginOutcome(origin: "http://edge-a.test", code: "origin.http.404")]
            _ = try await fixture.report([failed])
            try await fixture.skipDelays()
            let again = try await Self.lease(fixture, Self.second)
            let fetch = try #require(Self.fetches(again).first)
            #expect(fetch.neighbour == nil && fetch.mirrorOrigin == nil)
            #expect(again.jobs[0].attempt == 2)
        }
    }

    @Test func aNeighbourInCooldownIsNotWaitedFor() async throws {
        try await F.with { fixture in
            _ = try await Self.submit(fixture, [F.file("a")])
            let grant = try await Self.lease(fixture, Self.first)
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            try await fixture.queue.origins.neighbours.release()
            try await fixture.pool.query(
                """
                UPDATE origin SET cooldown_until = now() + interval '1 hour', breaker = 'open'
                WHERE url = 'http://edge-a.test'
                """)
            #expect(try await Self.lease(fixture, Self.second).lease == nil)
            try await fixture.queue.origins.mirrors.move()
            let filled = try await Self.lease(fixture, Self.second)
            #expect(Self.fetches(filled).map(\.neighbour) == [nil])
        }
    }

    enum End: String, CaseIterable {
        case idle, paused, cancelled, removed, closed, servesNothing, forgotten
    }

    /// No site waits for ever, whatever becomes of the first one.
    @Test(arguments: End.allCases) func noSiteWaitsForAnAbsentNeighbour(_ end: End) async throws {
        try await F.with { fixture in
            let (first, _) = try await Self.submit(fixture, [F.file("a")])
            try await fixture.queue.origins.neighbours.release()
            #expect(try await Self.lease(fixture, Self.second).lease == nil)
            var action: SelectionAction?
            switch end {
            case .idle: try await Self.age(fixture, seconds: 61)
            case .paused: action = SelectionAction(.pause, catalog: CatalogReference(first))
            case .cancelled: action = SelectionAction(.cancel, catalog: CatalogReference(first))
            case .removed, .forgotten:
                action = SelectionAction(.remove, catalog: CatalogReference(first))
            case .closed:
                _ = try await fixture.queue.sites.set(.paused, ofQueue: "srv-edge-a")
                try await Self.age(fixture, seconds: 61)
            case .servesNothing: try await Self.set("", fixture)
            }
            if let action { _ = try await fixture.queue.catalogs.selections.apply(action) }
            if end == .forgotten {
                let forget = SelectionAction(.forget, catalog: CatalogReference(first))
                _ = try? await fixture.queue.catalogs.selections.apply(forget)
            }
            try await fixture.queue.origins.neighbours.release()
            let filled = try await Self.lease(fixture, Self.second)
            #expect(Self.fetches(filled).map(\.neighbour) == [nil])
        }
    }

    @Test func aNeighbourThatWorksIsWaitedFor() async throws {
        try await F.with { fixture in
            _ = try await Self.submit(fixture, [F.file("a"), F.file("b")])
            // It holds one job, for longer than anybody is waited for.
            _ = try await Self.lease(fixture, Self.first, 1)
            try await Self.age(fixture, seconds: 3_600)
            try await fixture.queue.origins.neighbours.release()
            #expect(try await Self.lease(fixture, Self.second).lease == nil)
            try await fixture.expireLeases()
            try await Self.age(fixture, seconds: 61)
            try await fixture.queue.origins.neighbours.release()
            #expect(try await Self.lease(fixture, Self.second).jobs.count == 2)
        }
    }

    /// What runs keeps its neighbours until the next submission starts.
    @Test func openingASubmissionLeavesTheNeighboursOfTheRunningOne() async throws {
        try await F.with { fixture in
            _ = try await Self.submit(fixture, [F.file("a")])
            let next = try await Self.open(fixture, Self.second, neighbours: nil)
            try await fixture.queue.origins.neighbours.release()
            #expect(try await Self.lease(fixture, Self.second).lease == nil)
            let grant = try await Self.lease(fixture, Self.first)
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            try await fixture.queue.origins.neighbours.release()
            let filled = try await Self.lease(fixture, Self.second)
            #expect(Self.fetches(filled).first?.neighbour?.serves == Self.serves)
            try await fixture.queue.catalogs.submissions.add(
                [F.file("a"), F.file("b")], to: next.id, generation: next.generation)
            try await fixture.queue.catalogs.submissions.start(next.id, generation: next.generation)
            #expect(try await fixture.count("neighbour") == 0)
            let alone = try await Self.lease(fixture, Self.second)
            #expect(Self.fetches(alone).map(\.neighbour) == [nil])
        }
    }

    /// A start holds the rows of its neighbours for as long as it takes.
    @Test func noSiteWaitsForAStart() async throws {
        try await F.with { fixture in
            _ = try await Self.submit(fixture, [F.file("a")])
            _ = try await Self.lease(fixture, Self.first)
            try await Self.age(fixture, seconds: 10)
            try await fixture.pool.withConnection { connection in
                try await connection.transaction { connection in
                    _ = try await connection.query("SELECT FROM neighbour FOR UPDATE")
                    // It would wait for this transaction, which waits for it.
                    try await fixture.queue.origins.neighbours.release()
                }
            }
            #expect(
                try await fixture.count("neighbour WHERE active_at < now() - interval '5 s'") == 1)
            try await fixture.queue.origins.neighbours.release()
            #expect(
                try await fixture.count("neighbour WHERE active_at < now() - interval '5 s'") == 0)
        }
    }

    /// Playlists show whether the media is the same.
    @Test(arguments: [true, false])
    func aTitleIsFetchedFromANeighbourWithTheSameManifest(_ isSame: Bool) async throws {
        try await F.with { fixture in
            _ = try await Self.submit(fixture, [F.title("t")])
            try await Self.resolve(fixture, Self.first, "1")
            try await fixture.queue.origins.neighbours.release()
            // It is read at once; what it lists waits.
            try await Self.resolve(fixture, Self.second, isSame ? "1" : "2")
            try await fixture.queue.origins.neighbours.release()
            #expect(try await Self.lease(fixture, Self.second).lease == nil)
            let grant = try await Self.lease(fixture, Self.first)
            _ = try await fixture.report(grant.jobs.map { Self.stored($0, grant) })
            try await fixture.queue.origins.neighbours.release()
            let filled = try await Self.lease(fixture, Self.second)
            #expect(filled.jobs.count == 3)
            #expect(Self.fetches(filled).allSatisfy { ($0.neighbour != nil) == isSame })
        }
    }

    private static func resolve(_ fixture: F, _ site: String, _ version: String) async throws {
        let grant = try await lease(fixture, site)
        let job = try #require(grant.jobs.first { $0.kind == .resolve })
        var segments = TitleTests.segments(2)
        segments.append(
            ResolvedSegment(
                ordinal: 2, url: F.title("t").url, key: F.title("t").key, role: .playlist,
                sha256: F.digest(of: "served \(version)")))
        let verdict = try await fixture.queue.jobs.segments.add(
            TitleTests.batch(fixture, grant, segments))
        #expect(verdict == .accepted)
        var report = F.done(job, grant)
        report.segments = segments.count
        #expect(try await fixture.report([report]) == [.accepted])
    }

    /// A playlist has the digest that was read with its title.
    private static func stored(_ job: Job, _ grant: LeaseGrant) -> JobReport {
        var report = done(job, grant)
        if case .fetch(let fetch) = job.task, let sha256 = fetch.sha256 {
            report.stored = StoredObject(bytes: 10, sha256: sha256)
        }
        return report
    }

    /// The third site waits for the second one where the first one has failed.
    @Test func anyOfSeveralNeighboursWillDo() async throws {
        try await F.with { fixture in
            _ = try await Self.submit(fixture, [F.file("a")])
            let third = "file:///srv/edge-c"
            try await Self.set("http://edge-b.test", fixture, of: Self.second)
            let handle = try await Self.open(
                fixture, third, neighbours: [Self.first, Self.second])
            try await fixture.queue.catalogs.submissions.add(
                [F.file("a")], to: handle.id, generation: handle.generation)
            try await fixture.queue.catalogs.submissions.start(
                handle.id, generation: handle.generation)
            let failing = try await Self.lease(fixture, Self.first)
            _ = try await fixture.report([F.failed(failing.jobs[0], failing, "origin.http.404")])
            // It has waited for the first one, and no worker was seen there.
            try await fixture.pool.query(
                "UPDATE neighbour SET active_at = active_at - interval '1 hour' WHERE place = 1")
            try await fixture.queue.origins.neighbours.release()
            let filled = try await Self.lease(fixture, Self.second)
            #expect(Self.fetches(filled).map(\.neighbour) == [nil])
            #expect(try await Self.lease(fixture, third).lease == nil)
            _ = try await fixture.report([Self.done(filled.jobs[0], filled)])
            try await fixture.queue.origins.neighbours.release()
            let last = try await Self.lease(fixture, third)
            #expect(Self.fetches(last).first?.neighbour?.serves == "http://edge-b.test")
        }
    }

    @Test func sitesAreNamedOnceAndKnown() async throws {
        try await F.with { fixture in
            let failure = try await #require(throws: Failure.self) {
                _ = try await Self.open(fixture, Self.second, neighbours: ["file:///srv/none"])
            }
            #expect(failure.code == .inputNotFound)
            #expect(try await fixture.count("catalog") == 0)
        }
    }
}
