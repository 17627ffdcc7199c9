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
        case .failed: "failed"
        case .failedUncorrected: "failed, uncorrected"
        case .sendDelay: "queued before sending"
        case .startup: "start-up"
        case .stall: "a stall"
        case .viewerStalls: "stalls"
        case .viewerRebuffering: "rebuffer ratio"
        case .viewerLateSegments: "late segments"
        case .viewerBitRate: "bit rate"
        case .viewerSwitches: "switches"
        case .playlistReload: "manifest requests"
        case .liveLatency: "latency to live"
        case .viewerDrift: "drift"
        case .seek: "a seek"
        case .redirect: "a redirect"
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
            .firstByte, .firstByteUncorrected, .total, .totalUncorrected, .failed,
            .failedUncorrected, .redirect, .connect, .sendDelay,
        ])
        guard !rows.isEmpty else { return nil }
        return Table(
            title: Self.latencyTitle,
            headings: ["", "of"] + Self.quantiles.map(\.name) + ["max"], rows: rows,
            spare: Self.spareQuantiles)
    }

    static let latencyTitle =
        "Latency of successes from the planned send time; uncorrected from the actual"

    /// Columns of a table of quantiles to omit first: the number, p95, p99.9 and p90.
    private static let spareQuantiles = [1, 4, 6, 3]

    var viewers: [Row] {
        guard result.hasViewers else { return [] }
        let counts = total.counts
        let watched = counts.playback.playedSeconds + counts.playback.stalledSeconds
        let planned =
            if case .open = result.scenario.model {
                " of \(LoadFormat.count(counts.pacing.planned)) planned"
            } else { "" }
        // Viewers that still played at the end of the warm-up end in the measured time.
        let warm = result.warmUp.counts
        let earlier = max(warm.viewers.started - warm.viewers.ended, 0)
        let beside =
            earlier > 0
            ? ", beside \(LoadFormat.count(earlier)) of the warm-up; of these and those" : ","
        let rate =
            counts.playback.playedSeconds > 0
            ? counts.playback.playedBits / counts.playback.playedSeconds : nil
        return [
            Row(
                name: "viewers", value: LoadFormat.count(counts.viewers.started),
                remark: "started\(planned)\(beside) "
                    + "\(LoadFormat.count(counts.viewers.ended)) ended, "
                    + "\(LoadFormat.count(counts.viewers.failed)) of them failed"),
            Row(
                name: "played", value: HumanFormat.duration(seconds: counts.playback.playedSeconds),
                remark: "at \(LoadFormat.bandwidth(rate)) on average"),
            Row(
                name: "rebuffer ratio", value: LoadFormat.percent(result.figure(.rebufferRatio)),
                remark:
                    "\(HumanFormat.duration(seconds: counts.playback.stalledSeconds)) waited of "
                    + "\(HumanFormat.duration(seconds: watched)), in "
                    + HumanFormat.count(counts.playback.stalls, "stall")),
            Row(
                name: "late segments", value: LoadFormat.count(counts.playback.lateSegments),
                remark: "\(LoadFormat.percent(result.figure(.lateSegmentRatio))) of "
                    + HumanFormat.count(counts.playback.segments)),
            Row(
                name: "switches", value: LoadFormat.count(counts.playback.switches),
                remark: "of rendition"),
        ] + habits + live
    }

    /// Rows on what viewers did beside watching; empty for nothing.
    private var habits: [Row] {
        var rows: [Row] = []
        let counts = total.counts
        if counts.viewers.abandoned > 0 {
            rows.append(
                Row(
                    name: "abandoned", value: LoadFormat.count(counts.viewers.abandoned),
                    remark: "left because they waited too long"))
        }
        if counts.pathways.changes > 0 {
            rows.append(
                Row(
                    name: "pathway changes", value: LoadFormat.count(counts.pathways.changes),
                    remark:
                        "\(LoadFormat.count(counts.pathways.failures)) because the pathway failed"
                ))
        }
        if counts.playback.seeks > 0 {
            rows.append(Row(name: "seeks", value: LoadFormat.count(counts.playback.seeks)))
        }
        return rows
    }

    /// Figures of live titles; empty without any.
    private var live: [Row] {
        guard let requests = total[.playlistReload]?.total else { return [] }
        let counts = total.counts
        return [
            Row(
                name: "manifests", value: LoadFormat.count(requests),
                remark:
                    "requested, \(LoadFormat.count(counts.live.playlistReloads)) of them again; "
                    + "\(LoadFormat.count(counts.live.stalePlaylists)) stale"),
            Row(
                name: "skips", value: LoadFormat.count(counts.live.skips),
                remark: "to the live edge"),
        ]
    }

    var viewerFigures: Table? {
        guard result.hasViewers else { return nil }
        let rows = quantiles(of: [
            .startup, .stall, .viewerStalls, .viewerRebuffering, .viewerLateSegments,
            .viewerBitRate, .viewerSwitches, .liveLatency, .viewerDrift, .playlistReload,
            .seek,
        ])
        guard !rows.isEmpty else { return nil }
        return Table(
            title: "By viewer", headings: ["", "of"] + Self.quantiles.map(\.name) + ["max"],
            rows: rows, spare: Self.spareQuantiles)
    }

    /// Viewers by class; nil without classes.
    var viewerClasses: Table? {
        let classes = result.breakdown.classes
        guard !classes.isEmpty else { return nil }
        return Table(
            title: "By class of viewers",
            headings: [
                "", "ended", "failed", "abandoned", "start-up", "longest", "rebuffer ratio",
                "stalls", "bit rate",
            ],
            rows: classes.sorted { $0.key < $1.key }.map { name, totals in
                [
                    LoadFormat.name(name), LoadFormat.count(totals.viewers),
                    LoadFormat.count(totals.failed), LoadFormat.count(totals.abandoned),
                    totals.meanStartupSeconds.map { LoadFormat.time(microseconds: $0 * 1e6) } ?? "",
                    LoadFormat.time(microseconds: totals.longestStartupSeconds * 1e6),
                    LoadFormat.percent(totals.rebufferRatio), LoadFormat.count(totals.stalls),
                    LoadFormat.bandwidth(totals.meanBitsPerSecond),
                ]
            })
    }

    var errors: Table? {
        guard !total.errors.isEmpty else { return nil }
        let rows = total.errors.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
            code, count in
            [
                printable(code), LoadFormat.count(count),
                LoadFormat.percent(Double(count) / Double(max(total.counts.requests.ended, 1))),
                FailureCode(code).row.hint,
            ]
        }
        return Table(
            title: "Errors", headings: ["code", "count", "of all", "what to do"], rows: rows,
            text: [0, 3])
    }

    var renditions: Table? {
        groups("By rendition", .rendition)
            ?? tallies("By rendition", result.breakdown.renditions, atLeast: 1)
    }
    var targetTallies: Table? {
        groups("By target", .target) ?? tallies("By target", result.breakdown.targets, atLeast: 2)
    }
    var kinds: Table? { groups("By kind", .kind) }
    var pathways: Table? { groups("By pathway", .pathway, atLeast: 1) }
    var statuses: Table? { groups("By status, failures included", .status) }

    /// The groups of a dimension with their percentiles, the most requested first; nil for fewer
    /// than `atLeast`.
    private func groups(
        _ title: String, _ dimension: LoadDimension, atLeast: Int = 2
    ) -> Table? {
        guard let groups = result.breakdown.groups[dimension], groups.count >= atLeast else {
            return nil
        }
        let shown = groups.sorted {
            ($1.value.requests, $0.key) < ($0.value.requests, $1.key)
        }.prefix(20)
        return Table(
            title: title + omitted(shown.count, of: groups.count),
            headings: ["", "requests", "failed", "bytes", "first byte p99"]
                + Self.quantiles.filter { $0.name != "p90" }.map(\.name) + ["max"],
            rows: shown.map { name, group in
                let (total, firstByte) = (Histogram(group.total), Histogram(group.firstByte))
                func time(_ histogram: Histogram, _ quantile: Double) -> String {
                    histogram.isEmpty
                        ? LoadFormat.none : LoadFormat.time(histogram.value(quantile: quantile))
                }
                return [
                    LoadFormat.name(name), LoadFormat.count(group.requests),
                    LoadFormat.count(group.failed), LoadFormat.bytes(group.bytes),
                    time(firstByte, 0.99),
                ]
                    + Self.quantiles.filter { $0.name != "p90" }.map { time(total, $0.quantile) }
                    + [LoadFormat.time(total.maximum)]
            }, spare: [8, 6, 4, 3])
    }

    private func omitted(_ shown: Int, of all: Int) -> String {
        let most = all > shown ? ": the \(shown) most requested of \(HumanFormat.count(all))" : ""
        guard !result.shardsWithoutBreakdown.isEmpty else { return most }
        return most + ", without shard "
            + result.shardsWithoutBreakdown.map { "\($0 + 1)" }.joined(separator: ", ")
    }

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
                    verdict.holds ? "✓" : "✗", Self.text(verdict.threshold),
                    verdict.measured == nil
                        ? "no data"
                        : LoadFormat.value(verdict.measured, of: verdict.threshold.figure),
                ]
            }, text: [0, 1])
    }

    /// Returns a threshold as written; the default one says so.
    static func text(_ threshold: LoadThreshold) -> String {
        printable(threshold.text) + (threshold.isDefault ? " (default)" : "")
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
                    shard.state.rawValue, LoadFormat.count(shard.counts.requests.ended),
                    LoadFormat.count(shard.counts.requests.failed),
                    LoadFormat.bytes(shard.counts.requests.bytes),
                ]
            }, text: [1, 2])
    }
}

extension LoadTally {
    /// Means in microseconds, of successful and of failed requests; 0 without one.
    var mean: Double {
        requests > failed ? Double(totalMicroseconds) / Double(requests - failed) : 0
    }
    var failedMean: Double { failed > 0 ? Double(failedMicroseconds) / Double(failed) : 0 }
}
