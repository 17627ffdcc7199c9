import LoadModel
import Statistics
import Testing

@testable import LoadReport

/// The margin of a search's result, and the warning of one without a result.
@Suite struct SearchMarginTests {
    /// A step of whole seconds in which all requests are answered, less those that wait.
    private static func step(
        _ level: Double, seconds: Int, limit: LoadLadder.Limit? = nil
    ) -> LoadLadder.Step {
        var recorder = LoadRecorder()
        for second in 0..<seconds {
            var interval = LoadInterval(second: second)
            interval.counts.pacing.planned = Int64(level)
            interval.counts.requests.sent = Int64(level)
            interval.counts.requests.succeeded = Int64(level)
            interval.record(1_000, .total)
            _ = recorder.add(interval, of: 1)
        }
        recorder.update {
            $0.measuredSeconds = Double(seconds)
            $0.scenario.model = .open(.constant)
        }
        var step = LoadLadder.Step(level: level, result: recorder.result)
        step.limit = limit
        return step
    }

    private static func search(
        _ highest: Double, _ broken: Double?, seconds: Int,
        limit: LoadLadder.Limit = .fellBehind
    ) -> LoadLadder {
        var ladder = LoadLadder(kind: .search, unit: .arrivalsPerSecond)
        ladder.steps = [step(highest, seconds: seconds)]
        if let broken { ladder.steps.append(step(broken, seconds: seconds, limit: limit)) }
        (ladder.highest, ladder.lowestBroken) = (highest, broken)
        return ladder
    }

    private static func outputs(_ ladder: LoadLadder) throws -> (
        text: String, page: String, json: String
    ) {
        let result = try #require(ladder.mainStep?.result)
        let text = LoadSummary(result, ladder: ladder, usesUnicode: true).text
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return (
            text, LoadHTML(result, ladder: ladder).text,
            try LoadJSON.text(result, ladder: ladder)
        )
    }

    /// As far as a backlog does not show in a step: `--step` in docs/load-testing.md.
    @Test(
        arguments: [
            (2, 1_000.0, 0.08), (3, 1_000, 0.08), (2, 100, 0.1), (4, 1_000, 0.02), (4, 100, 0.05),
            (8, 1_000, 0.02), (8, 100, 0.025),
        ])
    func shorterStepsHaveALargerMargin(seconds: Int, rate: Double, below: Double) throws {
        let ladder = Self.search(rate, rate * 1.05, seconds: seconds)
        let margin = try #require(SearchMargin(ladder))
        #expect(abs(margin.below - below) < 1e-9)
        #expect(abs((margin.above ?? 0) - 0.05) < 1e-9)
    }

    @Test func theMarginIsBesideTheResult() throws {
        let (text, page, json) = try Self.outputs(Self.search(1_000, 1_050, seconds: 2))
        let words = "Margin: −8 %, +5 %: the limit is between 920/s and 1,050/s."
        #expect(text.contains(words), "\(text)")
        #expect(page.contains(words))
        #expect(json.contains("\"margin\" : {"))
        #expect(json.contains("\"above\" : 0.05") && json.contains("\"below\" : 0.08"))
    }

    /// Below ten requests a second, a step of two seconds shows no backlog at all.
    @Test func tooFewRequestsAreNamed() throws {
        let text = try Self.outputs(Self.search(8, 9, seconds: 2)).text
        #expect(text.contains("too short to show a backlog: use a longer --step"), "\(text)")
    }

    /// Users have another limit, and a load that failed for the generator is no upper bound.
    @Test func noMarginIsInvented() throws {
        var users = Self.search(1_000, 1_050, seconds: 2)
        users.unit = .users
        #expect(SearchMargin(users) == nil)
        let own = Self.search(1_000, 1_050, seconds: 2, limit: .generator)
        #expect(try #require(SearchMargin(own)).above == nil)
        #expect(try Self.outputs(own).text.contains("Margin: −8 %, the backlog that a step"))
        var sample = SampleResult.search()
        sample.highest = nil
        #expect(SearchMargin(sample) == nil)
    }

    /// The machine was busy at a load between one that passed and one that failed.
    @Test func aSearchThatStoppedIsAWarning() throws {
        var ladder = Self.search(900, 1_050, seconds: 8)
        #expect(!(try Self.outputs(ladder)).json.contains("did not find the limit"))
        ladder.steps.append(Self.step(972, seconds: 8, limit: .machineBusy))
        ladder.stop = (.machineBusy, 972)
        #expect(ladder.limit == .fellBehind && !ladder.isConclusive)
        let (text, _, json) = try Self.outputs(ladder)
        #expect(json.contains("\"limit\" : \"fellBehind\""))
        #expect(
            json.contains("\"The search did not find the limit. All thresholds pass with 900/s;"))
        #expect(json.contains("the limit is between 882/s and 1,050/s."))
        #expect(text.contains("the limit is between 882/s and 1,050/s."), "\(text)")
    }
}
