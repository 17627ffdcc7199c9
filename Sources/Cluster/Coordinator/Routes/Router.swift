import HTTPServer
import Model

/// Decides what becomes of a request: finds its route once, checks who asks, and answers failures. Every answer
/// that is not 2xx carries a failure with its code.
struct Router: Sendable {
    let table: RouteTable
    let access: Access
    /// Where frequent requests run.
    let executor: any TaskExecutor

    /// A frequent request with a longer body is more work than the database's loop is for.
    private static let frequentBodyBytes = 256 << 10

    /// Decides from a request's headers. Paths that are open to everyone are found first; nothing else is
    /// shown to whom it is not for.
    func decide(_ request: HTTPRequest) -> HTTPServer.Decision {
        let method = Self.method(of: request)
        let match = table.match(method, request.segments)
        do throws(Failure) {
            if !match.isOpen { try access.check(request) }
            switch match {
            case .none:
                throw Failure("input.notFound", "There is no \(Self.shown(request)).")
            case .otherMethods(let allowed, _):
                return .refused(Self.wrongMethod(request, allowed: allowed))
            case .found(let route, let parameters):
                if route.method != .get { try RequestBody.requireJSON(request) }
                return .routed({ await Self.answer($0, route, parameters) }) { request in
                    route.isFrequent && request.body.count <= Self.frequentBodyBytes
                        ? executor : nil
                }
            }
        } catch {
            return .refused(FailureAnswer.response(to: error))
        }
    }

    /// Whether a request comes from somebody for whom room is kept, whatever strangers do.
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
        do {
            return try await route.handler(request, parameters)
        } catch let failure as Failure {
            return FailureAnswer.response(to: failure)
        } catch {
            return FailureAnswer.response(to: Failure("worker.internal", "\(error)"))
        }
    }

    /// HEAD is GET, without the body that the server leaves out (RFC 9110, 9.3.2).
    private static func method(of request: HTTPRequest) -> String {
        request.method == "HEAD" ? "GET" : request.method
    }

    /// 405 with what is allowed (RFC 9110, 15.5.6); OPTIONS asks for no more than that.
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
                    "input.method",
                    "\(shown(request)) was asked for; allowed: \(list)."))
        }
        answer.headers.append(("Allow", list))
        return answer
    }

    /// Method and path as messages name them.
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
