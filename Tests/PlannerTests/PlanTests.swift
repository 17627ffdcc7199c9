import Statistics
import Testing

@testable import Planner

/// Figures of plans, calculated by hand, and properties of all plans.
@Suite struct PlanTests {
    private static func scenario(_ given: [ScenarioInput: Double]) -> Scenario {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        return scenario
    }

    private static func sizing(_ given: [ScenarioInput: Double]) -> Sizing {
        Sizing(ScenarioValues(scenario(given)))
    }

    private func isNear(_ left: Double, _ right: Double) -> Bool {
        abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    }

    /// 720,000 users, half of them a day, a quarter of those at once; an hour a day of 4 Mbit/s.
    @Test func demandByHand() {
        var scenario = Self.scenario([
            .monthlyActiveUsers: 720_000, .dailyActiveShare: 0.5, .peakShare: 0.25,
            .minutesPerDay: 60, .segmentSeconds: 6, .tracks: 1, .kilobitsPerSecond: 4_000,
            .titles: 100, .minutesPerTitle: 60, .changePerDay: 0.1, .sites: 2,
            .storageFreeShare: 0.2, .deadlineHours: 1, .bootSeconds: 0, .attempts: 1,
            .hitRatio: 0.9,
        ])
        scenario.ladder = [1_000, 3_000, 4_000]
        scenario.actions = []
        let demand = Demand(ScenarioValues(scenario))
        #expect(demand.peakConcurrentUsers == 90_000)
        #expect(demand.meanConcurrentViewers == 15_000)
        #expect(demand.meanRequestsPerSecond == 2_500)
        #expect(demand.peakRequestsPerSecond == 15_000)
        #expect(demand.peakEgressBitsPerSecond == 360e9)
        #expect(isNear(demand.egressBytesPerMonth, 15_000 * 500_000 * 86_400 * 365.25 / 12))
        // 8 Mbit/s over 100 hours, in 600 stretches of three segments an hour.
        #expect(isNear(demand.catalogBytes, 360e9))
        #expect(isNear(demand.catalogSegments, 180_000))
        #expect(isNear(demand.edgeStorageBytes, 900e9))
        #expect(isNear(demand.fillBytesPerDay, 72e9))
        #expect(isNear(demand.fillSegmentsPerSecond, 10))
        #expect(isNear(demand.fillBitsPerSecond, 160e6))
        #expect(isNear(demand.fillSegmentBytes, 2e6))
        #expect(isNear(demand.peakMissesPerSecond, 1_500))
        #expect(isNear(demand.missBytes, 3e6))
    }

    /// A worker of 4 connections, each transfer 0.1 s: 40/s. 1,000 jobs a second by the deadline.
    @Test func workersForADeadlineByHand() {
        let sizing = Self.sizing([
            .serviceSeconds: 0.1, .segmentsPerSecond: 40, .connections: 4, .contention: 0,
            .coherency: 0, .headroom: 0, .hitRatio: 1, .titles: 1_000, .minutesPerTitle: 60,
            .segmentSeconds: 6, .tracks: 1, .changePerDay: 0.2, .attempts: 1, .deadlineHours: 0.3,
            .bootSeconds: 0, .spareWorkers: 2,
        ])
        // 1,000 titles × 600 stretches × 9 renditions × 0.2 in 1,080 s.
        #expect(isNear(sizing.demand.fillSegmentsPerSecond, 1_000))
        #expect(sizing.workers.forDeadline == 25)
        #expect(sizing.workers.forOnDemand == 0)
        #expect(sizing.workers.needed == 25)
        #expect(sizing.workers.total == 27)
    }

    /// Against the calculator: the fewest servers for 100 misses a second of 1 s each, one a worker.
    @Test func workersForOnDemandAreThoseOfTheCalculator() throws {
        var given: [ScenarioInput: Double] = [
            .connections: 1, .serviceSeconds: 1, .segmentsPerSecond: 1, .contention: 0,
            .coherency: 0, .headroom: 0, .changePerDay: 0, .serviceCV2: 1, .arrivalCV2: 1,
            .dispatchSeconds: 0, .dispatchMedian: 0, .attempts: 1, .hitRatio: 0, .tracks: 1,
            .segmentSeconds: 10,
            .monthlyActiveUsers: 4_000, .dailyActiveShare: 0.5, .peakShare: 0.5,
            .waitSeconds: 0.5, .percentile: 0.9,
        ]
        var scenario = Self.scenario(given)
        scenario.actions = []
        let sizing = Sizing(ScenarioValues(scenario))
        #expect(isNear(sizing.demand.peakMissesPerSecond, 100))
        let servers = WaitingModel.fewestServers(
            arrivalsPerSecond: 100, serviceSeconds: 1, targetLevel: 0.9, withinSeconds: 0.5,
            atMost: 1_000)
        #expect(sizing.workers.forOnDemand == servers)
        let outcome = Plan.outcome(
            ScenarioValues(scenario), sizing.demand, workers: try #require(servers))
        #expect(sizing.workers.forOnDemandOtherwise == servers)
        let model = WaitingModel(
            servers: try #require(servers), arrivalsPerSecond: 100, serviceSeconds: 1)
        #expect(outcome.waitP95.map { isNear($0, model.waitSeconds(quantile: 0.95)) } == true)
        #expect(isNear(outcome.utilisation, model.utilisation))
        // With headroom no more than so much is in use.
        given[.headroom] = 0.5
        scenario = Self.scenario(given)
        scenario.actions = []
        #expect(Sizing(ScenarioValues(scenario)).workers.forOnDemand == 200)
    }

    // MARK: Properties

    private static func worth(_ sizing: Sizing) -> [Double] {
        [
            Double(sizing.workers.total ?? .max),
            // Larger kinds of edge servers are fewer, so their number may fall.
            sizing.edge.coresInUse,
            sizing.demand.peakRequestsPerSecond, sizing.demand.edgeStorageBytes,
            sizing.database.coresInUse, Double(sizing.database.coordinators),
        ]
    }

    /// More of it never needs less of anything.
    @Test(
        arguments: [
            (.monthlyActiveUsers, [1_000, 1e4, 1e5, 1e6, 1e7]), (.minutesPerDay, [0, 1, 60, 600]),
            (.titles, [1, 100, 1e4, 1e6]), (.changePerDay, [0, 0.01, 0.5, 1]),
            (.originLatency, [0, 50, 5_000]), (.serviceCV2, [0, 1, 10]),
            (.headroom, [0, 0.3, 0.8]),
            (.spareWorkers, [0, 1, 5]), (.kilobitsPerSecond, [200, 4_000, 40_000]),
            (.attempts, [1, 2, 5]), (.sites, [1, 2, 10]),
        ] as [(ScenarioInput, [Double])])
    func moreNeedsNoLess(input: ScenarioInput, steps: [Double]) {
        let worths = steps.map { value in
            var given: [ScenarioInput: Double] = [.monthlyActiveUsers: 200_000]
            given[input] = value
            return Self.worth(Self.sizing(given))
        }
        for (less, more) in zip(worths, worths.dropFirst()) {
            for (a, b) in zip(less, more) { #expect(a <= b) }
        }
    }

    /// More of it never needs more workers.
    @Test(
        arguments: [
            (.hitRatio, [0, 0.5, 0.9, 1]), (.deadlineHours, [0.5, 2, 8, 24]),
            (.waitSeconds, [0.03, 0.1, 1, 10]), (.connections, [1, 8, 64, 512]),
            (.machineCores, [1, 2, 4]), (.nicMegabits, [100, 1_000, 10_000]),
        ] as [(ScenarioInput, [Double])])
    func moreNeedsNoMoreWorkers(input: ScenarioInput, steps: [Double]) {
        let workers = steps.map { value in
            var given: [ScenarioInput: Double] = [
                .monthlyActiveUsers: 200_000, .originLatency: 500, .contention: 0,
            ]
            given[input] = value
            return Self.sizing(given).workers.total ?? .max
        }
        #expect(workers == workers.sorted(by: >), "\(workers)")
    }

    @Test func growthComesMonthByMonth() throws {
        let plan = try Plan(Self.scenario([.audienceGrowth: 0.1, .catalogGrowth: 0]))
        #expect(plan.growth.months.map(\.month) == Array(0...36))
        #expect(isNear(plan.growth.months[12].monthlyActiveUsers, 1_000 * 3.138_428_376_721))
        let workers = plan.growth.months.compactMap(\.workers)
        #expect(workers.count == 37 && workers == workers.sorted())
        // 1.1^5 is the first power over 1 / 0.65.
        var scenario = Self.scenario([.audienceGrowth: 0.1, .originMegabits: 1_000])
        scenario.given[.hitRatio] = Estimate(0)
        let now = Sizing(ScenarioValues(scenario))
        let share = try #require(now.origin?.bandwidthShare)
        let limit = try #require(
            try Plan(scenario).growth.limits.first { $0.resource == .origin })
        #expect(limit.shareNow == share)
        var month = 0
        var grown = share
        while grown <= 1 {
            grown *= 1.1
            month += 1
        }
        #expect(limit.bindsInMonth == month)
    }

    @Test func whatGrowsFasterBindsNoLater() throws {
        let months = try [0.0, 0.02, 0.1, 0.5].map { growth in
            try Plan(Self.scenario([.audienceGrowth: growth])).growth.limits.first {
                $0.resource == .edgeNetwork
            }?.bindsInMonth ?? .max
        }
        #expect(months == months.sorted(by: >))
    }

    /// The largest inputs there are.
    @Test func extremesHaveAnEnd() throws {
        var given: [ScenarioInput: Double] = [:]
        for row in ScenarioInput.table {
            if case .value = row.standard { given[row.input] = row.allowed.upperBound }
        }
        for input in [ScenarioInput.bootSeconds, .dispatchSeconds, .dispatchMedian] {
            given[input] = 0
        }
        given[.framesPerSecond] = nil
        given[.bitsPerPixel] = nil
        given[.peakToMean] = nil
        _ = try Plan(Self.scenario(given), Plan.Options())
        for row in ScenarioInput.table {
            if case .value = row.standard { given[row.input] = row.allowed.lowerBound }
        }
        for input in [ScenarioInput.bootSeconds, .dispatchSeconds, .dispatchMedian] {
            given[input] = 0
        }
        given[.framesPerSecond] = nil
        given[.bitsPerPixel] = nil
        _ = try Plan(Self.scenario(given), Plan.Options())
    }
}
