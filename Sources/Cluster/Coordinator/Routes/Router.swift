import HTTPServer
import Model

/// Dispatches requests: finds the route once, checks the token, and answers failures. Every answer
/// that is not 2xx carries a failure with its code.
struct Router: Sendable {
    let table: RouteTable
    let access: Access
    /// Runs frequent requests.
    let executor: any TaskExecutor

    /// Maximum body of a frequent request on the database's loop; a longer one is too much work for
    /// it.
    private static let frequentBodyBytes = 256 << 10

    /// Decides from a request's headers. Open paths are found first; without a token, nothing else
    /// is revealed.
    func decide(_ request: HTTPRequest) -> HTTPServer.Decision {
        let method = Self.method(of: request)
        let match = table.match(method, request.segments)
        do throws(Failure) {
            if !match.isOpen { try access.check(request) }
            switch match {
            case .none:
                throw Failure(.inputNotFound, "There is no \(Self.shown(request)).")
            case .otherMethods(let allowed, _):
                return .refused(Self.wrongMethod(request, allowed: allowed))
            case .found(let route, let parameters):
                if route.method != .get { try RequestBody.format(of: request) }
                return .routed({ await Self.answer($0, route, parameters) }) { request in
                    route.isFrequent && request.body.count <= Self.frequentBodyBytes
                        ? executor : nil
                }
            }
        } catch {
            return .refused(FailureAnswer.response(to: error))
        }
    }

    /// Returns true for a request with the token: connections are reserved for these.
    func knows(_ request: HTTPRequest) -> Bool {
        do throws(Failure) {
            try access.check(request)
            return true
        } catch {
            return false
        }
    }

    private static func answer(
        _ request: HTTPRequest, _ route: Route, _ parameters: PathParameters
    ) async -> HTTPResponse {
        let response = await handle(request, route, parameters)
        route.answers?.count(response.status)
        return response
    }

    private static func handle(
        _ request: HTTPRequest, _ route: Route, _ parameters: PathParameters
    ) async -> HTTPResponse {
        do {
            return try await route.handler(request, parameters)
        } catch let failure as Failure {
            return FailureAnswer.response(to: failure)
        } catch {
            return FailureAnswer.response(to: Failure(.workerInternal, "\(error)"))
        }
    }

    /// Returns GET for HEAD, whose body the server omits (RFC 9110, 9.3.2).
    private static func method(of request: HTTPRequest) -> String {
        request.method == "HEAD" ? "GET" : request.method
    }

    /// Returns 405 with the allowed methods (RFC 9110, 15.5.6), or 204 for OPTIONS.
    private static func wrongMethod(
        _ request: HTTPRequest, allowed: [Route.Method]
    ) -> HTTPResponse {
        let names =
            allowed.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.rawValue] } + ["OPTIONS"]
        let list = names.joined(separator: ", ")
        var answer = HTTPResponse(status: 204)
        if request.method != "OPTIONS" {
            answer = FailureAnswer.response(
                to: Failure(
                    .inputMethod,
                    "\(shown(request)) is not allowed; allowed: \(list)."))
        }
        answer.headers.append(("Allow", list))
        return answer
    }

    /// Returns method and path for messages.
    private static func shown(_ request: HTTPRequest) -> String {
        let path = "/" + request.segments.joined(separator: "/")
        return "\(request.method.prefix(10)) \(String(path.unicodeScalars.prefix(100)))"
    }
}

extension RouteTable.Match {
    fileprivate var isOpen: Bool {
        switch self {
        case .found(let route, _): route.isOpen
        case .otherMethods(_, let isOpen): isOpen
        case .none: false
        }
    }
}
