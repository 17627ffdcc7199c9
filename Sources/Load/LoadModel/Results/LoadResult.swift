import Statistics

/// The result of a load test.
///
/// It is the sum of its seconds, and each second is the sum of its shards. Nothing is averaged, so
/// the percentiles are those of all samples.
package struct LoadResult: Sendable {
    package enum Ending: String, Sendable, Codable {
        case finished
        /// A signal ended it.
        case interrupted
        /// A broken threshold aborted it.
        case aborted
        /// Its caps were used up.
        case capped
    }

    package var name = ""
    /// The requested load.
    package var scenario = LoadScenario()
    /// Start in seconds since 1970.
    package var startedSeconds = 0.0
    /// Measured time: from the end of the warm-up to the end of the load, as in
    /// `LoadScenario.measuredSeconds(atSeconds:)`.
    package var measuredSeconds = 0.0
    package var warmUpSeconds = 0.0
    package var ending = Ending.finished
    /// Sum of the measured time.
    package var total = LoadInterval(second: 0)
    /// Sum of the warm-up.
    package var warmUp = LoadInterval(second: 0)
    package var seconds: [LoadSecond] = []
    package var breakdown = LoadBreakdown()
    package var verdicts: [LoadVerdict] = []
    package var shards: [LoadShardReport] = []
    /// Indexes in `shards` of those without a part in `breakdown`.
    package var shardsWithoutBreakdown: [Int] = []
    /// Further notes for the reader, a sentence each.
    package var notes: [String] = []
    /// CPUs that the generators of all shards could use at once, rounded up.
    package var cores = 1

    /// Cores that the generators had. Workers on one machine share its cores.
    package var generatorCores: Double { total.machineCores ?? Double(cores) }

    /// Utilization of the generators' cores, 0 to 1.
    package var cpuShare: Double? {
        let available = measuredSeconds * generatorCores
        return available > 0 ? total.counts.cpuSecondsInTime / available : nil
    }

    /// Thresholds that did not hold.
    package var broken: [LoadVerdict] { verdicts.filter { !$0.holds } }

    /// False if a shard was lost, failed, or has not ended.
    package var isWhole: Bool { shards.allSatisfy { $0.state == .finished } }

    package init() {}
}

/// One second of a test, or several adjacent ones, as a row of its series.
package struct LoadSecond: Sendable {
    /// The first second.
    package var second: Int
    /// Length, and the part with load: 1 s, more for several seconds, less at the test's end.
    package var lengthSeconds: Double
    package var loadSeconds: Double
    package var isMeasured: Bool
    package var counts: LoadCounts
    package var errors: [String: Int64]
    /// Histogram of the successful requests, in V2 encoding, for the histogram log; nil if none
    /// succeeded.
    package var totalText: String?
    /// Microseconds of successful requests from the planned time; 0 without one.
    package var p50: Int64 = 0
    package var p95: Int64 = 0
    package var p99: Int64 = 0
    package var longest: Int64 = 0
    /// Microseconds to the first byte; the highest of several seconds.
    package var firstByteP99: Int64 = 0

    package init(_ interval: LoadInterval) {
        second = interval.second
        lengthSeconds = interval.lengthSeconds
        loadSeconds = interval.loadSeconds
        isMeasured = interval.isMeasured
        counts = interval.counts
        errors = interval.errors
        if let total = interval[.total] { take(total) }
        firstByteP99 = interval[.firstByte]?.value(quantile: 0.99) ?? 0
    }

    private mutating func take(_ total: Histogram) {
        totalText = total.text
        p50 = total.value(quantile: 0.5)
        p95 = total.value(quantile: 0.95)
        p99 = total.value(quantile: 0.99)
        longest = max(longest, total.maximum ?? 0)
    }

    /// Adds the next row.
    mutating func add(_ next: LoadSecond) {
        lengthSeconds = Double(next.second - second) + next.lengthSeconds
        loadSeconds += next.loadSeconds
        counts.add(next.counts)
        counts.levels = next.counts.levels
        LoadInterval.add(next.errors, to: &errors)
        firstByteP99 = max(firstByteP99, next.firstByteP99)
        longest = max(longest, next.longest)
        // The text was encoded here, so it can always be decoded.
        let parts = [totalText, next.totalText].compactMap { $0 }
            .compactMap { try? Histogram(text: $0) }
        guard var total = parts.first else { return }
        for part in parts.dropFirst() { total.add(part) }
        take(total)
    }
}

/// A threshold and its measured value.
package struct LoadVerdict: Sendable, Equatable {
    package var threshold: LoadThreshold
    /// In the figure's unit; nil if nothing was measured, so that no threshold holds.
    package var measured: Double?
    package var holds: Bool

    package init(threshold: LoadThreshold, measured: Double?, holds: Bool) {
        self.threshold = threshold
        self.measured = measured
        self.holds = holds
    }
}

/// The outcome of one shard.
package struct LoadShardReport: Sendable, Codable, Equatable {
    package enum State: String, Sendable, Codable {
        case running
        case finished
        /// Its worker stopped reporting; its reports until then are in the result.
        case lost
        case failed
    }

    package var index: Int
    /// The worker's name; empty for this process.
    package var worker: String
    package var state: State
    /// Counts of its own measured intervals.
    package var counts: LoadCounts
    /// The first second without a report; nil for a complete shard.
    package var missingFromSecond: Int?
    /// The failure's message.
    package var message: String?

    package init(index: Int, worker: String, state: State) {
        self.index = index
        self.worker = worker
        self.state = state
        counts = LoadCounts()
    }
}

/// Records a result from intervals: one per shard and second, seconds in order.
///
/// A value: used by one owner at a time.
package struct LoadRecorder: Sendable {
    /// All results except the series. It is returned while the test runs, so that the cost of a
    /// second stays constant.
    package private(set) var totals = LoadResult()
    private var series = LoadSeries()
    /// Seconds that not all shards have reported.
    private var open: [Int: LoadInterval] = [:]
    private var reported: [Int: Int] = [:]

    package init() {}

    package var result: LoadResult {
        var result = totals
        result.seconds = series.evenRows
        return result
    }

    /// Adds the interval of one of `shards` shards; returns the second's sum once all have reported
    /// it.
    package mutating func add(_ interval: LoadInterval, of shards: Int) -> LoadInterval? {
        let second = interval.second
        if open[second] == nil {
            open[second] = interval
        } else {
            open[second]?.add(interval)
        }
        reported[second, default: 0] += 1
        guard reported[second, default: 0] >= shards else { return nil }
        return close(second)
    }

    /// Changes the results that do not come from intervals.
    package mutating func update(_ change: (inout LoadResult) -> Void) { change(&totals) }

    private mutating func close(_ second: Int) -> LoadInterval? {
        reported[second] = nil
        guard let sum = open.removeValue(forKey: second) else { return nil }
        if sum.isMeasured {
            totals.total.add(sum)
            totals.total.counts.levels = sum.counts.levels
        } else {
            totals.warmUp.add(sum)
            totals.warmUp.counts.levels = sum.counts.levels
        }
        series.add(LoadSecond(sum))
        return sum
    }
}
