import Testing

@testable import Planner

/// What plans cost.
@Suite struct CostTests {
    private static func price(_ amount: Double, _ currency: String = "EUR") -> PriceBook.Price {
        PriceBook.Price(amount: amount, currency: currency, date: "2026", source: "the test")
    }

    /// 100 EUR a machine, 10 USD a TB stored, 50 and then 20 USD a TB sent.
    private static func book(_ id: String = "a") -> PriceBook {
        PriceBook(
            id: id, name: id.uppercased(),
            instance: PriceBook.Instance(
                type: "i", cores: 4, memoryGigabytes: 16, perMonth: price(100)),
            storage: PriceBook.Storage(
                type: "s", unit: .terabyte, perUnitMonth: price(10, "USD")),
            egress: PriceBook.Egress(
                unit: .terabyte, includedPerMachine: 0,
                tiers: [
                    PriceBook.Tier(upTo: 10, perUnit: price(50, "USD")),
                    PriceBook.Tier(upTo: nil, perUnit: price(20, "USD")),
                ]))
    }

    private static var options: Plan.Options {
        var options = Plan.Options()
        options.prices = [book()]
        options.draws = 0
        options.months = 0
        return options
    }

    private static func plan(
        _ given: [ScenarioInput: Double], books: [PriceBook] = [book()],
        _ change: (inout Scenario) -> Void = { _ in }
    ) throws -> Plan {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        scenario.actions = []
        change(&scenario)
        var options = Plan.Options()
        options.prices = books
        options.draws = 0
        options.months = 0
        return try Plan(scenario, options)
    }

    @Test func itemsAddUpInTheirCurrencies() throws {
        let plan = try Self.plan([.catalogGigabytes: 8_000, .storageFreeShare: 0.2])
        let cost = try #require(plan.costs.first)
        let machines = plan.sizing.machines
        #expect(cost.perMonth.amounts["EUR"] == 100 * Double(machines.total))
        let storage = try #require(cost.items.first { $0.name == "edge storage" })
        #expect(abs((storage.cost.amounts["USD"] ?? 0) - 100) < 1e-9)
        let sum = cost.items.reduce(Money()) { $0 + $1.cost }
        #expect(sum == cost.perMonth)
        let quick = Bill(
            Scenario.MoneyChoice(), ScenarioValues(Scenario()), Sizing(ScenarioValues(Scenario())),
            Self.book(), Self.book()
        ).quickTotal
        let whole = try #require(try Plan(Scenario(), Self.options).costs.first?.perMonth)
        for (currency, amount) in whole.amounts {
            #expect(abs((quick.amounts[currency] ?? 0) / amount - 1) < 1e-12)
        }
        #expect(abs((cost.perUser.amounts["EUR"] ?? 0) - Double(machines.total) / 10) < 1e-9)
        #expect(cost.prices.allSatisfy { !$0.price.date.isEmpty && !$0.price.currency.isEmpty })
    }

    @Test func aRateMakesOneCurrencyOfTwo() throws {
        let plain = try #require(try Self.plan([:]).costs.first?.perMonth.amounts)
        let one = try #require(
            try Self.plan([:]) { scenario in
                scenario.money.currency = "EUR"
                scenario.money.exchange = ["USD": 0.5]
            }.costs.first?.perMonth.amounts)
        #expect(Set(plain.keys) == ["EUR", "USD"] && Set(one.keys) == ["EUR"])
        let expected = (plain["EUR"] ?? 0) + (plain["USD"] ?? 0) / 2
        #expect(abs((one["EUR"] ?? 0) / expected - 1) < 1e-12)
    }

    /// Eight cores a machine where four are priced cost twice as much.
    @Test func machinesArePricedByTheirCores() throws {
        let small = try Self.plan([.machineCores: 4, .workerCores: 1])
        let large = try Self.plan([.machineCores: 8, .workerCores: 1])
        func each(_ plan: Plan) -> Double {
            (plan.costs.first?.perMonth.amounts["EUR"] ?? 0) / Double(plan.sizing.machines.total)
        }
        #expect(each(small) == 100 && each(large) == 200)
    }

    @Test func moreUsersCostNoLess() throws {
        let costs = try [1_000.0, 10_000, 1e5, 1e6].map { users in
            try #require(try Self.plan([.monthlyActiveUsers: users]).costs.first?.perMonth.amounts)
        }
        for (less, more) in zip(costs, costs.dropFirst()) {
            #expect((less["EUR"] ?? 0) <= (more["EUR"] ?? 0))
            #expect((less["USD"] ?? 0) < (more["USD"] ?? 0))
        }
    }

    @Test func alternativesAreSideBySide() throws {
        let plan = try Self.plan([.monthlyActiveUsers: 50_000, .originRequests: 1_000])
        let cost = try #require(plan.costs.first)
        // Without an edge the origin has to stand the whole peak.
        #expect(
            cost.deviceSide.originShare == plan.sizing.demand.peakRequestsPerSecond / 1_000)
        #expect(cost.deviceSide.deviceHours > 0)
        #expect((cost.overProvisioning.amounts["EUR"] ?? 0) > 0)
        #expect(
            (cost.perMonthScaled.amounts["EUR"] ?? 0) <= (cost.perMonth.amounts["EUR"] ?? 0))
        #expect(
            cost.twiceAsMany.amounts["EUR"]
                == 100 * Double(plan.sizing.machines.workers + plan.sizing.machines.edge))
        // An hour at the peak, on top of the month: the last tier's price.
        let terabytes = plan.sizing.demand.peakEgressBitsPerSecond / 8 * 3_600 / 1e12
        #expect(abs((cost.loadTest.cost.amounts["USD"] ?? 0) / (terabytes * 20) - 1) < 1e-6)
        #expect(cost.loadTest.generators == 1)
    }

    @Test func providersAreComparedOrChosen() throws {
        let books = [Self.book("a"), Self.book("b")]
        #expect(try Self.plan([:], books: books).costs.map(\.provider) == ["a", "b"])
        let chosen = try Self.plan([:], books: books) { scenario in
            scenario.money.provider = "b"
            scenario.money.originProvider = "a"
        }
        #expect(chosen.costs.map(\.provider) == ["b"])
        #expect(chosen.costs.first?.originProvider == "a")
        let error = #expect(throws: PlannerError.self) {
            try Self.plan([:], books: books) { $0.money.provider = "c" }
        }
        #expect(error?.field == "money.provider" && error?.allowed == "use one of a, b")
    }
}
