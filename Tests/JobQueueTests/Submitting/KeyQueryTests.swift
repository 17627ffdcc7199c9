import API
import JobQueue
import Model
import TestSupport
import Testing

/// Query parameters that an operator keeps in keys or leaves out, where URLs are compared.
@Suite struct KeyQueryTests {
    typealias F = QueueFixture

    private static let rules = [
        KeyQueryRule(
            origin: "http://h", keep: ["token", "sig", "x-y_z"], leaveOut: ["session", "cb"])
    ]

    private static func submit(
        _ fixture: QueueFixture, _ assets: [AssetSubmission], _ rules: [KeyQueryRule]? = rules,
        catalog: String = "movies"
    ) async throws -> CatalogID {
        var submission = CatalogSubmission(name: catalog, storageURL: F.site)
        var titles = TitleOptions()
        titles.keyQueries = rules
        submission.titles = titles
        let handle = try await fixture.queue.catalogs.submissions.open(submission)
        try await fixture.queue.catalogs.submissions.add(
            assets, to: handle.id, generation: handle.generation)
        try await fixture.queue.catalogs.submissions.start(handle.id, generation: handle.generation)
        return handle.id
    }

    /// A job to fetch an object; what is known is checked at the site only.
    private static func isNew(_ job: Job) -> Bool { job.kind == .fetch && job.previous == nil }

    private static func file(_ name: String, _ url: String, key: String) -> AssetSubmission {
        AssetSubmission(name: name, url: url, kind: .file, key: key)
    }

    /// As `SignedQuery.isSameObject` has it, which is asked too.
    @Test(
        "the database compares as the rules do",
        arguments: [
            ("http://h/q?session=1", "http://h/q?session=2", true),
            ("http://h/q?v=1&%73eSSion=1", "http://h/q?v=1", true),
            ("http://h/q?session=1;v=1", "http://h/q?v=1&amp;cb=2", true),
            ("http://h/q?Signature=a&session=1", "http://h/q?Signature=b&cb", true),
            ("http://h/q?sig=a", "http://h/q?sig=b", false),
            ("http://h/q?s%69g=a", "http://h/q?s%69g=b", false),
            ("http://h/q?x-y_z=a&Signature=s", "http://h/q?x-y_z=b&Signature=s", false),
            ("http://h/q?sessions=1", "http://h/q?sessions=2", false),
            ("http://h/q?token=1&session=1", "http://h/q?token=2&session=1", false),
            ("http://h:8080/q?session=1", "http://h:8080/q?session=2", false),
            ("http://h:8080/q?sig=a", "http://h:8080/q?sig=b", true),
        ])
    func comparisons(first: String, second: String, areOne: Bool) async throws {
        let isSame = SignedQuery.isSameObject(
            Array(first.utf8), Array(second.utf8), KeyQueryRules(Self.rules))
        #expect(isSame == areOne)
        try await F.with { fixture in
            let catalog = try await Self.submit(
                fixture, [Self.file("1", first, key: "h/q"), Self.file("2", second, key: "h/q")])
            let codes = try await fixture.assets(of: catalog).map { $0.failure?.code.rawValue }
            #expect(codes == [nil, areOne ? nil : "storage.pathConflict"])
        }
    }

    @Test("submitted again with another session nothing is fetched again")
    func resubmission() async throws {
        try await F.with { fixture in
            let assets = { (session: Int, token: String) in
                var title = F.title("t")
                title.url = "http://h/t/main.m3u8?session=\(session)"
                title.key = "h/t/main.m3u8"
                var file = Self.file("a", "http://h/a?session=\(session)", key: "h/a")
                file.sidecars = [
                    SidecarSubmission(
                        url: "http://h/p.jpg?cb=\(session)", key: "h/p.jpg", role: .image)
                ]
                return [
                    title, file, Self.file("v", "http://h/v?token=\(token)", key: "h/v?token="),
                ]
            }
            let segments = { (session: Int) in
                (0..<2).map {
                    ResolvedSegment(
                        ordinal: $0, url: "http://h/t/\($0).ts?session=\(session)",
                        key: "h/t/\($0).ts", role: .media)
                }
            }
            let catalog = try await Self.submit(fixture, assets(1, "x"))
            let grant = try await fixture.lease()
            let resolve = try #require(grant.jobs.first { $0.kind == .resolve })
            #expect(resolve.titles?.keyQueries == Self.rules)
            var batch = SegmentBatch(
                worker: fixture.worker, job: resolve.id, lease: grant.lease ?? "",
                segments: segments(1))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            _ = try await fixture.report(
                grant.jobs.map { job in
                    var report = F.done(job, grant)
                    if job.kind == .resolve { report.segments = 2 }
                    return report
                })
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)

            // Another session names what is stored, another token something else.
            _ = try await Self.submit(fixture, assets(2, "y"))
            var jobs = try await fixture.drain()
            #expect(
                jobs.filter(Self.isNew).map(\.url) == ["http://h/v?token=y"])
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)

            // Without the rule the session counts again.
            _ = try await Self.submit(fixture, assets(3, "y"), nil)
            let again = try await fixture.lease()
            let title = try #require(again.jobs.first { $0.kind == .resolve })
            #expect(title.titles == nil)
            #expect(Set(again.jobs.map(\.url)).contains("http://h/a?session=3"))
            batch = SegmentBatch(
                worker: fixture.worker, job: title.id, lease: again.lease ?? "",
                segments: segments(3))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            jobs = again.jobs
            #expect(jobs.contains { $0.url == "http://h/p.jpg?cb=3" })
        }
    }

    @Test("a title's segments read again with another session keep their results")
    func segments() async throws {
        try await F.with { fixture in
            var title = F.title("t")
            title.url = "http://h/t/main.m3u8?session=1"
            _ = try await Self.submit(fixture, [title])
            let read = { (grant: LeaseGrant, session: Int, sig: String) in
                let resolve = try #require(grant.jobs.first { $0.kind == .resolve })
                let segments = (0..<3).map { ordinal in
                    ResolvedSegment(
                        ordinal: ordinal,
                        url: "http://h/t/\(ordinal).ts?session=\(session)"
                            + (ordinal == 2 ? "&sig=\(sig)" : ""),
                        key: "h/t/\(ordinal).ts", role: .media)
                }
                let batch = SegmentBatch(
                    worker: fixture.worker, job: resolve.id, lease: grant.lease ?? "",
                    segments: segments)
                #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
                var report = F.done(resolve, grant)
                report.segments = 3
                _ = try await fixture.report([report])
            }
            try await read(try await fixture.lease(), 1, "a")
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map {
                    $0.url.contains("/0.ts")
                        ? F.failed($0, grant, "origin.http.404") : F.done($0, grant)
                })
            // What failed has the title read again: what was stored stays so, but for what was kept and is another.
            title.url = "http://h/t/main.m3u8?session=2"
            _ = try await Self.submit(fixture, [title])
            try await read(try await fixture.lease(), 2, "b")
            let rest = try await fixture.lease()
            #expect(
                Set(rest.jobs.filter(Self.isNew).map(\.url)) == [
                    "http://h/t/0.ts?session=2", "http://h/t/2.ts?session=2&sig=b",
                ])
        }
    }
}
