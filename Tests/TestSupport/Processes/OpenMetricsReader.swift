import Foundation
package import Testing

/// The reader of OpenMetrics in Prometheus's client library for Python, which is strict.
package enum OpenMetricsReader {
    package struct Sample: Sendable {
        package var name: String
        package var labels: [String: String]
        package var value: Double
    }

    /// The Python that has prometheus_client, by DRAY_TEST_PYTHON.
    private static let python = ProcessInfo.processInfo.environment["DRAY_TEST_PYTHON"] ?? "python3"

    package static let needs: Comment =
        "needs python3, or DRAY_TEST_PYTHON, with prometheus_client: pip install prometheus_client"

    package static let isInstalled: Bool = {
        guard
            let process = try? Process.run(
                URL(fileURLWithPath: "/usr/bin/env"),
                arguments: [python, "-c", "import prometheus_client.openmetrics.parser"])
        else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// Returns the samples of a text; fails for a text that is not OpenMetrics.
    package static func samples(_ text: [UInt8]) async throws -> [Sample] {
        let directory = try TemporaryDirectory("metrics")
        try Data(text).write(to: URL(fileURLWithPath: directory.path("page")))
        let script = """
            import json, sys
            from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
            print(json.dumps([[s.name, s.labels, str(s.value)]
                              for f in parse(open(sys.argv[1], newline="").read()) for s in f.samples]))
            """
        let output = try await ChildProcess.run([python, "-c", script, directory.path("page")])
        let rows = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [[Any]] ?? []
        return rows.compactMap { row in
            guard row.count == 3, let name = row[0] as? String,
                let labels = row[1] as? [String: String],
                let value = (row[2] as? String).flatMap({ Double($0) })
            else { return nil }
            return Sample(name: name, labels: labels, value: value)
        }
    }
}
