import Foundation
import Statistics
import Testing

@testable import Planner

/// Fits of finished runs, against pools whose parameters are known.
@Suite struct PoolFitTests {
    /// A pool that hands each segment to the first free slot, segment by segment.
    private struct Pool {
        var start = 0.3
        var latency = 0.06
        var perConnection = 4e6
        var perWorker = Double.infinity
        var ofOrigin = Double.infinity
        var requests = Double.infinity

        func run(
            _ workers: Int, _ connections: Int, _ size: Double, _ segments: Int,
            _ limits: RunLimits = RunLimits()
        ) -> RunCheck.Run {
            let slots = workers * connections
            let bytesPerSecond = min(
                perConnection, perWorker / Double(connections), ofOrigin / Double(slots))
            let transfer = latency + size / bytesPerSecond
            let rate = Int(min(requests, limits.requestsPerSecond ?? 1e9))
            var free = Array(repeating: 0.0, count: slots)
            // Bytes of all transfers pass the bucket one after the other.
            var bucket = 0.0
            // At most so many requests begin in any second; workers count a limit's requests until
            // a little over a second after they arrived (`RequestPacer`).
            let window = limits.requestsPerSecond == nil ? 1 : 1.02 + min(latency, 0.1)
            var begins: [Double] = []
            for index in 0..<segments {
                let next = free.indices.min { free[$0] < free[$1] } ?? 0
                let begin = max(free[next], index < rate ? 0 : begins[index - rate] + window)
                begins.append(begin)
                bucket = max(bucket, begin) + size / (limits.bytesPerSecond ?? .infinity) / 0.95
                free[next] = max(begin + transfer, bucket + latency)
            }
            var run = RunCheck.Run(
                segments: Double(segments), bytes: Double(segments) * size,
                seconds: start + (free.max() ?? 0), retries: 0, workers: workers)
            run.connections = Double(connections)
            run.limits = limits
            run.fetchSeconds = transfer
            return run
        }
    }

    private func near(
        _ fit: PoolFit, _ parameter: PoolFit.Parameter, _ value: Double, _ part: Double = 0.05
    ) -> Bool {
        fit.values[parameter].map { abs($0.likely / value - 1) < part && $0.isDetermined } ?? false
    }

    /// The values of a plan that is calibrated with `runs`.
    private func plan(_ runs: [RunCheck.Run]) throws -> ScenarioValues {
        var scenario = Scenario()
        for (path, value) in try Calibration(runs: runs).values {
            let input = try #require(ScenarioInput.named(path))
            scenario.given[input] = Estimate(value.likely)
        }
        return ScenarioValues(scenario)
    }

    /// How far a plan is off for a run.
    private func error(_ plan: ScenarioValues, _ run: RunCheck.Run) throws -> Double {
        let check = try RunCheck(plan, run)
        return try #require(check.rows.first { $0.figure == "segments per second" }?.error)
    }

    private static let sizes = [0.5e6, 2e6, 8e6]

    /// Three runs of different settings predict all others: connections, sizes and limits.
    @Test func threeRunsPredictOtherSettings() throws {
        let pool = Pool()
        let runs = [
            pool.run(1, 2, 0.5e6, 40), pool.run(2, 4, 2e6, 24),
            pool.run(1, 4, 8e6, 24, RunLimits(requestsPerSecond: 12)),
        ]
        let fit = try PoolFit(runs)
        #expect(near(fit, .latencySeconds, 0.06) && near(fit, .secondsPerByte, 1 / 4e6))
        #expect(near(fit, .startSeconds, 0.3))
        #expect(fit.values.count == 3)
        let plan = try plan(runs)
        for workers in [1, 2, 4] {
            for connections in [2, 4, 8] {
                for size in Self.sizes {
                    for limits in [
                        RunLimits(), RunLimits(requestsPerSecond: 12),
                        RunLimits(bytesPerSecond: 24_000_000),
                    ] {
                        let run = pool.run(
                            workers, connections, size, workers * connections * 6, limits)
                        let error = try error(plan, run)
                        #expect(
                            abs(error) < 0.08,
                            "\(workers) × \(connections), \(size), \(limits): \(error)")
                    }
                }
            }
        }
    }

    /// One run: what it was is predicted, and what it leaves open is named with the run to add.
    @Test func oneRunSaysWhatItLeavesOpen() throws {
        let pool = Pool()
        let run = pool.run(2, 4, 2e6, 80)
        #expect(abs(try error(plan([run]), run)) < 0.03)
        let calibration = try Calibration(runs: [run])
        #expect(calibration.values["origin.latencyMilliseconds"]?.interval == nil)
        let open = calibration.notes.filter { $0.hasPrefix("Not determined by one run: ") }
        for (what, how) in [
            ("origin.latencyMilliseconds and origin.megabitsPerConnection apart", "twice the size"),
            ("the ceiling of a worker", "twice the connections"),
            ("the origin's own limits", "twice the workers"),
        ] {
            #expect(
                open.contains { $0.contains(what) && $0.contains(how) }, "\(calibration.notes)")
        }
        // A second size separates the two, and connections are not extrapolated from defaults.
        let both = try Calibration(runs: [run, pool.run(2, 4, 0.5e6, 240)])
        #expect(both.values["origin.latencyMilliseconds"]?.interval != nil)
        #expect(!both.notes.contains { $0.contains("apart. Add a run with segments") })
        #expect(both.values["worker.connections"]?.likely == 4)
        #expect(both.notes.contains { $0.hasPrefix("Fitted to the time of 2 runs: ") })
    }

    /// Time in which transfers wait for a limit of the cluster is not the worker's own.
    @Test func aLimitIsNotTakenForTheWorkersSpeed() throws {
        let pool = Pool()
        let limit = RunLimits(requestsPerSecond: 10)
        let runs = [pool.run(2, 8, 0.5e6, 60, limit), pool.run(2, 8, 2e6, 60, limit)]
        let calibration = try Calibration(runs: runs)
        #expect(calibration.values["origin.requestsPerSecond"] == nil)
        #expect(calibration.notes.contains { $0.hasPrefix("2 of 2 runs had limits") })
        let plan = try plan(runs)
        for size in Self.sizes {
            #expect(abs(try error(plan, pool.run(2, 8, size, 96))) < 0.1)
        }
    }

    /// A quota that the cluster does not know, and a worker's ceiling: runs with more workers
    /// separate them.
    @Test func ceilingsAreFound() throws {
        var pool = Pool()
        pool.ofOrigin = 20e6
        func runs() -> [RunCheck.Run] {
            [
                pool.run(1, 2, 0.5e6, 60), pool.run(1, 4, 2e6, 40), pool.run(2, 4, 2e6, 60),
                pool.run(4, 8, 2e6, 96),
            ]
        }
        let origin = try PoolFit(runs())
        #expect(near(origin, .originBytes, 20e6, 0.08) && origin.values[.workerBytes] == nil)
        (pool.ofOrigin, pool.perWorker) = (.infinity, 10e6)
        let worker = try PoolFit(runs())
        #expect(near(worker, .workerBytes, 10e6, 0.08) && worker.values[.originBytes] == nil)
        // With one number of workers, both explain it.
        let alone = try PoolFit([
            pool.run(1, 2, 0.5e6, 60), pool.run(1, 2, 2e6, 40), pool.run(1, 8, 2e6, 60),
            pool.run(1, 16, 2e6, 60),
        ])
        #expect(alone.values.keys.contains { $0.rawValue > 2 } && !alone.rivals.isEmpty)
        #expect(FitNotes(alone).texts.contains { $0.contains("which limit the slow runs met") })
    }

    /// One slow run is no ceiling, even beside one that has as many segments per second; it is named.
    @Test func oneSlowRunIsNoCeiling() throws {
        let pool = Pool()
        var alike = [pool.run(1, 2, 0.5e6, 91), pool.run(2, 4, 2e6, 116), pool.run(4, 8, 8e6, 125)]
        alike[2].seconds *= 1.18
        #expect(try PoolFit(alike).values.count == 3)
        var slow = [pool.run(1, 2, 0.5e6, 60), pool.run(1, 2, 2e6, 40), pool.run(2, 2, 2e6, 60)]
        slow[2].seconds *= 1.5
        let single = try PoolFit(slow)
        #expect(single.values.count == 3)
        #expect(FitNotes(single).texts.contains { $0.hasPrefix("Report 3 is 3") })
    }

    /// One run of five that took twice the time does not move the others, and is named.
    @Test func anOutlierIsNamed() throws {
        let pool = Pool()
        var runs = [
            pool.run(1, 2, 0.5e6, 40), pool.run(2, 4, 2e6, 64), pool.run(1, 8, 8e6, 24),
            pool.run(4, 2, 2e6, 64), pool.run(2, 2, 8e6, 12),
        ]
        runs[3].seconds *= 2
        let fit = try PoolFit(runs)
        #expect(abs(fit.errors[3] + 0.5) < 0.08)
        let named = FitNotes(fit).texts.filter { $0.hasPrefix("Report ") }
        #expect(named.count == 1 && named[0].hasPrefix("Report 4 is "), "\(named)")
    }

    @Test func settingsOfAReportAreReadAndChecked() throws {
        func report(_ settings: String) throws -> RunReport {
            try #require(
                RunReport(
                    json: Array(
                        """
                        {"assets": [], "totals": {"segments": 10, "fetchedBytes": 1e6, "seconds": 2,
                        "retries": 1, "settings": \(settings)}}
                        """.utf8)))
        }
        let one = #"{"origin": "http://a", "requestsPerSecond": 12, "bytesPerSecond": 8000000}"#
        let run = try report(#"{"connections": 4, "origins": [\#(one)]}"#).run(workers: 3)
        #expect(run.workers == 3 && run.connections == 4)
        #expect(run.limits == RunLimits(requestsPerSecond: 12, bytesPerSecond: 8e6))
        // Shares of several origins are unknown.
        let two = try report(#"{"connections": 4, "origins": [\#(one), {"origin": "http://b"}]}"#)
        #expect(two.run().limits == RunLimits())
        #expect(RunReport(json: Array(#"{"workers": 1, "segmentsPerSecond": 5}"#.utf8)) == nil)
        for (settings, field) in [
            (#"{"connections": 0}"#, "totals.settings.connections"),
            (
                #"{"connections": 1, "origins": [{"origin": "a", "requestsPerSecond": -1}]}"#,
                "totals.settings.origins.requestsPerSecond"
            ),
        ] {
            let error = try #require(throws: PlannerError.self) {
                try Calibration(runs: [report(settings).run()])
            }
            #expect(error.field == field, "\(error)")
        }
    }
}
