import Catalog
import Model
import TestSupport
import Testing

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

    // MARK: The order

    private let urls = ["http://a/x", "http://b/x", "http://c/x"]

    @Test("each origin is tried by one file, then the fastest comes first")
    func measures() {
        var table = MirrorTable()
        #expect(table.order(urls, cooling: [], now: 0)[0] == urls[0])
        #expect(table.order(urls, cooling: [], now: 0)[0] == urls[1])
        #expect(table.order(urls, cooling: [], now: 0)[0] == urls[2])
        // Nothing is known yet: the list's order.
        #expect(table.order(urls, cooling: [], now: 1) == urls)
        table.succeeded(urls[0], bytesPerSecond: 10, now: 1)
        table.succeeded(urls[1], bytesPerSecond: 30, now: 1)
        table.succeeded(urls[2], bytesPerSecond: 20, now: 1)
        #expect(table.order(urls, cooling: [], now: 2) == [urls[1], urls[2], urls[0]])
        // What is old is measured anew, by one file.
        #expect(table.order(urls, cooling: [], now: 400)[0] == urls[0])
        #expect(table.order(urls, cooling: [], now: 400)[0] == urls[1])
    }

    @Test("those that fail or are left alone come last, for a while")
    func health() {
        var table = MirrorTable()
        for url in urls { table.succeeded(url, bytesPerSecond: 10, now: 0) }
        table.failed(urls[0], now: 1)
        #expect(
            table.order(urls, cooling: ["http://b"], now: 2) == [urls[2], urls[0], urls[1]])
        #expect(table.order(urls, cooling: [], now: 62) == urls)
        table.failed(urls[1], now: 62)
        table.succeeded(urls[1], bytesPerSecond: 90, now: 63)
        #expect(table.order(urls, cooling: [], now: 64)[0] == urls[1])
    }

    @Test("what an attempt comes to")
    func results() {
        func result(_ codes: [FailureCode]) -> String {
            var course = MirrorCourse(Array(urls.prefix(codes.count)), main: urls[0])
            for code in codes { _ = course.advance(after: Failure(code, "")) }
            let result = course.result(Failure(codes[codes.count - 1], ""))
            return "\(result.failure.code) \(result.isMain)"
        }
        #expect(result(["origin.http.503", "origin.http.404"]) == "origin.http.503 true")
        #expect(result(["origin.http.404", "origin.http.503"]) == "origin.http.503 false")
        #expect(result(["origin.http.404", "origin.http.403"]) == "origin.http.404 true")
        #expect(result(["origin.dns"]) == "origin.dns true")
        var course = MirrorCourse(urls, main: urls[0])
        let advances = course.advance(after: Failure("storage.full", ""))
        #expect(!advances)
        #expect(course.result(Failure("storage.full", "")).failure.code == "storage.full")
    }
}
