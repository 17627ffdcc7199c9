package import Model

/// The body of every answer that is not 2xx.
package struct ErrorAnswer: Codable, Sendable {
    package var error: Failure

    package init(_ error: Failure) { self.error = error }
}
