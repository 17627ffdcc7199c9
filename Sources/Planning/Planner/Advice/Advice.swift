/// Searches values of inputs with which a plan suffices, by computing the plan with each.
///
/// What the present plan lacks does not show them: with another value the draws differ, and with
/// them the values that a plan is sized for.
struct Advice {
    let scenario: Scenario
    private let options: Plan.Options
    /// The values that the present plan is sized for, and its resources.
    let values: ScenarioValues
    let sizing: Sizing

    typealias Goal = Sizing.Stop.Goal

    /// Values for which a plan is sized, and its resources.
    typealias Sized = (values: ScenarioValues, sizing: Sizing)

    init(_ scenario: Scenario, _ options: Plan.Options, _ values: ScenarioValues, _ sizing: Sizing)
    {
        self.scenario = scenario
        self.values = values
        self.sizing = sizing
        var options = options
        // They change no resources.
        options.prices = []
        if options.confidence == nil { options.draws = 0 }
        self.options = options
    }

    /// Goals that the present plan misses.
    var missed: [Goal] { sizing.workers.stops.map(\.goal) }

    /// Inputs that `remedies` tries.
    var triedInputs: [ScenarioInput] { trials.flatMap(\.inputs) }

    /// Returns the present value of an input; nil if it has none.
    func present(_ path: String) -> Double? {
        ScenarioInput.named(path).flatMap { scenario.estimate($0)?.likely ?? values.known($0) }
    }

    /// Returns what makes a pool suffice, each by itself. If nothing does for both goals, returns
    /// two changes that do together, else those for one of the goals.
    func remedies() -> [Remedy] {
        let all = remedies(for: missed)
        if !all.isEmpty || missed.count < 2 { return all }
        let each = missed.map { remedies(for: [$0]) }
        for first in each.compactMap(\.first) {
            if let both = completed(first) { return [both] }
        }
        return each.flatMap(\.self)
    }

    /// Returns the present value of an input that has one.
    private func present(_ input: ScenarioInput) -> Double {
        scenario.estimate(input)?.likely ?? values[input]
    }

    private func remedies(for goals: [Goal]) -> [Remedy] {
        trials.compactMap { trial in
            nearest(steps(trial)) { suffices($0.sizing, goals) }.map {
                Self.remedy(trial.changes($0), goals)
            }
        }
    }

    /// Adds the first change that also reaches the goals which `remedy` leaves.
    private func completed(_ remedy: Remedy) -> Remedy? {
        var changes: [ScenarioInput: Double] = [:]
        for change in remedy.changes {
            ScenarioInput.named(change.input).map { changes[$0] = change.value }
        }
        let changed = scenario.with(changes)
        let size = PlanSize(changed, options)
        let advice = Advice(changed, options, size.values, size.formulas)
        guard let second = advice.remedies(for: advice.missed).first else { return nil }
        for change in second.changes {
            ScenarioInput.named(change.input).map { changes[$0] = change.value }
        }
        return Self.remedy(changes, missed)
    }

    private static func remedy(_ changes: [ScenarioInput: Double], _ goals: [Goal]) -> Remedy {
        Remedy(
            goals: goals,
            changes: changes.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                Remedy.Change(input: $0.key.row.path, value: $0.value)
            })
    }

    /// Returns true if the resources reach `goals`, and miss nothing that the present ones do not.
    private func suffices(_ sized: Sizing, _ goals: [Goal]) -> Bool {
        let others = Set(missed).subtracting(goals)
        let storage = max(
            values.known(.storageGigabytes).map { $0 * 1e9 } ?? .infinity,
            sizing.demand.edgeStorageBytes)
        return sized.workers.stops.allSatisfy { others.contains($0.goal) }
            && sized.demand.edgeStorageBytes <= storage
    }

    // MARK: Trials

    /// Inputs whose value may be why goals are missed.
    private var trials: [Trial] {
        let limits = sizing.workers.stops.map(\.limit)
        func multiples(_ input: ScenarioInput, to end: Double, parts: Double) -> Trial {
            Trial(input, present(input), to: end, parts: parts)
        }
        var trials: [Trial] = []
        if limits.contains(where: { $0.hasPrefix("origin.") }) { trials += limitsOfOrigin }
        let hasMisses = sizing.demand.peakMissesPerSecond > 0
        if values.known(.hitRatio) != nil {
            if hasMisses { trials.append(multiples(.hitRatio, to: 1, parts: 10_000)) }
        } else if values.service != .live, hasMisses {
            trials.append(multiples(.storedShare, to: 1, parts: 1_000))
        }
        if sizing.demand.fillSegmentsPerDay > 0 {
            trials.append(multiples(.changePerDay, to: 0.000_1, parts: 10_000))
        }
        if missed.contains(.deadline) {
            let day = 24 + values[.bootSeconds] / 3_600
            trials.append(multiples(.deadlineHours, to: (day * 10).rounded(.up) / 10, parts: 10))
        }
        if limits.contains(ScenarioInput.headroom.row.path) {
            trials.append(multiples(.headroom, to: 0, parts: 1_000))
        }
        if limits.contains(ScenarioInput.dispatchSeconds.row.path) {
            trials.append(Trial(.waitSeconds, above: present(.waitSeconds)))
        }
        return trials.filter { $0.count > 0 }
    }

    /// The limits of the origin, each by itself, and together if more than one is too low.
    private var limitsOfOrigin: [Trial] {
        let inputs: [ScenarioInput] = [.originConnections, .originRequests, .originMegabits]
        let given = inputs.filter { values.known($0) != nil }
        let alone = given.map { Trial($0, above: present($0)) }
        guard given.count > 1 else { return alone }
        let columns = alone.compactMap { trial -> Trial.Column? in
            guard let column = trial.columns.first else { return nil }
            // Nothing else of the origin limits then.
            let others = given.filter { $0 != column.input }.map { ($0, $0.row.allowed.upperBound) }
            let free = values.with(Dictionary(uniqueKeysWithValues: others))
            guard !suffices(Sizing(free), missed),
                let first = Self.first(
                    trial.count, { suffices(Sizing(free.with(trial.changes($0))), missed) })
            else { return nil }
            return Trial.Column(input: column.input, values: Array(column.values[first...]))
        }
        return columns.count > 1 ? [Trial(columns)] : alone
    }

    // MARK: Search

    /// Scenarios to try, from the nearest to the present one to the farthest.
    struct Steps {
        let count: Int
        let scenario: (Int) -> Scenario
        /// The same changes of the present values, which take no draws.
        let values: (Int) -> ScenarioValues
    }

    private func steps(_ trial: Trial) -> Steps {
        Steps(
            count: trial.count, scenario: { scenario.with(trial.changes($0)) },
            values: { values.with(trial.changes($0)) })
    }

    /// Samples of steps to find those that suffice.
    private static let samples = 32

    /// Returns the first of `count` steps that suffices, on present values.
    private static func first(_ count: Int, _ suffices: (Int) -> Bool) -> Int? {
        let last = count - 1
        guard last >= 0 else { return nil }
        var failed = -1
        // Too much of an input may be as bad as too little.
        for sample in 0...samples {
            let step = last * sample / samples
            guard step > failed else { continue }
            guard suffices(step) else {
                failed = step
                continue
            }
            return bisected(failed, step, suffices)
        }
        return nil
    }

    /// Returns the lowest number above `failed` that suffices, at most `sufficient`.
    private static func bisected(_ failed: Int, _ sufficient: Int, _ suffices: (Int) -> Bool) -> Int
    {
        var (low, high) = (failed, sufficient)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if suffices(middle) { high = middle } else { low = middle }
        }
        return high
    }

    /// Returns the first step with which the plan suffices; nil if none does.
    func nearest(_ steps: Steps, where suffices: (Sized) -> Bool) -> Int? {
        guard steps.count > 0 else { return nil }
        var known: [Int: Bool] = [:]
        func isEnough(_ step: Int) -> Bool {
            if let known = known[step] { return known }
            let size = PlanSize(steps.scenario(step), options)
            let isEnough = suffices((size.values, size.formulas))
            known[step] = isEnough
            return isEnough
        }
        // Present values show where to begin.
        let guess = Self.first(steps.count) { step in
            let changed = steps.values(step)
            return suffices((changed, Sizing(changed)))
        }
        guard let step = Self.near(guess ?? steps.count - 1, steps.count, isEnough) else {
            return nil
        }
        return simulated(steps, from: step, where: suffices)
    }

    /// Returns the lowest step that suffices, beginning at `guess`; nil if no later one does.
    private static func near(_ guess: Int, _ count: Int, _ suffices: (Int) -> Bool) -> Int? {
        var (low, high, distance) = (guess, guess, 1)
        if suffices(guess) {
            repeat {
                guard high > 0 else { return 0 }
                low = max(0, high - distance)
                distance *= 2
                guard suffices(low) else { break }
                high = low
            } while true
        } else {
            repeat {
                guard low < count - 1 else { return nil }
                high = min(count - 1, low + distance)
                distance *= 2
                guard !suffices(high) else { break }
                low = high
            } while true
        }
        return bisected(low, high, suffices)
    }

    /// Simulations of steps at most: each takes up to two seconds.
    private static let maxSimulations = 4

    /// Returns the first step from `step` on with which the plan suffices by its own method.
    private func simulated(
        _ steps: Steps, from step: Int, where suffices: (Sized) -> Bool
    ) -> Int? {
        var (next, distance) = (step, 1)
        for _ in 0..<Self.maxSimulations {
            let size = PlanSize(steps.scenario(next), options)
            if size.method == .formulas || suffices((size.values, size.sizing())) {
                return suffices((size.values, size.formulas)) ? next : nil
            }
            guard next < steps.count - 1 else { return nil }
            next = min(steps.count - 1, next + distance)
            distance *= 2
        }
        return nil
    }
}

// MARK: - Other problems

extension Advice {
    /// Returns the first value of an input beyond its present one with which `suffices` is true.
    func value(
        _ input: ScenarioInput, to end: Double, parts: Double = 1, where suffices: (Sized) -> Bool
    ) -> Double? {
        let trial = Trial(input, present(input), to: end, parts: parts)
        return nearest(steps(trial), where: suffices).flatMap { trial.changes($0)[input] }
    }

    /// Returns the resources of a scenario, by the method of its own plan.
    func sized(_ scenario: Scenario) -> Sizing { PlanSize(scenario, options).sizing() }

    /// Returns true if a pool suffices with another value of an input.
    func hasPool(_ input: ScenarioInput, _ value: Double) -> Bool {
        PlanSize(scenario.with([input: value]), options).formulas.workers.stops.isEmpty
    }
}
