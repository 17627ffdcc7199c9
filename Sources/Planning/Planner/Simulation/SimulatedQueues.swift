import Synchronization

/// The simulated queues of a plan. Its sizing, its outcomes and a comparison ask for the same pools;
/// each is simulated once.
package final class SimulatedQueues: Sendable, Hashable {
    package let simulation: QueueSimulation
    private let known = Mutex<[Key: SimulatedQueue]>([:])
    private let run: @Sendable (QueueQuestion, Int) -> SimulatedQueue

    private struct Key: Hashable {
        let question: QueueQuestion
        let servers: Int
    }

    package convenience init(_ simulation: QueueSimulation) {
        self.init(simulation) { simulation.run($0, servers: $1) }
    }

    /// Simulates by `run`.
    init(
        _ simulation: QueueSimulation,
        run: @escaping @Sendable (QueueQuestion, Int) -> SimulatedQueue
    ) {
        self.simulation = simulation
        self.run = run
    }

    /// Returns the queue of `servers` servers, more than the load.
    func queue(_ question: QueueQuestion, servers: Int) -> SimulatedQueue {
        let key = Key(question: question, servers: servers)
        if let queue = known.withLock({ $0[key] }) { return queue }
        let queue = run(question, servers)
        known.withLock { $0[key] = queue }
        return queue
    }

    package static func == (left: SimulatedQueues, right: SimulatedQueues) -> Bool {
        left === right
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
