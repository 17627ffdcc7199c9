import API
import Model
import TestSupport
import Testing

@testable import JobQueue

/// Two objects under one key: the second is rejected before anything of it is fetched.
@Suite("Keys of different objects", .timeLimit(.minutes(2)))
struct KeyConflictTests {
    private static func file(_ name: String, _ url: String, key: String) -> AssetSubmission {
        AssetSubmission(name: name, url: url, kind: .file, key: key)
    }

    /// The states of a catalog's assets by name, and the codes of those that failed.
    private static func states(
        _ catalog: CatalogID, _ fixture: QueueFixture
    ) async throws -> [String: String] {
        let page = try await fixture.queue.catalogs.assets(
            of: catalog, after: AssetID(0), state: nil, limit: 100)
        return Dictionary(
            uniqueKeysWithValues: page.assets.map {
                ($0.name, $0.failure?.code.rawValue ?? $0.state.rawValue)
            })
    }

    private static func jobs(_ fixture: QueueFixture) async throws -> Int64 {
        try await fixture.count("job") + fixture.count("delayed_job")
    }

    @Test(
        "within a catalog the first one is fetched",
        arguments: [
            ("http://h/m/n", "http://h/m//n", "h/m/n"),
            ("http://h/x/index.html", "http://h/x/", "h/x/index.html"),
            ("http://h/q?a=%2F", "http://h/q?a=/", "h/q?a=%2F"),
            ("http://h/t?token=one", "http://h/t?token=two", "h/t"),
            (
                "http://h/t?md5=0123456789abcdef&e=1700000000",
                "http://h/t?md5=fedcba9876543210&e=1700000000", "h/t"
            ),
        ])
    func withinACatalog(first: String, second: String, key: String) async throws {
        try await QueueFixture.with { fixture in
            let catalog = try await fixture.submit([
                Self.file("first", first, key: key), Self.file("second", second, key: key),
                Self.file("third", first, key: key), QueueFixture.file("other"),
            ])
            #expect(
                try await Self.states(catalog, fixture) == [
                    "first": "ready", "second": "storage.pathConflict", "third": "ready",
                    "other": "ready",
                ])
            #expect(try await Self.jobs(fixture) == 3)
            #expect(try await fixture.count("segment") == 3)
        }
    }

    @Test("another catalog of the site holds the key, of another site it does not")
    func acrossCatalogs() async throws {
        try await QueueFixture.with { fixture in
            let first = Self.file("a", "http://h/m/n", key: "h/m/n")
            let second = Self.file("b", "http://h/m//n?secret=s", key: "h/m/n")
            _ = try await fixture.submit([first], catalog: "one")
            let two = try await fixture.submit([second], catalog: "two")
            let page = try await fixture.queue.catalogs.assets(
                of: two, after: AssetID(0), state: nil, limit: 10)
            let failure = try #require(page.assets.first?.failure)
            #expect(failure.code == "storage.pathConflict")
            #expect(
                failure.message
                    == "h/m/n: http://h/m/n of catalog one is stored there; submit under the name one to "
                    + "replace it")
            #expect(try await fixture.queue.catalogs.status(of: two).state == .failed)
            let third = try await fixture.submit([first], catalog: "three")
            #expect(try await Self.states(third, fixture) == ["a": "ready"])
            let elsewhere = try await fixture.submit(
                [second], catalog: "two", site: "file:///srv/other")
            #expect(try await Self.states(elsewhere, fixture) == ["b": "ready"])
        }
    }

    @Test("a new signature in another catalog is the same object")
    func signatures() async throws {
        try await QueueFixture.with { fixture in
            let queries = ["Expires=1&Signature=c", "Expires=2&Signature=d", "X-Amz-Signature=e"]
            for (number, query) in queries.enumerated() {
                let catalog = try await fixture.submit(
                    [Self.file("a", "http://h/m?\(query)", key: "h/m")], catalog: "c\(number)")
                #expect(try await Self.states(catalog, fixture) == ["a": "ready"])
            }
            let signed = try await fixture.submit(
                [
                    Self.file("a", "http://h/s?v=1&Expires=1&Signature=c", key: "h/s?v=1"),
                    Self.file("b", "http://h/s?Expires=2&Signature=d&v=1", key: "h/s?v=1"),
                ], catalog: "signed")
            #expect(try await Self.states(signed, fixture) == ["a": "ready", "b": "ready"])
        }
    }

    @Test("of two catalogs with other tokens one completes; the same catalog may have a new one")
    func tokens() async throws {
        try await QueueFixture.with { fixture in
            func asset(_ token: String) -> AssetSubmission {
                Self.file("dl", "http://h/dl?token=\(token)", key: "h/dl")
            }
            let one = try await fixture.submit([asset("aaa")], catalog: "one")
            let grant = try await fixture.lease()
            #expect(
                try await fixture.report(grant.jobs.map { QueueFixture.done($0, grant) })
                    == [.accepted])
            try await fixture.fold()
            #expect(try await Self.states(one, fixture) == ["dl": "completed"])
            let jobs = try await Self.jobs(fixture)
            let two = try await fixture.submit([asset("bbb")], catalog: "two")
            let refused = try await fixture.assets(of: two)[0].failure
            #expect(refused?.code == "storage.pathConflict")
            #expect(
                refused?.message
                    == "h/dl: http://h/dl?… of catalog one is stored there; submit under the name one to "
                    + "replace it")
            #expect(try await Self.jobs(fixture) == jobs)
            _ = try await fixture.submit([asset("bbb")], catalog: "one")
            #expect(try await Self.states(one, fixture) == ["dl": "ready"])
        }
    }

    /// Pairs of one key, as `SignedQuery` and PostgreSQL compare them.
    static let pairs = [
        ("a?Expires=1&Signature=x", "a?Expires=2&Signature=y"), ("a?id=1&sig=x", "a?sig=y&id=1"),
        ("a?hdnts=x", "a?hdnts=y"), ("a?token=x", "a?token=y"), ("a?token=x", "a"),
        ("a?exp=1", "a?exp=2"), ("a?id=1&sig=x", "a?id=2&sig=x"), ("a//b", "a/b"),
        ("a?X%2DAmz%2DSignature=x", "a?X-Amz-Signature=y"),
        ("a?v=1&amp;Signature=x&amp;Expires=1", "a?v=1&amp;Signature=y&amp;Expires=2"),
        ("a?v=1;sig=x", "a?v=1;sig=y"), ("a?v=1;sig=x", "a?v=2;sig=x"),
        ("a?token=x&expires=1", "a?token=y&expires=2"),
        ("a?md5=x&e=1700000000", "a?md5=y&e=1700000001"),
        ("a?md5=0123456789abcdef&e=1700000000", "a?md5=fedcba9876543210&e=1700000000"),
        ("a?w=3&h=200&t=1700000000", "a?w=3&h=450&t=1700000000"), ("~/a", "exp=1~hmac=x/a"),
        ("a?md5=x&e=1", "a?md5=y&e=1"), ("a?md5=x", "a?md5=y"),
        ("a?token=x&Expires=1&sig=s", "a?token=y&Expires=1&sig=s"),
        ("a?token=x&Expires=1&sig=s", "a?token=x&Expires=2&sig=t"),
        ("a?sv=1&se=2&sp=r&sig=x", "a?sv=1&se=3&sp=r&sig=y"), ("a?se=2&sig=x", "a?se=3&sig=y"),
        ("a?x-oss-signature=x&x-oss-process=1", "a?x-oss-signature=y&x-oss-process=2"),
        ("a?x-oss-signature=x&x-oss-process=1", "a?x-oss-signature=y&x-oss-process=1"),
        ("a?x-goog-credential=1&x-goog-signature=x", "a?x-goog-credential=2&x-goog-signature=y"),
        ("a?x-goog-credential=1", "a?x-goog-credential=2"), ("a?policy=1", "a?policy=2"),
        ("a?st=1~exp=2~hmac=ab", "a?st=2~exp=3~hmac=cd"), ("hdnts=x/a", "hdnts=y/a"),
        ("exp=1~hmac=x/a", "exp=2~hmac=y/a"), ("token=x/a", "token=y/a"), ("a;sig=x", "a;sig=y"),
        ("a?token=x&policy=1", "a?token=x&policy=2"),
        ("a?txSecret=x&txTime=1", "a?txSecret=y&txTime=2"),
        ("a?wowzatokenhash=x&wowzatokenendtime=1", "a?wowzatokenhash=y&wowzatokenendtime=2"),
    ]

    @Test("PostgreSQL and the resolver agree on what is one object", arguments: pairs)
    func agreement(left: String, right: String) async throws {
        let urls = [left, right].map { "http://h/\($0)" }
        let isSame = SignedQuery.isSameObject(Array(urls[0].utf8), Array(urls[1].utf8))
        try await QueueFixture.with { fixture in
            _ = try await fixture.submit([Self.file("a", urls[0], key: "h/a")], catalog: "one")
            let two = try await fixture.submit(
                [Self.file("a", urls[1], key: "h/a")], catalog: "two")
            #expect(
                try await Self.states(two, fixture)
                    == ["a": isSame ? "ready" : "storage.pathConflict"])
        }
    }

    @Test("rejected assets are checked again by the next start and by a retry")
    func checkedAgain() async throws {
        try await QueueFixture.with { fixture in
            let first = Self.file("a", "http://h/m/n", key: "h/m/n")
            let second = Self.file("b", "http://h/m//n", key: "h/m/n")
            let catalog = try await fixture.submit([first, second])
            #expect(try await Self.states(catalog, fixture)["b"] == "storage.pathConflict")
            let retried = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.retry, catalog: CatalogReference(catalog)))
            #expect(retried.jobs == 0)
            #expect(try await Self.states(catalog, fixture)["b"] == "storage.pathConflict")
            _ = try await fixture.submit([second])
            #expect(try await Self.states(catalog, fixture)["b"] == "inProgress")
            #expect(try await Self.jobs(fixture) == 1)
        }
    }

    @Test("a sidecar's key counts as its asset's own")
    func sidecars() async throws {
        try await QueueFixture.with { fixture in
            var asset = Self.file("film", "http://h/film", key: "h/film")
            asset.sidecars = [
                SidecarSubmission(
                    url: "http://h/s//a.vtt", key: "h/s/a.vtt", role: .subtitles, required: true)
            ]
            let catalog = try await fixture.submit([
                Self.file("a", "http://h/s/a.vtt", key: "h/s/a.vtt"), asset,
            ])
            #expect(
                try await Self.states(catalog, fixture) == [
                    "a": "ready", "film": "storage.pathConflict",
                ])
        }
    }

    @Test("a title that lists what another asset has under its key is rejected when it is resolved")
    func titles() async throws {
        try await QueueFixture.with { fixture in
            _ = try await fixture.submit(
                [
                    Self.file("same", "http://cdn.test/t/0.ts", key: "cdn.test/t/0.ts"),
                    Self.file("other", "http://cdn.test/t//1.ts", key: "cdn.test/t/1.ts"),
                ], catalog: "files")
            let catalog = try await fixture.submit([QueueFixture.title("t")], catalog: "titles")
            let grant = try await fixture.lease()
            let resolve = try #require(grant.jobs.first { $0.kind == .resolve })
            let batch = SegmentBatch(
                worker: fixture.worker, job: resolve.id, lease: grant.lease ?? "",
                segments: TitleTests.segments(2))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            var done = QueueFixture.done(resolve, grant)
            done.segments = 2
            #expect(try await fixture.report([done]) == [.accepted])
            let failure = try #require(try await fixture.assets(of: catalog)[0].failure)
            #expect(failure.code == "storage.pathConflict")
            #expect(
                failure.message
                    == "cdn.test/t/1.ts: http://cdn.test/t//1.ts of catalog files is stored there; "
                    + "submit under the name files to replace it")
            try await fixture.fold()
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.failed == 1)
        }
    }

    @Test("of two catalogs that start at once one is rejected")
    func atOnce() async throws {
        try await QueueFixture.with { fixture in
            for round in 0..<10 {
                let urls = ["http://h/\(round)/n", "http://h/\(round)//n"]
                var handles: [CatalogHandle] = []
                for (number, url) in urls.enumerated() {
                    let handle = try await fixture.queue.catalogs.submissions.open(
                        CatalogSubmission(
                            name: "\(round)-\(number)", storageURL: QueueFixture.site))
                    try await fixture.queue.catalogs.submissions.add(
                        [Self.file("a", url, key: "h/\(round)/n")], to: handle.id,
                        generation: handle.generation)
                    handles.append(handle)
                }
                let (queue, first, second) = (fixture.queue, handles[0].id, handles[1].id)
                async let one = queue.catalogs.submissions.start(first, generation: 1)
                async let two = queue.catalogs.submissions.start(second, generation: 1)
                _ = try await (one, two)
                var codes: [String] = []
                for handle in handles {
                    codes += try await Self.states(handle.id, fixture).values
                }
                #expect(codes.sorted() == ["ready", "storage.pathConflict"])
            }
        }
    }
}
