import Planner

@testable import PlanReport

/// The page of a plan for tests.
enum PlanPage {
    /// Returns the plan of a large service, and its page.
    static func page(
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
}
