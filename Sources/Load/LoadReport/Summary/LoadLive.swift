package import LoadModel

/// A load test as it is seen from outside while it runs. Pure.
///
/// Counts all that was sent since the command began, the warm-up and every step of several, so that no sum
/// ever falls; what is of now is of the last seconds, or of the step that runs.
package struct LoadLive: Sendable {
    /// Start in seconds since 1970.
    package let startedSeconds: Double
    /// CPUs that the generators can use at once, from 1.
    package var cores = 1
    /// How many shares of a cluster's test are in which state; empty for this process.
    package var shares: [LoadShareReport.State: Int] = [:]

    /// Sums of all steps so far.
    private(set) var total = LoadInterval(second: 0)
    private(set) var scenario: LoadScenario
    /// Counted from 1; 0 before the first.
    private(set) var step = 0
    private(set) var isRunning = false
    /// Elapsed time of the step.
    private(set) var elapsedSeconds = 0.0
    /// Judged by what counts so far; those left out that there is nothing to judge by.
    private(set) var verdicts: [LoadVerdict] = []
    private var recent: [(counts: LoadCounts, seconds: Double, cores: Double?)] = []

    /// Seconds that the figures of now are of.
    private static let recentSeconds = 5

    package init(_ scenario: LoadScenario, startedSeconds: Double) {
        self.scenario = scenario
        self.startedSeconds = startedSeconds
    }

    /// A run, of several perhaps, begins.
    package mutating func begin(_ scenario: LoadScenario) {
        self.scenario = scenario
        step += 1
        isRunning = true
        elapsedSeconds = 0
        verdicts = []
        recent = []
        total.counts.takeLevels(of: LoadCounts())
    }

    /// Takes a second of the sum of all shares.
    ///
    /// - Parameter result: what counts so far of the run.
    package mutating func add(_ interval: LoadInterval, of result: LoadResult) {
        total.add(interval)
        total.counts.takeLevels(of: interval.counts)
        elapsedSeconds = max(elapsedSeconds, Double(interval.second) + interval.lengthSeconds)
        recent.append((interval.counts, interval.lengthSeconds, interval.machineCores))
        if recent.count > Self.recentSeconds { recent.removeFirst() }
        let measured = scenario.measuredSeconds(atSeconds: elapsedSeconds)
        guard measured > 0 else { return }
        verdicts = scenario.thresholds.map { $0.judge(result.total, measuredSeconds: measured) }
            .filter { $0.measured != nil }
    }

    /// The last run is over.
    package mutating func end() {
        isRunning = false
        recent = []
        total.counts.takeLevels(of: LoadCounts())
    }

    var isWarmingUp: Bool { isRunning && elapsedSeconds < scenario.warmUpSeconds }

    /// The planned load now: arrivals per second, or users; 0 if nothing runs.
    var wanted: Double {
        isRunning ? scenario.wanted(atSeconds: elapsedSeconds)?.level ?? 0 : 0
    }

    /// That the generators have.
    var generatorCores: Double { recent.last?.cores ?? Double(max(cores, 1)) }

    /// Use of the generators' cores, 0 to 1; nil before the first second.
    var cpuShare: Double? {
        let seconds = recent.reduce(0) { $0 + $1.seconds }
        guard seconds > 0 else { return nil }
        return recent.reduce(0) { $0 + $1.counts.cpuSeconds } / (seconds * generatorCores)
    }

    /// Whether the generator is the bottleneck now.
    var generatorIsLimit: Bool {
        let sent = recent.reduce(0) { $0 + $1.counts.sent }
        let late = recent.reduce(0) { $0 + $1.counts.lateSends }
        return (cpuShare ?? 0) > LoadHealth.mostCPUShare
            || late >= LoadHealth.fewLateSends
                && Double(late) > Double(sent) * LoadHealth.mostLateShare
    }
}
