import Statistics

/// A comparison of a plan's figures with a real run.
package struct RunCheck: Codable, Hashable, Sendable {
    package let rows: [Row]
    /// The basis of the prediction, a sentence each.
    package let notes: [String]

    package struct Row: Codable, Hashable, Sendable {
        package let figure: String
        /// `s`, `1/s`, `bit/s`, `B`, `share` for a part of 1, or empty for a count.
        package let unit: String
        package let predicted: Double
        package let measured: Double
        /// Predicted over measured, minus one; nil if nothing was measured.
        package let error: Double?
    }

    /// The totals of a run, from `dray prefetch --report`.
    package struct Run: Sendable {
        package var segments: Double
        package var bytes: Double
        package var seconds: Double
        package var retries: Double
        package var workers: Int
        package var assets: Double?
        package var assetsFailed: Double?
        /// From the start until a file was stored: p50, p95 and p99, in seconds.
        package var waits: (p50: Double, p95: Double, p99: Double)?
        /// Utilization of the workers' transfer slots while they had work.
        package var utilisation: Double?
        /// Mean time of a fetch on the network, and its variance over its squared mean.
        package var fetchSeconds: Double?
        package var fetchCV2: Double?
        /// Concurrent transfers of each worker; nil for the plan's.
        package var connections: Double?
        /// Limits of its origin; nil for the plan's.
        package var limits: RunLimits?

        package init(
            segments: Double, bytes: Double, seconds: Double, retries: Double, workers: Int
        ) {
            self.segments = segments
            self.bytes = bytes
            self.seconds = seconds
            self.retries = retries
            self.workers = workers
        }
    }

    /// Predicts a run of as many segments and bytes from `values` and compares it with the measured
    /// run. Throws for a run that fetched nothing or took no time.
    package init(_ values: ScenarioValues, _ run: Run) throws(PlannerError) {
        try run.check()
        let values = run.settings(values)
        let size = run.bytes / run.segments
        let speed = WorkerSpeed(values, bytes: size)
        var time = RunTime(values, speed, workers: Double(run.workers))
        if run.limits?.requestsPerSecond != nil {
            time.requestWindowSeconds = RunLimits.requestWindowSeconds(
                latencySeconds: values[.originLatency] / 1_000)
        }
        let rate = time.segmentsPerSecond(bytes: size)
        let tries = run.segments * values[.attempts]
        let start = values.known(.startSeconds) ?? 0
        let (bottleneck, longest) = time.longest(segments: run.segments, bytes: size)
        let transfers = longest * values[.attempts]
        let seconds = start + transfers
        var rows: [Row] = []
        func add(_ figure: String, _ unit: String, _ predicted: Double, _ measured: Double?) {
            guard let measured else { return }
            rows.append(
                Row(
                    figure: figure, unit: unit, predicted: predicted, measured: measured,
                    error: measured > 0 ? predicted / measured - 1 : nil))
        }
        add("time", "s", seconds, run.seconds)
        add("segments per second", "1/s", run.segments / seconds, run.segments / run.seconds)
        add("bandwidth", "bit/s", run.bytes * 8 / seconds, run.bytes * 8 / run.seconds)
        add("retries", "", tries - run.segments, run.retries)
        add("assets failed", "", 0, run.assetsFailed)
        // All are submitted at the start, and each waits for the earlier ones.
        for (name, share, measured) in [
            ("p50", 0.5, run.waits?.p50), ("p95", 0.95, run.waits?.p95),
            ("p99", 0.99, run.waits?.p99),
        ] { add("\(name) until stored", "s", seconds * share, measured) }
        let slots = Double(run.workers) * max(1, values[.connections])
        // Little's law.
        add("in use", "share", min(1, rate * speed.transferSeconds / slots), run.utilisation)
        add("fetch time", "s", speed.transferSeconds, run.fetchSeconds)
        add("CV² of fetch times", "", values[.serviceCV2], run.fetchCV2)
        self.rows = rows
        let connections = Scenario.grouped(max(1, values[.connections]).rounded())
        let pool =
            "\(Scenario.grouped(run.workers)) \(run.workers == 1 ? "worker" : "workers") with \(connections) "
            + "connections\(run.workers == 1 ? "" : " each") and segments of "
            + ShortText.bytes(size)
        var notes = [
            "The plan's time is for \(pool): \(ShortText.seconds(transfers)) by "
                + Self.reason(bottleneck, speed)
                + (start > 0
                    ? ", and \(ShortText.seconds(start)) before the first transfer "
                        + "(pool.startSeconds)." : ".")
        ]
        if run.utilisation == nil || run.waits == nil {
            notes.append("The report has no waits or worker statistics.")
        }
        self.notes = notes
    }

    /// Names what the transfers of a run wait for.
    private static func reason(_ bottleneck: RunTime.Bottleneck, _ speed: WorkerSpeed) -> String {
        switch bottleneck {
        case .connections: "rounds of transfers over the connections"
        case .workers:
            switch speed.bound {
            case .measured: "the measured speed of a worker"
            case .cpu: "the CPU of a worker"
            case .network, .connections: "the \(speed.bound.rawValue) of a worker"
            }
        case .requests: "the origin's limit of requests"
        case .bandwidth: "the origin's limit of bandwidth"
        }
    }
}

extension RunCheck.Run {
    /// Throws for a run that fetched nothing or took no time, and for impossible figures.
    package func check() throws(PlannerError) {
        guard 1...100_000 ~= workers else {
            throw PlannerError(
                field: "totals.work.workers", given: "\(workers)", allowed: "use 1 to 100000")
        }
        let amounts = [
            ("segments", segments), ("fetchedBytes", bytes), ("seconds", seconds),
        ]
        for (field, value) in amounts {
            guard !(value > 0 && value <= 1e18) else { continue }
            throw PlannerError(
                field: "totals.\(field)", given: Scenario.plain(value),
                allowed: "use the report of a run that fetched something")
        }
        let counts: [(String, Double?)] = [
            ("retries", retries), ("assets", assets), ("failed", assetsFailed),
            ("waitSeconds.p50", waits?.p50), ("waitSeconds.p95", waits?.p95),
            ("waitSeconds.p99", waits?.p99), ("work.utilisation", utilisation),
            ("work.fetchSeconds", fetchSeconds), ("work.fetchCV2", fetchCV2),
        ]
        for (field, value) in counts {
            guard let value, !(value >= 0 && value <= 1e18) else { continue }
            throw PlannerError(
                field: "totals.\(field)", given: Scenario.plain(value), allowed: "use 0 or more")
        }
        try checkSettings()
    }

    private func checkSettings() throws(PlannerError) {
        let settings: [(String, Double?, ScenarioInput, Double)] = [
            ("connections", connections, .connections, 1),
            ("origins.connections", limits?.connections, .originConnections, 1),
            ("origins.requestsPerSecond", limits?.requestsPerSecond, .originRequests, 1),
            ("origins.bytesPerSecond", limits?.bytesPerSecond, .originMegabits, 8e-6),
        ]
        for (field, value, input, unit) in settings {
            guard let value, !input.row.allowed.contains(value * unit) else { continue }
            let allowed = input.row.allowed
            throw PlannerError(
                field: "totals.settings.\(field)", given: Scenario.plain(value),
                allowed: "use \(Scenario.plain(allowed.lowerBound / unit)) to "
                    + Scenario.plain(allowed.upperBound / unit))
        }
    }

    /// Returns a plan's values with the settings of this run.
    fileprivate func settings(_ plan: ScenarioValues) -> ScenarioValues {
        var values = plan
        if let connections { values[.connections] = connections }
        if let limits {
            func replace(_ input: ScenarioInput, _ limit: Double?) {
                if let limit { values[input] = min(limit, plan.known(input) ?? .infinity) }
            }
            replace(.originConnections, limits.connections)
            replace(.originRequests, limits.requestsPerSecond)
            replace(
                .originMegabits, limits.bytesPerSecond.map { $0 * RunLimits.bandwidthUse * 8e-6 })
        }
        return values
    }
}

extension RunTime {
    /// The time of a plan's pool with transfers of one size.
    fileprivate init(_ values: ScenarioValues, _ speed: WorkerSpeed, workers: Double) {
        let pool = Scalability(
            alpha: values[.contention], beta: values[.coherency], gamma: speed.segmentsPerSecond)
        let all = workers * max(1, values[.connections])
        let slots = min(all, values.known(.originConnections) ?? all)
        let ofPool = pool.throughput(workers)
        let isBoundBySlots = speed.bound == .connections
        self.init(
            slots: slots, transferSeconds: speed.transferSeconds,
            slotsPerSecond: isBoundBySlots
                ? ofPool * slots / all : slots < all ? slots / speed.transferSeconds : .infinity,
            workersPerSecond: isBoundBySlots ? .infinity : ofPool,
            requestsPerSecond: values.known(.originRequests) ?? .infinity,
            bytesPerSecond: values.known(.originMegabits).map { $0 * 1e6 / 8 } ?? .infinity)
    }
}
