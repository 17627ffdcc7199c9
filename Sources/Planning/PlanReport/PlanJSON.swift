import FoundationEssentials
package import Planner

/// A plan as JSON: every figure, input, price, range and month; units are in the names.
package enum PlanJSON {
    package static func text(_ plan: Plan) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(plan), as: UTF8.self) + "\n"
    }
}
