package import LoadModel
import Metrics
import Statistics
import Text

/// The metrics of a load test: sums, and durations as histograms in seconds. A result, for a push
/// gateway or the node exporter's directory of text files, has the measured time. A running test, for
/// Prometheus to scrape, has all requests: `LoadPrometheus+Live.swift`.
package struct LoadPrometheus {
    private let total: LoadInterval
    private let hasViewers: Bool
    private let name: String
    private let format: MetricsFormat
    private(set) var families: [(family: MetricFamily, samples: [MetricSample])] = []

    /// Upper bounds of buckets in seconds.
    private static let bounds = [
        0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]

    /// Writes the result of an ended test in Prometheus's text format, which those programs read.
    package static func text(_ result: LoadResult) -> String {
        var page = LoadPrometheus(
            result.total, hasViewers: result.hasViewers, name: LoadFacts(result: result).name,
            .prometheus)
        page.counts()
        page.viewers()
        page.figures(result)
        page.thresholds(result.verdicts)
        page.durations()
        return String(decoding: page.text, as: UTF8.self)
    }

    init(_ total: LoadInterval, hasViewers: Bool, name: String, _ format: MetricsFormat) {
        self.total = total
        self.hasViewers = hasViewers
        self.name = name
        self.format = format
    }

    /// The metrics as text.
    var text: [UInt8] {
        var page = MetricsText(format)
        for (family, samples) in families { page.add(family, samples) }
        page.end()
        return page.bytes
    }

    /// Adds a metric with one sample; none for an unknown value.
    mutating func add(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, _ value: Double?
    ) {
        guard let value, value.isFinite else { return }
        let family = MetricFamily("dray_loadtest_\(name)", kind, help, labels: ["test"])
        families.append((family, [MetricSample([self.name], value)]))
    }

    /// Adds a metric with a sample for each value of a label; none without values.
    mutating func add(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, by label: String,
        _ values: [(String, Double)]
    ) {
        guard !values.isEmpty else { return }
        let family = MetricFamily(
            "dray_loadtest_\(name)", kind, help, labels: ["test", label], maxSeries: values.count)
        families.append((family, values.map { MetricSample([self.name, $0.0], $0.1) }))
    }

    private mutating func counter(_ name: String, _ help: String, _ value: Int64) {
        add(name, .counter, help, Double(value))
    }

    // MARK: Families

    mutating func counts() {
        let counts = total.counts
        add(
            "requests", .counter, "Requests that ended.", by: "result",
            [
                ("succeeded", Double(counts.requests.succeeded)),
                ("failed", Double(counts.requests.failed)),
            ])
        add(
            "errors", .counter, "Failed requests by failure code.", by: "code",
            total.errors.sorted { $0.key < $1.key }.map { ($0.key, Double($0.value)) })
        counter(
            "planned", "Requests and viewers that the open model planned.", counts.pacing.planned)
        counter("received_bytes", "Bytes of bodies.", counts.requests.bytes)
        counter("connections", "Connections opened.", counts.requests.connections)
        counter(
            "resent", "Requests sent once more, because a kept connection had been closed.",
            counts.requests.resent)
        counter(
            "late_sends", "Requests that the generator sent late.", counts.pacing.lateSends
        )
        counter("missed_sends", "Requests that were due and never sent.", counts.pacing.missedSends)
        counter(
            "queued", "Requests that waited in the generator for a slot.", counts.pacing.queued)
        counter(
            "unfinished", "Requests in progress when the test was stopped.",
            counts.requests.unfinished
        )
    }

    mutating func viewers() {
        guard hasViewers else { return }
        let counts = total.counts
        counter("viewers_started", "Viewers that started.", counts.viewers.started)
        counter("viewers_ended", "Viewers that ended.", counts.viewers.ended)
        counter("viewers_failed", "Viewers that failed.", counts.viewers.failed)
        counter(
            "viewers_not_started", "Viewers whose time ended before they played.",
            counts.viewers.notStarted)
        counter("segments", "Segments that viewers received.", counts.playback.segments)
        counter(
            "late_segments", "Segments that arrived after the buffer was empty.",
            counts.playback.lateSegments)
        counter(
            "stalls", "Stalls of viewers.", counts.playback.stalls)
        counter("switches", "Changes of rendition.", counts.playback.switches)
        add(
            "played_seconds", .counter, "Time that viewers played.", counts.playback.playedSeconds)
        add(
            "stalled_seconds", .counter, "Time that viewers were stalled.",
            counts.playback.stalledSeconds)
    }

    private mutating func figures(_ result: LoadResult) {
        add(
            "start_time_seconds", .gauge, "Start of the test, since 1970.", result.startedSeconds
        )
        add("measured_seconds", .gauge, "Measured time.", result.measuredSeconds)
        add(
            "error_ratio", .gauge, "Share of requests that failed.", result.figure(.errorRate))
        add(
            "throughput_bytes_per_second", .gauge, "Throughput of bodies.",
            result.bitsPerSecond.map { $0 / 8 })
        add(
            "generator_cpu_ratio", .gauge, "Share of CPU time used of the generators' cores.",
            result.cpuShare)
        add(
            "generator_is_limit", .gauge,
            "1 when the generator, or other work on its machine, was the bottleneck.",
            result.generatorIsLimit || result.machineIsBusy ? 1 : 0)
        add(
            "shards_not_whole", .gauge, "Shards that are lost, failed or have not ended.",
            Double(result.shards.count { $0.state != .finished }))
    }

    mutating func thresholds(_ verdicts: [LoadVerdict]) {
        var named: Set<String> = []
        add(
            "threshold_holds", .gauge, "1 when a threshold passes.", by: "threshold",
            verdicts.compactMap { verdict in
                let text = printable(verdict.threshold.text)
                // A repeated threshold counts once: duplicate series make a page invalid.
                return named.insert(text).inserted ? (text, verdict.holds ? 1 : 0) : nil
            })
    }

    mutating func durations() {
        for metric in LoadMetric.allCases where metric.unit == .microseconds {
            guard let histogram = total[metric], !histogram.isEmpty else { continue }
            let within = Self.bounds.map { histogram.count(within: Int64($0 * 1_000_000)) }
            let rising = within + [histogram.total]
            let family = MetricFamily(
                "dray_loadtest_\(metric.name)_seconds", .histogram,
                "\(LoadFacts.title(metric)), in seconds.", labels: ["test"])
            let snapshot = HistogramSnapshot(
                bounds: Self.bounds, counts: zip(rising, [0] + rising).map { Int64($0 - $1) },
                sum: histogram.sum / 1_000_000)
            families.append((family, [MetricSample([name], .histogram(snapshot))]))
        }
    }
}
