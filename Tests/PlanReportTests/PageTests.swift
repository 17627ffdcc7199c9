import Foundation
import Planner
import Rendering
import Testing

@testable import PlanReport

/// The text of a plan's page.
@Suite struct PageTests {
    /// Without a pool, the reasons and the doubts come before a cost.
    @Test func thePageOfNoPoolBeginsWithIt() throws {
        let (plan, text) = try PlanPage.page(originRequests: 1, notes: ["Too short to rely on."])
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
        let enough = try PlanPage.page().text
        let tile = try #require(enough.range(of: "class=\"tile\"")?.upperBound)
        #expect(enough[tile...].prefix(60).contains("EUR"))
    }

    /// Every provider and CDN is in the table of costs and in both of their charts, in one currency.
    @Test func everyOptionIsInTheCharts() throws {
        let (plan, text) = try PlanPage.page()
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
