import LoadModel
import Model
import Rendering
import Statistics
import Text

extension LoadFacts {
    private var total: LoadInterval { result.total }

    static let quantiles: [(name: String, quantile: Double)] = [
        ("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999),
    ]

    /// Returns the title of a metric.
    static func title(_ metric: LoadMetric) -> String {
        switch metric {
        case .connect: "connect"
        case .firstByte: "first byte"
        case .firstByteUncorrected: "first byte, uncorrected"
        case .total: "total"
        case .totalUncorrected: "total, uncorrected"
        case .failedUncorrected: "failed, uncorrected"
        case .sendDelay: "queued before sending"
        case .startup: "start-up"
        case .stall: "a stall"
        case .viewerStalls: "stalls"
        case .viewerRebuffering: "rebuffer ratio"
        case .viewerLateSegments: "late segments"
        case .viewerBitRate: "bit rate"
        case .viewerSwitches: "switches"
        }
    }

    private func quantiles(of metrics: [LoadMetric]) -> [[String]] {
        metrics.compactMap { metric in
            guard let histogram = total[metric], !histogram.isEmpty else { return nil }
            return [Self.title(metric), LoadFormat.count(histogram.total)]
                + Self.quantiles.map {
                    LoadFormat.value(
                        Double(histogram.value(quantile: $0.quantile)), of: metric.unit)
                }
                + [LoadFormat.value(histogram.maximum.map { Double($0) }, of: metric.unit)]
        }
    }

    var latencies: Table? {
        let rows = quantiles(of: [
            .firstByte, .firstByteUncorrected, .total, .totalUncorrected, .connect, .sendDelay,
        ])
        guard !rows.isEmpty else { return nil }
        return Table(
            title: "Latency from the planned send time; uncorrected from the actual one",
            headings: ["", "of"] + Self.quantiles.map(\.name) + ["max"], rows: rows,
            spare: Self.spareQuantiles)
    }

    /// Columns of a table of quantiles to omit first: the number, p95, p99.9 and p90.
    private static let spareQuantiles = [1, 4, 6, 3]

    var viewers: [Row] {
        guard result.hasViewers else { return [] }
        let counts = total.counts
        let watched = counts.playedSeconds + counts.stalledSeconds
        let planned =
            if case .open = result.scenario.model {
                " of \(LoadFormat.count(counts.planned)) planned"
            } else { "" }
        let rate = counts.playedSeconds > 0 ? counts.playedBits / counts.playedSeconds : nil
        return [
            Row(
                name: "viewers", value: LoadFormat.count(counts.viewersStarted),
                remark: "started\(planned), \(LoadFormat.count(counts.viewersEnded)) ended, "
                    + "\(LoadFormat.count(counts.viewersFailed)) of them failed"),
            Row(
                name: "played", value: HumanFormat.duration(seconds: counts.playedSeconds),
                remark: "at \(LoadFormat.bandwidth(rate)) on average"),
            Row(
                name: "rebuffer ratio", value: LoadFormat.percent(result.figure(.rebufferRatio)),
                remark: "\(HumanFormat.duration(seconds: counts.stalledSeconds)) waited of "
                    + "\(HumanFormat.duration(seconds: watched)), in "
                    + HumanFormat.count(counts.stalls, "stall")),
            Row(
                name: "late segments", value: LoadFormat.count(counts.lateSegments),
                remark: "\(LoadFormat.percent(result.figure(.lateSegmentRatio))) of "
                    + HumanFormat.count(counts.segments)),
            Row(
                name: "switches", value: LoadFormat.count(counts.switches),
                remark: "of rendition"),
        ]
    }

    var viewerFigures: Table? {
        guard result.hasViewers else { return nil }
        let rows = quantiles(of: [
            .startup, .stall, .viewerStalls, .viewerRebuffering, .viewerLateSegments,
            .viewerBitRate, .viewerSwitches,
        ])
        guard !rows.isEmpty else { return nil }
        return Table(
            title: "By viewer", headings: ["", "of"] + Self.quantiles.map(\.name) + ["max"],
            rows: rows, spare: Self.spareQuantiles)
    }

    var errors: Table? {
        guard !total.errors.isEmpty else { return nil }
        let rows = total.errors.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
            code, count in
            [
                printable(code), LoadFormat.count(count),
                LoadFormat.percent(Double(count) / Double(max(total.counts.ended, 1))),
                FailureCode(code).row.hint,
            ]
        }
        return Table(
            title: "Errors", headings: ["code", "count", "of all", "what to do"], rows: rows,
            text: [0, 3])
    }

    var renditions: Table? { tallies("By rendition", result.breakdown.renditions, atLeast: 1) }
    var targetTallies: Table? { tallies("By target", result.breakdown.targets, atLeast: 2) }

    /// URLs by mean latency, the slowest first.
    var slowest: Table? {
        let urls = result.breakdown.urls
        guard urls.count > 1 else { return nil }
        let shown = urls.sorted { ($1.value.mean, $0.key) < ($0.value.mean, $1.key) }.prefix(10)
        let title =
            urls.count > shown.count
            ? "Slowest of \(HumanFormat.count(urls.count)) URLs" : "URLs, the slowest first"
        return table(title, Array(shown))
    }

    private func tallies(_ title: String, _ tallies: [String: LoadTally], atLeast: Int) -> Table? {
        guard tallies.count >= atLeast else { return nil }
        let shown = tallies.sorted { ($1.value.requests, $0.key) < ($0.value.requests, $1.key) }
            .prefix(20)
        let title =
            tallies.count > shown.count
            ? "\(title): the \(shown.count) most requested of \(HumanFormat.count(tallies.count))"
            : title
        return table(title, Array(shown))
    }

    private func table(_ title: String, _ tallies: [(key: String, value: LoadTally)]) -> Table {
        Table(
            title: result.shardsWithoutBreakdown.isEmpty
                ? title
                : "\(title), without shard "
                    + result.shardsWithoutBreakdown.map { "\($0 + 1)" }.joined(separator: ", "),
            headings: ["", "requests", "failed", "bytes", "mean", "max"],
            rows: tallies.map { name, tally in
                [
                    LoadFormat.name(name), LoadFormat.count(tally.requests),
                    LoadFormat.count(tally.failed), LoadFormat.bytes(tally.bytes),
                    LoadFormat.time(microseconds: tally.mean),
                    LoadFormat.time(tally.longestMicroseconds),
                ]
            })
    }

    var thresholds: Table? {
        guard !result.verdicts.isEmpty else { return nil }
        return Table(
            title: "Thresholds", headings: ["", "threshold", "measured"],
            rows: result.verdicts.map { verdict in
                [
                    verdict.holds ? "✓" : "✗", printable(verdict.threshold.text),
                    verdict.measured == nil
                        ? "no data"
                        : LoadFormat.value(verdict.measured, of: verdict.threshold.figure),
                ]
            }, text: [0, 1])
    }

    /// The shards of a test on several workers; nil for other tests.
    var shards: Table? {
        guard result.shards.count > 1 || result.shards.contains(where: { $0.state != .finished })
        else { return nil }
        return Table(
            title: "Shards", headings: ["", "worker", "state", "requests", "failed", "bytes"],
            rows: result.shards.map { shard in
                [
                    "\(shard.index + 1)",
                    shard.worker.isEmpty ? "this process" : LoadFormat.name(shard.worker),
                    shard.state.rawValue, LoadFormat.count(shard.counts.ended),
                    LoadFormat.count(shard.counts.failed),
                    LoadFormat.bytes(shard.counts.bytes),
                ]
            }, text: [1, 2])
    }
}

extension LoadTally {
    /// Mean in microseconds.
    var mean: Double { requests > 0 ? Double(totalMicroseconds) / Double(requests) : 0 }
}
