/// The loads that a running load test can be given.
package struct LoadRange: Codable, Hashable, Sendable {
    package enum Unit: String, Codable, CaseIterable, Sendable {
        case arrivalsPerSecond
        case users
    }

    package var unit: Unit
    /// Largest load, within `WireLimits.loadLevel`; the least is 0, a pause.
    package var most: Double
    /// Planned end of the load in seconds since its start, within `WireLimits.loadSeconds`.
    package var seconds: Double

    package init(unit: Unit, most: Double, seconds: Double) {
        self.unit = unit
        self.most = most
        self.seconds = seconds
    }

    /// Throws `input.field` for a load that is not in the range.
    package func check(_ level: Double) throws(Failure) {
        let isAllowed = (0...most).contains(level)
        switch unit {
        case .arrivalsPerSecond:
            guard isAllowed else {
                throw Self.rejection(level, "0 to \(Self.text(most)) arrivals per second")
            }
        case .users:
            guard isAllowed, level == level.rounded() else {
                throw Self.rejection(
                    level,
                    "a whole number of users up to \(Self.text(most)), its slots (--concurrency)")
            }
        }
    }

    private static func rejection(_ level: Double, _ allowed: String) -> Failure {
        Failure(.inputField, at: .field("level"), "given \(text(level))", allowed: allowed)
    }

    private static func text(_ level: Double) -> String {
        level == level.rounded() && abs(level) < 1e15 ? "\(Int(level))" : "\(level)"
    }
}
