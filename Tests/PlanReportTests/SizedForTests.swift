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
        #expect(text.hasPrefix("Not sized for 90 % of 500 random draws of the uncertain inputs: "))
        #expect(text.contains("no pool of workers suffices") && text.contains("in 0 %."))
    }

    /// Waits that formulas do not know: every output has the same simulated ones.
    @Test func everyOutputSaysThatWaitsAreSimulated() throws {
        var scenario = Scenario()
        let given: [ScenarioInput: Double] = [
            .serviceCV2: 20, .hitRatio: 0.5, .connections: 1, .headroom: 0, .spareWorkers: 0,
            .waitSeconds: 5, .percentile: 0.5,
        ]
        scenario.given = given.mapValues { Estimate($0) }
        var options = Plan.Options()
        (options.draws, options.months, options.waitJobs) = (20, 0, 50_000)
        let plan = try Plan(scenario, options)
        let simulated = try #require(plan.simulatedWaits)
        func words(_ text: String) -> String {
            text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        #expect(simulated.summary.contains("50,000 fetches, lognormal times, mean wait "))
        let table = PlanTable(plan, usesUnicode: false).text
        for text in [PlanSummary(plan).text, table, PlanMarkdown(plan).text, PlanHTML(plan).text] {
            #expect(words(text).contains("Waits are simulated, because a service CV² of 20"))
        }
        #expect(words(table).contains("by simulation (Kimura: "))
        let json = try PlanJSON.text(plan)
        for key in ["simulatedWaits", "marginSeconds", "meanWaitMargin", "workersByFormula"] {
            #expect(json.contains("\"\(key)\""))
        }
    }
}
