/// How a plan simulated the waits of on-demand fetches, because formulas do not hold.
package struct SimulatedWaits: Codable, Hashable, Sendable {
    /// What is outside of the formulas' range: `a service CV² of 20`.
    package let reason: String
    /// Simulated fetches for each number of workers; a tenth of them is warm-up.
    package let jobs: Int
    package let seed: UInt64
    /// `lognormal`, `gamma`, `exponential` or `constant`.
    package let serviceShape: String
    /// Workers for on-demand fetches by simulation, and by formulas; nil if no number suffices.
    package let workers: Int?
    package let workersByFormula: Int?
    /// All workers by formulas, with which draws are compared; nil if no number suffices by both.
    package let totalByFormula: Int?
    /// The planned pool's mean wait for a free transfer, and the half-width of its 95 % interval;
    /// nil without a pool, the latter also if no fetch waited.
    package let meanWaitSeconds: Double?
    package let marginSeconds: Double?

    /// Returns nil if waits are by formulas.
    init?(
        _ method: WaitMethod, _ values: ScenarioValues, _ sizing: Sizing, _ formulas: Sizing,
        _ outcomes: [Plan.Outcome]
    ) {
        guard case .simulation(let queues) = method,
            let reason = FormulaRange(values).reason
        else { return nil }
        self.reason = reason
        jobs = queues.simulation.maxJobs
        seed = queues.simulation.seed
        let model = OnDemandPool(values, sizing.demand).waiting(1)
        serviceShape = QueueQuestion(model).shapeName
        workers = sizing.workers.forOnDemand
        workersByFormula = formulas.workers.forOnDemand
        totalByFormula = sizing.workers.total == nil ? nil : formulas.workers.total
        let planned = outcomes.first { $0.workers == sizing.workers.total }
        meanWaitSeconds = planned?.meanWait
        marginSeconds = planned?.meanWaitMargin
    }

    /// The method and its error, for the first screen.
    package var summary: String {
        var text =
            "Waits are simulated, because \(reason) is outside the formulas' range: "
            + "\(Scenario.grouped(jobs)) fetches, \(serviceShape) times"
        if let meanWaitSeconds, let marginSeconds {
            text +=
                ", mean wait \(Plan.rate(meanWaitSeconds)) ± \(Plan.rate(marginSeconds)) s"
        } else if meanWaitSeconds == 0 {
            text += ", none of \(Scenario.grouped(jobs - jobs / 10)) fetches waited"
        }
        func count(_ workers: Int?) -> String {
            workers.map { Scenario.grouped($0) } ?? "none suffices"
        }
        return text + ". Workers for on-demand fetches: \(count(workers)), by formulas "
            + "\(count(workersByFormula))."
    }

    /// The same for the notes, with what is still by formulas.
    var note: String {
        let compared = totalByFormula.map {
            "; the share of draws in which workers suffice is that of the "
                + "\(Scenario.grouped($0)) workers by formulas"
        }
        return summary
            + " Draws, likely values and the influence of inputs are by formulas, and so is the wait "
            + "during the fill\(compared ?? ""); later months are by formulas with this difference, "
            + "in proportion to the root of the load."
    }
}
