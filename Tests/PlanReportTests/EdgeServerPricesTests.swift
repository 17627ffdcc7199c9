import Planner
import Testing

@testable import PlanReport

/// Kinds of edge servers in the embedded price files.
@Suite struct EdgeServerPricesTests {
    /// A plan for 138 Gbit/s at the peak, with all embedded prices.
    private static func costs() throws -> [ProviderCost] {
        var scenario = Scenario()
        scenario.given = [.meanRequests: 5_000, .peakRequests: 17_250, .requestBytes: 1e6]
            .mapValues { Estimate($0) }
        ExchangeRates.complete(&scenario.money)
        var options = Plan.Options()
        (options.draws, options.months) = (0, 0)
        options.prices = try PriceReader.embedded()
        return try Plan(scenario, options).costs
    }

    /// No provider sells a hundred machines of 1 Gbit/s for one edge.
    @Test func fewServersSufficeForALargeEdge() throws {
        let costs = try Self.costs()
        #expect(costs.count == 5)
        for cost in costs {
            let item = try #require(cost.items.first { $0.name == "edge servers" })
            let servers = item.count.prefix { $0.isNumber }
            #expect(try #require(Int(servers)) <= 24, "\(cost.provider): \(item.count)")
        }
    }

    /// Each provider has a kind of 10 Gbit/s or more.
    @Test func everyProviderHasEdgeServers() throws {
        for book in try PriceReader.embedded() {
            #expect(
                book.edgeServers.contains { ($0.nicMegabitsPerSecond ?? 0) >= 10_000 },
                "\(book.id)")
        }
    }
}
