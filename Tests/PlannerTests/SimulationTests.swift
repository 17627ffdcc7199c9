import Planner
import Statistics
import TestSupport
import Testing

@Suite(.computing) struct SimulationTests {
    struct Queue: Sendable, CustomTestStringConvertible {
        let servers: Int
        let utilisation: Double
        let serviceCV2: Double

        init(_ servers: Int, _ utilisation: Double, _ serviceCV2: Double) {
            self.servers = servers
            self.utilisation = utilisation
            self.serviceCV2 = serviceCV2
        }

        var testDescription: String { "\(servers) at \(utilisation), CV² \(serviceCV2)" }

        func simulation(jobs: Int) -> PoolSimulation {
            var simulation = PoolSimulation(
                workers: servers, arrivalsPerSecond: [Double(servers) * utilisation / 0.5],
                service: TimeDistribution(meanSeconds: 0.5, cv2: serviceCV2), jobs: jobs)
            simulation.warmUpJobs = jobs / 20
            return simulation
        }

        var theory: WaitingModel {
            WaitingModel(
                servers: servers, load: Double(servers) * utilisation, serviceSeconds: 0.5,
                serviceCV2: serviceCV2)
        }
    }

    /// M/M/c, M/D/1 and M/G/1: where theory is exact, the simulation is within 5 % of it.
    @Test(arguments: [
        Queue(1, 0.7, 1), Queue(4, 0.8, 1), Queue(20, 0.85, 1), Queue(1, 0.7, 0),
        Queue(1, 0.6, 0.4),
        Queue(1, 0.5, 3),
    ])
    func theoryWhereItIsExact(queue: Queue) {
        let result = queue.simulation(jobs: 400_000).run()
        let theory = queue.theory
        func near(_ value: Double, _ expected: Double, _ part: Double = 0.05) -> Bool {
            abs(value - expected) <= part * expected
        }
        #expect(result.waits.count == 380_000)
        #expect(near(result.waits.mean, theory.meanWaitSeconds))
        #expect(near(result.meanQueueLength, theory.meanQueueLength))
        #expect(near(result.utilisation, queue.utilisation, 0.01))
        #expect(near(1 - result.waits.share(atMost: 0), theory.probabilityOfWait))
        #expect(near(result.jobsPerSecond, queue.utilisation * Double(queue.servers) / 0.5, 0.01))
        #expect(abs(result.waits.mean - theory.meanWaitSeconds) < 3 * result.meanWaitMargin)
        guard queue.serviceCV2 == 1 else { return }
        for share in [0.95, 0.99] {
            #expect(
                near(
                    result.waits.quantile(share), theory.waitSeconds(quantile: share), 0.07
                ))
        }
    }

    /// Many servers and service that varies little: Kimura's factor, where Allen and Cunneen's is off.
    @Test func manyServersFollowKimura() {
        let queue = Queue(30, 0.8, 0)
        let result = queue.simulation(jobs: 400_000).run()
        // It is the one that holds where none is named.
        #expect(abs(result.waits.mean / queue.theory.meanWaitSeconds - 1) < 0.1)
        let other = WaitingModel(
            servers: 30, load: 24, serviceSeconds: 0.5, serviceCV2: 0, correction: .allenCunneen)
        #expect(other.meanWaitSeconds < queue.theory.meanWaitSeconds * 0.95)
    }

    /// Job by job and event by event are two programs: the same jobs wait equally long in both.
    @Test func bothWaysOfSimulatingAgree() {
        var simulation = Queue(7, 0.9, 2).simulation(jobs: 50_000)
        simulation.arrivalCV2 = 1.7
        simulation.arrivalsPerSecond = (0..<24).map { 4 + Double($0) / 2 }
        let first = simulation.run()
        simulation.failures = PoolSimulation.Failures(meanSecondsBetween: 1e15, repairSeconds: 1)
        let second = simulation.run()
        #expect(second.failures == 0 && second.isComplete)
        #expect(first.waits.count == second.waits.count)
        func near(_ figure: (SimulationResult) -> Double) -> Bool {
            abs(figure(first) - figure(second)) <= 1e-9 * abs(figure(first))
        }
        #expect(near { $0.waits.mean } && near { $0.utilisation } && near { $0.seconds })
        #expect(near { $0.waits.maximum } && near { $0.meanQueueLength })
        for share in [0.5, 0.9, 0.99] { #expect(near { $0.waits.quantile(share) }) }
        #expect(first.waitsByPart.map(\.count) == second.waitsByPart.map(\.count))
    }

    @Test func aSeedRepeatsAndAnotherDoesNot() {
        var simulation = Queue(3, 0.9, 1).simulation(jobs: 5_000)
        simulation.failures = PoolSimulation.Failures(meanSecondsBetween: 100, repairSeconds: 10)
        let first = simulation.run()
        #expect(simulation.run().waits == first.waits)
        simulation.seed = 2
        #expect(simulation.run().waits != first.waits)
    }

    @Test func hoursOfTheDayHaveTheirOwnArrivals() {
        let rates = (0..<24).map { hour in hour < 6 ? 0 : hour == 20 ? 8.0 : 1.0 }
        var simulation = PoolSimulation(
            workers: 4, arrivalsPerSecond: rates,
            service: TimeDistribution(meanSeconds: 0.6), jobs: 1_000_000)
        simulation.untilSeconds = 3 * 86_400
        let result = simulation.run()
        let counts = result.waitsByPart.map(\.count)
        #expect(counts.count == 24 && counts[..<6].allSatisfy { $0 == 0 })
        #expect(abs(Double(counts[20]) / (3 * 8 * 3_600) - 1) < 0.02)
        #expect(abs(Double(counts[10]) / (3 * 3_600) - 1) < 0.04)
        // 4.8 servers' work for four: that hour's jobs wait, and those after it.
        #expect(result.waitsByPart[20].mean > 100 * result.waitsByPart[10].mean)
        #expect(result.waitsByPart[21].mean > result.waitsByPart[19].mean)
        #expect(result.waits.count == counts.reduce(0, +))
    }
}

/// A day of a plan, as it is reckoned and as it is simulated.
@Suite(.computing) struct SimulatedDayTests {
    private static func simulation(_ given: [ScenarioInput: Double]) throws -> PlanSimulation {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        var options = Plan.Options()
        (options.months, options.draws, options.simulatedJobs) = (0, 0, 2_000_000)
        return try #require(try Plan(scenario, options).simulation)
    }

    private static let given: [ScenarioInput: Double] = [
        .monthlyActiveUsers: 2_000, .connections: 2, .titles: 300, .waitSeconds: 5,
        .headroom: 0.1, .hitRatio: 0.9, .serviceCV2: 1,
    ]

    @Test func everyFigureThatBothGiveStandsBesideTheOther() throws {
        let simulation = try Self.simulation(Self.given)
        let rows = Dictionary(uniqueKeysWithValues: simulation.rows.map { ($0.figure, $0) })
        for part in ["at the peak", "in a day"] {
            for figure in [
                "in use", "queue", "mean wait", "p50 of waits", "p95 of waits",
                "p99 of waits",
            ] {
                let row = try #require(rows["\(part), \(figure)"], "\(part), \(figure)")
                let predicted = try #require(row.predicted)
                let simulated = try #require(row.simulated)
                #expect(predicted.isFinite && simulated.isFinite)
                let isNear = abs(simulated - predicted) <= max(0.25 * predicted, 0.01)
                #expect(isNear, "\(part), \(figure): \(predicted), \(simulated)")
            }
        }
        for figure in ["fill takes", "workers lost", "workers back", "fetches repeated"] {
            #expect(rows[figure]?.predicted != nil && rows[figure]?.simulated != nil, "\(figure)")
        }
    }

    /// Fetches on demand by the hour, and the fill from its start until it is done.
    @Test func everyHourIsShown() throws {
        let hours = try Self.simulation(Self.given).hours
        #expect(hours.map(\.hour) == Array(0..<24))
        for hour in hours where hour.onDemandPlanned > 0.2 {
            #expect(abs(hour.onDemandSimulated / hour.onDemandPlanned - 1) < 0.2, "\(hour)")
        }
        let busiest = try #require(hours.max { $0.onDemandPlanned < $1.onDemandPlanned })
        #expect(busiest.hour == 21)
        #expect(hours[..<3].allSatisfy { $0.fillSimulated == 0 } && hours[3].fillSimulated > 0)
        #expect(hours.last?.fillSimulated == 0)
    }

    /// The scenario sets how often workers fail.
    @Test func failuresAreTheScenarios() throws {
        func lost(_ hours: Double) throws -> (predicted: Double, simulated: Double) {
            var given = Self.given
            given[.hoursBetweenFailures] = hours
            let row = try #require(
                try Self.simulation(given).rows.first { $0.figure == "workers lost" })
            return (try #require(row.predicted), try #require(row.simulated))
        }
        let often = try lost(0.5)
        #expect(often.predicted > 50)
        #expect(abs(often.simulated / often.predicted - 1) < 0.35, "\(often)")
        let never = try lost(1e6)
        #expect(never.predicted < 0.01 && never.simulated == 0)
    }

    /// A backlog has times of its own.
    @Test func theFillTakesItsOwnTimes() throws {
        var simulation = PoolSimulation(
            workers: 4, arrivalsPerSecond: [0], service: TimeDistribution(meanSeconds: 100, cv2: 0),
            jobs: 0)
        simulation.backlogJobs = 400
        simulation.backlogService = TimeDistribution(meanSeconds: 0.5, cv2: 0)
        let done = try #require(simulation.run().backlogDoneSeconds)
        #expect(abs(done - 50) < 1e-9)
        #expect(simulation.run().backlogDoneByPart == [400])
    }
}

@Suite(.computing) struct SimulatedFailureTests {
    private func pool(_ jobs: Int) -> PoolSimulation {
        PoolSimulation(
            workers: 10, slotsPerWorker: 4, arrivalsPerSecond: [30],
            service: TimeDistribution(meanSeconds: 1, cv2: 0.5), jobs: jobs)
    }

    @Test func whatFailsIsDoneAgainAndNothingIsLost() {
        var simulation = pool(50_000)
        simulation.backlogJobs = 3_000
        let calm = simulation.run()
        simulation.failures = PoolSimulation.Failures(
            meanSecondsBetween: 300, repairSeconds: 60, leaseSeconds: 20)
        let result = simulation.run()
        #expect(result.waits.count == 50_000 && result.isComplete)
        #expect(result.backlogDoneSeconds != nil)
        #expect(result.failures > 10 && result.lostRuns > result.failures)
        #expect(result.waits.mean > calm.waits.mean)
        // The lease has to run out before the second run.
        #expect(result.waits.maximum > 20)
        #expect(calm.failures == 0 && calm.lostRuns == 0)
    }

    /// Ten workers that are there five sixths of the time do five sixths of the work.
    @Test func capacityIsWhatIsUp() throws {
        var simulation = pool(0)
        simulation.service = TimeDistribution(meanSeconds: 0.01, cv2: 0)
        simulation.backlogJobs = 2_000_000
        simulation.failures = PoolSimulation.Failures(meanSecondsBetween: 10, repairSeconds: 2)
        let result = simulation.run()
        let ideal = 2_000_000 * 0.01 / 40
        let done = try #require(result.backlogDoneSeconds)
        #expect(abs(ideal / done - 10.0 / 12) < 0.03)
        #expect(abs(result.utilisation - 10.0 / 12) < 0.03)
    }

    @Test func aBacklogAloneTakesAsLongAsItTakes() {
        var simulation = pool(0)
        simulation.service = TimeDistribution(meanSeconds: 2, cv2: 0)
        simulation.backlogJobs = 401
        simulation.backlogStartSeconds = 3_600
        let result = simulation.run()
        // 40 at a time, and one alone at the end.
        #expect(result.backlogDoneSeconds == 3_622)
        #expect(result.waits.count == 0 && result.waits.quantile(0.99) == 0)
    }

    @Test func onDemandJobsGoFirst() throws {
        var simulation = pool(20_000)
        simulation.service = TimeDistribution(meanSeconds: 1, cv2: 0)
        let without = simulation.run()
        simulation.backlogJobs = 3_000
        let result = simulation.run()
        // No more than the rest of running fetches, and what chance adds without a backlog.
        #expect(
            result.waits.quantile(0.99) < 1 + without.waits.quantile(0.99))
        #expect(result.waits.mean > without.waits.mean)
        // Ten slots are left over: 300 seconds at least.
        #expect(try #require(result.backlogDoneSeconds) > 290)
    }

    @Test func aPoolThatNeverFinishesEndsTheSimulation() {
        var simulation = pool(10)
        simulation.service = TimeDistribution(meanSeconds: 1_000, cv2: 0)
        simulation.failures = PoolSimulation.Failures(meanSecondsBetween: 1, repairSeconds: 0)
        #expect(!simulation.run().isComplete)
    }

    @Test func nothingToDoIsDone() {
        var simulation = pool(0)
        #expect(simulation.run().waits.count == 0)
        simulation.jobs = 100
        simulation.arrivalsPerSecond = [0]
        #expect(simulation.run().seconds == 0)
        simulation.arrivalsPerSecond = [1]
        simulation.untilSeconds = 0
        #expect(simulation.run().waits.count == 0)
    }
}

@Suite(.computing) struct WaitHistogramTests {
    @Test func quantilesAreThoseOfTheSortedWaits() {
        var random = SeededRandom(seed: 21)
        var histogram = WaitHistogram()
        var waits: [Double] = []
        for _ in 0..<20_000 {
            let wait = Bool.random(using: &random) ? 0 : random.exponential(mean: 3) * 1e-3
            histogram.add(wait)
            waits.append(wait)
        }
        waits.sort()
        #expect(abs(histogram.mean - waits.reduce(0, +) / 20_000) < 1e-9)
        #expect(histogram.maximum == waits.last)
        for share in [0, 0.25, 0.6, 0.9, 0.99, 0.9999, 1] {
            let exact = waits[max(1, Int((share * 20_000).rounded(.up))) - 1]
            #expect(abs(histogram.quantile(share) - exact) <= 0.005 * exact)
        }
        let within = Double(waits.count { $0 <= 2e-3 }) / 20_000
        #expect(abs(histogram.share(atMost: 2e-3) - within) < 0.005)
    }

    @Test func histogramsAddUpWithoutLoss() {
        var random = SeededRandom(seed: 22)
        var (whole, first, second) = (WaitHistogram(), WaitHistogram(), WaitHistogram())
        for number in 0..<1_000 {
            let wait = random.gamma(shape: 0.3)
            whole.add(wait)
            if number % 3 == 0 { first.add(wait) } else { second.add(wait) }
        }
        var sum = WaitHistogram()
        sum.add(first)
        sum.add(second)
        #expect(sum.count == 1_000 && sum.maximum == whole.maximum)
        for share in [0.1, 0.5, 0.999] {
            #expect(sum.quantile(share) == whole.quantile(share))
        }
    }

    @Test func itTakesAnyTime() {
        var histogram = WaitHistogram()
        for wait in [0, 1e-12, 1e-9, 1, 1e12] { histogram.add(wait) }
        #expect(histogram.zeros == 2)
        #expect(histogram.maximum == 1e12 && histogram.quantile(0.1) == 0)
        #expect(histogram.share(atMost: 2e12) == 1)
        #expect(WaitHistogram().share(atMost: 1) == 1)
    }
}

@Suite(.computing) struct TimeDistributionTests {
    @Test(arguments: [0, 0.1, 0.7, 1, 1.5, 12.0], TimeDistribution.Shape.allCases)
    func itHasTheMomentsAskedFor(cv2: Double, shape: TimeDistribution.Shape) {
        let distribution = TimeDistribution(meanSeconds: 0.25, cv2: cv2, shape: shape)
        var random = SeededRandom(seed: 23)
        var histogram = WaitHistogram()
        for _ in 0..<200_000 { histogram.add(distribution.draw(&random)) }
        #expect(abs(histogram.mean / 0.25 - 1) < 0.03)
        // The long tail of a lognormal one comes slowly to its variance.
        let allowed = shape == .lognormal && cv2 > 2 ? 0.4 : 0.06
        #expect(abs(histogram.cv2 - cv2) <= allowed * cv2 + 1e-9)
    }

    /// One arrival in three million years: found at once, not by walking through them.
    @Test(.timeLimit(.minutes(1))) func arrivalsThatHardlyEverCome() throws {
        let rates = (0..<24).map { $0 < 12 ? 0 : 2e-14 }
        let process = ArrivalProcess(ratesPerSecond: rates, random: SeededRandom(seed: 1))
        var arrivals = try #require(process)
        var last = 0.0
        for _ in 0..<10_000 { last = arrivals.next() }
        #expect((0.95...1.05).contains(last * 1e-14 / 10_000))
        let hour = last.truncatingRemainder(dividingBy: ArrivalProcess.daySeconds) / 3_600
        #expect(hour >= 11.9)
    }

    @Test func arrivalsThatNeverCome() throws {
        for rates in [[0x1p-1060], [Double](repeating: 0x1p-1060, count: 24)] {
            let process = ArrivalProcess(ratesPerSecond: rates, random: SeededRandom(seed: 1))
            var arrivals = try #require(process)
            for _ in 0..<3 { #expect(arrivals.next() > 1e300) }
        }
    }

    @Test func timesThatHardlyVary() {
        var random = SeededRandom(seed: 1)
        for cv2 in [.leastNonzeroMagnitude, 0x1p-1060, 1e-40, 1e-10] {
            let times = TimeDistribution(meanSeconds: 2, cv2: cv2)
            for _ in 0..<100 { #expect(abs(times.draw(&random) - 2) < 1e-3) }
        }
    }
}
