import API
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
    /// Returns the format of a request's body. No HTML form can send either type without a CORS
    /// preflight.
    @discardableResult
    static func format(of request: HTTPRequest) throws(Failure) -> WireFormat {
        let type = request.header("content-type") ?? ""
        guard let format = WireFormat(contentType: type) else {
            throw Validation.wrong(
                "Content-Type", type,
                "\(WireFormat.json.contentType) or \(WireFormat.rows.contentType)")
        }
        return format
    }

    /// Reads a body. Throws `input.malformed` with the position of the error, `input.field` for a
    /// value that the field's type does not allow, and `input.tooLarge`.
    static func read<Body: Decodable>(_ request: HTTPRequest) throws -> Body {
        let format = try format(of: request)
        if format == .json { try JSONShape.check(request.body) }
        do {
            return try format.decodeStrictly(from: request.body)
        } catch DecodingError.dataCorrupted(let context) {
            guard let value = context.underlyingError as? InvalidValue else {
                throw malformed(.dataCorrupted(context))
            }
            throw Validation.wrong(path(context), value.given, value.allowed)
        } catch let error as DecodingError {
            throw malformed(error)
        }
    }

    private static func malformed(_ error: DecodingError) -> Failure {
        Failure(.inputMalformed, "The request's body: \(describe(error))")
    }

    private static func path(
        _ context: DecodingError.Context, _ last: (any CodingKey)? = nil
    ) -> String {
        let keys = context.codingPath + (last.map { [$0] } ?? [])
        let path = keys.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
        let text = path.joined().unicodeScalars.drop { $0 == "." }
        // The names are the caller's.
        return path.isEmpty ? "the body" : String(String.UnicodeScalarView(text.prefix(200)))
    }

    private static func describe(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, let context): return "\(path(context, key)) is missing."
        case .typeMismatch(let type, let context): return "\(path(context)) is not \(name(type))."
        case .valueNotFound(let type, let context):
            return "\(path(context)) is null, not \(name(type))."
        case .dataCorrupted(let context):
            return "\(path(context)): \(context.debugDescription)"
        @unknown default: return "it cannot be read."
        }
    }

    /// Returns JSON's name of a Swift type.
    private static func name(_ type: any Any.Type) -> String {
        let name = "\(type)"
        return switch name {
        case "String": "a string"
        case "AssetKind", "JobKind", "SegmentRole", "RefreshOutcome", "Outcome",
            "AccessRole":
            "one of its values"
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
    /// Returns 200 with a value as JSON; equal values have equal entity tags.
    static func wire(_ value: some Encodable) throws -> HTTPResponse {
        .json(200, bytes: try WireJSON.encode(value, isSorted: true))
    }

    /// Returns 200 with a value in the format that the request accepts.
    static func wire(
        _ value: some Encodable, for request: HTTPRequest
    ) throws -> HTTPResponse {
        guard let accepted = request.header("accept"), WireFormat.rows.isAccepted(by: accepted),
            value is any WireMessage
        else { return try .wire(value) }
        return HTTPResponse(
            status: 200, headers: [("Content-Type", WireFormat.rows.contentType)],
            body: try WireFormat.rows.encode(value))
    }

    /// Returns 204 without content.
    static var done: HTTPResponse { HTTPResponse(status: 204) }
}
