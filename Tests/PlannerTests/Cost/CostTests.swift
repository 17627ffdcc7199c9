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
        let count = Double(try #require(machines.total))
        #expect(cost.perMonth.amounts["EUR"] == 100 * count)
        let storage = try #require(cost.items.first { $0.name == "edge storage" })
        #expect(abs((storage.cost.amounts["USD"] ?? 0) - 100) < 1e-9)
        let sum = cost.items.reduce(Money()) { $0 + $1.cost }
        #expect(sum == cost.perMonth)
        let quick = try #require(
            Bill(
                Scenario.MoneyChoice(), ScenarioValues(Scenario()),
                Sizing(ScenarioValues(Scenario())), Self.book(), Self.book())
        ).quickTotal
        let whole = try #require(try Plan(Scenario(), Self.options).costs.first?.perMonth)
        for (currency, amount) in whole.amounts {
            #expect(abs((quick.amounts[currency] ?? 0) / amount - 1) < 1e-12)
        }
        #expect(abs((cost.perUser.amounts["EUR"] ?? 0) - count / 10) < 1e-9)
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

    /// A machine costs as many instances (4 cores, 16 GB, 1 Gbit/s) as hold it: a fourth of the cores
    /// with all of the network is no fourth of the price.
    @Test(
        arguments: [
            ([:], 100), ([.machineCores: 8], 200), ([.machineCores: 1], 100),
            ([.machineCores: 5], 200), ([.memoryGigabytes: 64], 400),
            ([.nicMegabits: 10_000], 1_000), ([.nicMegabits: 10_000, .machineCores: 8], 1_000),
            ([.nicMegabits: 100], 100),
        ] as [([ScenarioInput: Double], Double)])
    func machinesArePricedByTheInstancesThatHoldThem(
        given: [ScenarioInput: Double], each: Double
    ) throws {
        var book = Self.book()
        book.instance.nicMegabitsPerSecond = 1_000
        let plan = try Self.plan(given, books: [book])
        let cost = try #require(plan.costs.first)
        let total = try #require(plan.sizing.machines.total) - plan.sizing.machines.edge
        // Edge servers are of their own kind.
        let edge = try #require(cost.items.first { $0.name == "edge servers" }).cost
        #expect(
            ((cost.perMonth - edge).amounts["EUR"] ?? 0) == each * Double(total))
        let workers = try #require(cost.items.first { $0.name == "workers" })
        #expect(workers.count.hasSuffix(each > 100 ? " of \(Int(each / 100)) × i" : "machines"))
    }

    /// 10 TB cost 50 each, all beyond 20: the origin's come after the viewers' where both have the
    /// same provider, and start in the first one otherwise.
    @Test func tiersCountAllThatLeavesAProvider() throws {
        let given: [ScenarioInput: Double] = [
            .meanRequests: 10, .peakRequests: 25, .requestBytes: 1e6, .hitRatio: 0.5, .attempts: 1,
            .changePerDay: 0,
        ]
        func sent(_ books: [PriceBook], origin: String) throws -> [String: Double] {
            let plan = try Self.plan(given, books: books) {
                $0.money.provider = "a"
                $0.money.originProvider = origin
            }
            let items = try #require(plan.costs.first).items
            return Dictionary(
                uniqueKeysWithValues: items.map { ($0.name, $0.cost.amounts["USD"] ?? 0) })
        }
        // 26.3 TB to viewers and half of that from the origin.
        let viewers = 10 * 1e6 * 86_400 * 365.25 / 12 / 1e12
        let books = [Self.book("a"), Self.book("b")]
        let shared = try sent(books, origin: "a")
        #expect(abs((shared["egress to viewers"] ?? 0) - (500 + (viewers - 10) * 20)) < 1e-6)
        #expect(abs((shared["egress of the origin"] ?? 0) - viewers / 2 * 20) < 1e-6)
        // So does a load test's, which comes after both.
        let test = try #require(
            try Self.plan(given, books: books) { $0.money.provider = "a" }.costs.first
        ).loadTest
        let hour = 25 * 1e6 * 3_600 / 1e12
        #expect(abs((test.cost.amounts["USD"] ?? 0) - hour * 20) < 1e-6)
        let apart = try sent(books, origin: "b")
        #expect(abs((apart["egress of the origin"] ?? 0) - (500 + (viewers / 2 - 10) * 20)) < 1e-6)
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

    /// Workers that are there for fetches on demand stay: what is scaled costs as much less as the others
    /// do, in the hours without a fill.
    @Test(
        arguments: [
            [.changePerDay: 0, .hitRatio: 0.95], [.titles: 50_000, .hitRatio: 1],
            [.titles: 50_000, .hitRatio: 0.999],
        ]
            as [[ScenarioInput: Double]])
    func whatIsScaledIsWhatMayGo(given: [ScenarioInput: Double]) throws {
        let plan = try Self.plan(given.merging([.monthlyActiveUsers: 500_000]) { $1 })
        let cost = try #require(plan.costs.first)
        let workers = plan.sizing.workers
        let (total, always) = (try #require(workers.total), try #require(workers.alwaysThere))
        let machines = try #require(cost.items.first { $0.name == "workers" }).cost
        let share = min(1, try #require(Scenario().estimate(.deadlineHours)?.likely) / 24)
        let saved = (1 - share) * Double(total - always) / Double(total)
        for (currency, amount) in machines.amounts {
            let less =
                (cost.perMonth.amounts[currency] ?? 0)
                - (cost.perMonthScaled.amounts[currency] ?? 0)
            #expect(abs(less - amount * saved) <= 1e-6 * amount)
        }
        #expect((always == total) == (given[.changePerDay] == 0), "\(always) of \(total)")
    }

    @Test func alternativesAreSideBySide() throws {
        let plan = try Self.plan([
            .monthlyActiveUsers: 50_000, .peakShare: 0.33, .originRequests: 1_000,
        ])
        let cost = try #require(plan.costs.first)
        // Without an edge the origin has to stand the whole peak.
        #expect(
            cost.deviceSide.originShare == plan.sizing.demand.peakRequestsPerSecond / 1_000)
        #expect(cost.deviceSide.deviceHours > 0)
        #expect((cost.overProvisioning.amounts["EUR"] ?? 0) > 0)
        #expect(
            (cost.perMonthScaled.amounts["EUR"] ?? 0) <= (cost.perMonth.amounts["EUR"] ?? 0))
        // The only kind of machine has 1 Gbit/s: 38.4 Gbit/s at 70 %, and a spare one.
        let edgeServers = 56
        #expect(
            cost.twiceAsMany.amounts["EUR"]
                == 100 * Double(try #require(plan.sizing.machines.workers) + edgeServers))
        // An hour at the peak, on top of the month: the last tier's price.
        let terabytes = plan.sizing.demand.peakEgressBitsPerSecond / 8 * 3_600 / 1e12
        #expect(abs((cost.loadTest.cost.amounts["USD"] ?? 0) / (terabytes * 20) - 1) < 1e-6)
        // 38.4 Gbit/s through interfaces of 1 Gbit/s; 49,500 users of hardly any bytes.
        #expect(plan.sizing.demand.peakEgressBitsPerSecond.rounded() == 38_445e6)
        #expect(cost.loadTest.generators == 39)
        let users = try #require(
            try Self.plan([
                .monthlyActiveUsers: 300_000, .peakShare: 0.33, .kilobitsPerSecond: 1,
            ]).costs.first)
        #expect(users.loadTest.generators == 2)
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
