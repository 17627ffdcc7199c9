import HTTPServer
import Model

/// `{}`: the body of a request without fields.
struct NoFields: Decodable {
    private enum CodingKeys: CodingKey {}

    init(from decoder: any Decoder) throws {
        _ = try decoder.container(keyedBy: CodingKeys.self)
    }
}

/// Reads the bodies of requests.
enum RequestBody {
    /// Requires the JSON type, which no HTML form can send without a CORS preflight.
    static func requireJSON(_ request: HTTPRequest) throws(Failure) {
        let type = request.header("content-type") ?? ""
        guard type.lowercased().hasPrefix("application/json") else {
            throw Validation.wrong("Content-Type", type, "application/json")
        }
    }

    /// Reads a body. Throws `input.malformed` with the position of the error, and `input.tooLarge`.
    static func read<Body: Decodable>(_ request: HTTPRequest) throws -> Body {
        try JSONShape.check(request.body)
        do {
            return try WireJSON.decodeStrictly(from: request.body)
        } catch let error as DecodingError {
            throw Failure(.inputMalformed, "The request's body: \(describe(error))")
        }
    }

    private static func describe(_ error: DecodingError) -> String {
        func place(_ context: DecodingError.Context, _ last: (any CodingKey)? = nil) -> String {
            let keys = context.codingPath + (last.map { [$0] } ?? [])
            let path = keys.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
            let text = path.joined().unicodeScalars.drop { $0 == "." }
            // The names are the caller's.
            return path.isEmpty ? "the body" : String(String.UnicodeScalarView(text.prefix(200)))
        }
        switch error {
        case .keyNotFound(let key, let context): return "\(place(context, key)) is missing."
        case .typeMismatch(let type, let context): return "\(place(context)) is not \(name(type))."
        case .valueNotFound(let type, let context):
            return "\(place(context)) is null, not \(name(type))."
        case .dataCorrupted(let context):
            return "\(place(context)): \(context.debugDescription)"
        @unknown default: return "it cannot be read."
        }
    }

    /// Returns JSON's name of a Swift type.
    private static func name(_ type: any Any.Type) -> String {
        let name = "\(type)"
        return switch name {
        case "String": "a string"
        case "Bool": "true or false"
        case "Double": "a number"
        case _ where name.hasPrefix("Dictionary"): "an object"
        case _ where name.hasPrefix("Array"): "an array"
        case _ where name.hasPrefix("Int"): "a whole number in range"
        default: "what is expected"
        }
    }
}

extension HTTPResponse {
    /// Returns 200 with a value as JSON.
    static func wire(_ value: some Encodable) throws -> HTTPResponse {
        .json(200, bytes: try WireJSON.encode(value))
    }

    /// Returns 204 without content.
    static var done: HTTPResponse { HTTPResponse(status: 204) }
}
