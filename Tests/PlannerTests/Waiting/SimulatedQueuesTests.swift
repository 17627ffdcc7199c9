import Synchronization
import TestSupport
import Testing

@testable import Planner

/// Simulations of a plan's pools take most of its time.
@Suite(.computing) struct SimulatedQueuesTests {
    /// The search for each number of workers, and the outcomes around it, meet the same pools.
    @Test func noPoolIsSimulatedTwice() throws {
        var scenario = Scenario()
        scenario.given = [
            .connections: 1, .serviceSeconds: 1, .segmentsPerSecond: 1, .contention: 0,
            .changePerDay: 0, .serviceCV2: 20, .hitRatio: 0, .meanRequests: 10, .peakRequests: 20,
            .requestBytes: 1_000, .headroom: 0,
        ].mapValues { Estimate($0) }
        let values = ScenarioValues(scenario)
        let simulation = QueueSimulation(maxJobs: 20_000)
        let runs = Mutex<[Int: Int]>([:])
        let queues = SimulatedQueues(simulation) { question, servers in
            runs.withLock { $0[servers, default: 0] += 1 }
            return simulation.run(question, servers: servers)
        }
        let sizing = Sizing(values, .simulation(queues))
        let workers = try #require(sizing.workers.needed)
        for number in workers - 1...workers + 1 {
            _ = Plan.outcome(values, sizing.demand, .simulation(queues), workers: number)
        }
        let counts = runs.withLock { $0 }
        #expect(counts.count > 3 && counts.keys.contains(workers))
        #expect(counts.values.allSatisfy { $0 == 1 }, "\(counts)")
    }
}
