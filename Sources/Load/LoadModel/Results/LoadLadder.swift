package import Statistics

/// A test that was run with one load after another: what each came to.
package struct LoadLadder: Sendable {
    package enum Kind: String, Sendable {
        /// For the highest load with which all thresholds hold.
        case search
        /// With more and more workers.
        case scale
    }

    package struct Step: Sendable {
        /// Arrivals a second, users or workers.
        package var level: Double
        package var result: LoadResult
        /// Of a search, why the load does not hold; nil where it does.
        package var limit: Limit?

        package init(level: Double, result: LoadResult) {
            self.level = level
            self.result = result
        }
    }

    /// What `Step.level` counts.
    package enum Unit: String, Sendable {
        case arrivalsPerSecond
        case users
        case workers
    }

    /// What keeps a load from being one with which all thresholds hold.
    package enum Limit: String, Sendable {
        case threshold
        /// The load was not sent: requests that were due had no place until the end.
        case missedSends
        /// The generator was at its own limit.
        case generator
        /// A worker that sent a part of it was lost, or failed.
        case worker
        /// Its caps ended it before its time.
        case cap
    }

    package var kind: Kind
    package var unit: Unit
    package var steps: [Step] = []
    /// Of a search.
    package var highest: Double?
    package var lowestBroken: Double?
    /// What kept `lowestBroken` from holding.
    package var limit: Limit? { steps.last { $0.level == lowestBroken && $0.limit != nil }?.limit }
    /// It ended there because all that its caps allow was used up.
    package var isCapped = false
    /// Of a scale of three steps or more: the Universal Scalability Law that fits best, in requests a second.
    package var fit: ScalabilityFit?

    package init(kind: Kind, unit: Unit) {
        self.kind = kind
        self.unit = unit
    }
}
