import FoundationEssentials
package import LoadModel
import Model
import Services
import Statistics

/// Writes a result as JSON; `docs/load-testing.md` describes the fields. Names include units,
/// latencies are in microseconds, missing figures are omitted.
package enum LoadJSON {
    /// Name of the format; fields may be added to it.
    static let schema = "dray.loadtest/1"

    /// Returns the JSON of a result.
    ///
    /// - Parameter ladder: the steps of a test with several loads.
    package static func text(_ result: LoadResult, ladder: LoadLadder? = nil) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(Document(result, ladder)), as: UTF8.self) + "\n"
    }

    private struct Document: Encodable {
        let schema = LoadJSON.schema
        let name: String
        let started: String
        let startedSeconds: Double
        let ending: LoadResult.Ending
        let warmUpSeconds: Double
        let measuredSeconds: Double
        let asked: LoadAsked
        let figures: Figures
        let counts: LoadCounts
        let warmUp: LoadCounts
        let errors: [ErrorCount]
        let metrics: [String: Metric]
        let seconds: [LoadRow]
        let targets: [Tally]
        let renditions: [Tally]
        let urls: [Tally]
        let groups: [String: [Group]]
        let viewerClasses: [ViewerClassTotals]?
        let thresholds: [Verdict]
        let shards: [LoadShardReport]
        let generator: Generator
        let warnings: [String]
        let ladder: LoadSteps?
        let calibration: [PoolMeasurement]
        let noCalibration: String?

        init(_ result: LoadResult, _ ladder: LoadLadder?) {
            self.ladder = ladder.map(LoadSteps.init)
            calibration =
                ladder?.poolMeasurements ?? [result.poolMeasurement].compactMap(\.self)
            noCalibration =
                ladder.map(\.noCalibrationReason) ?? result.noCalibrationReason
            name = LoadFormat.name(result.name)
            startedSeconds = result.startedSeconds
            started = timestamp(ofSeconds: result.startedSeconds)
            ending = result.ending
            warmUpSeconds = result.warmUpSeconds
            measuredSeconds = result.measuredSeconds
            asked = LoadAsked(result.scenario)
            figures = Figures(result)
            counts = result.total.counts
            warmUp = result.warmUp.counts
            errors = result.total.errors.sorted { $0.key < $1.key }.map(ErrorCount.init)
            var metrics: [String: Metric] = [:]
            for metric in LoadMetric.allCases {
                guard let histogram = result.total[metric] else { continue }
                metrics[metric.name] = Metric(metric, histogram)
            }
            self.metrics = metrics
            seconds = result.seconds.map(LoadRow.init)
            targets = Tally.all(result.breakdown.targets)
            renditions = Tally.all(result.breakdown.renditions)
            urls = Tally.all(result.breakdown.urls)
            groups = Group.all(result.breakdown.groups)
            viewerClasses = ViewerClassTotals.all(result.breakdown.classes)
            thresholds = result.verdicts.map(Verdict.init)
            shards = result.shards.map { shard in
                var shard = shard
                shard.worker = LoadFormat.name(shard.worker)
                return shard
            }
            generator = Generator(result)
            warnings = result.warnings + LoadFacts.warnings(ladder)
        }
    }

    /// Rates and ratios of the measured time.
    private struct Figures: Encodable {
        let requestsPerSecond: Double?
        let failedPerSecond: Double?
        let plannedPerSecond: Double?
        let bitsPerSecond: Double?
        let errorRate: Double?
        let rebufferRatio: Double?
        let lateSegmentRatio: Double?
        let failedViewerRatio: Double?
        /// Hit ratio of the responses with cache headers.
        let cacheHitRatio: Double?
        let cacheByteHitRatio: Double?
        let meanCacheAgeSeconds: Double?

        init(_ result: LoadResult) {
            requestsPerSecond = result.requestsPerSecond
            failedPerSecond = result.failedPerSecond
            plannedPerSecond = result.plannedPerSecond
            bitsPerSecond = result.bitsPerSecond
            errorRate = result.figure(.errorRate)
            rebufferRatio = result.figure(.rebufferRatio)
            lateSegmentRatio = result.figure(.lateSegmentRatio)
            failedViewerRatio = result.figure(.failedViewerRatio)
            cacheHitRatio = result.total.counts.cache.hitRatio
            cacheByteHitRatio = result.total.counts.cache.byteHitRatio
            meanCacheAgeSeconds = result.total.counts.cache.meanAgeSeconds
        }
    }

    private struct ErrorCount: Encodable {
        let code: String
        let count: Int64
        let hint: String

        init(code: String, count: Int64) {
            self.code = code
            self.count = count
            hint = FailureCode(code).row.hint
        }
    }

    private struct Metric: Encodable {
        let unit: String
        let count: Int64
        let mean: Double
        let standardDeviation: Double
        let minimum: Int64
        let p50: Int64
        let p75: Int64
        let p90: Int64
        let p95: Int64
        let p99: Int64
        let p999: Int64
        let p9999: Int64
        let maximum: Int64
        let clamped: Int64
        let histogram: String

        init(_ metric: LoadMetric, _ histogram: Histogram) {
            unit = metric.unit.name
            count = histogram.total
            mean = histogram.mean
            standardDeviation = histogram.standardDeviation
            minimum = histogram.minimum ?? 0
            p50 = histogram.value(quantile: 0.5)
            p75 = histogram.value(quantile: 0.75)
            p90 = histogram.value(quantile: 0.9)
            p95 = histogram.value(quantile: 0.95)
            p99 = histogram.value(quantile: 0.99)
            p999 = histogram.value(quantile: 0.999)
            p9999 = histogram.value(quantile: 0.999_9)
            maximum = histogram.maximum ?? 0
            clamped = histogram.clamped
            self.histogram = histogram.text
        }
    }

    private struct Tally: Encodable {
        let name: String
        let requests: Int64
        let failed: Int64
        let bytes: Int64
        let meanMicroseconds: Double
        let longestMicroseconds: Int64
        let failedMeanMicroseconds: Double
        let failedLongestMicroseconds: Int64

        /// Returns all entries, most requests first.
        static func all(_ tallies: [String: LoadTally]) -> [Tally] {
            tallies.sorted { ($1.value.requests, $0.key) < ($0.value.requests, $1.key) }.map {
                name, tally in
                Tally(
                    name: LoadFormat.name(name), requests: tally.requests, failed: tally.failed,
                    bytes: tally.bytes, meanMicroseconds: tally.mean,
                    longestMicroseconds: tally.longestMicroseconds,
                    failedMeanMicroseconds: tally.failedMean,
                    failedLongestMicroseconds: tally.longestFailedMicroseconds)
            }
        }
    }

    /// A group of requests.
    private struct Group: Encodable {
        let name: String
        let requests: Int64
        let failed: Int64
        let bytes: Int64
        let total: Metric?
        let firstByte: Metric?

        init(_ name: String, _ group: LoadGroup) {
            self.name = LoadFormat.name(name)
            requests = group.requests
            failed = group.failed
            bytes = group.bytes
            total = group.total.isEmpty ? nil : Metric(.total, Histogram(group.total))
            firstByte =
                group.firstByte.isEmpty ? nil : Metric(.firstByte, Histogram(group.firstByte))
        }

        /// Returns all groups by dimension, most requests first.
        static func all(_ groups: [LoadDimension: [String: LoadGroup]]) -> [String: [Group]] {
            Dictionary(
                uniqueKeysWithValues: groups.map { dimension, groups in
                    let sorted = groups.sorted {
                        ($1.value.requests, $0.key) < ($0.value.requests, $1.key)
                    }
                    return (dimension.rawValue, sorted.map { Group($0.key, $0.value) })
                })
        }
    }

    private struct ViewerClassTotals: Encodable {
        let name: String
        let totals: ViewerTotals

        /// Returns all classes by name; nil without any.
        static func all(_ classes: [String: ViewerTotals]) -> [ViewerClassTotals]? {
            guard !classes.isEmpty else { return nil }
            return classes.sorted { $0.key < $1.key }.map { name, totals in
                ViewerClassTotals(name: LoadFormat.name(name), totals: totals)
            }
        }
    }

    private struct Verdict: Encodable {
        let threshold: String
        let measured: Double?
        let holds: Bool
        let isDefault: Bool

        init(_ verdict: LoadVerdict) {
            threshold = verdict.threshold.text
            measured = verdict.measured.flatMap { $0.isFinite ? $0 : nil }
            holds = verdict.holds
            isDefault = verdict.threshold.isDefault
        }
    }

    private struct Generator: Encodable {
        let cores: Double
        let cpuSeconds: Double
        let cpuShare: Double?
        /// CPU use of the busiest machine.
        let busiestShare: Double?
        let isLimit: Bool
        /// True if requests were sent late because of other work on the machine.
        let machineIsBusy: Bool

        init(_ result: LoadResult) {
            busiestShare = result.total.machines.isEmpty ? nil : result.busiestShare
            cores = result.generatorCores
            cpuSeconds = result.total.counts.cpuSeconds
            cpuShare = result.cpuShare
            isLimit = result.generatorIsLimit
            machineIsBusy = result.machineIsBusy
        }
    }
}

/// A second of the series, in JSON.
private struct LoadRow: Encodable {
    let second: Int
    let lengthSeconds: Double
    let loadSeconds: Double
    let measured: Bool
    let counts: LoadCounts
    let errors: [String: Int64]
    let p50Microseconds: Int64
    let p95Microseconds: Int64
    let p99Microseconds: Int64
    let longestMicroseconds: Int64
    let firstByteP99Microseconds: Int64
    let cacheHitRatio: Double?
    let totalHistogram: String?

    init(_ second: LoadSecond) {
        lengthSeconds = second.lengthSeconds
        loadSeconds = second.loadSeconds
        self.second = second.second
        measured = second.isMeasured
        counts = second.counts
        errors = second.errors
        p50Microseconds = second.p50
        p95Microseconds = second.p95
        p99Microseconds = second.p99
        longestMicroseconds = second.longest
        firstByteP99Microseconds = second.firstByteP99
        cacheHitRatio = second.counts.cache.hitRatio
        totalHistogram = second.totalText
    }
}
