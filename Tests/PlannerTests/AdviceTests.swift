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

    private static func scenario(_ given: [ScenarioInput: Double]) -> Scenario {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        return scenario
    }

    /// Returns the goals that a plan misses with the values of a remedy.
    private static func missed(
        _ scenario: Scenario, with remedy: Remedy, confidence: Double? = nil
    ) throws -> Set<Sizing.Stop.Goal> {
        var scenario = scenario
        for change in remedy.changes {
            let input = try #require(ScenarioInput.named(change.input))
            scenario.given[input] = Estimate(change.value)
        }
        return Set(try plan(scenario, confidence: confidence).sizing.workers.stops.map(\.goal))
    }

    /// Returns the value that a remedy of one change has for an input.
    private static func value(_ input: ScenarioInput, _ plan: Plan) -> Double? {
        plan.remedies.first { $0.changes.map(\.input) == [input.row.path] }?.changes[0].value
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
        let hours = try #require(Self.value(.deadlineHours, plan))
        #expect(hours > 2.1 && hours < 3)
        #expect(plan.problems.contains { $0.contains("fill.deadlineHours \(hours) (now 2)") })
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
        let hours = try #require(Self.value(.deadlineHours, try Self.plan(scenario)))
        #expect(hours > 24 && hours < 24.6)
        scenario.given[.deadlineHours] = Estimate(hours)
        #expect(try Self.plan(scenario).sizing.workers.total != nil)
    }

    /// Scenarios without a pool, for each limit and for both goals.
    static let withoutPool: [[ScenarioInput: Double]] = [
        [.monthlyActiveUsers: 1e6, .peakShare: 0.33, .hitRatio: 0.95, .coherency: 1e-4],
        [.hitRatio: 1, .titles: 30_000, .coherency: 0.01, .contention: 0, .deadlineHours: 3.2],
        [.originRequests: 3, .peakShare: 0.33, .hitRatio: 0.95, .deadlineHours: 6],
        [.hitRatio: 1, .titles: 30_000, .coherency: 0.01, .contention: 0, .deadlineHours: 1],
        [.originRequests: 20, .storedShare: 0.5, .monthlyActiveUsers: 2e5],
        [.originRequests: 3, .originMegabits: 30, .monthlyActiveUsers: 2e5],
        [.originConnections: 2, .originRequests: 1, .monthlyActiveUsers: 2e5],
        [
            .originMegabits: 100, .hitRatio: 0.95, .monthlyActiveUsers: 2e5,
            .storageGigabytes: 3_000,
        ],
    ]

    /// Each remedy reaches the goals that it is for, and misses none that the plan reaches.
    @Test(arguments: withoutPool)
    func eachRemedyIsEnough(given: [ScenarioInput: Double]) throws {
        let scenario = Self.scenario(given)
        for confidence in [nil, 0.9] {
            let plan = try Self.plan(scenario, confidence: confidence)
            let goals = Set(plan.sizing.workers.stops.map(\.goal))
            #expect(!goals.isEmpty && !plan.remedies.isEmpty, "\(plan.problems)")
            for remedy in plan.remedies {
                let after = try Self.missed(scenario, with: remedy, confidence: confidence)
                #expect(after == goals.subtracting(remedy.goals), "\(remedy) \(plan.problems)")
            }
        }
    }

    /// A value a little nearer to the present one does not suffice.
    @Test func aRemedyIsTheNearest() throws {
        let scenario = Self.scenario(Self.withoutPool[4])
        let plan = try Self.plan(scenario)
        for remedy in plan.remedies where remedy.changes.count == 1 {
            let change = remedy.changes[0]
            let input = try #require(ScenarioInput.named(change.input))
            let present = try #require(scenario.estimate(input)?.likely)
            let nearer = Remedy(
                goals: remedy.goals,
                changes: [
                    Remedy.Change(
                        input: change.input, value: present + 0.98 * (change.value - present))
                ])
            #expect(!(try Self.missed(scenario, with: nearer)).isEmpty, "\(remedy)")
        }
    }

    /// Titles that are not stored are missed: a higher share of them helps, fewer changes do not.
    @Test func theCauseOfMissesDecidesWhatIsAdvised() throws {
        let plan = try Self.plan(Self.scenario(Self.withoutPool[4]))
        #expect(Set(plan.sizing.workers.stops.map(\.goal)) == [.deadline, .onDemand])
        let share = try #require(Self.value(.storedShare, plan))
        #expect(share > 0.5 && share <= 1)
        let limit = try #require(Self.value(.originRequests, plan))
        #expect(limit > 20)
        #expect(!plan.remedies.contains { $0.changes[0].input == "catalog.changePerDay" })
        let text = plan.problems.joined(separator: "\n")
        #expect(text.contains("are for titles that the edge does not store (edge.storedShare)."))
        #expect(text.contains("edge.storedShare \(share) (now 0.5)"))
        #expect(text.contains("origin.requestsPerSecond \(Scenario.plain(limit)) (now 20)"))
        #expect(!text.contains("changePerDay"))
        // What is new since the fill is missed, if all is stored.
        let fresh = try Self.plan(Self.scenario([.originRequests: 1, .monthlyActiveUsers: 2e5]))
        #expect(fresh.problems.contains { $0.contains("changed since the last fill") })
    }

    /// Neither limit of an origin is enough alone: both are advised together.
    @Test func limitsOfAnOriginAreRaisedTogether() throws {
        let plan = try Self.plan(Self.scenario(Self.withoutPool[5]))
        let remedy = try #require(
            plan.remedies.first {
                $0.changes.map(\.input) == ["origin.requestsPerSecond", "origin.megabitsPerSecond"]
            }, "\(plan.problems)")
        #expect(remedy.changes[0].value > 3 && remedy.changes[1].value > 30)
        #expect(plan.problems.contains { $0.contains(" together with origin.megabitsPerSecond ") })
    }

    /// No single value reaches both goals, but one for each does.
    @Test func twoValuesReachBothGoals() throws {
        let scenario = Self.scenario([
            .originRequests: 3, .monthlyActiveUsers: 2e5, .storedShare: 1, .changePerDay: 0.02,
            .bootSeconds: 7_199, .deadlineHours: 2,
        ])
        let plan = try Self.plan(scenario)
        #expect(plan.sizing.workers.stops.count == 2)
        for remedy in plan.remedies {
            #expect(try Self.missed(scenario, with: remedy).isEmpty, "\(plan.problems)")
        }
        #expect(!plan.remedies.isEmpty)
    }

    @Test func aShareOfTheTitlesFits() throws {
        var scenario = Scenario()
        scenario.given[.catalogGigabytes] = Estimate(low: 3_000, likely: 4_000, high: 6_000)
        scenario.given[.storageGigabytes] = Estimate(3_000)
        let plan = try Self.plan(scenario, confidence: 0.9)
        scenario.given[.storedShare] = Estimate(
            try #require(
                plan.problems.compactMap { Self.number(after: "An edge.storedShare of ", in: $0) }
                    .first, "\(plan.problems)"))
        let after = try Self.plan(scenario, confidence: 0.9)
        #expect(!after.problems.contains { $0.hasPrefix("edge.storageGigabytes") })
    }

    /// What fits leaves more misses than the origin allows: the plan reports that.
    @Test func aShareThatFitsMayLeaveNoPool() throws {
        var given: [ScenarioInput: Double] = [
            .catalogGigabytes: 4_000, .storageGigabytes: 2_000, .monthlyActiveUsers: 2e5,
        ]
        let enough = try Self.plan(Self.scenario(given))
        #expect(enough.problems.contains { $0.hasSuffix(" would fit.") }, "\(enough.problems)")
        given[.originRequests] = 100
        let plan = try Self.plan(Self.scenario(given))
        #expect(plan.sizing.workers.total != nil)
        #expect(plan.problems.contains { $0.contains("would fit, but no pool suffices") })
    }

    /// The number of cores that a problem has is enough.
    @Test func coresOfTheDatabaseAreNamed() throws {
        var scenario = Self.scenario([
            .databaseCores: 1, .monthlyActiveUsers: 1e8, .hitRatio: 0.9,
        ])
        let plan = try Self.plan(scenario)
        let problem = try #require(plan.problems.first { $0.hasPrefix("database.cores") })
        let cores = try #require(Self.number(after: "allows 70 %. ", in: problem), "\(problem)")
        scenario.given[.databaseCores] = Estimate(cores)
        #expect(!(try Self.plan(scenario)).problems.contains { $0.hasPrefix("database.cores") })
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
