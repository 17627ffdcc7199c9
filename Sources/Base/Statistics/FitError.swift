/// Points that cannot be fitted: the field, the given and the allowed value.
package struct FitError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Such as `N of point 3`.
    package let field: String
    package let given: String
    /// The allowed values, a sentence without its full stop: `use a number from 1 to
    /// 1,000,000,000`.
    package let allowed: String

    package var description: String { "\(field) is \(given): \(allowed)" }
}
