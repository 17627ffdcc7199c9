import TestSupport
import Testing

@testable import Planner

/// How far plans may be off, and because of what.
@Suite(.computing) struct UncertaintyTests {
    private static func price(_ amount: Double) -> PriceBook.Price {
        PriceBook.Price(amount: amount, currency: "EUR", date: "2026", source: "the test")
    }

    /// Egress at a euro a GB, all else free.
    private static let book = PriceBook(
        id: "a", name: "A",
        instance: PriceBook.Instance(
            type: "i", cores: 4, memoryGigabytes: 16, perMonth: price(0)),
        storage: PriceBook.Storage(type: "s", unit: .gigabyte, perUnitMonth: price(0)),
        egress: PriceBook.Egress(
            unit: .gigabyte, includedPerMachine: 0,
            tiers: [PriceBook.Tier(upTo: nil, perUnit: price(1))]))

    private static func plan(
        _ given: [ScenarioInput: Estimate], draws: Int = 1_000, seed: UInt64 = 1
    ) throws -> Uncertainty {
        var scenario = Scenario()
        for row in ScenarioInput.table {
            // Everything else is exactly known.
            if case .value(let standard) = row.standard {
                scenario.given[row.input] = Estimate(standard.likely)
            }
        }
        for input in [ScenarioInput.framesPerSecond, .bitsPerPixel] {
            scenario.given[input] = nil
        }
        scenario.given[.kilobitsPerSecond] = Estimate(4_660)
        scenario.ladder = [145, 4_660, 10_000]
        scenario.actions = []
        for (input, estimate) in given { scenario.given[input] = estimate }
        var options = Plan.Options()
        options.prices = [book]
        options.draws = draws
        options.seed = seed
        options.months = 0
        return try #require(try Plan(scenario, options).uncertainty)
    }

    /// The quantiles of a triangle from 0 to 100 with its top at 50.
    @Test func rangesAreThoseOfWhatWasDrawn() throws {
        let found = try Self.plan(
            [.kilobitsPerSecond: Estimate(low: 1, likely: 5_000, high: 9_999)], draws: 20_000)
        let egress = try #require(found.ranges.first { $0.figure == "peak egress" })
        #expect(abs(egress.p50 / (85.937_5 * 5e6) - 1) < 0.02)
        #expect(abs(egress.p10 / (85.937_5 * 2.236e6) - 1) < 0.04)
        #expect(abs(egress.p90 / (85.937_5 * 7.764e6) - 1) < 0.02)
        #expect(found.ranges.contains { $0.figure == "cost per month, A" && $0.unit == "EUR" })
    }

    /// An input that moves the cost upwards, one that moves it down, and one that does not.
    @Test func namesTheInputsThatMatter() throws {
        let found = try Self.plan([
            .minutesPerDay: Estimate(low: 10, likely: 60, high: 600),
            .changePerDay: Estimate(low: 0.01, likely: 0.02, high: 0.03),
            .rampMinutes: Estimate(low: 10, likely: 60, high: 90),
        ])
        let cost = found.influences.filter { $0.figure == "cost per month, A (EUR)" }
        #expect(cost.first?.input == "viewing.minutesPerDay")
        #expect(cost.first.map { $0.correlation > 0.9 } == true)
        #expect(!cost.contains { $0.input == "audience.rampMinutes" })
    }

    @Test func theSeedDecides() throws {
        let estimate: [ScenarioInput: Estimate] = [
            .titles: Estimate(low: 10, likely: 500, high: 2_000)
        ]
        #expect(try Self.plan(estimate) == Self.plan(estimate))
        #expect(try Self.plan(estimate).ranges != Self.plan(estimate, seed: 2).ranges)
    }

    @Test func whatIsExactlyKnownHasNoRange() throws {
        let found = try Self.plan([:], draws: 50)
        #expect(found.influences.isEmpty)
        #expect(found.ranges.allSatisfy { $0.p10 == $0.p90 })
        #expect(found.planSuffices == 1)
    }

    /// A picture's size may be as uncertain as a bit rate: it is drawn, and so is the result.
    @Test(arguments: [ScenarioInput.width, .height, .framesPerSecond, .bitsPerPixel])
    func thePicturesRangesAreDrawn(input: ScenarioInput) throws {
        func egress(_ share: Double) throws -> Uncertainty.Range {
            var scenario = Scenario()
            for row in ScenarioInput.table {
                if case .value(let standard) = row.standard {
                    scenario.given[row.input] = Estimate(standard.likely)
                }
            }
            scenario.given[.kilobitsPerSecond] = nil
            scenario.actions = []
            scenario.given[.width] = Estimate(1_280)
            scenario.given[.height] = Estimate(720)
            let likely = try #require(scenario.given[input]?.likely)
            scenario.given[input] = Estimate(
                low: likely * (1 - share), likely: likely, high: likely * (1 + share))
            var options = Plan.Options()
            (options.draws, options.months) = (2_000, 0)
            let found = try #require(try Plan(scenario, options).uncertainty)
            return try #require(found.ranges.first { $0.figure == "peak egress" })
        }
        let exact = try egress(0)
        let drawn = try egress(0.5)
        #expect(exact.p10 == exact.p90)
        // A triangle from a half to three halves.
        #expect(abs(drawn.p10 / exact.p50 - 0.724) < 0.03)
        #expect(abs(drawn.p50 / exact.p50 - 1) < 0.03)
        #expect(abs(drawn.p90 / exact.p50 - 1.276) < 0.03)
    }

    @Test func ranksShareTies() {
        #expect(Ranking.ranks([3, 1, 3, 2]) == [3.5, 1, 3.5, 2])
        #expect(Ranking.correlation([1, 2, 3], [2, 4, 6]) == 1)
        #expect(Ranking.correlation([1, 2, 3], [5, 5, 5]) == 0)
    }
}
