/// The range in which the formulas of `WaitingModel` hold: mean waits within `errorPercent` of
/// simulated ones for 1 to 400 servers, if a tenth of the jobs waits or more, for gamma, lognormal and
/// two-exponential service times (docs/planning.md).
///
/// Two moments do not determine a wait. Beyond the range distributions of the same moments differ as
/// much as formulas do, so no formula of these moments is better.
package struct FormulaRange: Sendable, Hashable {
    package static let errorPercent = 15
    package static let arrivalCV2 = 0.95...1.1
    package static let serviceCV2 = 0.0...1.5

    /// A warning about arrivals beyond the range.
    package static let burstNote =
        "Arrivals come in bursts: waits depend on how long these last, not only on the CV². Longer "
        + "bursts than simulated, such as the start of an event, wait longer: plan them with their "
        + "own rate."

    /// What is outside, such as `an arrival CV² of 4`, or `… with a service CV² of 20`; nil
    /// within the range.
    package let reason: String?

    package init(_ question: QueueQuestion) {
        self.init(arrivalCV2: question.arrivalCV2, serviceCV2: question.serviceCV2)
    }

    /// Takes the variation of a plan to two digits, so that a rounding error is not outside.
    init(_ values: ScenarioValues) {
        func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
        self.init(
            arrivalCV2: rounded(values[.arrivalCV2]), serviceCV2: rounded(values[.serviceCV2]))
    }

    package init(arrivalCV2: Double, serviceCV2: Double) {
        var outside: [String] = []
        if !Self.arrivalCV2.contains(arrivalCV2) {
            outside.append("an arrival CV² of \(Scenario.plain(arrivalCV2))")
        }
        if !Self.serviceCV2.contains(serviceCV2) {
            outside.append("a service CV² of \(Scenario.plain(serviceCV2))")
        }
        reason = outside.isEmpty ? nil : outside.joined(separator: " with ")
    }

    package var holds: Bool { reason == nil }
}
