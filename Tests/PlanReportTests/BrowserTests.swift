import Foundation
import Planner
import Rendering
import TestSupport
import Testing

@testable import PlanReport

/// The page of a plan in a real browser.
@Suite(.enabled(if: Browser.isInstalled, Browser.needs), .timeLimit(.minutes(2)))
struct BrowserTests {
    private static func page() throws -> (plan: Plan, text: String) {
        var options = Plan.Options()
        options.prices = try PriceReader.embedded()
        options.cdns = try PriceReader.embeddedCDNs()
        (options.months, options.draws, options.confidence) = (36, 200, 0.9)
        var scenario = Scenario()
        scenario.given[.monthlyActiveUsers] = Estimate(low: 1e6, likely: 5e6, high: 2e7)
        ExchangeRates.complete(&scenario.money)
        let plan = try Plan(scenario, options)
        return (plan, PlanHTML(plan).text)
    }

    /// In a usual window nothing is clipped; in a narrow one tables scroll.
    @Test(arguments: [("1100,4000", false), ("500,900", true)])
    func allOfItCanBeRead(windowSize: String, scrolls: Bool) async throws {
        let faults = try await Browser.faults(
            of: try Self.page().text, windowSize: windowSize, scrolls: scrolls)
        #expect(faults == "[]")
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
