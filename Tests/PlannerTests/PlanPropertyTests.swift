import Glibc
import TestSupport
import Testing

@testable import Planner
@testable import Statistics

/// What holds for any scenario that is no contradiction.
@Suite(.computing) struct PlanPropertyTests {
    /// Some inputs anywhere in what is allowed, its ends included, or near what stands in for them.
    private static func scenario(_ random: inout SeededRandom) -> Scenario {
        var scenario = Scenario()
        for row in ScenarioInput.table where random.uniform() < 0.15 {
            let (low, high) = (row.allowed.lowerBound, row.allowed.upperBound)
            var value = low
            switch random.uniform() {
            case ..<0.15: break
            case ..<0.3: value = high
            case ..<0.8:
                guard case .value(let standard) = row.standard else { continue }
                value = standard.likely * (0.1 + 3 * random.uniform())
            default: value = max(low, 1e-6) * pow(high / max(low, 1e-6), random.uniform())
            }
            value = min(max(value, low), high)
            scenario.given[row.input] = Estimate(row.isWhole ? value.rounded() : value)
        }
        // What hardly ever goes together.
        let often: [ScenarioInput] = [
            .width, .height, .framesPerSecond, .bitsPerPixel, .compression, .peakToMean,
            .peakShare, .dailyActiveUsers, .peakConcurrentUsers, .minutesPerDay, .meanRequests,
            .peakRequests, .storedShare,
        ]
        for input in often where random.uniform() < 0.7 { scenario.given[input] = nil }
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
            tiers: [
                PriceBook.Tier(upTo: 10, perUnit: price(2)),
                PriceBook.Tier(upTo: nil, perUnit: price(1)),
            ]))

    /// A pool that reaches both goals, and its price; or why there is none.
    @Test func aPlanHasAPoolOrAReason() throws {
        var random = SeededRandom(seed: 71)
        var (pools, reasons) = (0, 0)
        for _ in 0..<600 {
            let scenario = Self.scenario(&random)
            guard (try? scenario.check()) != nil else { continue }
            var options = Plan.Options()
            (options.draws, options.months, options.prices) = (5, 2, [Self.book])
            options.waitJobs = 2_000
            let plan = try Plan(scenario, options)
            let values = ScenarioValues(scenario)
            let demand = plan.sizing.demand
            let workers = plan.sizing.workers
            #expect((workers.total == nil) == !workers.stops.isEmpty)
            // Without a pool there is a price only if the origin alone stops it, and it says so.
            let isPriced = !plan.costs.isEmpty
            #expect(isPriced == (workers.total != nil || !plan.costsWithoutLimits.isEmpty))
            #expect(workers.total == nil || plan.costsWithoutLimits.isEmpty)
            let shares = plan.growth.months.flatMap { $0.shares.values }
            #expect(shares.allSatisfy { $0.isFinite && $0 >= 0 })
            guard let needed = workers.needed else {
                reasons += 1
                continue
            }
            pools += 1
            let amounts = plan.costs.flatMap { cost in
                cost.items.flatMap { $0.cost.amounts.values }
                    + cost.overProvisioning.amounts.values + cost.loadTest.cost.amounts.values
            }
            #expect(amounts.allSatisfy { $0.isFinite && $0 >= -1e-6 })
            if demand.peakMissesPerSecond > 0 {
                let isSimulated = plan.simulatedWaits != nil
                let queues = SimulatedQueues(QueueSimulation(maxJobs: 2_000))
                let method: WaitMethod =
                    isSimulated ? .simulation(queues) : .formulas
                let wait = OnDemandPool(values, demand, method).waitSeconds(
                    needed, quantile: values[.percentile])
                // Simulated waits are in buckets.
                #expect(wait <= values[.waitSeconds] * (isSimulated ? 1.02 : 1 + 1e-6))
            }
            let outcome = Plan.outcome(values, demand, workers: needed)
            let hours = try #require(outcome.fillHours)
            #expect(hours * 3_600 <= demand.fillWindowSeconds * (1 + 1e-6))
        }
        #expect(pools > 100 && reasons > 50)
    }

    /// More load, longer times, tighter targets and tighter limits never need fewer workers.
    @Test(
        arguments: [
            (.monthlyActiveUsers, true), (.titles, true), (.changePerDay, true),
            (.percentile, true), (.attempts, true), (.originLatency, true), (.serviceCV2, true),
            (.headroom, true), (.waitSeconds, false), (.deadlineHours, false), (.hitRatio, false),
            (.originRequests, false), (.originConnections, false), (.originMegabits, false),
        ] as [(ScenarioInput, Bool)])
    func workersFollowTheLoad(input: ScenarioInput, isMoreHarder: Bool) {
        var random = SeededRandom(seed: 72)
        let limits: [ScenarioInput: Double] = [
            .originRequests: 200, .originConnections: 50, .originMegabits: 2_000,
        ]
        for _ in 0..<150 {
            var scenario = Self.scenario(&random)
            guard (try? scenario.check()) != nil,
                var value = scenario.estimate(input)?.likely ?? limits[input]
            else { continue }
            let factor = 1 + random.uniform()
            var workers: [Int] = []
            for _ in 0..<3 {
                let allowed = input.row.allowed
                let within = min(max(value, allowed.lowerBound), allowed.upperBound)
                scenario.given[input] = Estimate(input.row.isWhole ? within.rounded() : within)
                workers.append(Sizing(ScenarioValues(scenario)).workers.total ?? .max)
                value *= isMoreHarder ? factor : 1 / factor
            }
            #expect(workers == workers.sorted())
        }
    }
}
