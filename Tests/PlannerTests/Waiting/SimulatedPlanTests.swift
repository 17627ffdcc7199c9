import Glibc
import Statistics
import TestSupport
import Testing

@testable import Planner

/// Plans whose waits the formulas do not know: they are simulated without being asked.
@Suite(.computing) struct SimulatedPlanTests {
    /// One transfer of a second for each worker, and `load` misses a second at the peak.
    private static func scenario(
        load: Double, arrivalCV2: Double = 1, serviceCV2: Double = 1
    ) -> Scenario {
        let given: [ScenarioInput: Double] = [
            .connections: 1, .serviceSeconds: 1, .segmentsPerSecond: 1, .contention: 0,
            .coherency: 0, .headroom: 0, .changePerDay: 0, .serviceCV2: serviceCV2,
            .arrivalCV2: arrivalCV2, .dispatchSeconds: 0, .dispatchMedian: 0, .attempts: 1,
            .hitRatio: 0, .tracks: 1, .segmentSeconds: 10, .monthlyActiveUsers: 40 * load,
            .dailyActiveShare: 0.5, .peakShare: 0.5, .waitSeconds: 0.5, .percentile: 0.9,
            .spareWorkers: 0, .audienceGrowth: 0,
        ]
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        scenario.actions = []
        return scenario
    }

    private static func plan(_ scenario: Scenario) throws -> Plan {
        var options = Plan.Options()
        (options.months, options.draws, options.waitJobs) = (2, 0, 400_000)
        return try Plan(scenario, options)
    }

    /// Waits of Poisson arrivals for `servers`, with lognormal times of mean 1: a loop that shares
    /// nothing with the planner's simulation but the source of random numbers.
    private static func waits(servers: Int, load: Double, cv2: Double) -> [Double] {
        var random = SeededRandom(seed: 99)
        var free = [Double](repeating: 0, count: servers)
        var waits: [Double] = []
        var now = 0.0
        let sigma = log(1 + cv2).squareRoot()
        for job in 0..<400_000 {
            now -= log(1 - random.uniform()) / load
            var first = 0
            for index in free.indices where free[index] < free[first] { first = index }
            let start = max(now, free[first])
            let angle = 2 * Double.pi * random.uniform()
            let normal = (-2 * log(1 - random.uniform())).squareRoot() * cos(angle)
            free[first] = start + exp(sigma * normal - sigma * sigma / 2)
            if job >= 40_000 { waits.append(start - now) }
        }
        return waits
    }

    private static func share(_ waits: [Double], within seconds: Double) -> Double {
        Double(waits.count { $0 <= seconds }) / Double(waits.count)
    }

    @Test func longTailsGetTheWorkersOfASimulation() throws {
        let load = 20.0
        let plan = try Self.plan(Self.scenario(load: load, serviceCV2: 20))
        let simulated = try #require(plan.simulatedWaits)
        #expect(simulated.reason == "a service CV² of 20" && simulated.serviceShape == "lognormal")
        let workers = try #require(plan.sizing.workers.total)
        #expect(simulated.workers == workers)
        let planned = Self.waits(servers: workers, load: load, cv2: 20)
        #expect(Self.share(planned, within: 0.5) > 0.88)
        let fewer = Self.waits(servers: workers - 2, load: load, cv2: 20)
        #expect(Self.share(fewer, within: 0.5) < 0.9)
        // The mean wait, with the error that the plan states for it.
        let outcome = try #require(plan.outcomes.first { $0.workers == workers })
        let margin = try #require(outcome.meanWaitMargin)
        let mean = planned.reduce(0, +) / Double(planned.count)
        #expect(abs(try #require(outcome.meanWait) - mean) < 3 * margin)
        #expect(plan.notes.contains { $0.hasPrefix(simulated.summary) })
        // Later months continue from this one.
        #expect(plan.growth.months.map(\.workers) == [workers, workers, workers])
    }

    /// A mean wait of 0 with a margin of 0 would read as certainty.
    @Test func poolsInWhichNoFetchWaitsHaveNoMargin() throws {
        var scenario = Self.scenario(load: 0.5, serviceCV2: 20)
        scenario.given[.spareWorkers] = Estimate(90)
        let plan = try Self.plan(scenario)
        let simulated = try #require(plan.simulatedWaits)
        #expect(simulated.meanWaitSeconds == 0 && simulated.marginSeconds == nil)
        #expect(simulated.summary.contains("times, none of 360,000 fetches waited. Workers"))
        let total = try #require(simulated.totalByFormula)
        let note = try #require(plan.notes.first { $0.hasPrefix(simulated.summary) })
        #expect(note.contains("suffice is that of the \(total) workers by formulas; later months"))
        #expect(note.contains("so is the wait during the fill; the share of draws"))
    }

    /// One server and bursts of two exponentials, where waits are known exactly (Kleinrock 1975, 6.4).
    @Test func burstsHaveTheirExactWaits() throws {
        let (load, cv2) = (0.5, 4.0)
        let share = (1 + ((cv2 - 1) / (cv2 + 1)).squareRoot()) / 2
        let rates = (2 * share * load, 2 * (1 - share) * load)
        var root = 0.5
        for _ in 0..<10_000 {
            let s = 1 - root
            root = share * rates.0 / (rates.0 + s) + (1 - share) * rates.1 / (rates.1 + s)
        }
        var scenario = Self.scenario(load: load, arrivalCV2: cv2)
        scenario.given[.waitSeconds] = Estimate(60)
        let plan = try Self.plan(scenario)
        let outcome = try #require(plan.outcomes.first { $0.workers == 1 })
        #expect(plan.sizing.workers.total == 1)
        #expect(abs(try #require(outcome.meanWait) / (root / (1 - root)) - 1) < 0.05)
        let p95 = log(root / 0.05) / (1 - root)
        #expect(abs(try #require(outcome.waitP95) / p95 - 1) < 0.05)
        #expect(plan.notes.contains(FormulaRange.burstNote))
    }

    @Test func withinTheRangeFormulasAnswer() throws {
        let scenario = Self.scenario(load: 20, serviceCV2: 1.5)
        let plan = try Self.plan(scenario)
        #expect(plan.simulatedWaits == nil)
        let values = ScenarioValues(scenario)
        let sizing = Sizing(values)
        #expect(plan.sizing == sizing)
        for outcome in plan.outcomes {
            #expect(outcome == Plan.outcome(values, sizing.demand, workers: outcome.workers))
            #expect(outcome.meanWaitMargin == nil)
        }
    }

    /// More load, and the difference of the simulation grows with its root.
    @Test func laterMonthsKeepTheDifference() throws {
        var scenario = Self.scenario(load: 20, serviceCV2: 20)
        scenario.given[.audienceGrowth] = Estimate(1)
        let plan = try Self.plan(scenario)
        let simulated = try #require(plan.simulatedWaits)
        let (own, formula) = (
            try #require(simulated.workers), try #require(simulated.workersByFormula)
        )
        for (month, factor) in [(1, 2.0), (2, 4)] {
            let byFormula = try #require(
                WaitingModel.fewestServers(
                    load: 20 * factor, serviceSeconds: 1, serviceCV2: 20, targetLevel: 0.9,
                    withinSeconds: 0.5, atMost: 1_000))
            let difference = (Double(own - formula) * factor.squareRoot()).rounded()
            let workers = try #require(plan.growth.months[month].workers)
            #expect(abs(workers - byFormula - Int(difference)) <= 1)
        }
    }
}
