import PlanReport
import Planner
import TestSupport
import Testing

/// Whatever is asked, what is printed are numbers.
@Suite(.computing) struct FiniteTests {
    /// Every input at either end of what is allowed, one at a time, and some of them together.
    private static let scenarios: [[ScenarioInput: Double]] =
        ScenarioInput.allCases.flatMap { input -> [[ScenarioInput: Double]] in
            let range = input.row.allowed
            return [[input: range.lowerBound], [input: range.upperBound]]
        } + [
            [.monthlyActiveUsers: 1, .minutesPerDay: 0, .changePerDay: 0, .hitRatio: 1],
            [.monthlyActiveUsers: 1e10, .minutesPerDay: 1_440, .hitRatio: 0, .titles: 1e9],
            [.serviceCV2: 0, .arrivalCV2: 0, .contention: 1, .coherency: 1],
        ]

    /// Where 0 is allowed, what is next to nothing.
    private static let nearZero: [[ScenarioInput: Double]] =
        ScenarioInput.allCases.filter { $0.row.allowed.contains(0) && !$0.row.isWhole }.flatMap {
            input in [.leastNonzeroMagnitude, 1e-300, 1e-16].map { [input: $0] }
        }

    @Test func noPlanPrintsWhatIsNoNumber() throws {
        try Self.expectNumbers(in: Self.scenarios)
    }

    @Test func whatIsNextToNothingIsPlannedFor() throws {
        try Self.expectNumbers(in: Self.nearZero)
    }

    /// A user types it, an access log or a fit leads to it: it counts as nothing, and not as a divisor.
    @Test func whatIsNegligibleCountsAsNothing() throws {
        for input in [ScenarioInput.coherency, .changePerDay, .minutesPerDay] {
            func answer(_ value: Double) throws -> String {
                var scenario = Scenario()
                scenario.given = [input: Estimate(value)]
                var options = Plan.Options()
                options.draws = 0
                var plan = try Plan(scenario, options)
                plan.inputs = []
                return try PlanJSON.text(plan)
            }
            #expect(try answer(1e-40) == answer(0), "\(input)")
        }
    }

    /// True if a word of the text is what a value that is not finite prints.
    private static func hasNoNumber(_ text: String) -> Bool {
        text.utf8.split { !(0x61...0x7A).contains($0 | 0x20) }.contains { word in
            ["nan", "inf", "infinity"].contains { name in
                word.count == name.utf8.count && zip(word, name.utf8).allSatisfy { $0 | 0x20 == $1 }
            }
        }
    }

    private static func expectNumbers(in scenarios: [[ScenarioInput: Double]]) throws {
        var planned = 0
        for given in scenarios {
            var scenario = Scenario()
            scenario.given = given.mapValues { Estimate($0) }
            var options = Plan.Options()
            (options.months, options.draws, options.simulatedJobs) = (2, 3, 3_000)
            options.waitJobs = 3_000
            // What contradicts itself is rejected.
            guard let plan = try? Plan(scenario, options) else { continue }
            planned += 1
            let texts = [
                PlanTable(plan, usesUnicode: false).text, PlanMarkdown(plan).text,
                PlanHTML(plan).text, try PlanJSON.text(plan),
            ]
            for text in texts {
                #expect(!Self.hasNoNumber(text), "\(given)")
            }
        }
        #expect(planned > scenarios.count * 3 / 4)
    }
}
