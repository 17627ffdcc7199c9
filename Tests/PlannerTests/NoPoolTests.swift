import Statistics
import Testing

@testable import Planner

/// Goals that no number of workers reaches, and limits of origins.
@Suite struct NoPoolTests {
    private static func plan(
        _ given: [ScenarioInput: Double], draws: Int = 0, books: [PriceBook] = []
    ) throws -> Plan {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        var options = Plan.Options()
        (options.months, options.draws, options.prices) = (6, draws, books)
        return try Plan(scenario, options)
    }

    private func isNear(_ left: Double?, _ right: Double) -> Bool {
        left.map { abs($0 - right) <= 1e-9 * abs(right) } ?? false
    }

    private static func price(_ amount: Double) -> PriceBook.Price {
        PriceBook.Price(amount: amount, currency: "EUR", date: "2026", source: "the test")
    }

    private static let book = PriceBook(
        id: "a", name: "A",
        instance: PriceBook.Instance(
            type: "i", cores: 4, memoryGigabytes: 16, perMonth: price(100)),
        storage: PriceBook.Storage(type: "s", unit: .gigabyte, perUnitMonth: price(1)),
        egress: PriceBook.Egress(
            unit: .gigabyte, includedPerMachine: 0,
            tiers: [PriceBook.Tier(upTo: nil, perUnit: price(1))]))

    /// 104 segments a second for a fill of two hours, and no miss.
    private static let fill: [ScenarioInput: Double] = [
        .tracks: 1, .segmentSeconds: 6, .catalogGigabytes: 1_600, .changePerDay: 1, .attempts: 1,
        .deadlineHours: 2, .bootSeconds: 0, .hitRatio: 1, .contention: 0,
    ]

    /// What stops a pool is named, and nothing is bought.
    @Test(
        arguments: [
            ([.contention: 0.1, .segmentsPerSecond: 1], "worker.contention", [.deadline]),
            ([.coherency: 0.1, .segmentsPerSecond: 1], "worker.coherency", [.deadline]),
            ([.segmentsPerSecond: 1e-5], "workers", [.deadline]),
            ([.originRequests: 1], "origin.requestsPerSecond", [.deadline]),
            ([.originConnections: 1], "origin.connections", [.deadline]),
            ([.originMegabits: 10], "origin.megabitsPerSecond", [.deadline]),
            (
                [.originRequests: 1, .hitRatio: 0, .changePerDay: 0], "origin.requestsPerSecond",
                [.onDemand]
            ),
            (
                [.originConnections: 1, .hitRatio: 0, .changePerDay: 0], "origin.connections",
                [.onDemand]
            ),
            // The limit is enough, but not for so short a wait.
            (
                [
                    .originRequests: 56, .hitRatio: 0, .changePerDay: 0, .waitSeconds: 0.02,
                    .percentile: 0.99, .originLatency: 0, .connectionMegabits: 100_000,
                    .meanRequests: 20, .peakRequests: 55, .requestBytes: 1e6,
                ], "origin.requestsPerSecond", [.onDemand]
            ),
            (
                [.originRequests: 1, .hitRatio: 0], "origin.requestsPerSecond",
                [.deadline, .onDemand]
            ),
        ] as [([ScenarioInput: Double], String, [Sizing.Stop.Goal])])
    func whatStopsAPoolIsNamed(
        given: [ScenarioInput: Double], limit: String, goals: [Sizing.Stop.Goal]
    ) throws {
        var all = Self.fill
        for (input, value) in given { all[input] = value }
        let plan = try Self.plan(all, draws: 20, books: [Self.book])
        let workers = plan.sizing.workers
        #expect(workers.stops.map(\.limit) == goals.map { _ in limit })
        #expect(workers.stops.map(\.goal) == goals)
        #expect(workers.needed == nil && workers.total == nil)
        #expect(plan.sizing.machines.workers == nil && plan.sizing.machines.total == nil)
        #expect(plan.sizing.connections.originMost.map { Double($0) } == given[.originConnections])
        // An origin with higher limits has a price, marked so; nothing else has one.
        let isOrigin = limit.hasPrefix("origin.")
        #expect(plan.costsWithoutLimits == (isOrigin ? [limit] : []))
        #expect(plan.costs.isEmpty != isOrigin)
        #expect(plan.problems.count { $0.hasPrefix("No pool suffices: ") } == goals.count)
        #expect(plan.growth.months.allSatisfy { $0.workers == nil && $0.machines == nil })
        // What is exactly known is so in every draw.
        let found = try #require(plan.uncertainty)
        #expect(found.planSuffices == nil)
        // A few sufficient draws give no workers and costs.
        if found.noPoolSuffices > 0 {
            #expect(!found.ranges.contains { $0.figure == "workers" || $0.unit == "EUR" })
            #expect(
                !found.influences.contains {
                    $0.figure == "workers" || $0.figure.hasPrefix("cost")
                })
        }
    }

    /// Half of all draws need more than the origin allows: they have no workers and no cost.
    @Test func drawsWithoutAPoolAreCountedApart() throws {
        var scenario = Scenario()
        scenario.given = Self.fill.mapValues { Estimate($0) }
        scenario.given[.changePerDay] = Estimate(low: 0.4, likely: 0.6, high: 0.8)
        let middle = Sizing(ScenarioValues(scenario)).demand.fillSegmentsPerSecond
        scenario.given[.originRequests] = Estimate(middle)
        var options = Plan.Options()
        (options.months, options.draws, options.prices) = (0, 2_000, [Self.book])
        let found = try #require(try Plan(scenario, options).uncertainty)
        #expect(abs(found.noPoolSuffices - 0.5) < 0.05)
        let workers = try #require(found.ranges.first { $0.figure == "workers" })
        #expect(workers.p90 < 100)
        let cost = try #require(found.ranges.first { $0.figure == "cost per month, A" })
        #expect(cost.p90 < 1e6 && cost.p90 >= cost.p10)
        #expect(try #require(found.planSuffices) <= 1 - found.noPoolSuffices + 1e-9)
    }

    /// A million segments through an origin that gives so many a second take so long, with as many
    /// workers as one likes.
    @Test(
        arguments: [
            ([.originRequests: 120], 120), ([.originConnections: 6], 120),
            // 2,136,667 bytes a segment.
            ([.originMegabits: 2_000], 2_000e6 / 8 / 2_136_666.666_666_7),
        ] as [([ScenarioInput: Double], Double)])
    func aFillTakesAsLongAsTheOriginAllows(
        given: [ScenarioInput: Double], perSecond: Double
    ) throws {
        var all = Self.fill
        all[.serviceSeconds] = 0.05
        all[.spareWorkers] = 10
        for (input, value) in given { all[input] = value }
        var scenario = Scenario()
        scenario.given = all.mapValues { Estimate($0) }
        scenario.actions = []
        let values = ScenarioValues(scenario)
        let demand = Demand(values)
        // Hardly above the number for the deadline.
        #expect(demand.fillSegmentsPerSecond > perSecond * 0.8)
        let hours = demand.fillSegmentsPerDay / perSecond / 3_600
        let many = Plan.outcome(values, demand, workers: 500)
        #expect(many.fillHours.map { abs($0 / hours - 1) < 1e-6 } == true)
        #expect(Plan.outcome(values, demand, workers: 501).fillHours == many.fillHours)
        let plan = try Plan(scenario)
        let least = try #require(plan.sizing.workers.mostUsefulForDeadline)
        #expect(plan.notes.contains { $0.hasPrefix("From \(least) worker") })
        #expect(
            Plan.outcome(values, demand, workers: least).fillHours.map {
                abs($0 / hours - 1) < 1e-6
            } == true)
        if least > 1 {
            let fewer = try #require(
                Plan.outcome(values, demand, workers: least - 1).fillHours)
            #expect(fewer > hours)
        }
    }

    /// Waits behind an origin follow from the transfers it allows, for any pool.
    @Test func waitsAreThoseThatTheOriginAllows() throws {
        var scenario = Scenario()
        scenario.given = [
            .changePerDay: 0, .meanRequests: 40, .peakRequests: 90, .requestBytes: 1_000,
            .hitRatio: 0, .attempts: 1, .serviceSeconds: 0.1, .originConnections: 10,
            .connections: 50, .connectionEfficiency: 1, .contention: 0, .waitSeconds: 5,
            .dispatchSeconds: 0, .dispatchMedian: 0,
        ].mapValues { Estimate($0) }
        let values = ScenarioValues(scenario)
        let demand = Demand(values)
        let ten = WaitingModel(servers: 10, arrivalsPerSecond: 90, serviceSeconds: 0.1)
        for workers in [1, 2, 100] {
            let outcome = Plan.outcome(values, demand, workers: workers)
            #expect(isNear(outcome.waitP95, ten.waitSeconds(quantile: 0.95)))
            #expect(isNear(outcome.meanWait, ten.meanWaitSeconds))
            #expect(isNear(outcome.utilisation, 0.9))
        }
        let plan = try Plan(scenario)
        #expect(plan.sizing.workers.forOnDemand == 1)
        #expect(plan.notes.contains { $0.contains("more workers do not shorten their waits") })
        // The simulation has the same ten.
        var options = Plan.Options()
        (options.months, options.draws, options.simulatedJobs) = (0, 0, 400_000)
        let simulation = try #require(try Plan(scenario, options).simulation)
        let mean = try #require(simulation.rows.first { $0.figure == "at the peak, mean wait" })
        #expect(abs(try #require(mean.simulated) / ten.meanWaitSeconds - 1) < 0.15)
    }

    /// More of what an origin allows never needs more workers, nor takes longer.
    @Test(
        arguments: [
            (.originRequests, [1, 10, 50, 60, 100, 1_000, 1e6]),
            (.originConnections, [1, 2, 5, 10, 100, 10_000]),
            (.originMegabits, [1, 100, 500, 900, 2_000, 1e6]),
        ] as [(ScenarioInput, [Double])])
    func moreOfTheOriginNeedsNoMore(input: ScenarioInput, steps: [Double]) throws {
        var last = (workers: Int.max, hours: Double.infinity, wait: Double.infinity)
        for step in steps {
            var scenario = Scenario()
            scenario.given = [
                .monthlyActiveUsers: Estimate(5_000), input: Estimate(step),
                .hitRatio: Estimate(0.8),
            ]
            let values = ScenarioValues(scenario)
            let sizing = Sizing(values)
            let outcome = Plan.outcome(values, sizing.demand, workers: 4)
            let now = (
                workers: sizing.workers.total ?? .max, hours: outcome.fillHours ?? .infinity,
                wait: outcome.waitP99 ?? .infinity
            )
            #expect(now.workers <= last.workers && now.hours <= last.hours && now.wait <= last.wait)
            last = now
        }
        #expect(last.workers < 10)
    }

    /// Once a load, a growth or a target is beyond every pool, more of it is so too.
    @Test(
        arguments: [
            (.monthlyActiveUsers, [1e3, 1e5, 1e7, 1e9, 1e10], 0.01),
            (.titles, [1e3, 1e5, 1e7, 1e9], 0.01), (.changePerDay, [0.01, 0.1, 1], 0.2),
        ] as [(ScenarioInput, [Double], Double)])
    func beyondAllPoolsMoreIsSoToo(
        input: ScenarioInput, steps: [Double], contention: Double
    ) throws {
        let workers = steps.map { value in
            var scenario = Scenario()
            scenario.given = [
                input: Estimate(value), .contention: Estimate(contention),
                .hitRatio: Estimate(0.95),
            ]
            return Sizing(ScenarioValues(scenario)).workers.total ?? .max
        }
        #expect(workers == workers.sorted(), "\(workers)")
        #expect(workers.last == .max)
        let growth = try Self.plan([
            .monthlyActiveUsers: 1e6, .audienceGrowth: 1, .contention: 0.01, .hitRatio: 0.95,
            .peakShare: 0.33,
        ]).growth
        let months = growth.months.map { $0.workers ?? .max }
        #expect(months == months.sorted() && months.last == .max)
        let limit = try #require(growth.limits.first { $0.resource == .workers })
        #expect(try #require(limit.bindsInMonth) < 6)
    }

    /// Shorter waits need no fewer, and no pool in the end.
    @Test func tighterTargetsNeedNoFewer() {
        let workers = [10, 1, 0.3, 0.1, 0.05, 0.03, 0.021].map { (wait: Double) in
            var scenario = Scenario()
            scenario.given = [
                .waitSeconds: Estimate(wait), .percentile: Estimate(0.99),
                .originRequests: Estimate(60), .hitRatio: Estimate(0), .peakRequests: Estimate(55),
                .meanRequests: Estimate(20), .changePerDay: Estimate(0),
                .requestBytes: Estimate(1e6),
            ]
            return Sizing(ScenarioValues(scenario)).workers.total ?? .max
        }
        #expect(workers == workers.sorted(), "\(workers)")
        #expect(workers.first != .max && workers.last == .max)
    }

    /// A fill that comes every day has to be done in a day, however late it may be.
    @Test func aDeadlineOfDaysIsADaysWork() throws {
        func sizing(_ hours: Double, origin: Double? = nil) -> Sizing {
            var scenario = Scenario()
            scenario.given = Self.fill.mapValues { Estimate($0) }
            scenario.given[.deadlineHours] = Estimate(hours)
            scenario.given[.bootSeconds] = Estimate(60)
            if let origin { scenario.given[.originRequests] = Estimate(origin) }
            return Sizing(ScenarioValues(scenario))
        }
        let week = sizing(168)
        #expect(week.demand.fillWindowSeconds == 86_400)
        #expect(
            isNear(week.demand.fillSegmentsPerSecond, week.demand.fillSegmentsPerDay / 86_400))
        #expect(sizing(12).demand.fillWindowSeconds == 12 * 3_600 - 60)
        // The origin does a day's fill in 30 hours.
        let slow = sizing(48, origin: week.demand.fillSegmentsPerDay / 30 / 3_600)
        #expect(slow.workers.total == nil)
        #expect(slow.workers.stops.map(\.limit) == ["origin.requestsPerSecond"])
        let plan = try Self.plan(Self.fill.merging([.deadlineHours: 48]) { $1 })
        #expect(plan.notes.contains { $0.hasPrefix("fill.deadlineHours is more than a day") })
    }
}
