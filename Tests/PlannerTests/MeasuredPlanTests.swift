import Model
import TestSupport
import Testing

@testable import Planner
@testable import Statistics

/// Plans from what was counted, and held against what was done.
@Suite struct MeasuredPlanTests {
    private static func values(_ given: [ScenarioInput: Double]) -> ScenarioValues {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        return ScenarioValues(scenario)
    }

    private func isNear(_ left: Double, _ right: Double) -> Bool {
        abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    }

    /// Counted requests override those calculated from users.
    @Test func countedRequestsReplaceReckonedOnes() {
        let demand = Demand(
            Self.values([
                .meanRequests: 200, .peakRequests: 500, .requestBytes: 1e6, .hitRatio: 0.9,
                .attempts: 1,
            ]))
        #expect(demand.meanRequestsPerSecond == 200)
        #expect(demand.peakRequestsPerSecond == 500)
        #expect(demand.peakEgressBitsPerSecond == 4e9)
        #expect(isNear(demand.egressBytesPerMonth, 200e6 * 86_400 * 365.25 / 12))
        #expect(isNear(demand.peakMissesPerSecond, 50))
        #expect(demand.missBytes == 1e6)
    }

    /// Counted requests determine the number of users: no further user is assumed.
    @Test(arguments: [1.0, 1_694])
    func usersAreReckonedBackFromCountedRequests(factor: Double) throws {
        let reckoned = Demand(Self.values([.monthlyActiveUsers: 1_000 * factor]))
        let counted: [ScenarioInput: Double] = [
            .meanRequests: reckoned.meanRequestsPerSecond,
            .peakRequests: reckoned.peakRequestsPerSecond,
        ]
        let demand = Demand(Self.values(counted))
        #expect(demand.hasUsersByRequests && !reckoned.hasUsersByRequests)
        #expect(isNear(demand.monthlyActiveUsers, 1_000 * factor))
        #expect(isNear(demand.dailyActiveUsers, reckoned.dailyActiveUsers))
        #expect(isNear(demand.meanConcurrentViewers, reckoned.meanConcurrentViewers))
        #expect(abs(demand.peakConcurrentUsers / reckoned.peakConcurrentUsers - 1) < 1e-6)
        #expect(isNear(demand.egressBytesPerMonth, reckoned.egressBytesPerMonth))
        var scenario = Scenario()
        scenario.given = counted.mapValues { Estimate($0) }
        let plan = try Plan(scenario)
        let users = try #require(plan.inputs.first { $0.path == "audience.monthlyActiveUsers" })
        #expect(users.value == nil && users.source.contains("measured requests"))
        #expect(plan.notes.contains { $0.hasPrefix("The number of users is calculated") })
        let months = plan.growth.months
        #expect(
            isNear(
                months[12].monthlyActiveUsers / months[0].monthlyActiveUsers,
                months[12].peakRequestsPerSecond / months[0].peakRequestsPerSecond))
        // Users that are known stay.
        var known = counted
        known[.monthlyActiveUsers] = 77
        #expect(Demand(Self.values(known)).monthlyActiveUsers == 77)
        #expect(Demand(Self.values([.meanRequests: 0])).monthlyActiveUsers == 0)
    }

    /// More users than people are no plan.
    @Test func growthEndsBeforeThereAreMoreUsersThanPeople() throws {
        var scenario = Scenario()
        scenario.given = [.audienceGrowth: Estimate(1)]
        var options = Plan.Options()
        (options.months, options.draws) = (120, 0)
        let plan = try Plan(scenario, options)
        #expect(plan.growth.months.allSatisfy { $0.monthlyActiveUsers <= 1e10 })
        #expect(plan.growth.months.count == 24)
        #expect(plan.notes.contains { $0.hasPrefix("The forecast ends with month 23") })
        options.months = 12
        #expect(!(try Plan(scenario, options).notes.contains { $0.hasPrefix("The forecast ends") }))
    }

    @Test func whatWasCountedGrowsWithTheAudience() throws {
        var scenario = Scenario()
        scenario.given = [
            .meanRequests: Estimate(200), .peakRequests: Estimate(500),
            .audienceGrowth: Estimate(1),
        ]
        let plan = try Plan(scenario)
        #expect(isNear(plan.growth.months[3].peakRequestsPerSecond, 4_000))
    }

    /// Four workers of 50 segments a second: 1,000 segments in 5 seconds, and what retries add.
    @Test func aRunIsPredicted() throws {
        let check = try RunCheck(
            Self.values([
                .segmentsPerSecond: 50, .contention: 0, .coherency: 0, .attempts: 1.1,
            ]),
            RunCheck.Run(segments: 1_000, bytes: 1e9, seconds: 5, retries: 80, workers: 4))
        let rows = Dictionary(uniqueKeysWithValues: check.rows.map { ($0.figure, $0) })
        let time = try #require(rows["time"])
        #expect(isNear(time.predicted, 5.5))
        #expect(isNear(try #require(time.error), 0.1))
        #expect(isNear(try #require(rows["segments per second"]).measured, 200))
        #expect(isNear(try #require(rows["retries"]).predicted, 100))
        #expect(isNear(try #require(rows["bandwidth"]).measured, 1.6e9))
        #expect(rows["in use"] == nil && check.notes.contains { $0.contains("has no waits") })
    }

    /// Each measured figure of a report is shown beside the planned one.
    @Test func allOfARunIsHeldAgainstThePlan() throws {
        var run = RunCheck.Run(segments: 1_000, bytes: 1e9, seconds: 5, retries: 0, workers: 4)
        run.waits = (2, 4.5, 5)
        (run.utilisation, run.fetchSeconds, run.fetchCV2) = (0.5, 0.08, 0.5)
        (run.assets, run.assetsFailed) = (10, 0)
        let check = try RunCheck(
            Self.values([
                .segmentsPerSecond: 50, .contention: 0, .coherency: 0, .attempts: 1,
                .serviceSeconds: 0.1, .connections: 10, .serviceCV2: 1,
            ]), run)
        let rows = Dictionary(uniqueKeysWithValues: check.rows.map { ($0.figure, $0) })
        func predicted(_ figure: String) -> Double { rows[figure]?.predicted ?? .nan }
        #expect(isNear(predicted("p50 until stored"), 2.5))
        #expect(isNear(predicted("p95 until stored"), 4.75))
        #expect(isNear(try #require(rows["p99 until stored"]?.error), -0.01))
        #expect(isNear(predicted("in use"), 0.5) && rows["in use"]?.error == 0)
        #expect(rows["in use"]?.unit == "share")
        #expect(isNear(try #require(rows["fetch time"]?.error), 0.25))
        #expect(isNear(try #require(rows["CV² of fetch times"]?.error), 1))
        #expect(rows["assets failed"]?.predicted == 0 && rows["assets failed"]?.error == nil)
        #expect(rows.keys.allSatisfy { !$0.hasPrefix("bytes") })
        #expect(check.notes.count == 1)
        run.utilisation = -1
        let error = #expect(throws: PlannerError.self) { try RunCheck(Self.values([:]), run) }
        #expect(error?.field == "totals.work.utilisation")
        (run.utilisation, run.workers) = (0.5, -3)
        let none = #expect(throws: PlannerError.self) { try RunCheck(Self.values([:]), run) }
        #expect(none?.field == "totals.work.workers")
    }

    @Test func anOriginsLimitHoldsForARunToo() throws {
        let check = try RunCheck(
            Self.values([
                .segmentsPerSecond: 50, .contention: 0, .attempts: 1, .originRequests: 100,
            ]),
            RunCheck.Run(segments: 1_000, bytes: 1e9, seconds: 10, retries: 0, workers: 4))
        // The last hundred begins in the tenth second; 128 slots need 130 ms for it.
        #expect(check.rows.first.map { isNear($0.predicted, 9.13) } == true)
    }

    @Test(arguments: [(0.0, 1.0, 1.0), (1, 0, 1), (1, 1, 0), (1, .nan, 1), (-1, 1, 1)])
    func aRunThatDidNothingIsRefused(segments: Double, bytes: Double, seconds: Double) {
        let error = #expect(throws: PlannerError.self) {
            try RunCheck(
                Self.values([:]),
                RunCheck.Run(
                    segments: segments, bytes: bytes, seconds: seconds, retries: 0, workers: 1))
        }
        #expect(error?.field.hasPrefix("totals.") == true)
    }
}
