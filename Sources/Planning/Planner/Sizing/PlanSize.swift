/// The values that a plan is sized for, and the resources for them.
struct PlanSize {
    let values: ScenarioValues
    let method: WaitMethod
    /// The resources if waits are by formulas, as in the draws.
    let formulas: Sizing
    /// Nil on likely values.
    let draws: Draws?

    init(_ scenario: Scenario, _ options: Plan.Options) {
        let draws = options.draws > 0 ? Draws(scenario, options) : nil
        var values = ScenarioValues(scenario)
        if let draws, let confidence = options.confidence {
            values = DesignPoint(scenario, confidence: confidence, draws.figures).values
        }
        let formulas = Sizing(values)
        self.draws = draws
        self.values = values
        self.formulas = formulas
        method = WaitMethod(values, formulas, jobs: options.waitJobs, seed: options.seed)
    }

    /// Returns the resources by `method`, which may take seconds.
    func sizing() -> Sizing { method == .formulas ? formulas : Sizing(values, method) }
}
