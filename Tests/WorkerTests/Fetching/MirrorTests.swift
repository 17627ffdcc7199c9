import API
import CoordinatorClient
import Model
import TestSupport
import Testing
import WebURL

@testable import Worker

/// A file that several origins have comes from the fastest one that is well.
@Suite("Mirrors", .timeLimit(.minutes(2)))
struct MirrorTests {
    private func mirrored(
        _ cluster: Cluster, _ path: String, _ mirrors: [String], sha256: String? = nil
    ) throws -> AssetSubmission {
        var asset = try cluster.file(path, sha256: sha256)
        asset.mirrors = mirrors
        return asset
    }

    @Test("what is wrong at one origin is fetched from the next, in one attempt")
    func failover() async throws {
        let mirror = try FaultOrigin()
        let gone = "http://127.0.0.1:\(try { try FaultOrigin().port }())"
        try await Cluster.with { cluster in
            let body = Array("the same bytes".utf8)
            cluster.origin.route("/busy", .init(503))
            cluster.origin.route("/missing", .init(404))
            cluster.origin.route("/cut", FaultOrigin.Response(body: body).cut(after: 3))
            cluster.origin.route("/other", .init(text: "other bytes!!!"))
            cluster.origin.route("/page.mp4", .htmlPage())
            let paths = ["/busy", "/missing", "/cut", "/other", "/page.mp4"]
            for path in paths { mirror.route(path, .init(body: body)) }
            let assets = try await cluster.run(
                try paths.map { path in
                    try mirrored(
                        cluster, path, [gone + path, mirror.url(path)],
                        sha256: Cluster.sha256(body))
                })
            for path in paths {
                #expect(assets[path]?.state == .completed)
                #expect(assets[path]?.retries == 0)
                #expect(cluster.stored(path) == body)
                #expect(mirror.count(path) == 1)
            }
        }
    }

    @Test("where none has it, the failure is that of the file's own origin")
    func allFail() async throws {
        let mirror = try FaultOrigin()
        try await Cluster.with { cluster in
            cluster.origin.route("/x", .init(404))
            let assets = try await cluster.run([
                try mirrored(cluster, "/x", [mirror.url("/x")])
            ])
            #expect(assets["/x"]?.failure?.code == "origin.http.404")
            #expect(cluster.origin.count("/x") == 1 && mirror.count("/x") == 1)
        }
    }

    @Test(
        "an origin whose files are missing or wrong is not first for the next file",
        arguments: ["missing", "wrong"])
    func unwell(what: String) async throws {
        let mirror = try FaultOrigin()
        try await Cluster.with { cluster in
            let body = Array("the same bytes".utf8)
            let paths = (0..<6).map { "/\($0)" }
            for path in paths {
                cluster.origin.route(
                    path, what == "missing" ? .init(404) : .init(text: "other bytes!!!"))
                mirror.route(path, .init(body: body))
            }
            // One after the other, so that each knows how the one before went.
            for path in paths {
                let assets = try await cluster.run([
                    try mirrored(
                        cluster, path, [mirror.url(path)], sha256: Cluster.sha256(body))
                ])
                #expect(assets[path]?.state == .completed)
            }
            #expect(cluster.origin.requests.count == 1)
        }
    }

    @Test("of two origins that are well, the faster one has most of what comes later")
    func fastest() async throws {
        let fast = try FaultOrigin()
        try await Cluster.with { cluster in
            let body = sampleBytes(64 << 10)
            func asset(_ path: String) throws -> AssetSubmission {
                fast.serve(path, body)
                return try mirrored(cluster, path, [fast.url(path)])
            }
            // Its file takes longer than many of the other's one after the other, on any machine.
            let gate = Gate()
            defer { gate.open() }
            let slow = FaultOrigin.Response(body: body).held(after: 1 << 10, at: gate)
            cluster.origin.route("/slow", slow)
            let first = try await cluster.submit([try asset("/slow")], catalog: "slow")
            try await gate.waitUntilReached()
            for number in 0..<30 {
                if number == 10 {
                    gate.open()
                    #expect(try await cluster.end(of: first)["/slow"]?.state == .completed)
                }
                let path = "/\(number)"
                cluster.origin.serve(path, body)
                let ended = try await cluster.run([try asset(path)], catalog: path)
                #expect(ended[path]?.state == .completed)
                #expect(cluster.stored(path) == body)
            }
            let later = (10..<30).map { "/\($0)" }
            #expect(later.count { fast.count($0) == 1 } >= 15)
            #expect(later.count { cluster.origin.count($0) == 1 } <= 5)
        }
    }

    @Test(
        "a title's further BaseURLs are used when the first fails", arguments: ["down", "missing"])
    func alternatives(what: String) async throws {
        let mirror = try FaultOrigin()
        let gone = "http://127.0.0.1:\(try { try FaultOrigin().port }())"
        try await Cluster.with { cluster in
            let first = what == "down" ? gone : cluster.origin.url("")
            let manifest = """
                <MPD mediaPresentationDuration="PT4S"><BaseURL>\(first)/a/</BaseURL>
                <BaseURL serviceLocation="b">\(mirror.url("/b/"))</BaseURL><Period><AdaptationSet>
                <SegmentTemplate media="v/$Number$.m4s" initialization="v/i.mp4" duration="2"/>
                <Representation id="v"/></AdaptationSet></Period></MPD>
                """
            cluster.origin.route("/t/m.mpd", .init(text: manifest))
            let names = ["i.mp4", "1.m4s", "2.m4s"]
            for name in names { mirror.route("/b/v/\(name)", .init(text: name)) }
            var asset = try cluster.file("/t/m.mpd")
            asset.kind = .dash
            let assets = try await cluster.run([asset])
            #expect(assets["/t/m.mpd"]?.state == .completed)
            #expect(assets["/t/m.mpd"]?.retries == 0)
            #expect(names.allSatisfy { mirror.count("/b/v/\($0)") == 1 })
            // They lie where the first would have them, and the manifest names that.
            let site = try SiteKey(try WebURL("\(first)/a/v/1.m4s")).text
            #expect(try cluster.edge.read(site) == Array("1.m4s".utf8))
            let stored = String(decoding: cluster.stored("/t/m.mpd") ?? [], as: UTF8.self)
            #expect(!stored.contains("http:") && !stored.contains("serviceLocation"))
        }
    }

    @Test(
        "a title's large file comes in parts from the first BaseURL, or whole from the next",
        arguments: [true, false])
    func largeAlternatives(isWell: Bool) async throws {
        let mirror = try FaultOrigin()
        try await Cluster.with(workers: 2, partBytes: LargeFileTests.partBytes) { cluster in
            let body = LargeFileTests.body
            let manifest = """
                <MPD mediaPresentationDuration="PT4S"><BaseURL>\(cluster.origin.url("/a/"))</BaseURL>
                <BaseURL>\(mirror.url("/b/"))</BaseURL><Period><AdaptationSet><Representation id="v">
                <BaseURL>v.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>
                """
            cluster.origin.route("/t/m.mpd", .init(text: manifest))
            if isWell { cluster.origin.serve("/a/v.mp4", body, etag: "\"v\"") }
            mirror.serve("/b/v.mp4", body, etag: "\"w\"")
            var asset = try cluster.file("/t/m.mpd")
            asset.kind = .dash
            let assets = try await cluster.run([asset])
            #expect(assets["/t/m.mpd"]?.state == .completed)
            #expect(cluster.stored("/a/v.mp4") == body)
            let parts = Set(
                cluster.origin.requests(for: "/a/v.mp4").compactMap { $0.headers["range"] })
            #expect(parts.count == (isWell ? 5 : 0))
            #expect(mirror.count("/b/v.mp4") == (isWell ? 0 : 1))
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    @Test(
        "a body interrupted at one origin is resumed at the next, if a digest guards it",
        arguments: ["/same", "/changed", "/unguarded"])
    func resumes(path: String) async throws {
        let mirror = try FaultOrigin()
        let body = sampleBytes(4 << 20)
        let atMain = path == "/changed" ? sampleBytes(4 << 20, seed: 2) : body
        let cut = 2 << 20
        try await Cluster.with { cluster in
            cluster.origin.route(path) { $0.serve(atMain, etag: "\"a\"").cut(after: cut) }
            mirror.serve(path, body, etag: "\"b\"")
            let isGuarded = path != "/unguarded"
            let assets = try await cluster.run([
                try mirrored(
                    cluster, path, [mirror.url(path)],
                    sha256: isGuarded ? Cluster.sha256(body) : nil)
            ])
            #expect(assets[path]?.state == .completed && assets[path]?.retries == 0)
            #expect(cluster.stored(path) == body)
            #expect(cluster.origin.count(path) == 1)
            // A body that does not match starts over; unguarded, the validator shows that it is
            // another's.
            let asked = mirror.requests(for: path)
            #expect(asked.first?.headers["range"] == "bytes=\(cut)-")
            #expect((asked.first?.headers["if-range"] == nil) == isGuarded)
            #expect(
                asked.dropFirst().map { $0.headers["range"] } == (path == "/changed" ? [nil] : []))
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// An hour is longer than any test: they do not wait for it.
    @Test("during their own origin's cooldown, they all come from the mirror")
    func coolsDown() async throws {
        let mirror = try FaultOrigin()
        try await Cluster.with(workers: 2) { cluster in
            let name = cluster.origin.url("")
            cluster.origin.route(
                "/busy", FaultOrigin.Response(503).with("Retry-After", "3600"))
            let busy = try await cluster.submit([try cluster.file("/busy")], catalog: "busy")
            try await waitUntil(deadlineSeconds: 60, "the cooldown") {
                try await cluster.client.origins().origins.contains {
                    $0.origin == name && $0.cooldownUntil != nil
                }
            }
            let assets = try (0..<300).map { number in
                mirror.serve("/\(number)", sampleBytes(100, seed: UInt64(number) + 1))
                return try mirrored(cluster, "/\(number)", [mirror.url("/\(number)")])
            }
            let ended = try await cluster.end(of: try await cluster.submit(assets))
            #expect(ended.count == 300)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.retries == 0 })
            #expect((0..<300).allSatisfy { mirror.count("/\($0)") == 1 })
            #expect(cluster.origin.requests.map(\.target) == ["/busy"])
            #expect(try await cluster.client.status(of: busy).totals.failed == 0)
        }
    }

    @Test("an origin that refuses connections holds nothing up that a mirror has")
    func refusing() async throws {
        let mirror = try FaultOrigin()
        let gone = "http://127.0.0.1:\(try { try FaultOrigin().port }())"
        try await Cluster.with(workers: 2) { cluster in
            // What has no mirror opens the breaker, again and again.
            var assets = try (0..<30).map { number in
                var asset = try cluster.file("/alone/\(number)")
                asset.url = "\(gone)/alone/\(number)"
                return asset
            }
            let alone = try await cluster.submit(assets, catalog: "alone")
            try await waitUntil(deadlineSeconds: 60, "the breaker") {
                try await cluster.client.origins().origins.contains {
                    $0.origin == gone && $0.breaker != .closed
                }
            }
            assets = try (0..<300).map { number in
                mirror.serve("/\(number)", sampleBytes(100, seed: UInt64(number) + 1))
                var asset = try mirrored(cluster, "/\(number)", [mirror.url("/\(number)")])
                asset.url = "\(gone)/\(number)"
                return asset
            }
            let ended = try await cluster.end(of: try await cluster.submit(assets))
            #expect(ended.count == 300)
            #expect(ended.values.allSatisfy { $0.state == .completed })
            #expect((0..<300).allSatisfy { mirror.count("/\($0)") == 1 })
            // Not one after the other, each as a try whether their own origin is well.
            let tries = try await cluster.client.origins().origins.first { $0.origin == gone }?
                .decisions.count { $0.decision == "halfOpen" }
            #expect(tries ?? 0 < 50)
            #expect(try await cluster.client.status(of: alone).totals.completed == 0)
        }
    }

    @Test("an origin's cooldown is known to all, although a mirror served the file")
    func retryAfter() async throws {
        let mirror = try FaultOrigin()
        try await Cluster.with { cluster in
            cluster.origin.route("/x", FaultOrigin.Response(429).with("Retry-After", "3600"))
            mirror.route("/x", .init(text: "the bytes"))
            let assets = try await cluster.run([
                try mirrored(cluster, "/x", [mirror.url("/x")])
            ])
            #expect(assets["/x"]?.state == .completed && assets["/x"]?.retries == 0)
            let origins = try await cluster.client.origins().origins
            let own = origins.first { $0.origin == cluster.origin.url("") }
            #expect(own?.cooldownUntil != nil && own?.decisions.map(\.decision) == ["cooldown"])
        }
    }

    @Test("of a job that is a mirror's turn, only mirrors are asked, that one's first")
    func turns() {
        var table = MirrorTable()
        table.succeeded(urls[2], bytesPerSecond: 90, now: 0)
        table.succeeded(urls[1], bytesPerSecond: 10, now: 0)
        let mirrors = Array(urls.dropFirst())
        #expect(table.order(mirrors, first: "http://b", inCooldown: [], now: 1) == mirrors)
        #expect(
            table.order(mirrors, first: "http://c", inCooldown: [], now: 1) == mirrors.reversed())
    }

    // MARK: The order

    private let urls = ["http://a/x", "http://b/x", "http://c/x"]

    @Test("each origin is tried by one file, then the fastest comes first")
    func measures() {
        var table = MirrorTable()
        #expect(table.order(urls, inCooldown: [], now: 0)[0] == urls[0])
        #expect(table.order(urls, inCooldown: [], now: 0)[0] == urls[1])
        #expect(table.order(urls, inCooldown: [], now: 0)[0] == urls[2])
        // Nothing is known yet: the list's order.
        #expect(table.order(urls, inCooldown: [], now: 1) == urls)
        table.succeeded(urls[0], bytesPerSecond: 10, now: 1)
        table.succeeded(urls[1], bytesPerSecond: 30, now: 1)
        table.succeeded(urls[2], bytesPerSecond: 20, now: 1)
        #expect(table.order(urls, inCooldown: [], now: 2) == [urls[1], urls[2], urls[0]])
        // An old measurement is repeated, by one file.
        #expect(table.order(urls, inCooldown: [], now: 400)[0] == urls[0])
        #expect(table.order(urls, inCooldown: [], now: 400)[0] == urls[1])
    }

    @Test("failing ones and those in cooldown come last, for a while")
    func health() {
        var table = MirrorTable()
        for url in urls { table.succeeded(url, bytesPerSecond: 10, now: 0) }
        table.failed(urls[0], now: 1)
        #expect(
            table.order(urls, inCooldown: ["http://b"], now: 2) == [urls[2], urls[0], urls[1]])
        #expect(table.order(urls, inCooldown: [], now: 62) == urls)
        table.failed(urls[1], now: 62)
        table.succeeded(urls[1], bytesPerSecond: 90, now: 63)
        #expect(table.order(urls, inCooldown: [], now: 64)[0] == urls[1])
    }

    @Test("results of an attempt")
    func results() {
        func result(_ codes: [FailureCode]) -> String {
            var plan = MirrorPlan(Array(urls.prefix(codes.count)), main: urls[0])
            var last = MirrorPlan.Ending(failure: Failure("worker.internal", ""))
            for code in codes {
                last = .init(failure: Failure(code, ""), origin: originName(of: plan.url))
                _ = plan.advance(after: last)
            }
            let ending = plan.result(last)
            return "\(ending.failure.code) \(ending.origin ?? "")"
        }
        #expect(result(["origin.http.503", "origin.http.404"]) == "origin.http.503 http://a")
        #expect(result(["origin.http.404", "origin.http.503"]) == "origin.http.503 http://b")
        #expect(result(["origin.http.404", "origin.http.403"]) == "origin.http.404 http://a")
        #expect(result(["origin.dns"]) == "origin.dns http://a")
        var plan = MirrorPlan(urls, main: urls[0])
        let full = MirrorPlan.Ending(failure: Failure("storage.full", ""), origin: "http://a")
        let advances = plan.advance(after: full)
        #expect(!advances)
        #expect(plan.result(full).failure.code == "storage.full")
    }

    @Test("each origin answers for what it did itself")
    func outcomes() {
        func ending(_ code: FailureCode, _ origin: String, _ seconds: Double? = nil)
            -> MirrorPlan.Ending
        {
            .init(failure: Failure(code, ""), origin: origin, retryAfterSeconds: seconds)
        }
        var plan = MirrorPlan(urls, main: urls[0])
        _ = plan.advance(after: ending("origin.http.503", "http://a"), inCooldown: ["http://b"])
        // An origin in cooldown gets no request.
        #expect(plan.url == urls[2])
        let last = ending("origin.http.429", "http://elsewhere", 7)
        _ = plan.advance(after: last)
        #expect(
            plan.outcomes(last) == [
                OriginOutcome(origin: "http://a", code: "origin.http.503"),
                OriginOutcome(
                    origin: "http://elsewhere", code: "origin.http.429", retryAfterSeconds: 7),
            ])
        // Others have to know of those that it failed at before.
        #expect(
            plan.served(by: "http://c") { _ in false } == [
                OriginOutcome(origin: "http://c"),
                OriginOutcome(origin: "http://a", code: "origin.http.503"),
                OriginOutcome(
                    origin: "http://elsewhere", code: "origin.http.429", retryAfterSeconds: 7),
            ])
        var other = MirrorPlan(urls, main: urls[0])
        _ = other.advance(after: ending("origin.http.404", "http://a"))
        // Reports count what mirrors have saved, whatever the failure was.
        #expect(
            other.served(by: "http://b") { _ in false } == [
                OriginOutcome(origin: "http://b"),
                OriginOutcome(origin: "http://a", code: "origin.http.404"),
            ])

        let alone = MirrorPlan([urls[0]], main: urls[0])
        #expect(alone.outcomes(ending("origin.http.503", "http://a", 7)) == nil)
        #expect(alone.served(by: "http://a") { _ in true } == nil)
        #expect(alone.served(by: "http://led") { _ in false } == nil)
        #expect(
            alone.served(by: "http://led") { _ in true }?.map(\.origin)
                == ["http://a", "http://led"])
        #expect(alone.outcomes(last)?.map(\.origin) == ["http://elsewhere"])
    }
}
