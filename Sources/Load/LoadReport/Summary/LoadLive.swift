package import LoadModel

/// The state of a running load test for monitoring. Pure.
///
/// Counts all requests since the start, including the warm-up and all steps, so that sums never
/// decrease. Current figures cover the last seconds, or the current step.
package struct LoadLive: Sendable {
    /// Start in seconds since 1970.
    package let startedSeconds: Double
    /// CPUs that the generators can use at once, 1 or more.
    package var cores = 1
    /// Number of shards of a cluster's test by state; empty for this process.
    package var shards: [LoadShardReport.State: Int] = [:]

    /// Sums of all steps so far.
    private(set) var total = LoadInterval(second: 0)
    private(set) var scenario: LoadScenario
    /// Number of the step, from 1; 0 before the first.
    private(set) var step = 0
    private(set) var isRunning = false
    /// Elapsed time of the step.
    private(set) var elapsedSeconds = 0.0
    /// Verdicts on the measured time so far; thresholds without a value are omitted.
    private(set) var verdicts: [LoadVerdict] = []
    private var recent: [(counts: LoadCounts, seconds: Double, cores: Double?)] = []

    /// Seconds that current figures cover.
    private static let recentSeconds = 5

    package init(_ scenario: LoadScenario, startedSeconds: Double) {
        self.scenario = scenario
        self.startedSeconds = startedSeconds
    }

    /// Begins a run, possibly one of several.
    package mutating func begin(_ scenario: LoadScenario) {
        self.scenario = scenario
        step += 1
        isRunning = true
        elapsedSeconds = 0
        verdicts = []
        recent = []
        total.counts.levels = LoadCounts.Levels()
    }

    /// Continues the run with another plan.
    package mutating func change(to scenario: LoadScenario) { self.scenario = scenario }

    /// Adds a second summed over all shards.
    ///
    /// - Parameter result: the measured results of the run so far.
    package mutating func add(_ interval: LoadInterval, of result: LoadResult) {
        total.add(interval)
        total.counts.levels = interval.counts.levels
        elapsedSeconds = max(elapsedSeconds, Double(interval.second) + interval.lengthSeconds)
        recent.append((interval.counts, interval.lengthSeconds, interval.machineCores))
        if recent.count > Self.recentSeconds { recent.removeFirst() }
        let measured = scenario.measuredSeconds(atSeconds: elapsedSeconds)
        guard measured > 0 else { return }
        verdicts = scenario.judgedThresholds.map {
            $0.judge(result.total, measuredSeconds: measured)
        }
        .filter { $0.measured != nil }
    }

    /// Ends the last run.
    package mutating func end() {
        isRunning = false
        recent = []
        total.counts.levels = LoadCounts.Levels()
    }

    var isWarmingUp: Bool { isRunning && elapsedSeconds < scenario.warmUpSeconds }

    /// The planned load now: arrivals per second, or users; 0 if nothing runs.
    var wanted: Double {
        isRunning ? scenario.wanted(atSeconds: elapsedSeconds)?.level ?? 0 : 0
    }

    /// Cores of the generators.
    var generatorCores: Double { recent.last?.cores ?? Double(max(cores, 1)) }

    /// Use of the generators' cores, 0 to 1; nil before the first second.
    var cpuShare: Double? {
        let seconds = recent.reduce(0) { $0 + $1.seconds }
        guard seconds > 0 else { return nil }
        return recent.reduce(0) { $0 + $1.counts.cpuSeconds } / (seconds * generatorCores)
    }

    /// True if the generator is the bottleneck now.
    var generatorIsLimit: Bool {
        let sent = recent.reduce(0) { $0 + $1.counts.requests.sent }
        let late = recent.reduce(0) { $0 + $1.counts.pacing.lateSends }
        return (cpuShare ?? 0) > LoadHealth.maxCPUShare
            || late >= LoadHealth.fewLateSends
                && Double(late) > Double(sent) * LoadHealth.maxLateShare
    }
}
