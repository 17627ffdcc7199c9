import Client
import Coordinator
import Foundation
import Metrics
import Model
import Storage
import TestSupport
import Testing

@testable import Worker

/// Compares `docs/metrics.md` and `deploy/monitoring` with the metrics that are declared.
///
/// With `DRAY_WRITE_DOCS=1` in the environment the page's tables are written instead;
/// `scripts/generate-docs` does that.
@Suite struct MetricsPageTests {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func registries() throws -> (coordinator: MetricRegistry, worker: MetricRegistry)
    {
        let coordinator = try Coordinator(
            Coordinator.Configuration(
                databaseURL: "postgresql:///none", address: "127.0.0.1", port: 0, token: .test))
        let worker = try WorkerService(
            WorkerService.Configuration(
                coordinators: ["http://127.0.0.1:1"], token: .test, roots: .anySite, name: "w"))
        return (coordinator.metrics.registry, worker.metrics.registry)
    }

    @Test func thePageHasAllMetrics() throws {
        let file = Self.root.appending(path: "docs/metrics.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let mark = "## Metrics of coordinators\n"
        let start = try #require(page.range(of: mark)).lowerBound
        let (coordinator, worker) = try Self.registries()
        let expected =
            page[..<start] + mark + "\n" + coordinator.markdown()
            + "\n## Metrics of workers\n\n" + worker.markdown()
        if ProcessInfo.processInfo.environment["DRAY_WRITE_DOCS"] == "1" {
            try Data(expected.utf8).write(to: file)
        }
        let actual = try String(contentsOf: file, encoding: .utf8)
        #expect(actual == expected, "docs/metrics.md is out of date: run scripts/generate-docs")
    }

    /// A misspelt name in a rule or a panel is no error for Prometheus, which finds nothing then.
    @Test(arguments: ["alerts.yml", "alerts.test.yml", "dashboard.json"])
    func monitoringNamesMetricsThatExist(file: String) throws {
        let (coordinator, worker) = try Self.registries()
        let names = Set(
            (coordinator.families + worker.families).flatMap { family in
                family.kind == .histogram
                    ? ["_bucket", "_sum", "_count"].map { family.sampleName + $0 }
                    : [family.sampleName]
            })
        let text = try String(
            contentsOf: Self.root.appending(path: "deploy/monitoring/\(file)"), encoding: .utf8)
        let used = Set(text.matches(of: /\b(dray|process)_[a-z0-9_]+/).map { String($0.0) })
        #expect(used.count > 10 && used.subtracting(names).isEmpty, "\(used.subtracting(names))")
    }

    @Test func eachAlertHasItsSectionOfTheRunbookAndATest() throws {
        func text(_ path: String) throws -> String {
            try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
        }
        let rules = try text("deploy/monitoring/alerts.yml")
        let alerts = rules.matches(of: /- alert: ([A-Za-z]+)/).map { String($0.1) }
        let runbook = try text("docs/runbook.md")
        let tests = try text("deploy/monitoring/alerts.test.yml")
        #expect(alerts.count > 10)
        for alert in alerts {
            #expect(runbook.contains("\n## \(alert)\n"), "\(alert)")
            #expect(rules.contains("runbook: docs/runbook.md#\(alert.lowercased())\n"))
            #expect(tests.contains("alertname: \(alert)\n"), "\(alert)")
        }
        let sections = runbook.matches(of: /\n## ([A-Za-z]+)\n/).map { String($0.1) }
        #expect(sections == alerts)
    }
}

/// The listener of a worker's metrics.
@Suite struct MetricsListenerTests {
    @Test func itAnswersBothPagesAndNothingElse() async throws {
        let registry = MetricRegistry()
        registry.counter("dray_a", "A.").add(3)
        let listener = MetricsListener(try ListenAddress("127.0.0.1:0"), registry)
        try await listener.start()
        let port = try #require(listener.port)
        let open = try await Wire.exchange(
            port: port, "GET", "/metrics", headers: ["Accept": "application/openmetrics-text"])
        #expect(open.status == 200 && open.body.hasSuffix("dray_a_total 3\n# EOF\n"))
        #expect(
            open.headers["content-type"]
                == "application/openmetrics-text; version=1.0.0; charset=utf-8")
        let plain = try await Wire.exchange(
            port: port, "GET", "/metrics", headers: ["Accept": "*/*"])
        #expect(plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        let health = try await Wire.exchange(port: port, "GET", "/health")
        #expect(health.status == 200 && health.body == "ok\n")
        #expect(try await Wire.exchange(port: port, "GET", "/v1/status").status == 404)
        let written = try await Wire.exchange(port: port, "POST", "/metrics", body: [])
        #expect(written.status == 405 && written.headers["allow"] == "GET, HEAD")
        await listener.stop()
        #expect(listener.port == nil)
    }
}
