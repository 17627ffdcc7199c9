import HTTPServer
import Model

/// One thing that the API can do: a method, a path and the handler of both.
///
///     .post("/v1/catalogs/{catalog}/start", catalogs.start)
struct Route: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    typealias Handler = @Sendable (HTTPRequest, PathParameters) async throws -> HTTPResponse
    /// Of a path without parameters.
    typealias PlainHandler = @Sendable (HTTPRequest) async throws -> HTTPResponse

    var method: Method
    var path: RoutePath
    var handler: Handler
    /// Needs no token.
    var isOpen = false
    /// Asked all the time and little work: it runs where the connections to the database are.
    var isFrequent = false

    static func get(_ path: RoutePath, _ handler: @escaping Handler) -> Route {
        Route(method: .get, path: path, handler: handler)
    }

    static func get(_ path: RoutePath, _ handler: @escaping PlainHandler) -> Route {
        get(path) { request, _ in try await handler(request) }
    }

    static func post(_ path: RoutePath, _ handler: @escaping Handler) -> Route {
        Route(method: .post, path: path, handler: handler)
    }

    static func post(_ path: RoutePath, _ handler: @escaping PlainHandler) -> Route {
        post(path) { request, _ in try await handler(request) }
    }

    /// Answers everyone.
    var open: Route {
        var route = self
        route.isOpen = true
        return route
    }

    var frequent: Route {
        var route = self
        route.isFrequent = true
        return route
    }
}

/// A path as the table of routes spells it: `/v1/catalogs/{catalog}/files`. A part in braces stands for any
/// text, which the handler gets under that name.
struct RoutePath: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    enum Part: Sendable, Hashable {
        case literal(String)
        case parameter(String)
    }

    let description: String
    let parts: [Part]

    init(stringLiteral text: String) {
        description = text
        parts = text.split(separator: "/").map { part in
            guard part.hasPrefix("{"), part.hasSuffix("}") else { return .literal(String(part)) }
            return .parameter(String(part.dropFirst().dropLast()))
        }
    }

    /// The texts of the parameters, where the path is one of these; nil for any other.
    func match(_ segments: [String]) -> PathParameters? {
        guard segments.count == parts.count else { return nil }
        var parameters = PathParameters()
        for (part, segment) in zip(parts, segments) {
            switch part {
            case .literal(let text): guard text == segment else { return nil }
            case .parameter(let name): parameters.values.append((name, segment))
            }
        }
        return parameters
    }
}

/// What a request's path has in place of the parts in braces.
struct PathParameters: Sendable {
    fileprivate(set) var values: [(name: String, text: String)] = []

    /// The text of a parameter, which the route's path must have.
    subscript(name: String) -> String {
        guard let value = values.first(where: { $0.name == name }) else {
            preconditionFailure("The route's path has no {\(name)}.")
        }
        return value.text
    }
}
