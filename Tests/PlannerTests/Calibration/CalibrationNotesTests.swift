import Statistics
import Testing

@testable import Planner

/// Notes on how far measurements can be relied on, and on what a compared run waits for.
@Suite struct CalibrationNotesTests {
    private static func run(_ seconds: Double, bytes: Double) -> RunCheck.Run {
        var run = RunCheck.Run(
            segments: 132, bytes: 132 * bytes, seconds: seconds, retries: 0, workers: 1)
        (run.connections, run.fetchSeconds) = (8, 0.02)
        return run
    }

    private static func values(_ given: [ScenarioInput: Double] = [:]) -> ScenarioValues {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        return ScenarioValues(scenario)
    }

    @Test func shortRunsAreNamed() throws {
        func short(_ seconds: [Double]) throws -> [String] {
            try Calibration(runs: seconds.map { Self.run($0, bytes: 98_238) }).notes.filter {
                $0.hasPrefix("Too short to rely on: ")
            }
        }
        let both = try short([0.4, 0.6])
        #expect(
            both.count == 1 && both[0].contains("2 runs of less than 5 s, the shortest of 400 ms."))
        #expect(try short([8, 0.6])[0].contains("report 2 of 600 ms."))
        #expect(try short([8, 20]).isEmpty)
    }

    /// Measured with segments of 98 kB, planned with some 2 MB.
    @Test func sizesFarFromThePlansAreNamed() throws {
        func notes(_ bytes: [Double]) throws -> [String] {
            try Calibration(runs: bytes.map { Self.run(10, bytes: $0) }).sizeNotes(Self.values())
        }
        let far = try notes([98_238, 98_238])
        #expect(far.count == 1 && far[0].contains("the measured segments have 98.2 kB"))
        #expect(far[0].contains("times as much"))
        #expect(try notes([98_238, 2e6]).isEmpty)
        #expect(try notes([1e9])[0].contains(" of that. Measure"))
        let pool = try Calibration.read(
            #"{"workers": 1, "segmentsPerSecond": 9, "segmentBytes": 16384}"#)
        #expect(pool.sizeNotes(Self.values())[0].contains("16.4 kB"))
    }

    /// The note names what the run itself waits for, not what a worker alone would.
    @Test func theBottleneckOfARunIsNamed() throws {
        func note(_ given: [ScenarioInput: Double]) throws -> String {
            var all: [ScenarioInput: Double] = [.attempts: 1, .contention: 0, .startSeconds: 0.1]
            for (input, value) in given { all[input] = value }
            return try RunCheck(Self.values(all), Self.run(0.4, bytes: 98_238.6)).notes[0]
        }
        let connections = try note([:])
        #expect(connections.contains("1 worker with 8 connections and segments of 98.2 kB: "))
        #expect(connections.contains("by rounds of transfers over the connections, and 100 ms"))
        #expect(try note([.originRequests: 20]).contains("by the origin's limit of requests"))
        #expect(try note([.originMegabits: 5]).contains("by the origin's limit of bandwidth"))
        #expect(try note([.workerMegabits: 5]).contains("by the network of a worker"))
        #expect(try note([.segmentsPerSecond: 5]).contains("by the measured speed of a worker"))
    }

    /// A plan from reports of runs does not ask for what was done.
    @Test func aCalibratedPlanDoesNotAskForACalibration() throws {
        func notes(_ measured: [ScenarioInput]) throws -> [String] {
            var scenario = Scenario()
            for input in measured {
                scenario.given[input] = Estimate(50)
                scenario.measured[input] = .init(one: 50)
            }
            return try Plan(scenario).notes.filter { $0.contains("as measured by Dray") }
        }
        #expect(try notes([])[0].hasPrefix("Worker speed is as measured by Dray"))
        let runs = try notes([.connectionMegabits, .originLatency])
        #expect(runs[0].hasPrefix("The CPU time of a worker is as measured by Dray"))
        #expect(try notes([.segmentsPerSecond]).isEmpty)
    }

    @Test func remediesOfATooSmallOriginAreOneSentence() throws {
        var scenario = Scenario()
        scenario.given = [
            .catalogGigabytes: 1_600, .changePerDay: 1, .deadlineHours: 2, .hitRatio: 1,
            .originRequests: 50,
        ].mapValues { Estimate($0) }
        let problems = try Plan(scenario).problems.filter { $0.contains("(now ") }
        #expect(problems.count == 1)
        for input in ["origin.requestsPerSecond", "catalog.changePerDay", "fill.deadlineHours"] {
            #expect(problems[0].contains("\(input) "), "\(problems)")
        }
    }
}
