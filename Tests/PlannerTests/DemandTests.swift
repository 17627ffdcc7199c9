import Testing

@testable import Planner
@testable import Statistics

/// What is given reaches everything it counts for.
@Suite struct DemandTests {
    private static func scenario(_ given: [ScenarioInput: Double]) -> Scenario {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        scenario.actions = []
        return scenario
    }

    private func demand(_ given: [ScenarioInput: Double]) -> Demand {
        Demand(ScenarioValues(Self.scenario(given)))
    }

    private func isNear(_ left: Double, _ right: Double) -> Bool {
        abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    }

    /// A bit rate is what viewers get; the ladder is what is stored. One outside of the ladder is stored as
    /// well.
    @Test func aBitRateIsThatOfViewersAndDoesNotCutStorage() {
        let twice = demand([.kilobitsPerSecond: 4_000])
        let once = demand([.kilobitsPerSecond: 2_000])
        let none = demand([:])
        for figure in [
            \Demand.catalogBytes, \.edgeStorageBytes, \.fillBytesPerDay, \.fillBitsPerSecond,
            \.fillSegmentBytes,
        ] {
            #expect(twice[keyPath: figure] == none[keyPath: figure])
        }
        for figure in [\Demand.peakEgressBitsPerSecond, \.missBytes] {
            #expect(isNear(twice[keyPath: figure], 2 * once[keyPath: figure]))
        }
        // 1,000 titles of an hour.
        #expect(isNear(once.catalogBytes, 1_000 * 3_600 * 25_640_000 / 8))
        let beyond = demand([.kilobitsPerSecond: 20_000])
        #expect(isNear(beyond.catalogBytes, 1_000 * 3_600 * 45_640_000 / 8))
        let below = demand([.kilobitsPerSecond: 100])
        #expect(isNear(below.catalogBytes, 1_000 * 3_600 * 25_740_000 / 8))
        // Drawn, it is the same in all of them.
        var scenario = Self.scenario([:])
        scenario.given[.kilobitsPerSecond] = Estimate(low: 1_000, likely: 2_000, high: 10_000)
        let high = Demand(ScenarioValues(scenario) { $0.high })
        let values = ScenarioValues(scenario) { $0.high }
        #expect(values.ladder == Scenario.appleLadder + [10_000])
        #expect(
            isNear(
                high.catalogBytes,
                values[.titles] * values[.minutesPerTitle] * 60 * 35_640 * 125))
        // A ladder is what is stored; the bit rate is what viewers get of it.
        scenario.ladder = [1_000, 2_000, 3_000]
        #expect(ScenarioValues(scenario).ladder == [1_000, 2_000, 3_000])
        #expect(Demand(ScenarioValues(scenario)).deliveredBitsPerSecond == 2e6)
    }

    /// The peak over the mean is that of all load, where it is given.
    @Test func thePeakOverTheMeanReachesViewersAndCounts() {
        let three = demand([.dailyActiveUsers: 1_440, .minutesPerDay: 60, .peakToMean: 3])
        #expect(three.meanConcurrentViewers == 60)
        #expect(three.peakConcurrentUsers == 180)
        #expect(isNear(three.peakRequestsPerSecond, 3 * three.meanRequestsPerSecond))
        // Of a mean that was counted, and of a peak.
        let mean = demand([.meanRequests: 100, .peakToMean: 4])
        #expect(mean.peakRequestsPerSecond == 400 && mean.meanRequestsPerSecond == 100)
        let peak = demand([.peakRequests: 100, .peakToMean: 4])
        #expect(peak.meanRequestsPerSecond == 25 && peak.peakRequestsPerSecond == 100)
        // Without viewers it is 0.
        #expect(demand([.minutesPerDay: 0, .peakToMean: 3]).peakConcurrentUsers == 0)
    }

    /// What was drawn does not contradict itself.
    @Test func thePeakIsNeverUnderTheMean() {
        let drawn = demand([.dailyActiveUsers: 1_440, .minutesPerDay: 720, .peakShare: 0.1])
        #expect(drawn.peakConcurrentUsers == 720)
    }

    /// Every default is reported.
    @Test func allThatStandsInIsListed() throws {
        func assumed(_ scenario: Scenario) throws -> [String: Plan.InputInUse] {
            let inputs = try Plan(scenario).inputs.filter {
                $0.isAssumed && ($0.value != nil || $0.text != nil)
            }
            return Dictionary(uniqueKeysWithValues: inputs.map { ($0.path, $0) })
        }
        let none = try assumed(Scenario())
        for (name, value) in [("perDay", 2.0), ("requests", 30), ("bytes", 2e6)] {
            #expect(none["actions.browse.\(name)"]?.value?.likely == value)
        }
        #expect(
            none["media.ladderKilobitsPerSecond"]?.text
                == "145, 365, 730, 1100, 2000, 3000, 4500, 6000, 7800")
        #expect(none["onDemand.correction"]?.text == "kimura")
        // What is of no use stands for nothing.
        for path in ["media.framesPerSecond", "media.bitsPerPixel", "media.codec"] {
            #expect(none[path] == nil)
        }
        let picture = try assumed(Self.scenario([.width: 1_920, .height: 1_080]))
        #expect(picture["media.codec"]?.text?.hasPrefix("h264") == true)
        #expect(picture["media.framesPerSecond"]?.value?.likely == 25)
        #expect(picture["media.ladderKilobitsPerSecond"]?.source.hasPrefix("the picture") == true)
        #expect(picture["actions.browse.perDay"] == nil)
        let peak = try assumed(Self.scenario([.dailyActiveUsers: 500, .peakToMean: 3]))
        #expect(peak["audience.peakShare"] == nil)
        let size = try assumed(Self.scenario([.catalogGigabytes: 500]))
        #expect(size["catalog.minutesPerTitle"] == nil)
    }

    /// Each quantile has its own time to hand a job out.
    @Test func halfOfAllFetchesAreHandedOutByTheMedian() throws {
        let plan = try Plan(Scenario())
        let planned = try #require(
            plan.outcomes.first { $0.workers == plan.sizing.workers.total })
        #expect(planned.queueLength.map { $0 < 1e-6 } == true)
        #expect(abs(try #require(planned.waitP50) - 0.007_2) < 1e-9)
        #expect(abs(try #require(planned.waitP99) - 0.019_6) < 1e-9)
        let p95 = try #require(planned.waitP95)
        #expect(p95 > 0.013 && p95 < 0.016)
        let dispatch = DispatchTime(ScenarioValues(Scenario()))
        #expect(dispatch.seconds(quantile: 0.1) < 0.007_2)
        #expect(dispatch.seconds(quantile: 0.999) > 0.019_6)
        #expect(
            DispatchTime(ScenarioValues(Self.scenario([.dispatchSeconds: 0]))).seconds(
                quantile: 0.9)
                == 0)
    }

    /// Abramowitz and Stegun, table 26.5.
    @Test(arguments: [
        (0.5, 0.0), (0.9, 1.281_551_565_5), (0.975, 1.959_963_984_5), (0.99, 2.326_347_874_0),
        (0.999, 3.090_232_306_2), (0.999_999, 4.753_424_308_8),
    ])
    func quantilesOfTheNormalDistribution(share: Double, value: Double) {
        #expect(abs(normalQuantile(share) - value) < 1e-9)
        #expect(abs(normalQuantile(1 - share) + value) < 1e-9)
    }

    /// CPU time is CPU time: 2 ms a segment of a worker with four cores, however many workers are
    /// wanted for other reasons.
    @Test func theLimitsOfWorkersAreTheirOwn() throws {
        var scenario = Self.scenario([
            .meanRequests: 100, .peakRequests: 100, .requestBytes: 1e6, .hitRatio: 0, .attempts: 1,
            .changePerDay: 0, .edgeCPUPerGigabyte: 0, .cpuPerSegment: 0, .cpuPerGigabyte: 2,
            .machineCores: 4,
            .nicMegabits: 1_000, .originLatency: 1_000, .connectionMegabits: 1_000, .connections: 4,
            .audienceGrowth: 1, .catalogGrowth: 0,
        ])
        scenario.given[.spareWorkers] = Estimate(0)
        var options = Plan.Options()
        (options.months, options.draws) = (12, 0)
        let plan = try Plan(scenario, options)
        let workers = Double(try #require(plan.sizing.workers.total))
        func limit(_ resource: Growth.Resource) -> Growth.Limit? {
            plan.growth.limits.first { $0.resource == resource }
        }
        let cpu = try #require(limit(.workerCPU)?.shareNow)
        #expect(isNear(cpu, 100 * 0.002 / (4 * workers)))
        #expect(isNear(try #require(limit(.workerNetwork)?.shareNow), 100 * 8e6 / (1e9 * workers)))
        let pool = try #require(limit(.workers))
        #expect(try #require(pool.shareNow) > 0.5 && cpu < 0.01)
        #expect(pool.bindsInMonth == 1)
        // Twice a month: CPU lasts until 2^n passes what is left.
        var month = 0
        var share = cpu
        while share <= 1 { (share, month) = (share * 2, month + 1) }
        #expect(limit(.workerCPU)?.bindsInMonth == month)
        let edge = try #require(limit(.edgeCPU)?.shareNow)
        #expect(isNear(edge, 100 / (10_000 * 4 * Double(plan.sizing.edge.servers))))
    }
}
