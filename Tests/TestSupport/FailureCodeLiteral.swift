package import Model

/// Tests write codes as the text that users see.
extension FailureCode: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { self.init(value) }
}
