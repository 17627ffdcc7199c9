import Foundation
import Planner
import Rendering
import TestSupport
import Testing

@testable import PlanReport

/// The page of a plan in a real browser.
@Suite(.enabled(if: Browser.isInstalled, Browser.needs), .timeLimit(.minutes(2)))
struct BrowserTests {
    private static func page(
        originRequests: Double? = nil, notes: [String] = []
    ) throws -> (plan: Plan, text: String) {
        var options = Plan.Options()
        options.prices = try PriceReader.embedded()
        options.cdns = try PriceReader.embeddedCDNs()
        (options.months, options.draws, options.confidence) = (36, 200, 0.9)
        var scenario = Scenario()
        scenario.given[.monthlyActiveUsers] = Estimate(low: 1e6, likely: 5e6, high: 2e7)
        scenario.given[.originRequests] = originRequests.map { Estimate($0) }
        ExchangeRates.complete(&scenario.money)
        var plan = try Plan(scenario, options)
        plan.calibrationNotes = notes
        return (plan, PlanHTML(plan).text)
    }

    /// In a usual window nothing is clipped; in a narrow one tables scroll.
    @Test(arguments: [("1100,4000", false), ("1200,4000", false), ("500,900", true)])
    func allOfItCanBeRead(windowSize: String, scrolls: Bool) async throws {
        for originRequests in [nil, 1.0] {
            let page = try Self.page(originRequests: originRequests).text
            let faults = try await Browser.faults(
                of: page, windowSize: windowSize, scrolls: scrolls)
            #expect(faults == "[]")
        }
    }

    /// Without a pool, the reasons and the doubts come before a cost.
    @Test func thePageOfNoPoolBeginsWithIt() throws {
        let (plan, text) = try Self.page(originRequests: 1, notes: ["Too short to rely on."])
        #expect(plan.sizing.workers.total == nil && plan.recommendation != nil)
        let order = [
            "<title>Capacity plan: 5,000,000 monthly users</title>", "<h1>Capacity plan</h1>",
            "Too short to rely on.", "<b>no pool suffices</b><span>workers</span>",
            ", if the origin had no limits</span>", "<h2>Problems</h2>", "Recommended: ",
        ]
        let indices = order.map { text.range(of: $0)?.lowerBound }
        #expect(indices.allSatisfy { $0 != nil })
        let found = indices.compactMap(\.self)
        #expect(found == found.sorted())
        // A plan with a pool begins with its cost.
        let enough = try Self.page().text
        let tile = try #require(enough.range(of: "class=\"tile\"")?.upperBound)
        #expect(enough[tile...].prefix(60).contains("EUR"))
    }

    /// Every provider and CDN is in the table of costs and in both of their charts, in one currency.
    @Test func everyOptionIsInTheCharts() throws {
        let (plan, text) = try Self.page()
        let names = plan.costs.map(\.name) + plan.cdns.map(\.name)
        #expect(names.count == 7)
        let figures = text.components(separatedBy: "<figure").dropFirst()
        let charts = figures.filter {
            $0.contains("Cost of this month") || $0.contains("Total cost in")
        }
        #expect(charts.count == 2)
        for chart in charts {
            #expect(chart.contains("in EUR"))
            for name in names {
                #expect(chart.contains(HTMLText.escaped(name)), "\(name)")
            }
        }
    }
}
