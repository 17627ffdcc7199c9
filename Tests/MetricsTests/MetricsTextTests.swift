import Foundation
import TestSupport
import Testing

@testable import Metrics

/// The text, read by the parsers of others.
@Suite struct MetricsTextTests {
    private static let awkward = "a \"quoted\" \\ name\nof two lines, {é}"

    private static func registry() -> MetricRegistry {
        let registry = MetricRegistry()
        registry.declareProcess(version: "1.2.3")
        registry.counter("dray_leases", "Leases that were \"granted\" \\ given.").add(12)
        let bytes = registry.counters("dray_stored_bytes", ["queue", "source"], maxSeries: 5, "B.")
        bytes[awkward, "origin"].add(1 << 40)
        bytes["b", "reused"].add(1)
        registry.gauge("dray_lag_seconds", "Lag.") { 1e-7 }
        registry.gauge("dray_end_seconds", "An end that is not known.") { .infinity }
        registry.gauge("dray_none", "Nothing.") { nil }
        let claims = registry.histogram(
            "dray_claim_duration_seconds", exponents: -12...6, "Claims.")
        for seconds in [0.001, 0.25, 100] { claims.record(seconds: seconds) }
        return registry
    }

    @Test func openMetricsIsAsItsSpecificationShows() {
        let registry = MetricRegistry()
        registry.counter("dray_received_bytes", "Bytes.").add(5)
        registry.histogram("dray_a_seconds", exponents: -1...0, "A.").record(seconds: 0.75)
        let open = String(decoding: registry.text(.openMetrics), as: UTF8.self)
        #expect(
            open == """
                # HELP dray_received_bytes Bytes.
                # TYPE dray_received_bytes counter
                # UNIT dray_received_bytes bytes
                dray_received_bytes_total 5
                # HELP dray_a_seconds A.
                # TYPE dray_a_seconds histogram
                # UNIT dray_a_seconds seconds
                dray_a_seconds_bucket{le="0.5"} 0
                dray_a_seconds_bucket{le="1.0"} 1
                dray_a_seconds_bucket{le="+Inf"} 1
                dray_a_seconds_sum 0.75
                dray_a_seconds_count 1
                # EOF

                """)
        let plain = String(decoding: registry.text(.prometheus), as: UTF8.self)
        #expect(plain.contains("# TYPE dray_received_bytes_total counter\n"))
        #expect(!plain.contains("# UNIT") && !plain.contains("EOF"))
    }

    @Test(arguments: [
        (nil, MetricsFormat.prometheus), ("*/*", .prometheus), ("text/plain", .prometheus),
        ("application/openmetrics-text", .openMetrics),
        ("application/openmetrics-text;q=0, */*", .prometheus),
        ("text/plain;version=0.0.4;q=0.5, */*;q=0.1", .prometheus),
        // Prometheus 2.42 and 3.
        (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                + "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .openMetrics
        ),
        ("application/openmetrics-text;q=0.2, text/plain; q=0.9", .prometheus),
        ("text/plain, application/openmetrics-text", .openMetrics), (";;,=q", .prometheus),
    ])
    func theFormatIsTheOneThatIsAccepted(accept: String?, format: MetricsFormat) {
        #expect(MetricsFormat(accept: accept) == format)
    }

    private static let hasPromtool = FileManager.default.isExecutableFile(
        atPath: "/usr/bin/promtool")

    @Test(.enabled(if: hasPromtool, "needs promtool: apt-get install prometheus"))
    func promtoolFindsNothingWrong() async throws {
        let directory = try TemporaryDirectory("metrics")
        try Data(Self.registry().text(.prometheus)).write(
            to: URL(fileURLWithPath: directory.path("page")))
        let process = try ChildProcess([
            "/bin/sh", "-c", "promtool check metrics <\"$0\"", directory.path("page"),
        ])
        #expect(try await process.wait() == .exited(0), "\(process.output)\(process.errors)")
        #expect(process.errors.isEmpty, "\(process.errors)")
    }

    @Test(
        .enabled(if: OpenMetricsReader.isInstalled, OpenMetricsReader.needs))
    func thePythonClientReadsOpenMetrics() async throws {
        let samples = try await OpenMetricsReader.samples(Self.registry().text(.openMetrics))
        func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
            samples.first { $0.name == name && $0.labels == labels }?.value
        }
        #expect(value("dray_leases_total") == 12)
        #expect(
            value("dray_stored_bytes_total", ["queue": Self.awkward, "source": "origin"])
                == Double(1 << 40))
        #expect(value("dray_end_seconds") == .infinity && value("dray_lag_seconds") == 1e-7)
        #expect(value("dray_build_info", ["version": "1.2.3"]) == 1)
        #expect(value("dray_claim_duration_seconds_bucket", ["le": "0.25"]) == 2)
        #expect(value("dray_claim_duration_seconds_count") == 3)
    }
}
