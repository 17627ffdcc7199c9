import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Requests that meet half-way: each test holds a lock until all of them wait, in a known order.
@Suite struct RaceTests {
    typealias F = QueueFixture

    @Test(arguments: [true, false])
    func aStartCountsTheResultsOfAConcurrentReport(isTitle: Bool) async throws {
        try await F.with { fixture in
            let assets = isTitle ? [F.title("t")] : [F.file("a"), F.file("b")]
            let catalog = try await fixture.submit(assets)
            if isTitle {
                let resolved = try await Self.resolved(fixture, segments: 2)
                #expect(try await fixture.report([resolved]) == [.accepted])
            }
            let grant = try await fixture.lease(1)
            let again = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                assets, to: catalog, generation: again.generation)
            try await fixture.inOrder([
                { _ = try await fixture.report([F.done(grant.jobs[0], grant)]) },
                {
                    try await fixture.queue.catalogs.submissions.start(
                        catalog, generation: again.generation)
                },
            ])
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.completed == assets.count)
            #expect(status.totals.segmentsDone == 2 && status.totals.bytes == 20)
            #expect(try await fixture.count("directory WHERE unsettled <> 0") == 0)
        }
    }

    @Test func anInterruptionLeavesNoJobOfAListThatJustCame() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t")])
            let resolved = try await Self.resolved(fixture, segments: 3)
            try await fixture.inOrder([
                { _ = try await fixture.report([resolved]) },
                { try await fixture.queue.catalogs.submissions.interrupt(catalog) },
            ])
            #expect(try await fixture.count("job") == 0)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .interrupted)
            try await fixture.submit([F.title("t")])
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segmentsDone == 3)
        }
    }

    @Test func aTitleThatLeavesItsCatalogLeavesNoJobs() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t"), F.file("f")])
            let resolved = try await Self.resolved(fixture, segments: 3)
            let again = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                [F.file("f")], to: catalog, generation: again.generation)
            try await fixture.inOrder([
                { _ = try await fixture.report([resolved]) },
                {
                    try await fixture.queue.catalogs.submissions.start(
                        catalog, generation: again.generation)
                },
            ])
            #expect(try await fixture.drain().map(\.kind) == [.fetch, .checksums])
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed)
            #expect(status.totals.segments == 1 && status.totals.completed == 1)
        }
    }

    @Test func aReportThatWaitedForASplitIsOfThePart() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            let grant = try await fixture.lease()
            let request = SplitTests.request(
                fixture, grant, total: 2 * SplitTests.part,
                multipart: .random())
            try await fixture.inOrder([
                { _ = try await fixture.queue.jobs.splits.split(request) },
                {
                    let failure = F.failed(grant.jobs[0], grant, "origin.http.404")
                    let verdicts = try await fixture.report([failure])
                    #expect(verdicts == [.accepted])
                },
            ])
            let other = try await fixture.lease()
            _ = try await fixture.report([
                F.done(other.jobs[0], other, bytes: SplitTests.part)
            ])
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .failed && status.totals.failed == 1)
        }
    }

    @Test func aClaimThatEmptiesALaneDoesNotHideWhatAStartAddsToIt() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            let again = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                [F.file("a"), F.file("b")], to: catalog, generation: again.generation)
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await fixture.pool.withConnection { connection in
                    try await connection.transaction { connection in
                        let holder = try await connection.query(
                            "SELECT pg_backend_pid()::bigint FROM lane FOR UPDATE", []
                        ).firstRow?.int64(0)
                        group.addTask {
                            try await fixture.queue.catalogs.submissions.start(
                                catalog, generation: again.generation)
                        }
                        while try await fixture.blocked(by: holder ?? 0) == 0 {
                            await Task.yield()
                        }
                        _ = try await connection.query(
                            "SELECT claim_jobs(id, ARRAY[$1::uuid], ARRAY[$2::uuid], '{10}', 30) FROM queue",
                            [.uuid(WorkerID.random()), .uuid(fixture.worker)])
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.lease().jobs.map(\.key) == ["origin.test/files/b"])
        }
    }

    /// Takes the resolve job, hands its segments in, and answers the report that ends it.
    private static func resolved(
        _ fixture: QueueFixture, segments: Int
    ) async throws -> JobReport {
        let grant = try await fixture.lease(1)
        #expect(grant.jobs.map(\.kind) == [.resolve])
        let batch = TitleTests.batch(fixture, grant, TitleTests.segments(segments))
        #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
        var report = F.done(grant.jobs[0], grant)
        report.segments = segments
        return report
    }
}

extension QueueFixture {
    /// Starts requests one after the other, each when the one before waits for a lock: the first
    /// for its asset or catalog, the others for it or for each other. Then lets them all continue.
    func inOrder(_ requests: [@Sendable () async throws -> Void]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await pool.withConnection { connection in
                try await connection.transaction { connection in
                    let holder = try await connection.query(
                        "SELECT pg_backend_pid()::bigint FROM catalog, asset FOR UPDATE", []
                    ).firstRow?.int64(0)
                    for (index, request) in requests.enumerated() {
                        group.addTask { try await request() }
                        while try await blocked(by: holder ?? 0) <= index { await Task.yield() }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// How many sessions wait for that one, directly or not.
    fileprivate func blocked(by holder: Int64) async throws -> Int64 {
        try await pool.query(
            """
            WITH RECURSIVE blocked(pid) AS (
                SELECT \(holder)::int
                UNION
                SELECT a.pid FROM pg_stat_activity a, blocked b
                WHERE b.pid = ANY(pg_blocking_pids(a.pid))
            )
            SELECT count(*) - 1 FROM blocked
            """
        ).firstRow?.int64(0) ?? 0
    }
}
