import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// A load test on a cluster, followed on a terminal and by Prometheus.
    @Suite(.timeLimit(.minutes(3))) struct LoadTerminalTests {
        /// Runs `dray loadtest` on a terminal; what it shows is the output.
        private func start(
            _ cluster: ProcessCluster, _ arguments: [String]
        ) throws -> ChildProcess {
            let words = [try DrayProcess.binary(), "loadtest"] + arguments
            let command = "exec " + words.map { "'\($0)'" }.joined(separator: " ")
            return try ChildProcess(
                ["script", "--quiet", "--flush", "--return", "--command", command, "/dev/null"],
                environment: [
                    "SHELL": "/bin/sh", "TERM": "xterm", "LANG": "C.UTF-8",
                    "DRAY_COORDINATOR": cluster.urls,
                    "DRAY_TOKEN": AccessToken.test.text,
                ])
        }

        @Test func aLostWorkerIsReportedAboveTheLinesAndToPrometheus() async throws {
            let origin = try FaultOrigin()
            origin.serve("/a", [UInt8](repeating: 7, count: 100))
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 60)
            let client = try CoordinatorClient(endpoints: cluster.urls, token: .test)
            defer { client.shutdown() }
            let load = try start(
                cluster,
                [
                    origin.url("/a"), "--rate", "40", "--duration", "10m", "--cluster",
                    "--workers", "2", "--metrics-listen", "0",
                ])
            let port = try await MetricsPage.port(of: load)
            let both = try await MetricsPage.scrape(port: port, "both workers' load") {
                $0["shards{state=\"running\"}"] == 2 && $0.ended >= 80
            }
            #expect(both["planned_rate"] == 40 && both["shards{state=\"lost\"}"] == 0)
            #expect(both["total_seconds_count"] == both.ended)
            let victim = cluster.workers[1]
            victim.signal(SIGKILL)
            _ = try await victim.wait()
            let one = try await MetricsPage.scrape(port: port, "the loss") {
                $0["shards{state=\"lost\"}"] == 1
            }
            #expect(one["shards{state=\"running\"}"] == 1)
            _ = try await MetricsPage.scrape(port: port, "more of the other") {
                $0.ended >= one.ended + 40
            }
            // As Ctrl-C would, which the terminal's program keeps to itself.
            let test = try #require(try await client.loadTests().tests.first)
            _ = try await client.stopLoadTest(test.id)
            _ = try await load.wait()

            let lines = TerminalScreen(load.output).lines
            let note = "-\(victim.pid) is lost from second "
            #expect(
                lines.count { $0.hasPrefix("dray: worker ") && $0.contains(note) } == 1,
                "\(lines.joined(separator: "\n"))")
            let first = try #require(lines.first { $0.hasPrefix("dray: worker ") })
            #expect(first.hasSuffix("It has not reported for 10 s."), "\(first)")
            // Live lines were there, and are gone without a trace.
            #expect(load.output.contains("in flight"))
            #expect(
                !lines.contains { $0.contains("in flight") || $0.contains("  generator   CPU") },
                "\(lines.joined(separator: "\n"))")
            try await cluster.stop()
        }
    }
}
