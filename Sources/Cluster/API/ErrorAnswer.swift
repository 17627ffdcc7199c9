package import Model

/// The body of every answer that is neither 2xx nor 3xx: a problem document (RFC 9457) with the
/// failure's code and what to do about it.
package struct ErrorAnswer: Sendable {
    package var error: Failure
    /// HTTP status of the answer.
    package var status: Int

    package static let contentType = "application/problem+json"
    /// Prefix of `type`; the code follows.
    package static let typePrefix = "urn:dray:failure:"

    package init(_ error: Failure, status: Int) {
        self.error = error
        self.status = status
    }
}

extension ErrorAnswer: Codable {
    private enum CodingKeys: CodingKey {
        case type, title, status, detail, code, hint
    }

    /// Maximum characters of a hint.
    private static let maxHintCharacters = 1_000

    /// Reads the code, the detail and the hint: what a failure is made of.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        _ = try fields.decodeIfPresent(String.self, forKey: .type)
        _ = try fields.decodeIfPresent(String.self, forKey: .title)
        status = try fields.decode(Int.self, forKey: .status)
        let hint = try fields.decodeIfPresent(String.self, forKey: .hint)
        error = Failure(
            try fields.decode(FailureCode.self, forKey: .code),
            try fields.decode(String.self, forKey: .detail),
            hint: hint.map {
                String(String.UnicodeScalarView($0.unicodeScalars.prefix(Self.maxHintCharacters)))
            })
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(Self.typePrefix + error.code.rawValue, forKey: .type)
        try fields.encode(error.code.title, forKey: .title)
        try fields.encode(status, forKey: .status)
        try fields.encode(error.message, forKey: .detail)
        try fields.encode(error.code, forKey: .code)
        try fields.encode(error.hint, forKey: .hint)
    }
}
