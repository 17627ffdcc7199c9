import Statistics

/// The method by which a plan finds the waits of on-demand fetches.
package enum WaitMethod: Sendable, Hashable {
    /// `WaitingModel`.
    case formulas
    /// `WaitingModel`, and more workers (or fewer, if negative) times the square root of the load
    /// in erlangs: the difference that simulations of another load made. Numbers of servers exceed
    /// a load by multiples of its root (Halfin and Whitt 1981).
    case corrected(workersPerRootErlang: Double)
    case simulation(SimulatedQueues)
}

extension WaitMethod {
    /// Returns formulas within their range, and beyond it a simulation of up to `jobs` fetches for
    /// each number of workers. Formulas remain for a load that so few fetches cannot show.
    init(_ values: ScenarioValues, _ formulas: Sizing, jobs: Int, seed: UInt64) {
        let workers = formulas.workers.needed ?? formulas.workers.maxUseful
        let pool = OnDemandPool(values, formulas.demand)
        let load = workers.map { pool.waiting(max(1, $0)).load } ?? .infinity
        let simulation = QueueSimulation(seed: seed, maxJobs: jobs)
        guard !FormulaRange(values).holds, load > 0, load <= simulation.maxSteadyLoad else {
            self = .formulas
            return
        }
        self = .simulation(SimulatedQueues(simulation))
    }

    /// Returns the method for other loads of a pool, of which one was sized by `self` and by
    /// formulas.
    func forOtherLoads(
        _ values: ScenarioValues, _ sizing: Sizing, _ formulas: Sizing
    ) -> WaitMethod {
        guard case .simulation = self, let own = sizing.workers.forOnDemand,
            let other = formulas.workers.forOnDemand, own != other
        else { return .formulas }
        let load = OnDemandPool(values, formulas.demand).waiting(other).load
        return .corrected(workersPerRootErlang: Double(own - other) / load.squareRoot())
    }
}
