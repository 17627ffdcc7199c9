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

    /// The value that is outside, such as `an arrival CV² of 4`; nil within the range.
    package let reason: String?

    package init(_ question: QueueQuestion) {
        self.init(arrivalCV2: question.arrivalCV2, serviceCV2: question.serviceCV2)
    }

    package init(arrivalCV2: Double, serviceCV2: Double) {
        if !Self.arrivalCV2.contains(arrivalCV2) {
            reason = "an arrival CV² of \(Scenario.plain(arrivalCV2))"
        } else if !Self.serviceCV2.contains(serviceCV2) {
            reason = "a service CV² of \(Scenario.plain(serviceCV2))"
        } else {
            reason = nil
        }
    }

    package var holds: Bool { reason == nil }
}
