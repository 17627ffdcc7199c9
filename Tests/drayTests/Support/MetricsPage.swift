import Foundation
import TestSupport
import Testing

/// What `GET /metrics` of a load test answered.
struct MetricsPage {
    private var kinds: [String: String] = [:]
    /// By name and labels, without the prefix and the test's name: `errors_total{code="origin.timeout"}`.
    private var values: [String: Double] = [:]

    init(port: Int) async throws {
        let answer = try await Wire.exchange(
            port: port, "GET", "/metrics", headers: ["Accept": "application/openmetrics-text"])
        try #require(answer.status == 200)
        #expect(
            answer.headers["content-type"]
                == "application/openmetrics-text; version=1.0.0; charset=utf-8")
        try #require(answer.body.hasSuffix("# EOF\n"))
        for line in answer.body.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.starts(with: ["#", "TYPE"]) { kinds[Self.short(words[2])] = String(words[3]) }
            guard !line.hasPrefix("#"), let value = words.last.flatMap({ Double($0) }) else {
                continue
            }
            let series = line.dropLast(words.last?.count ?? 0).dropLast()
            values[
                Self.short(series.replacing(/test="[^"]*",?/, with: "").replacing("{}", with: ""))] =
                value
        }
    }

    private static func short(_ name: some StringProtocol) -> String {
        #expect(name.hasPrefix("dray_loadtest_"))
        return String(name.dropFirst("dray_loadtest_".count))
    }

    subscript(_ series: String) -> Double { values[series] ?? 0 }

    /// Requests that ended.
    var ended: Double {
        self["requests_total{result=\"succeeded\"}"] + self["requests_total{result=\"failed\"}"]
    }

    /// Checks that no counter, and no part of a histogram, is less than it was.
    func expectRisen(since earlier: MetricsPage) {
        for (series, value) in earlier.values {
            let name = String(series.prefix { $0 != "{" })
            let family = String(name.replacing(/_(bucket|sum|count)$/, with: ""))
            guard name.hasSuffix("_total") || kinds[family] == "histogram" else { continue }
            #expect(values[series] ?? -1 >= value, "\(series)")
        }
    }

    /// The port that a process reports to listen on.
    static func port(of process: ChildProcess) async throws -> Int {
        var port: Int?
        try await waitUntil(deadlineSeconds: 30, "the port") {
            let text = process.errors + process.output
            guard process.ending == nil else { throw POSIXFailure(text) }
            port = text.firstMatch(of: /metrics at http:\/\/127\.0\.0\.1:([0-9]+)\/metrics/)
                .flatMap { Int($0.1) }
            return port != nil
        }
        return try #require(port)
    }

    /// Scrapes again and again, each time held against the one before, until `condition` holds.
    static func scrape(
        port: Int, _ what: String, until condition: (MetricsPage) -> Bool
    ) async throws -> MetricsPage {
        var page = try await MetricsPage(port: port)
        try await waitUntil(deadlineSeconds: 60, what) {
            let next = try await MetricsPage(port: port)
            next.expectRisen(since: page)
            page = next
            return condition(page)
        }
        return page
    }
}
