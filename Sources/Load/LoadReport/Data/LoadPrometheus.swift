package import LoadModel
import Statistics
import Text

/// A load test in Prometheus's text format, version 0.0.4: sums, and durations as histograms in
/// seconds. A result, for a push gateway or the node exporter's directory of text files, has the
/// measured time. A running test, for Prometheus to scrape, has all requests:
/// `LoadPrometheus+Live.swift`.
package struct LoadPrometheus {
    private let total: LoadInterval
    private let hasViewers: Bool
    private let label: String
    private var lines: [String] = []

    /// Upper bounds of buckets in seconds.
    private static let bounds = [
        0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]

    /// Writes the result of an ended test.
    package static func text(_ result: LoadResult) -> String {
        var page = LoadPrometheus(
            result.total, hasViewers: result.hasViewers, name: LoadFacts(result: result).name)
        page.counts()
        page.viewers()
        page.figures(result)
        page.thresholds(result.verdicts)
        page.durations()
        return page.text
    }

    init(_ total: LoadInterval, hasViewers: Bool, name: String) {
        self.total = total
        self.hasViewers = hasViewers
        label = "test=\"\(Self.escaped(name))\""
    }

    var text: String { lines.joined(separator: "\n") + "\n" }

    static func escaped(_ value: String) -> String {
        value.reduce(into: "") { text, character in
            switch character {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.append(character)
            }
        }
    }

    mutating func family(_ name: String, _ kind: String, _ help: String) -> String {
        let whole = "dray_loadtest_\(name)"
        lines.append("# HELP \(whole) \(help)")
        lines.append("# TYPE \(whole) \(kind)")
        return whole
    }

    mutating func sample(_ name: String, _ value: Double, _ more: String = "") {
        guard value.isFinite else { return }
        let text =
            value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
        lines.append("\(name){\(label)\(more.isEmpty ? "" : ",\(more)")} \(text)")
    }

    mutating func single(_ name: String, _ kind: String, _ help: String, _ value: Double?) {
        guard let value, value.isFinite else { return }
        sample(family(name, kind, help), value)
    }

    mutating func counter(_ name: String, _ help: String, _ value: Int64) {
        single(name, "counter", help, Double(value))
    }

    // MARK: Families

    mutating func counts() {
        let counts = total.counts
        let requests = family("requests_total", "counter", "Requests that ended.")
        sample(requests, Double(counts.succeeded), "result=\"succeeded\"")
        sample(requests, Double(counts.failed), "result=\"failed\"")
        if !total.errors.isEmpty {
            let errors = family("errors_total", "counter", "Failed requests by failure code.")
            for (code, count) in total.errors.sorted(by: { $0.key < $1.key }) {
                sample(errors, Double(count), "code=\"\(Self.escaped(code))\"")
            }
        }
        counter(
            "planned_total", "Requests and viewers that the open model planned.", counts.planned)
        counter("received_bytes_total", "Bytes of bodies.", counts.bytes)
        counter("connections_total", "Connections opened.", counts.connections)
        counter(
            "late_sends_total", "Requests that the generator sent late.", counts.lateSends
        )
        counter("missed_sends_total", "Requests that were due and never sent.", counts.missedSends)
        counter(
            "queued_total", "Requests that waited in the generator for a slot.", counts.queued)
        counter(
            "unfinished_total", "Requests in progress when the test was stopped.", counts.unfinished
        )
    }

    mutating func viewers() {
        guard hasViewers else { return }
        let counts = total.counts
        counter("viewers_started_total", "Viewers that started.", counts.viewersStarted)
        counter("viewers_ended_total", "Viewers that ended.", counts.viewersEnded)
        counter("viewers_failed_total", "Viewers that failed.", counts.viewersFailed)
        counter(
            "viewers_not_started_total", "Viewers whose time ended before they played.",
            counts.viewersNotStarted)
        counter("segments_total", "Segments that viewers received.", counts.segments)
        counter(
            "late_segments_total", "Segments that arrived after the buffer was empty.",
            counts.lateSegments)
        counter(
            "stalls_total", "Stalls of viewers.", counts.stalls)
        counter("switches_total", "Changes of rendition.", counts.switches)
        single(
            "played_seconds_total", "counter", "Time that viewers played.", counts.playedSeconds)
        single(
            "stalled_seconds_total", "counter", "Time that viewers were stalled.",
            counts.stalledSeconds)
    }

    private mutating func figures(_ result: LoadResult) {
        single(
            "start_time_seconds", "gauge", "Start of the test, since 1970.", result.startedSeconds
        )
        single("measured_seconds", "gauge", "Measured time.", result.measuredSeconds)
        single(
            "error_ratio", "gauge", "Share of requests that failed.", result.figure(.errorRate))
        single(
            "throughput_bits_per_second", "gauge", "Bits of bodies per second.",
            result.bitsPerSecond)
        single(
            "generator_cpu_ratio", "gauge", "Share of CPU time used of the generators' cores.",
            result.cpuShare)
        single(
            "generator_is_limit", "gauge", "1 when the generator was the bottleneck.",
            result.generatorIsLimit ? 1 : 0)
        single(
            "shards_not_whole", "gauge", "Shards that are lost, failed or have not ended.",
            Double(result.shards.count { $0.state != .finished }))
    }

    mutating func thresholds(_ verdicts: [LoadVerdict]) {
        guard !verdicts.isEmpty else { return }
        let holds = family("threshold_holds", "gauge", "1 when a threshold passes.")
        var named: Set<String> = []
        for verdict in verdicts {
            let text = Self.escaped(printable(verdict.threshold.text))
            // A repeated threshold counts once: duplicate series make a page invalid.
            guard named.insert(text).inserted else { continue }
            sample(holds, verdict.holds ? 1 : 0, "threshold=\"\(text)\"")
        }
    }

    mutating func durations() {
        for metric in LoadMetric.allCases where metric.unit == .microseconds {
            guard let histogram = total[metric], !histogram.isEmpty else { continue }
            let name = family(
                "\(metric.name)_seconds", "histogram", "\(LoadFacts.title(metric)), in seconds.")
            for bound in Self.bounds {
                sample(
                    "\(name)_bucket",
                    Double(histogram.count(within: Int64(bound * 1_000_000))), "le=\"\(bound)\"")
            }
            sample("\(name)_bucket", Double(histogram.total), "le=\"+Inf\"")
            sample("\(name)_sum", histogram.sum / 1_000_000)
            sample("\(name)_count", Double(histogram.total))
        }
    }
}
