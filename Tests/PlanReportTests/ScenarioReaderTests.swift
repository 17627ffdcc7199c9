import Model
import Planner
import Testing

@testable import PlanReport

/// Messages about scenarios and price files that cannot be read.
@Suite struct ScenarioReaderTests {
    @Test func readsWhatPeopleKnow() throws {
        let text = """
            {"name": "evening",
             "audience": {"monthlyActiveUsers": 100000, "growthPerMonth": {"low": 0, "likely": 0.05, "high": 0.2}},
             "actions": [{"name": "search", "perDay": 3, "requests": 4, "bytes": 90000}],
             "media": {"ladderKilobitsPerSecond": [3000, 800, 1500], "codec": "hevc"},
             "money": {"provider": "aws", "currency": "EUR", "exchange": {"USD": 0.9},
                       "exchangeDate": "2026-11-20"}}
            """
        let scenario = try ScenarioReader.read(Array(text.utf8))
        #expect(scenario.name == "evening")
        #expect(scenario.given[.monthlyActiveUsers] == Estimate(100_000))
        #expect(scenario.given[.audienceGrowth] == Estimate(low: 0, likely: 0.05, high: 0.2))
        #expect(scenario.ladder == [800, 1_500, 3_000])
        #expect(scenario.codec == .hevc)
        #expect(scenario.actions?.first?.name == "search")
        #expect(scenario.money.exchange == ["USD": 0.9])
        #expect(scenario.money.provider == "aws")
    }

    @Test func anEmptyScenarioIsOne() throws {
        #expect(try ScenarioReader.read(Array("{}".utf8)).given.isEmpty)
    }

    @Test(arguments: [
        (
            #"{"audience": {"monthlyActiveUsers": -5}}"#,
            "field audience.monthlyActiveUsers: given -5, allowed a number from 1 to 10000000000"
        ),
        (
            #"{"audience": {"monthlyActiveUser": 5}}"#,
            "Did you mean monthlyActiveUsers?"
        ),
        (#"{"audiense": {}}"#, "Did you mean audience?"),
        (#"{"audience": 5}"#, "field audience: given a number, allowed an object"),
        (#"{"audience": {"growthPerMonth": 100}}"#, "given 100"),
        (#"{"fill": {"deadlineHours": 0}}"#, "field fill.deadlineHours: given 0"),
        (#"{"fill": {"deadlineHours": NaN}}"#, "for the field \"deadlineHours\""),
        (#"{"fill": {"deadlineHours": "6"}}"#, "given a string, allowed a number"),
        (#"{"fill": {"deadlineHours": null}}"#, "given null, allowed a number"),
        (#"{"fill": {"deadlineHours": 1e999}}"#, "given 1e999"),
        (#"{"fill": {"deadlineHours": 6, "deadlineHours": 7}}"#, "is repeated"),
        (#"{"viewing": {"tracks": 1.5}}"#, "a whole number from 1 to 10"),
        (
            #"{"edge": {"hitRatio": {"low": 0.9, "likely": 0.5, "high": 1}}}"#,
            "low ≤ likely ≤ high"
        ),
        (#"{"edge": {"hitRatio": {"low": 0.9, "high": 1}}}"#, "without likely"),
        (#"{"edge": {"hitRatio": {"low": 0.9, "most": 1}}}"#, "edge.hitRatio.most"),
        (#"{"media": {"codec": "divx"}}"#, "raw, h264, hevc, vp9, av1"),
        (#"{"media": {"ladderKilobitsPerSecond": []}}"#, "is empty"),
        (#"{"actions": [{"name": "x"}]}"#, "without perDay"),
        (#"{"money": {"currency": "euro"}}"#, "three capital letters"),
        (#"{"money": {"exchange": {"usd": 1}}}"#, "money.exchange.usd"),
        (#"{"money": {"exchangeDate": "today"}}"#, "2026-10-28"),
        (#"[]"#, "allowed an object"),
        (#"{"#, "line 1, column 2"),
    ])
    func reportsTheFieldWhatWasGivenAndWhatIsAllowed(text: String, message: String) {
        let error = #expect(throws: Failure.self) { try ScenarioReader.read(Array(text.utf8)) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    /// Every input can be given, and is what was given.
    @Test(arguments: ScenarioInput.allCases)
    func everyInputCanBeGiven(input: ScenarioInput) throws {
        let parts = input.row.path.split(separator: ".")
        let value = input.row.allowed.lowerBound
        let text = "{\"\(parts[0])\": {\"\(parts[1])\": \(value)}}"
        #expect(
            try ScenarioReader.read(Array(text.utf8)).given == [input: Estimate(value)])
    }
}
