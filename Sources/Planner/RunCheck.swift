/// A plan's figures beside those of a real run.
package struct RunCheck: Codable, Hashable, Sendable {
    package let rows: [Row]
    /// What the prediction was made with, a sentence each.
    package let notes: [String]

    package struct Row: Codable, Hashable, Sendable {
        package let figure: String
        /// `s`, `1/s`, `B/s`, `B`, or empty for a count.
        package let unit: String
        package let predicted: Double
        package let measured: Double
        /// Predicted over measured, less one; nil where nothing was measured.
        package let error: Double?
    }

    /// What a run came to: the totals of `dray prefetch --report`.
    package struct Run: Sendable {
        package var segments: Double
        package var bytes: Double
        package var seconds: Double
        package var retries: Double
        package var workers: Int

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

    /// What `values` say of a run of so many segments and bytes, beside what it took. Throws for a run
    /// that fetched nothing or took no time.
    package init(_ values: ScenarioValues, _ run: Run) throws(PlannerError) {
        let checks = [
            ("totals.segments", run.segments), ("totals.fetchedBytes", run.bytes),
            ("totals.seconds", run.seconds),
        ]
        for (field, value) in checks {
            guard value > 0, value <= 1e18 else {
                throw PlannerError(
                    field: field, given: Scenario.plain(value),
                    allowed: "use the report of a run that fetched something")
            }
        }
        guard run.retries >= 0, run.retries <= 1e18 else {
            throw PlannerError(
                field: "totals.retries", given: Scenario.plain(run.retries),
                allowed: "use 0 or more")
        }
        let size = run.bytes / run.segments
        let speed = WorkerSpeed(values, bytes: size)
        let pool = Scalability(
            alpha: values[.contention], beta: values[.coherency], gamma: speed.segmentsPerSecond)
        let rate = Self.limited(
            pool.throughput(Double(run.workers)), values, bytes: size,
            seconds: speed.transferSeconds)
        let tries = run.segments * values[.attempts]
        let seconds = tries / rate
        func row(
            _ figure: String, _ unit: String, _ predicted: Double, _ measured: Double
        ) -> Row {
            Row(
                figure: figure, unit: unit, predicted: predicted, measured: measured,
                error: measured > 0 ? predicted / measured - 1 : nil)
        }
        rows = [
            row("time", "s", seconds, run.seconds),
            row("segments a second", "1/s", run.segments / seconds, run.segments / run.seconds),
            row("bytes a second", "B/s", run.bytes / seconds, run.bytes / run.seconds),
            row("retries", "", tries - run.segments, run.retries),
        ]
        notes = [
            "\(run.workers) workers; one of them does \(Self.rounded(speed.segmentsPerSecond)) "
                + "segments of \(Self.rounded(size)) bytes a second, bound by "
                + "\(speed.bound.rawValue)."
        ]
    }

    /// What an origin's limits leave of a rate.
    private static func limited(
        _ rate: Double, _ values: ScenarioValues, bytes: Double, seconds: Double
    ) -> Double {
        [
            rate, values.known(.originConnections).map { $0 / seconds },
            values.known(.originRequests),
            values.known(.originMegabits).map { $0 * 1e6 / 8 / bytes },
        ].compactMap { $0 }.min() ?? rate
    }

    private static func rounded(_ value: Double) -> String {
        Scenario.plain((value * 10).rounded() / 10)
    }
}
