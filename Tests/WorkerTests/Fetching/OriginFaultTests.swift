import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

/// Each asset meets another fault of its origin, all in one catalog: each fails with its own code, and
/// none harms another.
@Suite struct OriginFaultTests {
    typealias C = Cluster
    typealias Response = FaultOrigin.Response

    /// An asset, what its origin does, and how it must end: nil for completed.
    struct Case: Sendable {
        var path: String
        var isTitle = false
        var bytes: Int64?
        var sha256: String?
        var ending: FailureCode?
        /// Requests that it takes; nil when it does not matter.
        var requests: Int?
        var route: @Sendable (FaultOrigin.Request) -> Response
    }

    private static let body = sampleBytes(50_000)
    private static let good = C.sha256(body)

    private static func list(_ text: String, type: String = "application/vnd.apple.mpegurl")
        -> Response
    {
        Response(headers: [("Content-Type", type)], text: text)
    }

    static let files: [Case] = [
        Case(path: "/f/good", requests: 1) { $0.serve(body) },
        Case(path: "/f/404", ending: "origin.http.404", requests: 1) { _ in Response(404) },
        Case(path: "/f/500-twice", requests: 3) {
            $0.number <= 2 ? Response(500) : $0.serve(body)
        },
        Case(path: "/f/500", ending: "origin.http.500", requests: 5) { _ in Response(500) },
        Case(path: "/f/truncated-once", requests: 2) {
            $0.number == 1 ? $0.serve(body).cut(after: 20_000) : $0.serve(body)
        },
        Case(path: "/f/truncated", ending: "origin.truncated", requests: 5) {
            $0.serve(body).cut(after: 20_000)
        },
        Case(path: "/f/reset-once", requests: 2) {
            $0.number == 1 ? $0.serve(body).cut(after: 0, then: .reset) : $0.serve(body)
        },
        Case(
            path: "/f/digest", sha256: String(repeating: "0", count: 64),
            ending: "integrity.digestMismatch", requests: 2
        ) { $0.serve(body) },
        Case(path: "/f/corrupt-once", sha256: good, requests: 2) {
            $0.number == 1 ? $0.serve(body).corrupted(at: 30_000) : $0.serve(body)
        },
        Case(
            path: "/f/corrupt", sha256: good, ending: "integrity.digestMismatch", requests: 2
        ) { $0.serve(body).corrupted(at: 30_000) },
        Case(path: "/f/length", bytes: 49_999, ending: "content.lengthMismatch", requests: 2) {
            $0.serve(body)
        },
        Case(path: "/f/page.mp4", ending: "content.unexpectedType", requests: 1) { _ in
            .htmlPage()
        },
        Case(path: "/f/loop", ending: "origin.redirectLimit", requests: 6) { _ in
            .redirect(to: "/f/loop")
        },
        Case(path: "/f/to-file", ending: "origin.redirectRefused", requests: 1) { _ in
            .redirect(to: "file:///etc/passwd")
        },
        Case(path: "/f/moved", requests: 1) { _ in .redirect(to: "/f/good") },
        Case(path: "/f/gzip", ending: "origin.encoding", requests: 1) { _ in .gzipped(body) },
        Case(path: "/f/not-http", ending: "origin.protocol", requests: 3) { _ in
            .raw("SSH-2.0-OpenSSH_9.2\r\n")
        },
    ]

    static let titles: [Case] = [
        Case(path: "/html/main.m3u8", isTitle: true, ending: "manifest.html", requests: 1) { _ in
            .htmlPage()
        },
        Case(path: "/empty/main.m3u8", isTitle: true, ending: "manifest.empty") { _ in
            list("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-ENDLIST\n")
        },
        Case(path: "/live/main.m3u8", isTitle: true, ending: "manifest.live") { _ in
            list("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\ns.ts\n")
        },
        Case(path: "/broken/main.m3u8", isTitle: true, ending: "manifest.malformed") { _ in
            list("this is no playlist\n")
        },
        Case(path: "/inside/main.m3u8", isTitle: true, ending: "manifest.uriRefused") { _ in
            list(
                "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nfile:///etc/passwd\n"
                    + "#EXT-X-ENDLIST\n")
        },
        Case(path: "/gone/main.m3u8", isTitle: true, ending: "origin.http.404", requests: 1) { _ in
            Response(404)
        },
        // Its manifest is fine, one of its segments is not there.
        Case(path: "/hole/main.m3u8", isTitle: true, ending: "origin.http.404") { _ in
            list(
                "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\ns1.ts\n#EXTINF:4,\ns2.ts\n"
                    + "#EXT-X-ENDLIST\n")
        },
    ]

    @Test func eachFaultHasItsCodeAndHarmsNoOther() async throws {
        try await C.with { cluster in
            let cases = Self.files + Self.titles
            var assets: [AssetSubmission] = []
            for one in cases {
                cluster.origin.route(one.path, one.route)
                var asset =
                    one.isTitle ? try cluster.title(one.path) : try cluster.file(one.path)
                (asset.bytes, asset.sha256) = (one.bytes, one.sha256)
                assets.append(asset)
            }
            cluster.origin.serve("/hole/s1.ts", Self.body)
            let ended = try await cluster.run(assets)
            for one in cases {
                let asset = try #require(ended[one.path])
                #expect(asset.failure?.code == one.ending, "\(one.path): \(asset)")
                #expect(asset.state == (one.ending == nil ? .completed : .failed), "\(one.path)")
                if one.ending == nil { #expect(cluster.stored(one.path) == Self.body) }
                if let requests = one.requests {
                    // The page that another asset is redirected to is requested twice.
                    let extra = one.path == "/f/good" ? 1 : 0
                    #expect(cluster.origin.count(one.path) == requests + extra, "\(one.path)")
                }
            }
            // Nothing of what failed lies at the edge, but for the whole segment of a title.
            let whole = Self.files.filter { $0.ending == nil }.map(\.path)
            #expect(
                try cluster.storedPaths()
                    == (whole + ["/hole/main.m3u8", "/hole/s1.ts"]).sorted())
            #expect(try cluster.temporaryFiles().isEmpty)
            #expect(try await cluster.checkSums("/f") == whole.count)
        }
    }

    @Test func retryAfterCoolsTheOriginDown() async throws {
        try await C.with { cluster in
            cluster.origin.route("/f/limited") {
                $0.number == 1
                    ? Response(429).with("Retry-After", "2") : $0.serve(Self.body)
            }
            let clock = ContinuousClock()
            let began = clock.now
            let ended = try await cluster.run([try cluster.file("/f/limited")])
            #expect(ended["/f/limited"]?.state == .completed)
            #expect(ended["/f/limited"]?.retries == 1)
            #expect(clock.now - began >= .seconds(2))
            #expect(cluster.origin.count("/f/limited") == 2)
        }
    }

    @Test func aFileInTheWayOfAFolderHarmsOnlyOneAsset() async throws {
        try await C.with { cluster in
            let paths = ["/p/x", "/p/x/inner", "/p/y"]
            for path in paths { cluster.origin.serve(path, Self.body) }
            let ended = try await cluster.run(try paths.map { try cluster.file($0) })
            let failed = paths.filter { ended[$0]?.state == .failed }
            #expect(failed.count == 1 && failed != ["/p/y"])
            #expect(failed.allSatisfy { ended[$0]?.failure?.code == "storage.pathConflict" })
            for path in paths where !failed.contains(path) {
                #expect(ended[path]?.state == .completed)
                #expect(cluster.stored(path) == Self.body)
            }
        }
    }

    @Test func aFailedAssetResumes() async throws {
        try await C.with { cluster in
            let objects = EndToEndTests.serveTitle(cluster.origin, at: "/t")
            let missing = "/t/high/s2.ts"
            cluster.origin.route(missing, Response(404))
            let title = try cluster.title("/t/main.m3u8")
            let first = try await cluster.run([title])
            #expect(first["/t/main.m3u8"]?.failure?.code == "origin.http.404")
            let before = cluster.origin.requests.count

            cluster.origin.serve(missing, objects[missing] ?? [])
            let second = try await cluster.run([title])
            #expect(second["/t/main.m3u8"]?.state == .completed)
            #expect(cluster.origin.requests.count == before + 1)
            for (path, body) in objects { #expect(cluster.stored(path) == body, "\(path)") }
        }
    }
}
