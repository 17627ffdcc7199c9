import Foundation
import TestSupport
import Testing

/// `dray loadtest --replay`, against a real nginx and a real cache.
@Suite(.timeLimit(.minutes(3))) struct ReplayTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("replay") }

    private func dray(_ arguments: [String]) async throws -> (
        ending: ChildProcess.Ending, output: String, errors: String
    ) {
        let process = try DrayProcess.start(
            ["loadtest"] + arguments, environment: ["LANG": "C.UTF-8"],
            workingDirectory: directory.path)
        let ending = try await process.wait()
        return (ending, process.output, process.errors)
    }

    private func json(_ text: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(value as? [String: Any])
    }

    /// Writes a log of requests at seconds of a day.
    private func log(_ requests: [(second: Int, target: String)]) throws {
        let lines = requests.map { second, target in
            let minutes = String(second / 60 + 100).dropFirst()
            let seconds = String(second % 60 + 100).dropFirst()
            return "1.2.3.4 - - [10/Oct/2026:12:\(minutes):\(seconds) +0000] \"GET \(target) "
                + "HTTP/1.1\" 200 100 \"-\" \"-\"\n"
        }
        try directory.write(Array(lines.joined().utf8), to: "access.log")
    }

    @Test func theRequestsOfALogAreSentWithTheirSpacing() async throws {
        try FileManager.default.createDirectory(
            atPath: directory.path("www/vod"), withIntermediateDirectories: true)
        for name in ["a.m3u8", "b.ts"] {
            try directory.write([UInt8](repeating: 7, count: 100), to: "www/vod/\(name)")
        }
        let origin = try await NginxServer(root: directory.path("www"))
        // Ten a second, then a pause of eight seconds, then twenty in one; not quite in order.
        var requests = (0..<20).map { (second: $0 / 10, target: "/a.m3u8?n=\($0)") }
        requests += (0..<20).map { (second: 10, target: $0 < 15 ? "/b.ts" : "/gone.ts") }
        requests.swapAt(3, 17)
        try log(requests)
        let answer = try await dray([
            "\(origin.url)/vod/", "--replay", "access.log", "--speed-up", "4", "--json", "--quiet",
            "--may-fail",
        ])
        try #require(answer.ending == .exited(0), "\(answer.errors)")
        let result = try json(answer.output)
        let counts = try #require(result["counts"] as? [String: Any])
        #expect(counts["sent"] as? Int == 40 && counts["planned"] as? Int == 40)
        #expect(counts["failed"] as? Int == 5)
        let seconds = try #require(result["seconds"] as? [[String: Any]])
        let sent = seconds.map { ($0["counts"] as? [String: Any])?["sent"] as? Int ?? 0 }
        // Two seconds of the log at four times the speed, and its tenth second.
        #expect(sent.starts(with: [20, 0, 20]) && sent.reduce(0, +) == 40, "\(sent)")
        try await waitUntil(deadlineSeconds: 60, "nginx's log") {
            origin.requests().count >= 41
        }
        // The first one is also requested before the test.
        let targets = origin.requests().map(\.target)
        #expect(targets.count == 41)
        #expect(targets.filter { $0.hasPrefix("/vod/a.m3u8?n=") }.count == 21)
        #expect(targets.filter { $0 == "/vod/b.ts" }.count == 15)
        let asked = try #require(result["asked"] as? [String: Any])
        let target = try #require((asked["targets"] as? [[String: Any]])?.first)
        #expect(target["kind"] as? String == "replay" && target["list"] as? String == "access.log")

        let some = try await dray([
            "\(origin.url)/vod", "--replay", "access.log", "--speed-up", "100", "--match", "*.ts",
            "--match", "*n=3", "--quiet",
        ])
        // Five of them are gone, which breaks the default bound on errors.
        #expect(some.ending == .exited(99), "\(some.errors)")
        #expect(some.output.contains("✗ error_rate <= 1% (default)"), "\(some.output)")
        #expect(some.output.contains("21 requests of a log of"), "\(some.output)")
        #expect(some.output.contains("3 URLs of access.log"))
    }

    /// A wrong TARGET: the test starts, and fails.
    @Test func aReplayThatFailsIsNoSuccess() async throws {
        try directory.write([1], to: "file")
        let origin = try await NginxServer(root: directory.path)
        try log((0..<20).map { (second: $0 / 10, target: "/\($0).ts") })
        let answer = try await dray([
            "\(origin.url)/wrong", "--replay", "access.log", "--speed-up", "20", "--duration", "3s",
            "--quiet",
        ])
        #expect(answer.ending == .exited(99), "\(answer.errors)")
        #expect(answer.output.contains("✗ error_rate <= 1% (default)"), "\(answer.output)")
    }

    @Test(
        .enabled(if: CacheServers.installed.contains(.nginx), CacheServers.needs),
        arguments: [CacheServers.Kind.nginx, .varnish].filter(CacheServers.installed.contains))
    func aCacheGetsWarmAsTheLogIsReplayed(_ kind: CacheServers.Kind) async throws {
        let servers = try await CacheServers(kind)
        for name in 0..<4 {
            try servers.serve("\(name).ts", [UInt8](repeating: 1, count: 1_000 * (name + 1)))
        }
        try log((0..<40).map { (second: $0 / 10, target: "/\($0 % 4).ts") })
        let pop = "http://\(servers.pops[0])"
        let answer = try await dray([
            pop, "--replay", "access.log", "--json", "--quiet", "--html", "page.html", "--csv",
            "series.csv",
        ])
        try #require(answer.ending == .exited(0), "\(answer.errors)")
        let result = try json(answer.output)
        let counts = try #require(result["counts"] as? [String: Any])
        // The request before the test has stored the first file.
        #expect(counts["cacheMisses"] as? Int == 3 && counts["cacheHits"] as? Int == 37)
        let figures = try #require(result["figures"] as? [String: Any])
        #expect(figures["cacheHitRatio"] as? Double == 0.925)
        #expect(figures["cacheByteHitRatio"] as? Double == 0.91)
        let seconds = try #require(result["seconds"] as? [[String: Any]])
        let ratios = seconds.compactMap { $0["cacheHitRatio"] as? Double }
        #expect(ratios.first == 0.7 && ratios.dropFirst().allSatisfy { $0 == 1 })
        let page = String(decoding: try directory.read("page.html"), as: UTF8.self)
        #expect(page.contains("Cache hit ratio by second") && page.contains("cache hits"))
        let csv = String(decoding: try directory.read("series.csv"), as: UTF8.self)
        #expect(csv.hasPrefix("second,") && csv.contains(",cache_hits,cache_misses,"))
        try await servers.stop()
    }

    @Test(arguments: [
        (["--speed-up", "2"], "--speed-up needs --replay"),
        (["--match", "x"], "--match needs --replay"),
        (["--replay", "access.log", "--rate", "5"], "--replay and --rate cannot be combined"),
        (["--replay", "access.log", "--search"], "--replay and --search cannot be combined"),
        (["--replay", "access.log", "--rate", "5"], "their times; omit --rate."),
        (["--replay", "access.log", "--match", "*.x"], "or omit --match."),
        (["--replay", "missing"], "missing: No such file"),
        (["--replay", "bad.log"], "bad.log: no line can be read"),
        (["--replay", "access.log", "--match", "*.x"], "no answered GET request matches --match"),
        (["--replay", "access.log", "--speed-up", "0.001"], "--speed-up: given '0.001'"),
    ])
    func badUsageIsNamed(words: [String], says: String) async throws {
        try log([(0, "/a"), (3_000, "/b")])
        try directory.write(Array("nothing\n".utf8), to: "bad.log")
        let answer = try await dray(["http://127.0.0.1:9/"] + words)
        #expect(answer.ending == .exited(2))
        #expect(answer.errors.contains(says), "\(answer.errors)")
    }
}
