import Statistics

/// What a load test measured.
///
/// The sum of its seconds, each of which is the sum of its shares': nothing is averaged, so that the
/// percentiles are those of all samples together.
package struct LoadResult: Sendable {
    package enum Ending: String, Sendable, Codable {
        case finished
        /// By a signal.
        case interrupted
        /// A threshold broke that was to end it.
        case aborted
        /// All that its caps allow was sent or received.
        case capped
    }

    package var name = ""
    /// What was asked for.
    package var scenario = LoadScenario()
    /// Start in seconds since 1970.
    package var startedSeconds = 0.0
    /// Of what is measured: from the end of the warm-up to the end of the load, as
    /// `LoadScenario.measuredSeconds(atSeconds:)` has it.
    package var measuredSeconds = 0.0
    package var warmUpSeconds = 0.0
    package var ending = Ending.finished
    /// All that counts.
    package var total = LoadInterval(second: 0)
    /// All that ended before the end of the warm-up.
    package var warmUp = LoadInterval(second: 0)
    package var seconds: [LoadSecond] = []
    package var breakdown = LoadBreakdown()
    package var verdicts: [LoadVerdict] = []
    package var shares: [LoadShareReport] = []
    /// Of `shares`, by index: whose part of `breakdown` is not there.
    package var sharesWithoutBreakdown: [Int] = []
    /// What else a reader has to know of how it went, a sentence each.
    package var notes: [String] = []
    /// CPUs that the generators could use at once, all shares together; a part of one counts as one.
    package var cores = 1

    /// Cores that the generators had: of workers on one machine together its own.
    package var generatorCores: Double { total.machineCores ?? Double(cores) }

    /// Of the generators' cores, 0 to 1.
    package var cpuShare: Double? {
        let available = measuredSeconds * generatorCores
        return available > 0 ? total.counts.cpuSecondsInTime / available : nil
    }

    /// Those that did not hold.
    package var broken: [LoadVerdict] { verdicts.filter { !$0.holds } }

    /// False where a share of it was lost, failed, or has not ended.
    package var isWhole: Bool { shares.allSatisfy { $0.state == .finished } }

    package init() {}
}

/// One second of a test, or some neighbours, as a row of its series.
package struct LoadSecond: Sendable {
    /// The first one.
    package var second: Int
    /// How much time it is of, and how much of that had load: 1 s, more of some together, less at the test's end.
    package var lengthSeconds: Double
    package var loadSeconds: Double
    package var isMeasured: Bool
    package var counts: LoadCounts
    package var errors: [String: Int64]
    /// For the histogram log: what ended in this second, in V2 encoding; nil where nothing did.
    package var totalText: String?
    /// Microseconds, of requests from their planned time; 0 where none ended.
    package var p50: Int64 = 0
    package var p95: Int64 = 0
    package var p99: Int64 = 0
    package var longest: Int64 = 0
    /// Microseconds to the first byte; of some seconds the highest.
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

    /// Adds what comes after it.
    mutating func add(_ next: LoadSecond) {
        lengthSeconds = Double(next.second - second) + next.lengthSeconds
        loadSeconds += next.loadSeconds
        counts.add(next.counts)
        counts.takeLevels(of: next.counts)
        LoadInterval.add(next.errors, to: &errors)
        firstByteP99 = max(firstByteP99, next.firstByteP99)
        longest = max(longest, next.longest)
        // Its own text is always read.
        let parts = [totalText, next.totalText].compactMap { $0 }
            .compactMap { try? Histogram(text: $0) }
        guard var total = parts.first else { return }
        for part in parts.dropFirst() { total.add(part) }
        take(total)
    }
}

/// A threshold and what was measured.
package struct LoadVerdict: Sendable, Equatable {
    package var threshold: LoadThreshold
    /// In the figure's unit; nil where there is nothing to judge by, which holds for nothing.
    package var measured: Double?
    package var holds: Bool

    package init(threshold: LoadThreshold, measured: Double?, holds: Bool) {
        self.threshold = threshold
        self.measured = measured
        self.holds = holds
    }
}

/// What became of one share of a test.
package struct LoadShareReport: Sendable, Codable, Equatable {
    package enum State: String, Sendable, Codable {
        case running
        case finished
        /// Its worker was not heard of any more; what it reported until then is in the result.
        case lost
        case failed
    }

    package var index: Int
    /// The worker's name; empty for this process.
    package var worker: String
    package var state: State
    /// Of its own intervals, of what counts.
    package var counts: LoadCounts
    /// The first second of which nothing was heard; nil for a share that is whole.
    package var missingFromSecond: Int?
    /// Why it failed.
    package var message: String?

    package init(index: Int, worker: String, state: State) {
        self.index = index
        self.worker = worker
        self.state = state
        counts = LoadCounts()
    }
}

/// Makes a result of intervals as they come: those of one second from every share, seconds in order.
///
/// A value: used by one owner at a time.
package struct LoadRecorder: Sendable {
    /// All but the series: what is handed out while it goes on, so that a second costs the same at any time.
    package private(set) var totals = LoadResult()
    private var series = LoadSeries()
    /// Seconds that not all shares have reported.
    private var open: [Int: LoadInterval] = [:]
    private var reported: [Int: Int] = [:]

    package init() {}

    package var result: LoadResult {
        var result = totals
        result.seconds = series.evenRows
        return result
    }

    /// Takes the interval of one of `shares` for its second; answers the second's sum once all have come.
    package mutating func add(_ interval: LoadInterval, of shares: Int) -> LoadInterval? {
        let second = interval.second
        if open[second] == nil {
            open[second] = interval
        } else {
            open[second]?.add(interval)
        }
        reported[second, default: 0] += 1
        guard reported[second, default: 0] >= shares else { return nil }
        return close(second)
    }

    /// Takes what there is of all seconds up to `second`: of shares that are lost nothing more comes.
    package mutating func closeAll(upTo second: Int) -> [LoadInterval] {
        open.keys.filter { $0 <= second }.sorted().compactMap { close($0) }
    }

    /// Changes what is not made of intervals.
    package mutating func update(_ change: (inout LoadResult) -> Void) { change(&totals) }

    private mutating func close(_ second: Int) -> LoadInterval? {
        reported[second] = nil
        guard let sum = open.removeValue(forKey: second) else { return nil }
        if sum.isMeasured {
            totals.total.add(sum)
            totals.total.counts.takeLevels(of: sum.counts)
        } else {
            totals.warmUp.add(sum)
            totals.warmUp.counts.takeLevels(of: sum.counts)
        }
        series.add(LoadSecond(sum))
        return sum
    }
}
