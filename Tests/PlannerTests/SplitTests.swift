import Testing

@testable import Planner

/// Numbers of clusters that a plan advises are followed to the letter: each cluster then has a pool,
/// and those of one cluster fewer have none.
@Suite struct SplitTests {
    private static func plan(_ scenario: Scenario, confidence: Double? = nil) throws -> Plan {
        var options = Plan.Options()
        (options.months, options.confidence, options.waitJobs) = (0, confidence, 20_000)
        options.draws = confidence == nil ? 0 : 60
        return try Plan(scenario, options)
    }

    private static func scenario(_ given: [ScenarioInput: Double]) -> Scenario {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        return scenario
    }

    /// Scenarios whose workers slow each other down too much.
    static let ofWorkers: [[ScenarioInput: Double]] = [
        [.monthlyActiveUsers: 1e6, .peakShare: 0.33, .hitRatio: 0.95, .coherency: 1e-4],
        [.hitRatio: 1, .titles: 30_000, .coherency: 0.01, .contention: 0, .deadlineHours: 1],
        [.hitRatio: 1, .titles: 30_000, .coherency: 0.01, .contention: 0, .deadlineHours: 3.2],
        [.monthlyActiveUsers: 1e7, .hitRatio: 0.9, .contention: 0.05, .originRequests: 1e6],
    ]

    @Test(arguments: ofWorkers)
    func eachClusterHasAPool(given: [ScenarioInput: Double]) throws {
        let scenario = Self.scenario(given)
        for confidence in [nil, 0.9] {
            let plan = try Self.plan(scenario, confidence: confidence)
            let split = try #require(plan.split, "\(plan.problems)")
            #expect(split.clusters >= 2)
            let text = plan.problems.joined(separator: " ")
            #expect(text.contains("split the cluster into \(split.clusters), each with"), "\(text)")
            #expect(
                text.contains("of the origin's limits") == (given[.originRequests] != nil))
            let one = try Self.plan(
                scenario.divided(by: split.clusters), confidence: confidence)
            #expect(one.sizing.workers.stops.isEmpty, "\(one.problems)")
            #expect(one.sizing.workers.total == split.workers)
            let fewer = try Self.plan(
                scenario.divided(by: split.clusters - 1), confidence: confidence)
            #expect(!fewer.sizing.workers.stops.isEmpty)
        }
    }

    /// A cluster's fetches and its part of what the origin allows add up to the whole.
    @Test func clustersDivideTheFetches() throws {
        let scenario = Self.scenario([
            .monthlyActiveUsers: 1e6, .hitRatio: 0.95, .originRequests: 900, .originConnections: 64,
        ])
        let whole = Sizing(ScenarioValues(scenario))
        let values = ScenarioValues(scenario.divided(by: 4))
        let part = Sizing(values)
        #expect(part.demand.fillSegmentsPerDay * 4 == whole.demand.fillSegmentsPerDay)
        #expect(part.demand.fillBitsPerSecond * 4 == whole.demand.fillBitsPerSecond)
        #expect(part.demand.peakMissesPerSecond * 4 == whole.demand.peakMissesPerSecond)
        #expect(part.demand.meanMissesPerSecond * 4 == whole.demand.meanMissesPerSecond)
        #expect(values.quota(.originRequests) == 225 && values.quota(.originConnections) == 16)
        // What viewers get and what is stored stays.
        #expect(part.demand.peakRequestsPerSecond == whole.demand.peakRequestsPerSecond)
        #expect(part.demand.edgeStorageBytes == whole.demand.edgeStorageBytes)
        #expect(part.demand.hitRatio == whole.demand.hitRatio)
        #expect(try #require(part.origin).share == (try #require(whole.origin)).share)
    }

    /// More clusters have no more of the origin, and no more time.
    @Test(
        arguments: [
            [.originRequests: 20, .storedShare: 0.5, .monthlyActiveUsers: 2e5],
            [.originRequests: 3, .monthlyActiveUsers: 2e5, .bootSeconds: 7_199, .deadlineHours: 2],
        ] as [[ScenarioInput: Double]])
    func noSplitIsAdvisedWhereItDoesNotHelp(given: [ScenarioInput: Double]) throws {
        let plan = try Self.plan(Self.scenario(given))
        #expect(!plan.sizing.workers.stops.isEmpty && plan.split == nil)
        #expect(!plan.problems.contains { $0.lowercased().contains("split") }, "\(plan.problems)")
    }

    /// Beyond the largest server, the number of clusters whose databases have one is named.
    @Test func databasesAreDivided() throws {
        let scenario = Self.scenario([
            .monthlyActiveUsers: 1e9, .hitRatio: 0.5, .databaseCPUPerSegment: 2_000,
            .contention: 0, .dispatchSeconds: 0, .dispatchMedian: 0,
        ])
        let plan = try Self.plan(scenario)
        let problem = try #require(
            plan.problems.first { $0.hasPrefix("database.cores is too low") }, "\(plan.problems)")
        let parts = try #require(
            problem.firstRange(of: "Split the cluster into ").map { problem[$0.upperBound...] },
            "\(problem)")
        let clusters = try #require(
            Int(parts.prefix { $0.isNumber || $0 == "," }.filter(\.isNumber)))
        func cores(_ clusters: Int) -> Double {
            Sizing(ScenarioValues(scenario.divided(by: clusters))).database.coresInUse
        }
        #expect(clusters > 1 && cores(clusters) <= 1_024 * 0.7 && cores(clusters - 1) > 1_024 * 0.7)
    }
}
