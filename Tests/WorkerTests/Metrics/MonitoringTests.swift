import API
import Client
import CoordinatorClient
import Foundation
import HTTPServer
import Model
import Synchronization
import TestSupport
import Testing

@testable import Worker

/// A real Prometheus and a real Alertmanager, with the rules of `deploy/monitoring`, over a cluster.
@Suite(.timeLimit(.minutes(3))) struct MonitoringTests {
    /// A webhook of Alertmanager, with the alerts that it got.
    private final class Receiver: Sendable {
        /// Each as `name queue status`.
        private let notes = Mutex<[String]>([])

        var all: [String] { notes.withLock { $0 } }

        func take(_ request: HTTPRequest) -> HTTPResponse {
            let object = try? JSONSerialization.jsonObject(with: Data(request.body))
            let alerts = (object as? [String: Any])?["alerts"] as? [[String: Any]] ?? []
            for alert in alerts {
                let labels = alert["labels"] as? [String: String] ?? [:]
                let words = [labels["alertname"], labels["queue"], alert["status"] as? String]
                let note = words.compactMap { $0 }.joined(separator: " ")
                notes.withLock { if !$0.contains(note) { $0.append(note) } }
            }
            return .text(200, "")
        }
    }

    @Test(
        .enabled(
            if: PrometheusServer.isInstalled,
            "needs Prometheus: apt-get install prometheus prometheus-alertmanager"))
    func anAlertReachesItsReceiverAndEnds() async throws {
        let rules = try String(
            contentsOf: MetricsPageTests.root.appending(path: "deploy/monitoring/alerts.yml"),
            encoding: .utf8)
        let receiver = Receiver()
        let hook = try HTTPServer.start(HTTPServer.Configuration()) { receiver.take($0) }
        try await Cluster.with(workers: 0) { cluster in
            // Watched before it runs, as a process that is being started.
            let worker = try WorkerService(cluster.configuration())
            let listener = MetricsListener(
                try ListenAddress("127.0.0.1:0"), worker.metrics.registry)
            try await listener.start()
            let prometheus = try await PrometheusServer(
                // No minutes of patience: the condition alone.
                rules: rules.replacing(/for: [0-9]+m/, with: "for: 0s"),
                scrapes: """
                    - job_name: dray-coordinator
                      authorization: {credentials_file: TOKEN}
                      static_configs: [{targets: ["127.0.0.1:\(cluster.port)"]}]
                    - job_name: dray-worker
                      static_configs: [{targets: ["127.0.0.1:\(try #require(listener.port))"]}]
                    """,
                token: AccessToken.test.text, receiver: "http://127.0.0.1:\(hook.port)/hook")
            cluster.origin.serve("/a", [UInt8](repeating: 1, count: 70_000))
            cluster.origin.serve("/b", [UInt8](repeating: 2, count: 30_000))
            let catalog = try await cluster.submit(
                [try cluster.file("/a"), try cluster.file("/b")])
            let queue = try #require(try await cluster.client.queues().queues.first?.name)

            try await waitUntil(deadlineSeconds: 60, "the alert at its receiver") {
                receiver.all.contains("DrayNoWorkerForQueue \(queue) firing")
            }
            #expect(try await prometheus.value("dray_queue_jobs{state=\"waiting\"}") == 2)
            // The worker's first scrape may come after the alert.
            try await waitUntil(deadlineSeconds: 60, "scrapes of both") {
                try await prometheus.value("count(up == 1)") == 2
            }

            let running = Task { try await worker.run() }
            _ = try await cluster.end(of: catalog)
            try await waitUntil(deadlineSeconds: 60, "its end at its receiver") {
                receiver.all.contains("DrayNoWorkerForQueue \(queue) resolved")
            }
            try await waitUntil(deadlineSeconds: 60, "the worker's bytes") {
                try await prometheus.value("sum(dray_worker_received_bytes_total)") == 100_000
            }
            #expect(try await prometheus.value("sum(dray_worker_stored_bytes_total)") == 100_000)
            #expect(
                try await prometheus.value("sum(dray_worker_transfers_total{result=\"done\"})") == 2
            )
            #expect(
                try await prometheus.value("sum(dray_segments_total{result=\"done\"})") == 2)
            #expect(
                try await prometheus.value("dray_report_duration_seconds_bucket{le=\"+Inf\"}") ?? 0
                    >= 1)
            #expect(try await prometheus.alerts().isEmpty)
            #expect(prometheus.errors.isEmpty, "\(prometheus.errors)")
            await worker.drain()
            try await running.value
            await listener.stop()
        }
        await hook.shutdown(graceSeconds: 1)
    }
}
