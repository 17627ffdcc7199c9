package import Statistics

/// An invalid input of a plan: the field, the given and the allowed value.
package struct PlannerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The input as the user wrote it: `catalog.assets`, `--load`, `line 3, column X`.
    package let field: String
    /// The given value, cut to a line.
    package let given: String
    /// The allowed values, a sentence without its full stop: `use a number from 0 to 1`.
    package let allowed: String

    package init(field: String, given: String, allowed: String) {
        self.field = field
        self.given = given
        self.allowed = allowed
    }

    package init(_ error: FitError) {
        self.init(field: error.field, given: error.given, allowed: error.allowed)
    }

    package var description: String { "\(field) is \(given): \(allowed)" }
}
