import Foundation
import TestSupport
import Testing

/// `dray loadtest --metrics-listen`, scraped while it runs.
@Suite(.timeLimit(.minutes(2))) struct LoadMetricsTests {
    private let origin: FaultOrigin

    init() throws {
        origin = try FaultOrigin()
        origin.serve("/a", [UInt8](repeating: 7, count: 1_000))
        origin.route("/b", FaultOrigin.Response(503))
    }

    private func start(_ arguments: [String]) throws -> ChildProcess {
        try DrayProcess.start(["loadtest", "--metrics-listen", "127.0.0.1:0"] + arguments)
    }

    @Test func whatWasSentIsSeenWhileItRuns() async throws {
        let load = try start([
            origin.url("/a"), "--target", origin.url("/b"), "--may-fail", "--rate", "100",
            "--duration", "10m",
            "--threshold", "error_rate < 90%", "--json",
        ])
        let port = try await MetricsPage.port(of: load)
        let page = try await MetricsPage.scrape(port: port, "400 requests") {
            $0.ended >= 400 && $0["requests_total{result=\"failed\"}"] > 0
        }
        let succeeded = page["requests_total{result=\"succeeded\"}"]
        #expect(page["errors_total{code=\"origin.http.503\"}"] == page.ended - succeeded)
        #expect(page["received_bytes_total"] == succeeded * 1_000)
        #expect(page["running"] == 1 && page["planned_rate"] == 100)
        #expect(page["duration_seconds"] == 600 && page["planned_total"] >= page.ended)
        let samples = [
            "total": succeeded, "total_uncorrected": succeeded, "first_byte": succeeded,
            "failed": page.ended - succeeded, "send_delay": page.ended,
        ]
        for (metric, count) in samples {
            #expect(page["\(metric)_seconds_count"] == count)
            #expect(page["\(metric)_seconds_bucket{le=\"+Inf\"}"] == count)
        }
        #expect(page["generator_cores"] >= 1 && page["generator_cpu_seconds_total"] > 0)
        #expect(page["threshold_holds{threshold=\"error_rate < 90%\"}"] == 1)

        let elsewhere = try await Wire.exchange(port: port, "GET", "/")
        #expect(elsewhere.status == 404)
        let written = try await Wire.exchange(port: port, "POST", "/metrics", body: [])
        #expect(written.status == 405 && written.headers["allow"] == "GET, HEAD")

        load.signal(SIGINT)
        #expect(try await load.wait() == .exited(130), "\(load.errors)")
        let result = try #require(
            try JSONSerialization.jsonObject(with: Data(load.output.utf8)) as? [String: Any])
        let counts = try #require(result["counts"] as? [String: Any])
        #expect(Double(try #require(counts["succeeded"] as? Int)) >= succeeded)
        #expect(Double(origin.requests.count) >= page.ended)
        await #expect(throws: Wire.Failure.self) { try await MetricsPage(port: port) }
    }

    /// While the origin stands still nothing is sent, and what was due waits: that is in the latency.
    @Test func latencyCountsFromThePlannedTime() async throws {
        let gate = Gate()
        defer { gate.open() }
        origin.route(
            "/slow",
            inTurn: [
                FaultOrigin.Response(text: "it is there"),
                FaultOrigin.Response(text: "slow").held(at: gate), FaultOrigin.Response(text: "ok"),
            ])
        let load = try start([
            origin.url("/slow"), "--rate", "50", "--concurrency", "1", "--duration", "10m",
        ])
        let port = try await MetricsPage.port(of: load)
        let held = try await MetricsPage.scrape(port: port, "requests that wait") {
            $0["backlog"] >= 60
        }
        #expect(held["in_flight"] == 1 && held.ended == 0)
        gate.open()
        let page = try await MetricsPage.scrape(port: port, "those") { $0.ended >= 60 }
        // Sixty waited for over half a second in the mean, and one of them was running.
        #expect(page["total_seconds_sum"] > 25)
        #expect(page["total_uncorrected_seconds_sum"] < page["total_seconds_sum"] / 4)
        load.signal(SIGINT)
        #expect(try await load.wait() == .exited(130))
    }

    @Test func viewersAreSeen() async throws {
        origin.route(
            "/t.m3u8",
            FaultOrigin.Response(
                text: "#EXTM3U\n#EXTINF:1,\n1.ts\n#EXTINF:1,\n2.ts\n#EXT-X-ENDLIST\n"))
        for name in ["1", "2"] { origin.serve("/\(name).ts", [UInt8](repeating: 1, count: 100)) }
        let load = try start([
            origin.url("/t.m3u8"), "--users", "3", "--loop", "--watch", "9m", "--duration", "10m",
        ])
        let port = try await MetricsPage.port(of: load)
        let page = try await MetricsPage.scrape(port: port, "what three viewers play") {
            $0["viewers"] == 3 && $0["played_seconds_total"] > 3
        }
        #expect(page["planned_users"] == 3 && page["viewers_started_total"] == 3)
        #expect(page["startup_seconds_count"] == 3 && page["segments_total"] >= 6)
        #expect(page["viewers_failed_total"] == 0)
        load.signal(SIGINT)
        #expect(try await load.wait() == .exited(130))
    }

    @Test func nothingFallsFromOneStepToTheNext() async throws {
        let load = try start([
            origin.url("/a"), "--users", "2", "--think", "100ms", "--search", "--step", "5s",
            "--max-load", "200", "--threshold", "error_rate < 50%",
        ])
        let port = try await MetricsPage.port(of: load)
        let page = try await MetricsPage.scrape(port: port, "the second step") {
            $0["step"] >= 2 && $0["elapsed_seconds"] >= 1
        }
        // Twice as many; the same or half as many if this machine could not send in time.
        #expect([4, 2, 1].contains(page["planned_users"]) && page["duration_seconds"] == 5)
        load.signal(SIGINT)
        #expect(try await load.wait() == .exited(130), "\(load.errors)")
    }

    @Test func whereItCannotListenNothingIsSent() async throws {
        for (address, message) in [
            ("127.0.0.1:\(origin.port)", "127.0.0.1:\(origin.port) is in use by another process"),
            ("\(origin.port)", "127.0.0.1:\(origin.port) is in use by another process"),
            ("192.0.2.1:0", "192.0.2.1:0 is not an address of this machine"),
            ("here", "--metrics-listen is 'here'"),
            ("70000", "--metrics-listen is '127.0.0.1:70000'"),
        ] {
            let load = try DrayProcess.start([
                "loadtest", origin.url("/a"), "--requests", "5", "--metrics-listen", address,
            ])
            #expect(try await load.wait() == .exited(2), "\(address)")
            #expect(load.errors.contains(message), "\(load.errors)")
            #expect(load.output.isEmpty)
        }
        #expect(origin.acceptedConnections == 0)
    }
}
