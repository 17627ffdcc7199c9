import Foundation
import TestSupport
import Testing

@testable import Planner

/// Plans that suffice with a stated confidence, and inputs that have no effect but their own.
@Suite(.computing) struct ConfidenceTests {
    private static func scenario(_ service: ServiceKind) -> Scenario {
        var scenario = Scenario()
        scenario.service = service
        return scenario
    }

    private static func price(_ amount: Double) -> PriceBook.Price {
        PriceBook.Price(amount: amount, currency: "EUR", date: "2026", source: "the test")
    }

    private static let book = PriceBook(
        id: "a", name: "A",
        instance: PriceBook.Instance(
            type: "i", cores: 4, memoryGigabytes: 16, nicMegabitsPerSecond: 1_000,
            perMonth: price(100)),
        storage: PriceBook.Storage(type: "s", unit: .gigabyte, perUnitMonth: price(1)),
        egress: PriceBook.Egress(
            unit: .gigabyte, includedPerMachine: 1,
            tiers: [PriceBook.Tier(upTo: nil, perUnit: price(1))]))

    /// Everything of a plan but where its inputs come from.
    private static func figures(_ scenario: Scenario) throws -> String {
        var options = Plan.Options()
        (options.draws, options.months, options.confidence) = (50, 2, 0.9)
        options.prices = [book]
        var plan = try Plan(scenario, options)
        (plan.inputs, plan.keyInputs, plan.notes, plan.problems) = ([], [], [], [])
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(plan), as: UTF8.self)
    }

    /// What is given as it is assumed changes nothing, one by one and all together.
    @Test(arguments: ServiceKind.allCases)
    func aGivenDefaultChangesNothing(service: ServiceKind) throws {
        let assumed = Self.scenario(service)
        let expected = try Self.figures(assumed)
        var all = assumed
        for input in ScenarioInput.allCases {
            guard let estimate = assumed.estimate(input) else { continue }
            var scenario = assumed
            scenario.given[input] = estimate
            #expect(try Self.figures(scenario) == expected, "\(input.row.path)")
            all.given[input] = estimate
        }
        all.actions = assumed.actionsInUse
        #expect(try Self.figures(all) == expected)
    }

    /// An exactly known input changes no draw of the others: figures that do not depend on it stay
    /// equal, to the last bit.
    @Test(arguments: [
        ScenarioInput.zipfExponent, .bootSeconds, .peakToMean, .serviceCV2, .edgeCPUPerGigabyte,
    ])
    func anExactInputLeavesOtherFigures(input: ScenarioInput) throws {
        var scenario = Scenario()
        scenario.given[.monthlyActiveUsers] = Estimate(200_000)
        let assumed = try Self.plan(scenario, confidence: 0.9)
        let likely = try #require(scenario.estimate(input)?.likely)
        scenario.given[input] = Estimate(likely)
        let given = try Self.plan(scenario, confidence: 0.9)
        #expect(given.sizing.demand.edgeStorageBytes == assumed.sizing.demand.edgeStorageBytes)
        // Machines that start take from the time of the fill.
        if input != .bootSeconds {
            #expect(
                given.sizing.demand.fillBitsPerSecond == assumed.sizing.demand.fillBitsPerSecond)
        }
        guard input != .peakToMean else { return }
        let (egress, expected) = (given.sizing.demand, assumed.sizing.demand)
        #expect(egress.peakEgressBitsPerSecond == expected.peakEgressBitsPerSecond)
        #expect(egress.peakRequestsPerSecond == expected.peakRequestsPerSecond)
        func ranges(_ plan: Plan) throws -> [Uncertainty.Range] {
            try #require(plan.uncertainty).ranges.filter {
                ["edge storage", "peak egress"].contains($0.figure)
            }
        }
        #expect(try ranges(given) == ranges(assumed))
        #expect(try ranges(given).count == 2)
    }

    private static func plan(
        _ scenario: Scenario, confidence: Double?, seed: UInt64 = 1
    ) throws -> Plan {
        var options = Plan.Options()
        (options.draws, options.months, options.seed) = (2_000, 0, seed)
        options.confidence = confidence
        return try Plan(scenario, options)
    }

    /// Held against other draws than those it was made with.
    @Test(arguments: ServiceKind.allCases, [0.9, 0.95])
    func aPlanSufficesWithItsConfidence(service: ServiceKind, confidence: Double) throws {
        let scenario = Self.scenario(service)
        let plan = try Self.plan(scenario, confidence: confidence)
        var options = Plan.Options()
        (options.draws, options.seed) = (2_000, 4_711)
        let other = Uncertainty(Draws(scenario, options), plan.sizing)
        #expect(other.sufficiency.count == 6)
        for figure in other.sufficiency {
            #expect(figure.share >= confidence - 0.025, "\(figure.figure) in \(figure.share)")
        }
        #expect(other.allSuffice > 0 && other.allSuffice <= other.sufficiency.map(\.share).min()!)
    }

    /// Likely values suffice in few draws, which is why plans are not made of them.
    @Test func likelyValuesAreTooLittle() throws {
        let plan = try Self.plan(Scenario(), confidence: nil)
        #expect(plan.confidence == nil)
        let shares = try #require(plan.uncertainty).sufficiency
        let storage = try #require(shares.first { $0.figure == "edge storage" })
        #expect(storage.share < 0.35)
    }

    /// A limit that is enough for likely values only: no pool has the confidence, and that is said.
    @Test func whatSufficesOnLikelyValuesOnlyIsAProblem() throws {
        var scenario = Scenario()
        let likely = Demand(ScenarioValues(scenario)).fillSegmentsPerSecond
        scenario.given[.hitRatio] = Estimate(1)
        scenario.given[.originRequests] = Estimate(likely * 1.5)
        let plan = try Self.plan(scenario, confidence: 0.9)
        #expect(plan.sizing.workers.total == nil && plan.likely.workers.total != nil)
        #expect(plan.problems.contains { $0.hasPrefix("On the likely values of the inputs") })
        let mild = try Self.plan(scenario, confidence: nil)
        #expect(mild.sizing.workers.total != nil)
        #expect(!mild.problems.contains { $0.contains("likely values") })
    }

    /// With exact inputs there is nothing to add.
    @Test func exactInputsArePlannedAsTheyAre() throws {
        var scenario = Scenario()
        for input in ScenarioInput.allCases {
            scenario.given[input] = scenario.estimate(input).map { Estimate($0.likely) }
        }
        scenario.actions = []
        let plan = try Self.plan(scenario, confidence: 0.9)
        #expect(plan.sizing == plan.likely)
        #expect(plan.uncertainty?.allSuffice == 1)
        #expect(plan.keyInputs.isEmpty)
    }

    /// Services, and what may be measured besides: requests, and users with them.
    private static let demands: [(name: String, scenario: Scenario)] = {
        let measured: [(String, [ScenarioInput: Double])] = [
            ("", [:]), ("peak", [.peakRequests: 500]), ("mean", [.meanRequests: 200]),
            ("both", [.meanRequests: 200, .peakRequests: 500]),
            ("peak and users", [.peakRequests: 500, .monthlyActiveUsers: 20_000]),
            ("mean and bytes", [.meanRequests: 200, .requestBytes: 1e6]),
            ("users", [.monthlyActiveUsers: 200_000]),
        ]
        return ServiceKind.allCases.flatMap { service in
            measured.map { name, values in
                var scenario = scenario(service)
                for (input, value) in values { scenario.given[input] = Estimate(value) }
                return ("\(service) \(name)", scenario)
            }
        }
    }()

    /// Whatever was measured, each figure suffices with the confidence, and none is below likely.
    @Test(arguments: demands.indices) func aPlanSufficesWhateverWasMeasured(index: Int) throws {
        let (name, scenario) = Self.demands[index]
        let plan = try Self.plan(scenario, confidence: 0.9)
        for figure in try #require(plan.uncertainty).sufficiency {
            #expect(figure.share >= 0.9, "\(name): \(figure.figure) in \(figure.share)")
        }
        let (sized, likely) = (plan.sizing.demand, plan.likely.demand)
        let figures: [(String, (Demand) -> Double)] = [
            ("users", \.peakConcurrentUsers), ("requests", \.peakRequestsPerSecond),
            ("egress", \.peakEgressBitsPerSecond), ("a month", \.egressBytesPerMonth),
            ("fill", \.fillBitsPerSecond), ("storage", \.edgeStorageBytes),
            ("fetches", \.peakMissesPerSecond),
        ]
        for (figure, value) in figures {
            #expect(value(sized) >= value(likely) * (1 - 1e-9), "\(name): \(figure)")
        }
    }

    /// A figure that reaches its quantile before the other of its group gets no more than that.
    @Test func noFigureIsSizedForMoreThanItsConfidence() throws {
        var scenario = Scenario()
        scenario.given[.monthlyActiveUsers] = Estimate(200_000)
        let plan = try Self.plan(scenario, confidence: 0.9)
        let demanded: Set<String> = ["edge storage", "fill", "peak requests", "peak egress"]
        for figure in try #require(plan.uncertainty).sufficiency
        where demanded.contains(figure.figure) {
            #expect((0.9...0.93).contains(figure.share), "\(figure.figure) in \(figure.share)")
        }
    }

    /// An input at its unfavourable end never needs less of what its group is for.
    @Test(arguments: demands.indices) func theUnfavourableEndNeedsNoLess(index: Int) {
        let (name, scenario) = Self.demands[index]
        for adversity in Adversity.all(scenario) {
            guard let input = adversity.input, let own = scenario.estimate(input), !own.isExact
            else { continue }
            // With a share at the peak, minutes mainly determine the mean.
            if scenario.service == .live, input == .minutesPerDay { continue }
            func figures(_ isHard: Bool) -> [Double] {
                let end = adversity.isMoreHarder == isHard ? own.high : own.low
                let values = ScenarioValues(scenario) { other, estimate in
                    other == input ? end : estimate.likely
                }
                let sizing = Sizing(values)
                switch adversity.group {
                case .audience, .catalog:
                    return adversity.group.figures.map { $0.value(sizing.demand) }
                case .edge: return [sizing.edge.coresInUse]
                case .pool: return [Double(sizing.workers.total ?? .max)]
                case .none: return []
                }
            }
            for (easy, hard) in zip(figures(false), figures(true)) {
                #expect(easy <= hard * (1 + 1e-9), "\(name): \(input.row.path)")
            }
        }
    }

    /// Assumed inputs only, the most influential first, and what they change.
    @Test func theInputsThatMatterAreNamed() throws {
        let plan = try Self.plan(Scenario(), confidence: 0.9)
        #expect(plan.keyInputs.count == 5)
        let sizes = plan.keyInputs.map { abs($0.correlation) }
        #expect(sizes == sizes.sorted(by: >))
        let titles = try #require(plan.keyInputs.first { $0.input == "catalog.titles" })
        #expect(titles.figure == "edge storage")
        let (low, high) = (try #require(titles.atLow), try #require(titles.atHigh))
        #expect(abs(low + 0.8) < 1e-9 && abs(high - 4) < 1e-9)
        var scenario = Scenario()
        scenario.given[.titles] = Estimate(low: 200, likely: 1_000, high: 5_000)
        let given = try Self.plan(scenario, confidence: 0.9)
        #expect(!given.keyInputs.contains { $0.input == "catalog.titles" })
        #expect(given.sizing == plan.sizing)
    }
}
