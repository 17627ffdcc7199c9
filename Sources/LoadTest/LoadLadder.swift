package import Planner

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

    package var kind: Kind
    package var unit: Unit
    package var steps: [Step] = []
    /// Of a search.
    package var highest: Double?
    package var lowestBroken: Double?
    /// Of a scale of three steps or more: the Universal Scalability Law that fits best, in requests a second.
    package var fit: ScalabilityFit?

    package init(kind: Kind, unit: Unit) {
        self.kind = kind
        self.unit = unit
    }
}
