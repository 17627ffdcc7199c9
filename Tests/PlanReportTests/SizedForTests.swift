import Planner
import TestSupport
import Testing

@testable import PlanReport

/// The sentence of a plan's first lines about its confidence.
@Suite(.computing) struct SizedForTests {
    private static func sentence(_ given: [ScenarioInput: Double]) throws -> String {
        var scenario = Scenario()
        for (input, value) in given { scenario.given[input] = Estimate(value) }
        var options = Plan.Options()
        (options.draws, options.months, options.confidence) = (500, 0, 0.9)
        return PlanFacts(plan: try Plan(scenario, options)).sizedFor
    }

    @Test func aReachedConfidenceIsStated() throws {
        #expect(try Self.sentence([:]).hasPrefix("Sized so that each figure suffices in 90 % of"))
    }

    /// Most draws miss too much for any pool.
    @Test func aMissedConfidenceIsNotClaimed() throws {
        let text = try Self.sentence([.hitRatio: 0.6, .originRequests: 1])
        #expect(text.hasPrefix("Not sized for 90 % of 500 draws of the uncertain inputs: "))
        #expect(text.contains("no pool of workers suffices") && text.contains("in 0 %."))
    }
}
