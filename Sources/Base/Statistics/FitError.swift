/// Points that no curve can be fitted to: which value, what was given, what is allowed.
package struct FitError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `N of point 3`
    package let field: String
    package let given: String
    /// What would be right, a sentence without its full stop: `use a number from 1 to 1,000,000,000`.
    package let allowed: String

    package var description: String { "\(field) is \(given): \(allowed)" }
}
