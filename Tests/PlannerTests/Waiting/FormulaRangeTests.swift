import Glibc
import Planner
import Statistics
import TestSupport
import Testing

/// Where the formulas for waits hold, and what the simulation answers beyond.
@Suite(.computing) struct FormulaRangeTests {
    /// The exact wait of arrivals with two exponentials of balanced means for one exponential
    /// server: the root σ of σ = A*(μ(1 − σ)) waits, σ/(μ(1 − σ)) on average (Kleinrock 1975, 6.4).
    private static func exact(utilisation: Double, cv2: Double) -> (waiting: Double, mean: Double) {
        let share = (1 + ((cv2 - 1) / (cv2 + 1)).squareRoot()) / 2
        let rates = (2 * share * utilisation, 2 * (1 - share) * utilisation)
        var root = 0.5
        for _ in 0..<10_000 {
            let s = 1 - root
            root = share * rates.0 / (rates.0 + s) + (1 - share) * rates.1 / (rates.1 + s)
        }
        return (root, root / (1 - root))
    }

    @Test(arguments: [(0.5, 4.0), (0.8, 2), (0.9, 4)])
    func theSimulationAgreesWithAnExactQueueOfBursts(utilisation: Double, cv2: Double) {
        let exact = Self.exact(utilisation: utilisation, cv2: cv2)
        let question = QueueQuestion(
            load: utilisation, arrivalCV2: cv2, serviceShape: .phases)
        let queue = QueueSimulation(maxJobs: 1_000_000).run(question, servers: 1)
        #expect(abs(queue.meanWaitSeconds - exact.mean) < max(2 * (queue.marginSeconds ?? 0), 0.02))
        #expect(abs(queue.probabilityOfWait - exact.waiting) < 0.01)
        // The share that waits follows the arrivals: Erlang's C would be the utilisation.
        let model = question.model(servers: 1)
        #expect(abs(model.probabilityOfWait / exact.waiting - 1) < 0.1)
        #expect(model.probabilityOfWait > utilisation)
    }

    /// Two waits of which the formula knows nothing: of long tails, and of bursts at many servers.
    @Test(arguments: [(16, 0.8, 1.0, 20.0), (100, 0.8, 4, 2)])
    func beyondTheRangeWaitsAreSimulated(
        servers: Int, utilisation: Double, arrivalCV2: Double, serviceCV2: Double
    ) throws {
        let question = QueueQuestion(
            load: Double(servers) * utilisation, serviceSeconds: 2, arrivalCV2: arrivalCV2,
            serviceCV2: serviceCV2)
        #expect(!FormulaRange(question).holds)
        let simulation = QueueSimulation(maxJobs: 1_000_000)
        let waits = question.waits(servers: servers, simulation)
        guard case .simulation(let queue) = waits else {
            Issue.record("the formula was used")
            return
        }
        let formula = question.model(servers: servers).meanWaitSeconds
        #expect(abs(formula / queue.meanWaitSeconds - 1) > 0.2)
        #expect(abs(queue.meanQueueLength - queue.meanWaitSeconds * question.load / 2) < 1e-9)
        for share in [0.5, 0.95, 0.99] {
            let wait = waits.waitSeconds(quantile: share)
            #expect(abs(waits.serviceLevel(withinSeconds: wait) - share) < 0.02 || wait == 0)
        }
    }

    /// Whitt's share of jobs that wait, beside one that knows Poisson arrivals alone.
    @Test(arguments: [(16, 0.8), (16, 0.9), (48, 0.9)])
    func theShareThatWaitsFollowsBursts(servers: Int, utilisation: Double) {
        let question = QueueQuestion(
            load: Double(servers) * utilisation, arrivalCV2: 4, serviceShape: .phases)
        let real = QueueSimulation(maxJobs: 1_000_000).run(question, servers: servers)
        let model = question.model(servers: servers)
        let erlang = Erlang.waiting(servers: servers, load: question.load)
        #expect(abs(model.probabilityOfWait / real.probabilityOfWait - 1) < 0.15)
        #expect(erlang / real.probabilityOfWait < 0.8)
        #expect((0.8...1.3).contains(model.meanWaitSeconds / real.meanWaitSeconds))
    }

    @Test func theRangeNamesWhatIsOutside() {
        #expect(FormulaRange(arrivalCV2: 1, serviceCV2: 1).holds)
        #expect(FormulaRange(arrivalCV2: 1, serviceCV2: 0).reason == nil)
        #expect(FormulaRange(arrivalCV2: 4, serviceCV2: 1).reason == "an arrival CV² of 4")
        #expect(
            FormulaRange(arrivalCV2: 4, serviceCV2: 20).reason
                == "an arrival CV² of 4 with a service CV² of 20")
        #expect(FormulaRange(arrivalCV2: 1, serviceCV2: 1.6).reason == "a service CV² of 1.6")
        #expect(FormulaRange(arrivalCV2: 0.5, serviceCV2: 1).reason == "an arrival CV² of 0.5")
    }

    @Test func theFewestServersAreFoundBySimulation() throws {
        let question = QueueQuestion(load: 20, arrivalCV2: 4, serviceCV2: 2)
        let simulation = QueueSimulation(seed: 3, maxJobs: 200_000)
        func level(_ servers: Int) -> Double {
            question.waits(servers: servers, simulation).serviceLevel(withinSeconds: 0.5)
        }
        let fewest = try #require(
            question.fewestServers(
                targetLevel: 0.95, withinSeconds: 0.5, atMost: 1_000, simulation))
        #expect(level(fewest) >= 0.95 && level(fewest - 1) < 0.95)
        // The formula would take too few.
        let calculated = try #require(
            question.fewestServers(targetLevel: 0.95, withinSeconds: 0.5, atMost: 1_000, nil))
        #expect(abs(calculated - fewest) < 8)
        #expect(
            question.fewestServers(
                targetLevel: 0.95, withinSeconds: 0.5, atMost: 20, simulation) == nil)
    }

    @Test func aSeedRepeatsAndAnUnstableQueueIsNotSimulated() {
        let question = QueueQuestion(load: 3, arrivalCV2: 3)
        let simulation = QueueSimulation(seed: 7, maxJobs: 50_000)
        let first = simulation.run(question, servers: 4)
        #expect(first.meanWaitSeconds == simulation.run(question, servers: 4).meanWaitSeconds)
        #expect(question.waits(servers: 3, simulation).meanWaitSeconds == .infinity)
        // None waits for one of so many servers: that says nothing of the margin.
        let ample = simulation.run(question, servers: 1_000)
        #expect(ample.meanWaitSeconds == 0 && ample.marginSeconds == nil)
        #expect(ample.countedJobs == 45_000 && first.marginSeconds ?? 0 > 0)
        let idle = QueueQuestion(load: 0, arrivalCV2: 3)
        #expect(idle.waits(servers: 1, simulation).meanWaitSeconds == 0)
    }
}
