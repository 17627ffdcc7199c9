import LoadModel
package import Metrics

/// The metrics of a running test for Prometheus: those of a result, with all requests so far, and
/// the test's progress.
extension LoadPrometheus {
    package static func text(_ live: LoadLive, _ format: MetricsFormat) -> [UInt8] {
        page(live, format).text
    }

    /// Returns the metrics with their samples, for remote write.
    package static func families(
        _ live: LoadLive
    ) -> [(family: MetricFamily, samples: [MetricSample])] {
        page(live, .prometheus).families
    }

    private static func page(_ live: LoadLive, _ format: MetricsFormat) -> LoadPrometheus {
        let name = LoadFormat.name(live.scenario.name)
        var page = LoadPrometheus(
            live.total, hasViewers: live.scenario.hasViewers,
            name: name.isEmpty ? "load test" : name, format)
        page.counts()
        page.viewers()
        page.progress(live)
        page.levels(live)
        page.generator(live)
        page.thresholds(live.verdicts)
        page.durations()
        return page
    }

    private mutating func gauge(_ name: String, _ help: String, _ value: Double?) {
        add(name, .gauge, help, value)
    }

    private mutating func progress(_ live: LoadLive) {
        gauge(
            "start_time_seconds", "Start of the command, since 1970.", live.startedSeconds)
        gauge("running", "1 while the load is sent.", live.isRunning ? 1 : 0)
        gauge("step", "Number of the run, from 1; 0 before the first.", Double(live.step))
        gauge("elapsed_seconds", "Elapsed time of the run.", live.elapsedSeconds)
        gauge("duration_seconds", "Planned time of the run.", live.scenario.durationSeconds)
        gauge("warming_up", "1 during the warm-up of the run.", live.isWarmingUp ? 1 : 0)
    }

    private mutating func levels(_ live: LoadLive) {
        let counts = live.total.counts
        if live.scenario.isOpen {
            gauge("planned_rate", "Planned arrivals per second now.", live.wanted)
        } else {
            gauge("planned_users", "Planned concurrent users now.", live.wanted)
        }
        gauge("in_flight", "Requests in progress.", Double(counts.levels.inFlight))
        gauge(
            "backlog", "Requests that are due and wait for a slot.", Double(counts.levels.backlog))
        if live.scenario.hasViewers {
            gauge("viewers", "Viewers that play or wait to play.", Double(counts.levels.viewers))
        }
    }

    private mutating func generator(_ live: LoadLive) {
        add(
            "generator_cpu_seconds", .counter, "CPU time of the generators' loops.",
            live.total.counts.cpuSeconds)
        gauge("generator_cores", "Cores that the generators can use.", live.generatorCores)
        gauge(
            "generator_cpu_ratio",
            "Share of CPU time used of the generators' cores in the last five seconds.",
            live.cpuShare)
        gauge(
            "generator_is_limit", "1 while the generator is the bottleneck.",
            live.generatorIsLimit ? 1 : 0)
        guard !live.shards.isEmpty else { return }
        let states: [LoadShardReport.State] = [.running, .finished, .lost, .failed]
        add(
            "shards", .gauge, "Workers of the test by state.", by: "state",
            states.map { ($0.rawValue, Double(live.shards[$0] ?? 0)) })
    }
}
