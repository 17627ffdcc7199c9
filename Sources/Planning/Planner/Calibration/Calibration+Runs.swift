import Statistics

/// Inputs of a plan from reports of finished runs.
extension Calibration {
    /// Fits the bottleneck model to reports of runs, one or more, each with its connections.
    ///
    /// Throws for impossible figures.
    package init(runs: [RunCheck.Run]) throws(PlannerError) {
        self.init()
        let fit = try PoolFit(runs)
        add(source: runs.count == 1 ? "a report" : "\(runs.count) reports")
        func take(
            _ path: String, _ parameter: PoolFit.Parameter,
            _ convert: (Double) -> Double = { $0 }
        ) {
            guard let value = fit.values[parameter] else { return }
            let (low, high) = (convert(value.low), convert(value.high))
            set(
                path,
                Measured(
                    low: min(low, high), likely: convert(value.likely), high: max(low, high),
                    count: runs.count, isInterval: value.isDetermined))
        }
        take("pool.startSeconds", .startSeconds)
        take("origin.latencyMilliseconds", .latencySeconds) { $0 * 1_000 }
        take("origin.megabitsPerConnection", .secondsPerByte) { 8e-6 / $0 }
        take("worker.megabitsPerSecond", .workerBytes) { $0 * 8e-6 }
        take("origin.megabitsPerSecond", .originBytes) { $0 * 8e-6 }
        take("origin.requestsPerSecond", .originRequests)
        // The fitted latency has all of a transfer's time besides its bytes.
        set("worker.connectionEfficiency", Measured(one: 1, count: runs.count))
        takeSettings(runs)
        add(sizes: runs.map { $0.bytes / $0.segments })
        let notes = FitNotes(fit)
        add(notes: notes.texts)
        doubt = notes.doubt
    }

    /// Adds what the reports state: connections, attempts, limits that were the same in all runs.
    private mutating func takeSettings(_ runs: [RunCheck.Run]) {
        let connections = runs.compactMap(\.connections)
        if let least = connections.min(), let most = connections.max() {
            set(
                "worker.connections",
                Measured(
                    low: most, likely: most, high: most, count: runs.count, isInterval: false))
            if least < most {
                add(notes: [
                    "The runs had \(Scenario.grouped(least)) to \(Scenario.grouped(most)) connections "
                        + "per worker; the plan assumes \(Scenario.grouped(most)) unless "
                        + "worker.connections is given."
                ])
            }
        }
        let attempts = Moments(runs.map { 1 + $0.retries / $0.segments }).meanEstimate
        set(
            "worker.attemptsPerSegment",
            Measured(
                low: max(1, attempts.low), likely: attempts.likely, high: attempts.high,
                count: runs.count, isInterval: runs.count > 1))
        let variations = Moments(runs.compactMap(\.fetchCV2))
        if variations.count > 0 {
            set("worker.serviceCV2", variations.meanEstimate.notNegative)
        }
        takeLimits(runs.map { $0.limits ?? RunLimits() })
    }

    /// Notes limits of origins in the runs. They are settings of the cluster, so a plan has them
    /// only if they are given.
    private mutating func takeLimits(_ limits: [RunLimits]) {
        guard limits.contains(where: { $0 != RunLimits() }) else { return }
        add(notes: [
            "\(limits.count { $0 != RunLimits() }) of \(limits.count) runs had limits of their "
                + "origin, which the fit takes into account. Plan with limits by "
                + "--origin-requests, --origin-megabits and --origin-connections."
        ])
    }
}
