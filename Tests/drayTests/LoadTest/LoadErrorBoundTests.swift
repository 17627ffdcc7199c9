import Foundation
import TestSupport
import Testing

/// Load tests of a server that rejects what it cannot serve, at once, or queues it: nginx with
/// `limit_req`.
@Suite(.timeLimit(.minutes(2))) struct LoadErrorBoundTests {
    private static let perSecond = 100

    private let directory: TemporaryDirectory
    private let origin: NginxServer

    init() async throws {
        directory = try TemporaryDirectory("loadtest")
        try FileManager.default.createDirectory(
            atPath: directory.path("www/limited"), withIntermediateDirectories: true)
        try directory.write([UInt8](repeating: 7, count: 20_000), to: "www/limited/file")
        try directory.write([UInt8](repeating: 7, count: 20_000), to: "www/queued/file")
        origin = try await NginxServer(
            root: directory.path("www"),
            configuration:
                "location /limited/ { limit_req zone=all burst=5 nodelay; limit_req_status 503; }"
                + " location /queued/ { limit_req zone=all burst=100000; }",
            requestsPerSecond: Self.perSecond)
    }

    private func dray(_ arguments: [String], path: String = "limited") async throws -> (
        ending: ChildProcess.Ending, output: String, errors: String
    ) {
        let process = try DrayProcess.start(
            ["loadtest", "\(origin.url)/\(path)/file", "--quiet"] + arguments,
            environment: ["LANG": "C.UTF-8"], workingDirectory: directory.path)
        let ending = try await process.wait()
        return (ending, process.output, process.errors)
    }

    private func json(_ text: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(value as? [String: Any])
    }

    /// The threshold that the command's own hint suggests: fast rejections hold it at any rate.
    @Test func aSearchAcceptsNoRateThatIsMostlyRefused() async throws {
        let answer = try await dray([
            "--rate", "50", "--search", "--step", "2s", "--max-load", "1600", "-t",
            "p99(total) < 50s", "--json",
        ])
        #expect(answer.ending == .exited(0), "\(answer.errors)")
        let ladder = try #require(try json(answer.output)["ladder"] as? [String: Any])
        let steps = try #require(ladder["steps"] as? [[String: Any]])
        let refused = steps.filter { $0["errorRate"] as? Double ?? 0 > 0.01 }
        #expect(!refused.isEmpty)
        for step in refused {
            // A busy machine that sends late makes it uncertain.
            let limit = step["limit"] as? String
            #expect(limit == "threshold" || step["lateSends"] as? Int ?? 0 >= 10, "\(step)")
            #expect(step["broken"] as? [String] == ["error_rate <= 1%"])
        }
        let highest = try #require(ladder["highest"] as? Double)
        #expect(highest < 1.1 * Double(Self.perSecond))
        #expect(
            ladder["lowestBroken"] as? Double ?? .infinity < 2.1 * Double(Self.perSecond)
                || ladder["stop"] != nil)
    }

    /// Nothing fails, and the steps are the shortest that are allowed.
    @Test func aSearchAcceptsNoRateThatIsQueued() async throws {
        let answer = try await dray(
            ["--rate", "80", "--search", "--step", "2s", "--max-load", "320", "--json"],
            path: "queued")
        #expect(answer.ending == .exited(0), "\(answer.errors)")
        let ladder = try #require(try json(answer.output)["ladder"] as? [String: Any])
        let steps = try #require(ladder["steps"] as? [[String: Any]])
        #expect(steps.allSatisfy { $0["errorRate"] as? Double == 0 })
        // Ten requests a second is the smallest growth that is seen in such a step.
        let highest = try #require(ladder["highest"] as? Double)
        #expect(highest < 1.2 * Double(Self.perSecond), "\(steps)")
        #expect(ladder["limit"] as? String == "fellBehind" || ladder["stop"] != nil, "\(steps)")
    }

    @Test func mostlyFailedIsNoSuccess() async throws {
        let answer = try await dray([
            "--rate", "800", "-d", "2s", "--json", "-t", "p99(total) < 50s", "-t", "rate > 0/s",
            "--hdr-log", "log.hlog",
        ])
        #expect(answer.ending == .exited(99), "\(answer.errors)")
        let result = try json(answer.output)
        let thresholds = try #require(result["thresholds"] as? [[String: Any]])
        #expect(thresholds.map { $0["holds"] as? Bool } == [true, true, false])
        #expect(thresholds[2]["threshold"] as? String == "error_rate <= 1%")
        #expect(thresholds[2]["isDefault"] as? Bool == true)
        // One number for the rate, that of successful requests.
        let counts = try #require(result["counts"] as? [String: Any])
        let figures = try #require(result["figures"] as? [String: Any])
        let succeeded = try #require(counts["succeeded"] as? Int)
        let failed = try #require(counts["failed"] as? Int)
        #expect(failed > succeeded)
        #expect(figures["requestsPerSecond"] as? Double == thresholds[1]["measured"] as? Double)
        let inTime = succeeded - (counts["succeededAfterEnd"] as? Int ?? 0)
        #expect(figures["requestsPerSecond"] as? Double == Double(inTime) / 2)
        // Latencies stand apart.
        let metrics = try #require(result["metrics"] as? [String: [String: Any]])
        #expect(metrics["total"]?["count"] as? Int == succeeded)
        #expect(metrics["first_byte"]?["count"] as? Int == succeeded)
        #expect(metrics["failed"]?["count"] as? Int == failed)
        let merged = try DrayProcess.start(
            ["histogram", "log.hlog", "--json"], workingDirectory: directory.path)
        #expect(try await merged.wait() == .exited(0))
        let tags = try #require(try json(merged.output)["tags"] as? [[String: Any]])
        let values = Dictionary(
            uniqueKeysWithValues: tags.map { ($0["tag"] as? String ?? "", $0["values"] as? Int) })
        #expect(values[""] == succeeded && values["total"] == succeeded)
        #expect(values["failed"] == failed)
    }

    @Test func mayFailLiftsTheBound() async throws {
        let answer = try await dray(["--rate", "800", "-d", "1s", "--may-fail"])
        #expect(answer.ending == .exited(0), "\(answer.errors)")
        #expect(!answer.output.contains("error_rate"))
        let bound = try await dray(["--rate", "800", "-d", "1s"])
        #expect(bound.ending == .exited(99))
        #expect(bound.output.contains("✗ error_rate <= 1% (default)"), "\(bound.output)")
    }

    @Test func aDeadTargetMayFail() async throws {
        let process = try DrayProcess.start(
            [
                "loadtest", "http://127.0.0.1:1/file", "--may-fail", "--rate", "20", "-d", "1s",
                "--quiet",
            ],
            environment: ["LANG": "C.UTF-8"], workingDirectory: directory.path)
        #expect(try await process.wait() == .exited(0), "\(process.errors)")
        #expect(process.output.contains("origin.connect"), "\(process.output)")
    }
}
