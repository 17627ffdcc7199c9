import API
import HTTPServer
import Model

/// Dispatches requests: finds the route once, checks the token and its role, and answers failures.
/// Every answer that is not 2xx carries a failure with its code.
struct Router: Sendable {
    let table: RouteTable
    let access: Access
    let audit: AuditTrail
    /// Runs frequent requests.
    let executor: any TaskExecutor

    /// Maximum body of a frequent request on the database's loop; a longer one is too much work for
    /// it.
    private static let frequentBodyBytes = 256 << 10

    /// Decides from a request's headers. Open paths are found first; without a token, nothing else
    /// is revealed.
    func decide(_ request: HTTPRequest) -> HTTPServer.Decision {
        let match = table.match(Self.method(of: request), request.segments)
        do throws(Failure) {
            switch match {
            case .none:
                _ = try access.caller(of: request)
                throw Failure(.inputNotFound, "There is no \(Self.shown(request)).")
            case .otherMethods(let allowed, let isOpen):
                if !isOpen { _ = try access.caller(of: request) }
                return .refused(Self.wrongMethod(request, allowed: allowed))
            case .found(let route, let parameters):
                let handler = try handler(of: route, parameters, for: request)
                if route.method != .get { try RequestBody.format(of: request) }
                return .routed(handler) { request in
                    route.isFrequent && request.body.count <= Self.frequentBodyBytes
                        ? executor : nil
                }
            }
        } catch {
            return .refused(FailureAnswer.response(to: error))
        }
    }

    /// Returns true for a request with a token: connections are reserved for these.
    func knows(_ request: HTTPRequest) -> Bool {
        do throws(Failure) {
            _ = try access.caller(of: request)
            return true
        } catch {
            return false
        }
    }

    /// Returns what handles a request once its body has arrived. Throws `cluster.unauthorized`, and
    /// `cluster.forbidden` for a role that the route does not allow.
    private func handler(
        of route: Route, _ parameters: PathParameters, for request: HTTPRequest
    ) throws(Failure) -> HTTPServer.Handler {
        guard let rule = route.rule else {
            return { await answer($0, route, parameters, nil) }
        }
        let caller = try access.caller(of: request)
        guard rule.allows(caller.role) else {
            throw Failure(
                .clusterForbidden,
                "The token \(caller.name) has the role \(caller.role.rawValue); \(route.name) needs "
                    + "one of: \(rule.names).")
        }
        return { await answer($0, route, parameters, caller) }
    }

    private func answer(
        _ request: HTTPRequest, _ route: Route, _ parameters: PathParameters, _ caller: Caller?
    ) async -> HTTPResponse {
        let response = await handle(request, route, parameters, caller)
        route.answers?.count(response.status)
        return response
    }

    private func handle(
        _ request: HTTPRequest, _ route: Route, _ parameters: PathParameters, _ caller: Caller?
    ) async -> HTTPResponse {
        do {
            switch (route.handling, caller) {
            case (.open(let handler), _): return try await handler(request)
            case (.answer(_, let handler), let caller?):
                return try await handler(request, parameters, caller)
            case (.change(_, let handler), let caller?):
                let change = try await handler(request, parameters, caller)
                return try await audit.make(change, route.name, by: caller)
            case (.answer, nil), (.change, nil):
                preconditionFailure("\(route.name) has a rule, and its request no caller.")
            }
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
