import FoundationEssentials
import HTTPServer
import Model
import Runtime

/// `{}`: the body of a request that has nothing to say but its path.
struct NoFields: Decodable {
    private enum CodingKeys: CodingKey {}

    init(from decoder: any Decoder) throws {
        _ = try decoder.container(keyedBy: CodingKeys.self)
    }
}

/// Bodies read, answers written.
extension Routes {
    /// Only a request that a browser must ask leave for: no form can send this type.
    static func requireJSON(_ request: HTTPRequest) throws(Failure) {
        let type = request.header("content-type") ?? ""
        guard type.lowercased().hasPrefix("application/json") else {
            throw Validation.wrong("Content-Type", type, "application/json")
        }
    }

    static func body<Body: Decodable>(of request: HTTPRequest) throws -> Body {
        try JSONShape.check(request.body)
        do {
            return try WireJSON.decodeStrictly(from: request.body)
        } catch let error as DecodingError {
            throw Failure("input.malformed", "The request's body: \(describe(error))")
        }
    }

    private static func describe(_ error: DecodingError) -> String {
        func place(_ context: DecodingError.Context, _ last: (any CodingKey)? = nil) -> String {
            let keys = context.codingPath + (last.map { [$0] } ?? [])
            let path = keys.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
            let text = path.joined().unicodeScalars.drop { $0 == "." }
            // Names are the caller's.
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

    /// What JSON calls a type of Swift's.
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

    static func json(_ value: some Encodable) throws -> HTTPResponse {
        HTTPResponse.json(200, bytes: try WireJSON.encode(value))
    }

    static func noRoute(_ request: HTTPRequest) -> Failure {
        Failure("input.notFound", "There is no \(shown(request)).")
    }

    /// Method and path as messages name them.
    static func shown(_ request: HTTPRequest) -> String {
        let path = "/" + request.segments.joined(separator: "/")
        return "\(request.method.prefix(10)) \(String(path.unicodeScalars.prefix(100)))"
    }

    /// What a request gets that the server itself refuses.
    static func refusal(_ refusal: HTTPServer.Refusal) -> HTTPResponse {
        let code: FailureCode =
            switch refusal {
            case .malformedRequest, .malformedTarget, .versionNotSupported, .unknownCoding:
                "input.malformed"
            case .targetTooLong, .headersTooLarge, .bodyTooLarge: "input.tooLarge"
            case .timedOut: "input.timeout"
            case .tooManyBodies, .tooManyConnections: "cluster.busy"
            // As if it were gone: callers go on to another one.
            case .shuttingDown: "cluster.coordinatorUnreachable"
            case .unsendableAnswer: "worker.internal"
            }
        var answer = response(to: Failure(code, "The request: \(refusal.reason)."))
        answer.status = refusal.status
        return answer
    }

    static func response(to failure: Failure) -> HTTPResponse {
        let status =
            switch failure.code {
            case "input.notFound": 404
            case "input.method": 405
            case "worker.leaseLost", "input.draining", "input.loadTestRunning",
                "storage.outsideRoots":
                409
            case "input.tooLarge": 413
            case "cluster.unauthorized": 401
            case let code where code.isOfUnavailableCluster: 503
            case "worker.internal": 500
            default: 400
            }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Some messages have what was given in them, as a decoder words it.
        let shown = Failure(failure.code, printable(failure.message))
        let body = (try? encoder.encode(ErrorAnswer(shown))) ?? Data()
        return HTTPResponse.json(status, bytes: Array(body))
    }
}
