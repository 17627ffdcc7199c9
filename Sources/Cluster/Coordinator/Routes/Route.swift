import HTTPServer
import Model

/// A route of the API: a method, a path, who may use it, and its handler.
///
///     .change("/v1/catalogs/{catalog}/start", .submitters, catalogs.start)
///
/// A route that changes something for a person is a `change`, which the audit log records; `post` is
/// for workers, and for reads.
struct Route: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    typealias Handler = @Sendable (HTTPRequest, PathParameters, Caller) async throws -> HTTPResponse
    /// Checks a request, and returns the change that it asks for.
    typealias ChangeHandler =
        @Sendable (HTTPRequest, PathParameters, Caller) async throws -> Change
    /// Handler that needs no caller.
    typealias PathHandler = @Sendable (HTTPRequest, PathParameters) async throws -> HTTPResponse
    /// Handler of a path without parameters.
    typealias PlainHandler = @Sendable (HTTPRequest) async throws -> HTTPResponse

    /// Access to a route, and its handler.
    enum Handling: Sendable {
        /// It requires no token.
        case open(PlainHandler)
        case answer(AccessRule, Handler)
        case change(AccessRule, ChangeHandler)
    }

    var method: Method
    var path: RoutePath
    var handling: Handling
    /// True for frequent, cheap requests, which run on the loop of the database connections.
    var isFrequent = false
    /// True for health checks, which have no limit of their rate.
    var isProbe = false
    /// True if it creates something, and honours `Idempotency-Key`.
    var isCreating = false
    /// Counts its answers.
    var answers: RouteAnswers?

    /// A route that requires no token.
    static func open(_ path: RoutePath, _ handler: @escaping PlainHandler) -> Route {
        Route(method: .get, path: path, handling: .open(handler))
    }

    static func get(
        _ path: RoutePath, _ rule: AccessRule, _ handler: @escaping Handler
    ) -> Route {
        Route(method: .get, path: path, handling: .answer(rule, handler))
    }

    static func get(
        _ path: RoutePath, _ rule: AccessRule, _ handler: @escaping PathHandler
    ) -> Route {
        get(path, rule) { request, path, _ in try await handler(request, path) }
    }

    static func get(
        _ path: RoutePath, _ rule: AccessRule, _ handler: @escaping PlainHandler
    ) -> Route {
        get(path, rule) { request, _, _ in try await handler(request) }
    }

    static func post(
        _ path: RoutePath, _ rule: AccessRule, _ handler: @escaping Handler
    ) -> Route {
        Route(method: .post, path: path, handling: .answer(rule, handler))
    }

    static func post(
        _ path: RoutePath, _ rule: AccessRule, _ handler: @escaping PlainHandler
    ) -> Route {
        post(path, rule) { request, _, _ in try await handler(request) }
    }

    static func change(
        _ path: RoutePath, _ rule: AccessRule, _ handler: @escaping ChangeHandler
    ) -> Route {
        Route(method: .post, path: path, handling: .change(rule, handler))
    }

    /// Method and path, for logs and metrics.
    var name: String { "\(method.rawValue) \(path)" }

    /// The roles that may use it; nil for everyone.
    var rule: AccessRule? {
        switch handling {
        case .open: nil
        case .answer(let rule, _), .change(let rule, _): rule
        }
    }

    var probe: Route {
        var route = self
        route.isProbe = true
        return route
    }

    var frequent: Route {
        var route = self
        route.isFrequent = true
        return route
    }

    var creating: Route {
        var route = self
        route.isCreating = true
        return route
    }
}

/// A path in the table of routes, such as `/v1/catalogs/{catalog}/files`. A part in braces matches
/// any text but an empty one; the handler gets it under that name. A path with a slash at its end,
/// or with two slashes together, has no route.
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

    /// Returns the texts of the parameters if the path matches; nil otherwise.
    func match(_ segments: [String]) -> PathParameters? {
        guard segments.count == parts.count else { return nil }
        var parameters = PathParameters()
        for (part, segment) in zip(parts, segments) {
            switch part {
            case .literal(let text): guard text == segment else { return nil }
            case .parameter(let name):
                guard !segment.isEmpty else { return nil }
                parameters.values.append((name, segment))
            }
        }
        return parameters
    }
}

/// The texts in a request's path for the parts in braces.
struct PathParameters: Sendable {
    fileprivate(set) var values: [(name: String, text: String)] = []

    /// The text of a parameter, which the route's path must contain.
    subscript(name: String) -> String {
        guard let value = values.first(where: { $0.name == name }) else {
            preconditionFailure("The route's path has no {\(name)}.")
        }
        return value.text
    }
}
