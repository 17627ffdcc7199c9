import Testing

@testable import Planner

/// Inputs, what stands in for them, and values that cannot all hold.
@Suite struct ScenarioTests {
    @Test func everyInputHasItsRow() {
        #expect(ScenarioInput.table.map(\.input) == ScenarioInput.allCases)
        #expect(Set(ScenarioInput.table.map(\.path)).count == ScenarioInput.allCases.count)
        for row in ScenarioInput.table {
            #expect(!row.help.isEmpty && !row.source.isEmpty, "\(row.path)")
            guard case .value(let standard) = row.standard else { continue }
            do {
                try Scenario.check(standard, row.input)
            } catch {
                Issue.record(error)
            }
        }
    }

    /// 1,000 active users if none are given, and everything else from the table.
    @Test func nothingIsNeeded() throws {
        let plan = try Plan(Scenario())
        #expect(plan.sizing.demand.monthlyActiveUsers == 1_000)
        #expect(plan.sizing.demand.dailyActiveUsers == 500)
        // 99 of a day's 1,440 minutes, and 2.5 times as many at the peak.
        #expect(plan.sizing.demand.peakConcurrentUsers == 500 * 0.068_75 * 2.5)
        #expect(!plan.inputs.contains { !$0.isAssumed })
        #expect(plan.problems.isEmpty)
    }

    @Test func whatIsGivenIsNotAssumed() throws {
        var scenario = Scenario()
        scenario.given[.hitRatio] = Estimate(0.8)
        scenario.origins[.hitRatio] = "--from-access-log a.log"
        let plan = try Plan(scenario)
        let given = plan.inputs.filter { !$0.isAssumed }
        #expect(given.map(\.path) == ["edge.hitRatio"])
        #expect(given.map(\.source) == ["--from-access-log a.log"])
    }

    private static func scenario(_ given: [ScenarioInput: Double]) -> Scenario {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        return scenario
    }

    /// Who is there is reckoned back from the most at once.
    @Test func usersComeFromWhatIsKnownOfThem() throws {
        func demand(_ given: [ScenarioInput: Double]) -> Demand {
            Demand(ScenarioValues(Self.scenario(given)))
        }
        let peak = demand([.peakConcurrentUsers: 3_300, .peakShare: 0.33, .dailyActiveShare: 0.5])
        #expect(abs(peak.dailyActiveUsers - 10_000) < 1e-6)
        #expect(abs(peak.monthlyActiveUsers - 20_000) < 1e-6)
        let daily = demand([.dailyActiveUsers: 400, .dailyActiveShare: 0.4, .peakShare: 0.25])
        #expect(daily.monthlyActiveUsers == 1_000)
        #expect(daily.peakConcurrentUsers == 100)
        let all = demand([
            .monthlyActiveUsers: 1_000, .dailyActiveUsers: 900, .peakConcurrentUsers: 800,
        ])
        #expect(all.peakConcurrentUsers == 800)
    }

    /// 1024 × 768 pixels of 24 bits, 10 frames a second: 188,743,680 bit/s.
    @Test func picturesHaveBitRates() {
        var scenario = Self.scenario([.width: 1_024, .height: 768, .framesPerSecond: 10])
        scenario.codec = .raw
        #expect(scenario.ladderInUse == [188_743.68])
        #expect(ScenarioValues(scenario)[.kilobitsPerSecond] == 188_743.68)
        scenario.codec = .h264
        #expect(abs(scenario.ladderInUse[0] - 188_743.68 / 249) < 1e-9)
        scenario.codec = nil
        scenario.given[.compression] = Estimate(100)
        #expect(abs(scenario.ladderInUse[0] - 1_887.436_8) < 1e-9)
    }

    @Test func ratesLeadToACurrency() throws {
        var scenario = Scenario()
        scenario.money.exchange = ["USD": 0.9]
        let error = #expect(throws: PlannerError.self) { try Plan(scenario) }
        #expect(error?.field == "money.exchange")
        scenario.money.currency = "USD"
        #expect(throws: PlannerError.self) { try Plan(scenario) }
        scenario.money.currency = "EUR"
        #expect(try Plan(scenario).notes.contains { $0.contains("1 USD = 0.9 EUR") })
    }

    /// 1080p at 30 frames a second is Apple's 6,000 kbit/s.
    @Test func theStandardLadderIsApples() {
        var scenario = Self.scenario([.width: 1_920, .height: 1_080, .framesPerSecond: 30])
        scenario.codec = .h264
        #expect(abs(scenario.ladderInUse[0] - 6_000) < 10)
        #expect(Scenario().ladderInUse.reduce(0, +) == 25_640)
        #expect(Scenario().estimate(.kilobitsPerSecond)?.likely == 4_660)
    }

    @Test(
        arguments: [
            ([.monthlyActiveUsers: -1], "audience.monthlyActiveUsers", "1 to 10000000000"),
            ([.monthlyActiveUsers: .nan], "audience.monthlyActiveUsers", "1 to"),
            ([.monthlyActiveUsers: .infinity], "audience.monthlyActiveUsers", "1 to"),
            ([.audienceGrowth: 100], "audience.growthPerMonth", "-0.5 to 1"),
            ([.waitSeconds: 0], "onDemand.waitSeconds", "0.001 to 86400 s"),
            ([.segmentSeconds: 0], "viewing.segmentSeconds", "0.1 to 3600 s"),
            (
                [.monthlyActiveUsers: 100, .dailyActiveUsers: 200], "audience.dailyActiveUsers",
                "at most 100, which is audience.monthlyActiveUsers"
            ),
            (
                [.monthlyActiveUsers: 100, .peakConcurrentUsers: 200],
                "audience.peakConcurrentUsers",
                "at most 100, which is audience.monthlyActiveUsers"
            ),
            (
                [.dailyActiveUsers: 100, .peakConcurrentUsers: 50, .peakShare: 0.25],
                "audience.peakConcurrentUsers",
                "omit it or audience.peakShare: that gives 25"
            ),
            (
                [.dailyActiveUsers: 1_440, .peakConcurrentUsers: 30, .minutesPerDay: 60],
                "audience.peakConcurrentUsers", "at least 60"
            ),
            // What stands in counts as well: 99 minutes of half of all users.
            (
                [.monthlyActiveUsers: 1_440_000, .peakConcurrentUsers: 49_000],
                "audience.peakConcurrentUsers",
                "at least 49500, the average number of concurrent viewers among 720000"
            ),
            ([.peakShare: 0.05], "audience.peakShare", "at least 0.0688"),
            (
                [
                    .monthlyActiveUsers: 1_000, .dailyActiveShare: 0.1, .peakConcurrentUsers: 200,
                ], "audience.peakConcurrentUsers", "at most 100, the daily users"
            ),
            (
                [
                    .monthlyActiveUsers: 300, .dailyActiveUsers: 290, .peakConcurrentUsers: 295,
                ], "audience.peakConcurrentUsers", "at most 290, which is audience.dailyActiveUsers"
            ),
            // The peak is given twice: 0.33 over an average of 0.06875 of a day's users.
            (
                [.peakShare: 0.33, .peakToMean: 2], "audience.peakToMean",
                "omit it or audience.peakShare: that gives 4.8"
            ),
            (
                [.dailyActiveUsers: 1_440, .peakConcurrentUsers: 180, .peakToMean: 2.5],
                "audience.peakToMean",
                "omit it or audience.peakConcurrentUsers: that gives 1.82"
            ),
            ([.peakToMean: 20], "audience.peakToMean", "use at most 14.54"),
            (
                [.meanRequests: 10, .peakRequests: 9], "edge.peakRequestsPerSecond",
                "at least 10, which is edge.meanRequestsPerSecond"
            ),
            (
                [.meanRequests: 10, .peakRequests: 30, .peakToMean: 2], "audience.peakToMean",
                "omit it or edge.peakRequestsPerSecond: that gives 3"
            ),
            (
                [.bitsPerPixel: 30], "media.bitsPerPixel", "set the picture, or omit it"
            ),
            (
                [.dispatchSeconds: 0.01, .dispatchMedian: 0.02], "onDemand.dispatchMedianSeconds",
                "at most 0.01, which is onDemand.dispatchSeconds"
            ),
            ([.width: 1_024], "media.height", "media.width and media.height"),
            (
                [.width: 64, .height: 64, .kilobitsPerSecond: 9], "media.kilobitsPerSecond",
                "the bit rate or the picture"
            ),
            (
                [.deadlineHours: 0.01, .bootSeconds: 60], "fill.deadlineHours",
                "more than worker.bootSeconds, which is 60"
            ),
            (
                [.waitSeconds: 0.01], "onDemand.waitSeconds", "use more than 0.0146"
            ),
        ] as [([ScenarioInput: Double], String, String)])
    func whatCannotHoldIsRefused(
        given: [ScenarioInput: Double], field: String, allowed: String
    ) {
        let error = #expect(throws: PlannerError.self) { try Plan(Self.scenario(given)) }
        #expect(error?.field == field)
        #expect(error?.allowed.contains(allowed) == true, "\(error?.allowed ?? "")")
    }
}
