import Testing

@testable import Planner

/// CDNs as an alternative to own edge servers, and what is recommended.
@Suite struct CDNTests {
    private static func price(_ amount: Double, isAssumption: Bool = false) -> PriceBook.Price {
        PriceBook.Price(
            amount: amount, currency: "EUR", date: "2026", source: "https://example.org/prices",
            isAssumption: isAssumption)
    }

    private static func book(_ perTerabyte: Double) -> PriceBook {
        PriceBook(
            id: "own", name: "Own",
            instance: PriceBook.Instance(
                type: "i", cores: 4, memoryGigabytes: 16, nicMegabitsPerSecond: 1_000,
                perMonth: price(100)),
            edgeServers: [
                PriceBook.Instance(
                    type: "e", cores: 32, memoryGigabytes: 128, nicMegabitsPerSecond: 25_000,
                    perMonth: price(500))
            ],
            storage: PriceBook.Storage(type: "s", unit: .terabyte, perUnitMonth: price(1)),
            egress: PriceBook.Egress(
                unit: .terabyte, includedPerMachine: 0,
                tiers: [PriceBook.Tier(upTo: nil, perUnit: price(perTerabyte))]))
    }

    /// 10 a TB up to 100, then 5.
    private static let volume = PriceBook.Egress(
        unit: .terabyte, includedPerMachine: 0,
        tiers: [
            PriceBook.Tier(upTo: 100, perUnit: price(10)),
            PriceBook.Tier(upTo: nil, perUnit: price(5)),
        ])

    private static func plan(
        _ cdns: [CDNPrices], perTerabyte: Double = 1, months: Int = 0, growth: Double = 0
    ) throws -> Plan {
        var scenario = Scenario()
        scenario.given = [
            .meanRequests: 1_000, .peakRequests: 2_000, .requestBytes: 1e6, .hitRatio: 0.9,
            .attempts: 1, .audienceGrowth: growth, .catalogGrowth: 0,
        ].mapValues { Estimate($0) }
        var options = Plan.Options()
        (options.draws, options.months) = (0, months)
        options.prices = [book(perTerabyte)]
        options.cdns = cdns
        return try Plan(scenario, options)
    }

    private static let terabytes = 1_000 * 1e6 * 86_400 * 365.25 / 12 / 1e12

    private func amounts(_ cost: CDNCost) -> [String: Double] {
        Dictionary(
            uniqueKeysWithValues: cost.items.map { ($0.name, $0.cost.amounts["EUR"] ?? 0) })
    }

    @Test func bytesRequestsAndTheOriginByHand() throws {
        let cdn = CDNPrices(
            id: "c", name: "C", delivery: .volume(Self.volume),
            requests: CDNPrices.Requests(per: 10_000, price: Self.price(0.01), included: 1e6))
        let cost = try #require(try Self.plan([cdn], perTerabyte: 3).cdns.first)
        let items = amounts(cost)
        func expect(_ name: String, _ amount: Double) {
            #expect(abs((items[name] ?? 0) - amount) < 1e-6 * amount, "\(name)")
        }
        expect("delivery", 1_000 + (Self.terabytes - 100) * 5)
        expect("requests", (1_000 * 86_400 * 365.25 / 12 - 1e6) / 1e4 * 0.01)
        // A tenth of the requests is fetched from the origin, which has the price of own egress.
        expect("egress of the origin", Self.terabytes / 10 * 3)
        #expect(abs((cost.perMonth.amounts["EUR"] ?? 0) - items.values.reduce(0, +)) < 1e-6)
    }

    /// A month of a wave from 0 to 16 Gbit/s: 95 % of it is under 15.9.
    @Test func thePercentileAndTheCommitment() throws {
        func cost(_ commit: Double, minimum: Double?) throws -> [String: Double] {
            let cdn = CDNPrices(
                id: "c", name: "C",
                delivery: .percentile(
                    CDNPrices.Percentile(perMegabit: Self.price(1), commitMegabits: commit)),
                minimum: minimum.map { Self.price($0) })
            return amounts(try #require(try Self.plan([cdn]).cdns.first))
        }
        let used = try #require(try cost(0, minimum: nil)["delivery"])
        #expect(abs(used - (8_000 + 8_000 * 0.987_688)) < 0.1)
        #expect(try cost(20_000, minimum: nil)["delivery"] == 20_000)
        let least = try cost(0, minimum: 30_000)
        #expect(abs((least["commitment that is not used"] ?? 0) - (30_000 - used)) < 1e-6)
        #expect(try cost(0, minimum: 1_000)["commitment that is not used"] == nil)
    }

    /// With the hours of a log, the second highest one is billed, in proportion to the mean; never more
    /// than the peak.
    @Test(arguments: [(5_000.0, 24_000.0), (2_000, 16_000)])
    func thePercentileOfMeasuredHours(peak: Double, megabits: Double) throws {
        var scenario = Scenario()
        scenario.given = [
            .meanRequests: 1_000, .peakRequests: peak, .requestBytes: 1e6,
        ].mapValues { Estimate($0) }
        // A mean of 4/3, a second highest hour of 4: three times 8 Gbit/s.
        scenario.hourlyRequests = [6, 4] + Array(repeating: 1, count: 22)
        var options = Plan.Options()
        (options.draws, options.months, options.prices) = (0, 0, [Self.book(1)])
        options.cdns = [
            CDNPrices(
                id: "c", name: "C",
                delivery: .percentile(
                    CDNPrices.Percentile(perMegabit: Self.price(1), commitMegabits: 0)))
        ]
        let cost = try #require(try Plan(scenario, options).cdns.first)
        let delivery = try #require(amounts(cost)["delivery"])
        #expect(abs(delivery - megabits) < 1e-6 * megabits, "\(delivery)")
    }

    /// 16 Gbit/s by two servers of 25 Gbit/s rather than by 24 of 1 Gbit/s.
    @Test func theCheapestKindOfEdgeServerIsBought() throws {
        let plan = try Self.plan([])
        let item = try #require(plan.costs.first?.items.first { $0.name == "edge servers" })
        #expect(item.count == "2 × e" && item.cost.amounts == ["EUR": 1_000])
    }

    /// At most four of the small machines a site, even where more of them would be cheaper.
    @Test(arguments: [(340.0, "5 × i"), (360.0, "2 × e")])
    func manySmallEdgeServersAreNotBought(requests: Double, expected: String) throws {
        var book = Self.book(1)
        book.edgeServers[0].perMonth.amount = 10_000
        var scenario = Scenario()
        scenario.given = [
            .meanRequests: 100, .peakRequests: requests, .requestBytes: 1e6,
        ].mapValues { Estimate($0) }
        var options = Plan.Options()
        (options.draws, options.months, options.prices) = (0, 0, [book])
        let cost = try #require(try Plan(scenario, options).costs.first)
        #expect(cost.items.first { $0.name == "edge servers" }?.count == expected)
    }

    /// Kinds in several currencies are compared by their rate; without one, only those in one currency.
    @Test func kindsOfEdgeServersAreComparedInOneCurrency() throws {
        func chosen(_ rates: [String: Double], _ amount: Double) throws -> String {
            var book = Self.book(1)
            book.edgeServers[0].perMonth.currency = "USD"
            book.edgeServers[0].perMonth.amount = amount
            var scenario = Scenario()
            scenario.given = [.meanRequests: 100, .peakRequests: 200, .requestBytes: 1e6].mapValues
            {
                Estimate($0)
            }
            if !rates.isEmpty {
                (scenario.money.currency, scenario.money.exchange) = ("EUR", rates)
            }
            var options = Plan.Options()
            (options.draws, options.months, options.prices) = (0, 0, [book])
            let cost = try #require(try Plan(scenario, options).costs.first)
            return try #require(cost.items.first { $0.name == "edge servers" }).count
        }
        // Four machines at 100, or two at 150 USD.
        #expect(try chosen([:], 150) == "4 × i")
        #expect(try chosen(["USD": 0.9], 150) == "2 × e")
        #expect(try chosen(["USD": 2], 150) == "4 × i")
    }

    @Test func theCheapestIsRecommendedWithItsReason() throws {
        let cdn = CDNPrices(id: "c", name: "C", delivery: .volume(Self.volume))
        let own = try #require(try Self.plan([cdn], perTerabyte: 1, months: 12).recommendation)
        #expect(own.name == "Own" && !own.isCDN && own.months == 12)
        #expect(own.next?.name == "C" && own.next?.item == "traffic to viewers")
        #expect(own.next.map { $0.difference > 0 } == true)
        let other = try #require(try Self.plan([cdn], perTerabyte: 20, months: 12).recommendation)
        #expect(other.name == "C" && other.isCDN)
        #expect(other.next?.cheaperFromMonth == 0)
        // By assumed prices it is cheaper, but assumed prices decide nothing.
        var assumed = cdn
        assumed.delivery = .percentile(
            CDNPrices.Percentile(
                perMegabit: Self.price(0.1, isAssumption: true), commitMegabits: 0))
        let careful = try #require(try Self.plan([assumed], months: 12).recommendation)
        #expect(careful.name == "Own" && careful.cheaperIfAssumed?.name == "C")
    }

    /// The sum of the months, each with its demand.
    @Test func costsAddUpOverTheMonths() throws {
        let cdn = CDNPrices(id: "c", name: "C", delivery: .volume(Self.volume))
        let plan = try Self.plan([cdn], months: 6, growth: 0.1)
        for months in [plan.costs[0].cumulative, plan.cdns[0].cumulative] {
            let amounts = months.compactMap { $0.amounts["EUR"] }
            #expect(amounts.count == 6)
            let each = zip(amounts, [0] + amounts).map { $0 - $1 }
            #expect(zip(each, each.dropFirst()).allSatisfy { $0 < $1 })
        }
        let first = try #require(plan.costs[0].cumulative.first?.amounts["EUR"])
        let now = try #require(plan.costs[0].perMonth.amounts["EUR"])
        #expect(abs(first - now) < 1e-6 * now)
    }
}
