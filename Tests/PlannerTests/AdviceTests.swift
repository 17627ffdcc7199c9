import Testing

@testable import Planner

/// What a plan without a pool advises is followed to the letter: the plan then has a pool.
@Suite struct AdviceTests {
    private static func plan(_ scenario: Scenario, confidence: Double? = nil) throws -> Plan {
        var options = Plan.Options()
        (options.months, options.confidence, options.waitJobs) = (0, confidence, 20_000)
        options.draws = confidence == nil ? 0 : 60
        return try Plan(scenario, options)
    }

    private static func number(after words: String, in text: String) -> Double? {
        guard let end = text.firstRange(of: words)?.upperBound else { return nil }
        let digits = text[end...].prefix { $0.isNumber || $0 == "." || $0 == "," }
        return Double(digits.filter { $0 != "," }.trimmed)
    }

    /// Returns the values that problems advise.
    private static func advised(_ plan: Plan) -> [ScenarioInput: Double] {
        var values: [ScenarioInput: Double] = [:]
        for problem in plan.problems {
            let all: [(ScenarioInput, String)] = [
                (.deadlineHours, "fill.deadlineHours of "), (.headroom, "Lower pool.headroom to "),
                (.originRequests, "An origin.requestsPerSecond of "),
                (.storedShare, "An edge.storedShare of "),
            ]
            for (input, words) in all {
                if let value = number(after: words, in: problem) { values[input] = value }
            }
        }
        return values
    }

    /// A fill for which the attempts are uncertain, with an origin that is enough for 1.2 of them.
    private static func fill() -> Scenario {
        var scenario = Scenario()
        scenario.given = [
            .tracks: 1, .segmentSeconds: 6, .catalogGigabytes: 1_600, .changePerDay: 1,
            .deadlineHours: 2, .bootSeconds: 90, .hitRatio: 1, .contention: 0, .attempts: 1.2,
        ].mapValues { Estimate($0) }
        scenario.given[.originRequests] = Estimate(
            Sizing(ScenarioValues(scenario)).demand.fillSegmentsPerSecond)
        scenario.given[.attempts] = Estimate(low: 1, likely: 1.02, high: 1.5)
        return scenario
    }

    /// The deadline suffices, and the sentence has what most draws lack, not a difference of nothing.
    @Test func aDeadlineSufficesForTheConfidence() throws {
        var scenario = Self.fill()
        let plan = try Self.plan(scenario, confidence: 0.9)
        #expect(plan.likely.workers.total != nil && plan.sizing.workers.total == nil)
        let problem = try #require(plan.problems.first)
        let left = try #require(Self.number(after: " leaves it ", in: problem))
        let needed = try #require(Self.number(after: "it needs ", in: problem))
        #expect(needed / left > 1.05 && needed / left < 1.25, "\(problem)")
        let hours = try #require(Self.advised(plan)[.deadlineHours])
        #expect(hours > 2.1 && hours < 3)
        scenario.given[.deadlineHours] = Estimate(hours)
        #expect(try Self.plan(scenario, confidence: 0.9).sizing.workers.total != nil)
    }

    /// A whole day after workers have started may need a deadline of more than 24 h.
    @Test func theTimeToBootIsAdded() throws {
        var scenario = Self.fill()
        scenario.given[.attempts] = Estimate(1)
        scenario.given[.bootSeconds] = Estimate(1_800)
        let perDay = Sizing(ScenarioValues(scenario)).demand.fillSegmentsPerDay
        scenario.given[.originRequests] = Estimate(perDay / 86_000)
        let hours = try #require(Self.advised(try Self.plan(scenario))[.deadlineHours])
        #expect(hours > 24 && hours < 24.6)
        scenario.given[.deadlineHours] = Estimate(hours)
        #expect(try Self.plan(scenario).sizing.workers.total != nil)
    }

    /// Both goals are missed: what is advised for them suffices together.
    @Test(
        arguments: [
            [
                .monthlyActiveUsers: 1e6, .peakShare: 0.33, .hitRatio: 0.95, .coherency: 1e-4,
            ],
            [
                .hitRatio: 1, .titles: 30_000, .coherency: 0.01, .contention: 0,
                .deadlineHours: 3.2,
            ],
            [
                .originRequests: 3, .peakShare: 0.33, .hitRatio: 0.95, .deadlineHours: 6,
            ],
            [
                .hitRatio: 1, .titles: 30_000, .coherency: 0.01, .contention: 0, .deadlineHours: 1,
            ],
        ] as [[ScenarioInput: Double]])
    func allAdviceTogetherSuffices(given: [ScenarioInput: Double]) throws {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        let plan = try Self.plan(scenario)
        let advised = Self.advised(plan)
        #expect(plan.sizing.workers.total == nil && !advised.isEmpty)
        for (input, value) in advised { scenario.given[input] = Estimate(value) }
        let goals = plan.sizing.workers.stops.map(\.goal)
        let after = try Self.plan(scenario)
        if advised.count == goals.count {
            #expect(after.sizing.workers.total != nil, "\(plan.problems) \(after.problems)")
        } else {
            #expect(after.sizing.workers.stops.count < goals.count, "\(plan.problems)")
        }
    }

    @Test func aShareOfTheTitlesFits() throws {
        var scenario = Scenario()
        scenario.given[.catalogGigabytes] = Estimate(low: 3_000, likely: 4_000, high: 6_000)
        scenario.given[.storageGigabytes] = Estimate(3_000)
        let plan = try Self.plan(scenario, confidence: 0.9)
        scenario.given[.storedShare] = Estimate(
            try #require(Self.advised(plan)[.storedShare], "\(plan.problems)"))
        let after = try Self.plan(scenario, confidence: 0.9)
        #expect(!after.problems.contains { $0.hasPrefix("edge.storageGigabytes") })
    }

    @Test func numbersOfASentenceDiffer() {
        func apart(_ one: Double, _ other: Double) -> [String] {
            let texts = Plan.apart(one, other)
            return [texts.0, texts.1]
        }
        #expect(apart(47.703_1, 47.703_9) == ["47.703", "47.704"])
        #expect(apart(6_050, 7_000.4) == ["6,050", "7,000"])
        #expect(apart(29.96, 30) == ["29.96", "30"] && apart(2, 3) == ["2", "3"])
    }

    /// Runs of a moment are named before what follows from them.
    @Test func doubtfulRunsComeFirst() throws {
        func runs(_ seconds: Double) throws -> Calibration {
            var run = RunCheck.Run(
                segments: 20, bytes: 20e6, seconds: seconds, retries: 0, workers: 1)
            run.connections = 8
            return try Calibration(runs: [run])
        }
        let doubt = try #require(try runs(0.121).doubt)
        #expect(doubt == "one run of 121 ms")
        #expect(try runs(20).doubt == nil)
        var plan = try Self.plan(Self.fill(), confidence: 0.9)
        let count = plan.problems.count
        plan.rest(on: [doubt])
        #expect(plan.problems.count == count + 1)
        #expect(plan.problems[0].hasPrefix("That no pool suffices rests on one run of 121 ms: "))
        var enough = try Self.plan(Scenario())
        enough.rest(on: [doubt])
        #expect(enough.problems.isEmpty)
    }
}

extension String {
    /// Without the full stop of a sentence.
    fileprivate var trimmed: String { hasSuffix(".") ? String(dropLast()) : self }
}
