package import LoadModel
import Rendering
import Services
import Statistics

/// A result as one HTML page without scripts or external resources.
package struct LoadHTML {
    private let facts: LoadFacts
    private let ladder: LoadLadder?
    private var result: LoadResult { facts.result }

    /// Creates a page.
    ///
    /// - Parameter ladder: the steps of a test with several loads.
    package init(_ result: LoadResult, ladder: LoadLadder? = nil) {
        facts = LoadFacts(result: result)
        self.ladder = ladder
    }

    package var text: String {
        let title = HTMLText.escaped(facts.name)
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width,initial-scale=1">
            <meta http-equiv="Content-Security-Policy" \
            content="default-src 'none';style-src 'unsafe-inline'">
            <title>\(title): load test</title>
            <style>\(HTMLText.style)
            .good,.bad{font-weight:600;white-space:nowrap}.good{color:var(--s2)}.bad{color:var(--bad)}
            td:last-child:not(.n){min-width:10rem}</style>
            </head>
            <body>
            <h1>\(title)</h1>
            <p class="lead">\(HTMLText.escaped(lead))</p>
            \(tiles)\(warnings)\(thresholds)\(steps)\(sections)</body>
            </html>

            """
    }

    private var lead: String {
        let leads = facts.leads(ladder).map { $0.hasSuffix(".") ? $0 : "\($0)." }
        return (leads + ["\(timestamp(ofSeconds: result.startedSeconds))."])
            .joined(separator: " ")
    }

    private var tiles: String {
        var tiles = [
            ("successful requests", LoadFormat.rate(result.requestsPerSecond)),
            ("throughput", LoadFormat.bandwidth(result.bitsPerSecond)),
            ("failed", LoadFormat.percent(result.figure(.errorRate))),
            ("first byte, p99", quantile(.firstByte)), ("total, p99", quantile(.total)),
        ]
        if result.hasViewers {
            tiles.append(("start-up, p99", quantile(.startup)))
            tiles.append(("rebuffer ratio", LoadFormat.percent(result.figure(.rebufferRatio))))
        }
        return HTMLText.tiles(tiles)
    }

    private func quantile(_ metric: LoadMetric) -> String {
        LoadFormat.time(result.total[metric]?.value(quantile: 0.99))
    }

    private var warnings: String {
        let warnings = result.warnings
        guard !warnings.isEmpty else { return "" }
        return HTMLText.section(
            "Warnings", "<div class=\"problems\">\(HTMLText.list(warnings))</div>\n")
    }

    private var thresholds: String {
        guard let table = facts.thresholds else { return "" }
        let rows = zip(table.rows, result.verdicts).map { row, verdict in
            "<tr><td "
                + "class=\"\(verdict.holds ? "good" : "bad")\">\(verdict.holds ? "✓ passed" : "✗ failed")</td><td>\(HTMLText.escaped(row[1]))</td><td "
                + "class=\"n\">\(HTMLText.escaped(row[2]))</td></tr>\n"
        }.joined()
        return HTMLText.section(
            "Thresholds",
            "<div class=\"scroll\"><table><tbody>\n\(rows)</tbody></table></div>\n")
    }

    private var steps: String {
        guard let ladder else { return "" }
        let table = facts.ladder(ladder)
        let found = ladder.knee?.level ?? ladder.highest
        let last = ladder.steps.lastIndex { $0.level == found }
        return HTMLText.section(
            table.title,
            HTMLText.list(LoadFacts.conclusions(ladder))
                + (ladder.kind == .search ? ladderCharts(ladder) : "")
                + HTMLText.table(
                    table.headings, table.rows, text: table.text, marked: last.map { [$0] } ?? []))
    }

    // MARK: Sections

    private var sections: String {
        var text = HTMLText.section("Results", rows(facts.achieved) + rateCharts + cacheChart)
        if let latencies = facts.latencies {
            text += HTMLText.section(
                "Latency",
                "<p>\(LoadFacts.latencyTitle) one. Failed requests are separate.</p>\n"
                    + self.table(latencies) + latencyCharts)
        }
        if result.hasViewers {
            text += HTMLText.section(
                "Viewers",
                rows(facts.viewers) + viewerCharts + (facts.viewerFigures.map(self.table) ?? "")
                    + (facts.viewerClasses.map(self.table) ?? ""))
        }
        if let errors = facts.errors {
            text += HTMLText.section("Errors", self.table(errors) + errorChart)
        }
        for table in [
            facts.renditions, facts.targetTallies, facts.kinds, facts.pathways,
            facts.statuses, facts.slowest,
            facts.shards,
        ] {
            if let table { text += HTMLText.section(table.title, self.table(table)) }
        }
        text += HTMLText.section("Load generator", rows(facts.health) + generatorChart)
        return text + HTMLText.section("Test plan", rows(facts.asked))
    }

    private func rows(_ rows: [LoadFacts.Row]) -> String {
        let hasRemarks = rows.contains { !$0.remark.isEmpty }
        return HTMLText.table(
            ["", "", ""], rows.map { [$0.name, $0.value] + (hasRemarks ? [$0.remark] : []) },
            text: hasRemarks ? [0, 2] : [0, 1])
    }

    private func table(_ table: LoadFacts.Table) -> String {
        HTMLText.table(table.headings, table.rows, text: table.text)
    }

    // MARK: Charts

    private func chart(
        _ caption: String, _ format: @escaping (Double) -> String,
        _ merge: @escaping ([Double]) -> Double, isLogarithmic: Bool = false, isWhole: Bool = false,
        _ series: [(name: String, value: (LoadSecond) -> Double?)]
    ) -> String {
        TimeChart(
            caption: caption,
            series: series.map { line in
                TimeChart.Series(name: line.name, values: result.seconds.map(line.value))
            },
            seconds: result.seconds.map(\.second),
            endSeconds: result.seconds.last.map { Double($0.second) + $0.lengthSeconds } ?? 0,
            warmUpSeconds: result.warmUpSeconds, drainStartSeconds: result.drainStartSeconds,
            format: format, isLogarithmic: isLogarithmic, isWhole: isWhole, merge: merge
        ).text
    }

    /// Latency, throughput and errors by load, of the last try of each.
    private func ladderCharts(_ ladder: LoadLadder) -> String {
        func chart(
            _ caption: String, isLogarithmic: Bool = false, _ format: @escaping (Double) -> String,
            _ series: [(name: String, value: (LoadResult) -> Double?)]
        ) -> String {
            let chart = LadderChart(
                caption: caption,
                series: series.map { line in
                    LadderChart.Series(
                        name: line.name,
                        points: ladder.lastTries.compactMap { step in
                            line.value(step.result).map { (step.level, $0) }
                        })
                },
                name: { LoadFacts.name($0, ladder.unit) }, format: format,
                isLogarithmic: isLogarithmic)
            return chart.text
        }
        func latency(_ quantile: Double) -> (LoadResult) -> Double? {
            { result in
                result.total[.total].flatMap {
                    $0.isEmpty ? nil : Double($0.value(quantile: quantile))
                }
            }
        }
        return chart(
            "Total by load", isLogarithmic: true, { LoadFormat.time(microseconds: $0) },
            [("p50", latency(0.5)), ("p95", latency(0.95)), ("p99", latency(0.99))])
            + chart(
                "Successful requests per second by load", { Quantity.rate($0) },
                [("succeeded", \.requestsPerSecond)])
            + chart(
                "Share of requests by load", { LoadFormat.percent($0) },
                [
                    ("failed", { $0.figure(.errorRate) }),
                    ("sent late", { $0.figure(.lateSendRatio) }),
                ])
    }

    private var rateCharts: String {
        var rates: [(name: String, value: (LoadSecond) -> Double?)] = [
            ("succeeded", { $0.perSecond(Double($0.counts.requests.succeeded)) })
        ]
        if result.plannedPerSecond != nil {
            rates.append(("planned", { $0.perLoadSecond(Double($0.counts.pacing.planned)) }))
        }
        return chart("Requests per second", { Quantity.rate($0) }, LoadFormat.mean, rates)
            + chart(
                "Throughput", { Quantity.bandwidth($0) }, LoadFormat.mean,
                [("bodies", { $0.perSecond(Double($0.counts.requests.bytes) * 8) })])
            + chart(
                "In progress at the end of each second", { Quantity.digits($0) }, LoadFormat.most,
                isWhole: true,
                [
                    ("requests", { $0.tellsRates ? Double($0.counts.levels.inFlight) : nil }),
                    (
                        "due, not sent yet",
                        { $0.tellsRates ? Double($0.counts.levels.backlog) : nil }
                    ),
                ])
    }

    /// The hit ratio over time, which shows a cache getting warm.
    private var cacheChart: String {
        guard result.total.counts.cache.hitRatio != nil else { return "" }
        return chart(
            "Cache hit ratio by second", { LoadFormat.percent($0) }, LoadFormat.mean,
            [
                ("requests", { $0.counts.cache.hitRatio }),
                ("bytes", { $0.counts.cache.byteHitRatio }),
            ])
    }

    private var latencyCharts: String {
        func answered(_ value: @escaping (LoadSecond) -> Int64) -> (LoadSecond) -> Double? {
            { $0.counts.requests.succeeded > 0 ? Double(value($0)) : nil }
        }
        let distribution = PercentileChart(
            caption: "Latency by percentile",
            series: [
                LoadMetric.total, .totalUncorrected, .firstByte, .firstByteUncorrected, .failed,
            ].compactMap { metric in
                result.total[metric].map { (LoadFacts.title(metric), $0) }
            })
        return chart(
            "Total of successful requests by second", { LoadFormat.time(microseconds: $0) },
            LoadFormat.most,
            isLogarithmic: true,
            [
                ("p50", answered(\.p50)), ("p95", answered(\.p95)), ("p99", answered(\.p99)),
                ("longest", answered(\.longest)),
            ]) + distribution.text
    }

    private var viewerCharts: String {
        chart(
            "Viewers at the end of each second", { Quantity.digits($0) }, LoadFormat.mean,
            isWhole: true,
            [("viewers", { $0.tellsRates ? Double($0.counts.levels.viewers) : nil })])
            + chart(
                "Stalls and late segments per second", { Quantity.digits($0) }, LoadFormat.mean,
                isWhole: true,
                [
                    ("stalls", { $0.perSecond(Double($0.counts.playback.stalls)) }),
                    ("late segments", { $0.perSecond(Double($0.counts.playback.lateSegments)) }),
                    ("viewers failed", { $0.perSecond(Double($0.counts.viewers.failed)) }),
                ])
    }

    private var errorChart: String {
        chart(
            "Failed requests per second", { Quantity.rate($0) }, LoadFormat.mean, isWhole: true,
            [("failed", { $0.perSecond(Double($0.counts.requests.failed)) })])
    }

    private var generatorChart: String {
        chart(
            "CPU of the generators' cores", { LoadFormat.percent($0) }, LoadFormat.mean,
            [("in use", { $0.perSecond($0.counts.cpuSeconds / max(result.generatorCores, 0.01)) })])
    }
}
