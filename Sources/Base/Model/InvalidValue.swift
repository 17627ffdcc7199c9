/// A given value that its type does not allow: the underlying error of a `DecodingError`, from which
/// a server builds its answer.
package struct InvalidValue: Error {
    package let given: String
    package let allowed: String

    package init(given: String, allowed: String) {
        self.given = given
        self.allowed = allowed
    }

    func decodingError(at decoder: any Decoder) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(
                codingPath: decoder.codingPath, debugDescription: "allowed: \(allowed)",
                underlyingError: self))
    }
}
