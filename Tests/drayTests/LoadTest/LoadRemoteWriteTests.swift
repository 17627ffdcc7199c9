import Foundation
import TestSupport
import Testing

/// What a load test writes to Prometheus.
@Suite(.timeLimit(.minutes(3))) struct LoadRemoteWriteTests {
    private let directory: TemporaryDirectory
    private let origin: FaultOrigin

    init() throws {
        directory = try TemporaryDirectory("loadtest")
        origin = try FaultOrigin()
        origin.serve("/a", [UInt8](repeating: 1, count: 1_000))
    }

    private func dray(_ arguments: [String]) async throws -> (
        ending: ChildProcess.Ending, errors: String
    ) {
        let process = try DrayProcess.start(
            ["loadtest", origin.url("/a"), "--quiet"] + arguments,
            environment: ["LANG": "C.UTF-8", "XDG_RUNTIME_DIR": directory.path],
            workingDirectory: directory.path)
        return (try await process.wait(), process.errors)
    }

    @Test(.enabled(if: PrometheusServer.isInstalled, "prometheus is not installed"))
    func prometheusHasTheSumsOfTheTest() async throws {
        let prometheus = try await PrometheusServer(
            rules: "groups: []", scrapes: "", token: "x", receiver: "http://127.0.0.1:1/",
            acceptsWrites: true)
        let answer = try await dray([
            "--rate", "100", "-n", "700", "--remote-write",
            "http://127.0.0.1:\(prometheus.port)/api/v1/write", "-t", "p99(total) < 50s",
        ])
        #expect(answer.ending == .exited(0), "\(answer.errors)")
        #expect(!answer.errors.contains("remote write"), "\(answer.errors)")
        let expected = [
            "dray_loadtest_requests_total{result=\"succeeded\"}": 700,
            "dray_loadtest_requests_total{result=\"failed\"}": 0,
            "dray_loadtest_received_bytes_total": 700_000,
            "dray_loadtest_total_seconds_count": 700,
            "dray_loadtest_total_seconds_bucket{le=\"+Inf\"}": 700,
            "dray_loadtest_threshold_holds{threshold=\"p99(total) < 50s\"}": 1,
            // The last state, after the end.
            "dray_loadtest_running": 0,
        ]
        for (query, value) in expected {
            #expect(try await prometheus.value(query) == Double(value), "\(query)")
        }
        // More than one state was written: the test took seven seconds.
        let samples = try await prometheus.value(
            "count_over_time(dray_loadtest_requests_total{result=\"succeeded\"}[5m])")
        #expect((samples ?? 0) >= 2, "\(prometheus.errors)")
    }

    @Test func headersAndFailuresAreReported() async throws {
        let receiver = try FaultOrigin()
        receiver.route("/write", .init(401, text: "who are you"))
        let url = receiver.url("/write?token=SECRET")
        let refused = try await dray([
            "-n", "10", "-c", "1", "--remote-write", url, "--remote-write-header",
            "Authorization: Bearer secret",
        ])
        // Not the test's failure.
        #expect(refused.ending == .exited(0), "\(refused.errors)")
        #expect(refused.errors.contains("failed: status 401: who are you"), "\(refused.errors)")
        #expect(!refused.errors.contains("SECRET"))
        let request = try #require(receiver.requests.first)
        #expect(request.method == "POST")
        #expect(request.headers["authorization"] == "Bearer secret")
        #expect(request.headers["content-encoding"] == "snappy")
        #expect(request.headers["content-type"] == "application/x-protobuf")

        let dead = try await dray([
            "-n", "10", "-c", "1", "--remote-write", "http://127.0.0.1:1/write",
        ])
        #expect(dead.ending == .exited(0) && dead.errors.contains("remote write to"))
        for (arguments, message) in [
            (["--remote-write", "nowhere"], "--remote-write: given 'nowhere'"),
            (["--remote-write-header", "a: b"], "needs --remote-write"),
            (
                ["--remote-write", "http://h/", "--remote-write-header", "ab"],
                "--remote-write-header: "
            ),
        ] {
            let answer = try await dray(arguments)
            #expect(answer.ending == .exited(2))
            #expect(answer.errors.contains(message), "\(answer.errors)")
        }
    }
}
