package import Statistics

/// A test that ran with several loads one after another, and their results.
package struct LoadLadder: Sendable {
    package enum Kind: String, Sendable {
        /// Searches for the highest load at which all thresholds hold.
        case search
        /// Increases the number of workers.
        case scale
    }

    package struct Step: Sendable {
        /// Arrivals per second, users or workers.
        package var level: Double
        package var result: LoadResult
        /// The reason why the load of a search does not hold; nil if it does.
        package var limit: Limit?

        package init(level: Double, result: LoadResult) {
            self.level = level
            self.result = result
        }
    }

    /// Unit of `Step.level`.
    package enum Unit: String, Sendable {
        case arrivalsPerSecond
        case users
        case workers
    }

    /// The reason why a load does not hold.
    package enum Limit: String, Sendable {
        case threshold
        /// Requests in progress kept growing: the target answered fewer than were sent.
        case fellBehind
        /// The load was not sent: due requests had no slot until the end.
        case missedSends
        /// The generator was the bottleneck.
        case generator
        /// Requests were sent late by a generator with little CPU use: its machine was busy with
        /// other work.
        case machineBusy
        /// A worker of the load was lost or failed.
        case worker
        /// Its caps ended it early.
        case cap
    }

    /// A cap of all steps together.
    package enum Cap: String, Sendable {
        /// Another step would take longer than the duration.
        case seconds
        /// Requests or bytes are used up.
        case requests
    }

    /// Users from which on throughput does not rise.
    package struct Knee: Sendable, Equatable {
        package var level: Double
        /// Successful requests per second.
        package var perSecond: Double

        package init(level: Double, perSecond: Double) {
            self.level = level
            self.perSecond = perSecond
        }
    }

    /// The reason why a search ended at a load before it found the limit.
    package enum Stop: String, Sendable {
        /// A signal ended it.
        case interrupted
        /// The machine of the generator stayed busy with other work in all tries.
        case machineBusy
        /// The load could not be run to its end.
        case failed
    }

    package var kind: Kind
    package var unit: Unit
    package var steps: [Step] = []
    /// Results of a search.
    package var highest: Double?
    package var lowestBroken: Double?
    /// The users at which throughput stopped rising, and a search for a throughput ended.
    package var knee: Knee?
    /// The cap that ended it early; nil if none did.
    package var cap: Cap?
    /// What else ended a search early, and the load at which it did.
    package var stop: (reason: Stop, level: Double)?
    /// The best fit of the Universal Scalability Law, in requests per second, for a scale of three
    /// steps or more.
    package var fit: ScalabilityFit?

    package init(kind: Kind, unit: Unit) {
        self.kind = kind
        self.unit = unit
    }

    /// The last step of the load `lowestBroken`.
    package var limitingStep: Step? {
        steps.last { $0.level == lowestBroken && $0.limit != nil }
    }

    /// The reason why `lowestBroken` did not hold.
    package var limit: Limit? { limitingStep?.limit }

    /// True if `lowestBroken` was too much for the target; else something of the generator failed.
    package var limitIsOfTarget: Bool {
        switch limit {
        case .threshold, .fellBehind, nil: lowestBroken != nil
        case .missedSends, .generator, .machineBusy, .worker, .cap: false
        }
    }

    /// The load of the step that stands for the whole test.
    package var mainLevel: Double? { knee?.level ?? highest ?? steps.last?.level }

    /// The step that stands for the whole test.
    package var mainStep: Step? { steps.last { $0.level == mainLevel } }

    /// The last step of the load at which a search was stopped.
    package var stopStep: Step? { stop.flatMap { stop in steps.last { $0.level == stop.level } } }

    /// True if a search has found the limit of the target.
    package var isConclusive: Bool {
        if knee != nil { return true }
        guard stop == nil else { return false }
        return switch limit {
        case .threshold, .fellBehind: true
        case .missedSends, .generator, .machineBusy, .worker, .cap: false
        case nil: highest != nil && lowestBroken != nil
        }
    }

    /// True if all loads of a search passed, up to its maximum: the limit is higher.
    package var passesMaximum: Bool {
        knee == nil && stop == nil && cap == nil && highest != nil && lowestBroken == nil
    }
}
