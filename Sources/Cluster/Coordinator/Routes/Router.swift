import API
import HTTPServer
import Model
import Services

/// Dispatches requests: finds the route once, checks the token, its role and its rate, and answers
/// failures. Every answer that is neither 2xx nor 3xx carries a failure with its code.
struct Router: Sendable {
    let table: RouteTable
    let access: Access
    let audit: AuditTrail
    let rates: RateLimiter
    let keys: IdempotencyKeys
    /// Runs frequent requests.
    let executor: any TaskExecutor
    private let log = Logger("requests")

    /// Maximum body of a frequent request on the database's loop; a longer one is too much work for
    /// it.
    private static let frequentBodyBytes = 256 << 10

    init(
        table: RouteTable, access: Access, audit: AuditTrail, rates: RateLimiter,
        keys: IdempotencyKeys, executor: any TaskExecutor
    ) {
        self.table = table
        self.access = access
        self.audit = audit
        self.rates = rates
        self.keys = keys
        self.executor = executor
    }

    // MARK: Admission

    /// Decides from a request's headers. Open paths are found first; without a token, nothing else
    /// is revealed.
    func decide(_ request: HTTPRequest) -> HTTPServer.Decision {
        let match = table.match(Self.method(of: request), request.segments)
        do throws(Failure) {
            switch match {
            case .none:
                try rates.admit(try caller(of: request))
                throw Failure(
                    .inputNotFound, "There is no \(Self.shown(request)).",
                    hint: "Check method and path: GET /openapi.json describes the routes.")
            case .otherMethods(let allowed, let isOpen):
                if isOpen {
                    try rates.admitStranger(request)
                } else {
                    try rates.admit(try caller(of: request))
                }
                return .refused(wrongMethod(request, allowed: allowed))
            case .found(let route, let parameters):
                let handler = try handler(of: route, parameters, for: request)
                if route.method != .get { try RequestBody.format(of: request) }
                return .routed(handler) { request in
                    route.isFrequent && request.body.count <= Self.frequentBodyBytes
                        ? executor : nil
                }
            }
        } catch {
            return .refused(refuse(request, error))
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

    /// Returns the sender of a request. Throws `cluster.unauthorized`; of too many such requests from
    /// one address, `cluster.rateLimited`.
    private func caller(of request: HTTPRequest) throws(Failure) -> Caller {
        do throws(Failure) {
            return try access.caller(of: request)
        } catch {
            try rates.admitStranger(request)
            throw error
        }
    }

    /// Returns what handles a request once its body has arrived. Throws `cluster.unauthorized`, and
    /// `cluster.forbidden` for a role that the route does not allow.
    private func handler(
        of route: Route, _ parameters: PathParameters, for request: HTTPRequest
    ) throws(Failure) -> HTTPServer.Handler {
        guard let rule = route.rule else {
            // Health checks share their address with strangers behind a proxy.
            if !route.isProbe { try rates.admitStranger(request) }
            return { await answer($0, route, parameters, nil) }
        }
        let caller = try caller(of: request)
        // What workers send is limited by their work.
        if rule != .workers { try rates.admit(caller) }
        guard rule.allows(caller.role) else {
            throw Failure(
                .clusterForbidden,
                "The token \(caller.name) has the role \(caller.role.rawValue); \(route.name) needs "
                    + "one of: \(rule.names).", hint: rule.hint(for: caller.role))
        }
        return { await answer($0, route, parameters, caller) }
    }

    // MARK: Answers

    /// Returns the answer to a request whose body is not read.
    private func refuse(_ request: HTTPRequest, _ failure: Failure) -> HTTPResponse {
        let trace = RequestTrace.context(of: request)
        TraceContext.$current.withValue(trace) {
            log.debug(
                "request rejected",
                ["request": request.id, "code": failure.code, "error": failure.message])
        }
        return RequestTrace.mark(FailureAnswer.response(to: failure), trace)
    }

    private func answer(
        _ request: HTTPRequest, _ route: Route, _ parameters: PathParameters, _ caller: Caller?
    ) async -> HTTPResponse {
        let response = await RequestTrace.run(request) {
            await logged(request, route, parameters, caller)
        }
        route.answers?.count(response.status)
        return response
    }

    private func logged(
        _ request: HTTPRequest, _ route: Route, _ parameters: PathParameters, _ caller: Caller?
    ) async -> HTTPResponse {
        let begin = ContinuousClock.now
        do {
            let answer = try await handle(request, route, parameters, caller)
            let response = Representation.of(answer, for: request, route)
            log.debug(
                "request",
                [
                    "request": request.id, "route": route.name, "token": caller?.name ?? "none",
                    "status": response.status,
                    "milliseconds": Int((ContinuousClock.now - begin) / .milliseconds(1)),
                ])
            return response
        } catch {
            return refuse(request, route, caller, FailureAnswer.failure(of: error))
        }
    }

    private func handle(
        _ request: HTTPRequest, _ route: Route, _ parameters: PathParameters, _ caller: Caller?
    ) async throws -> HTTPResponse {
        switch (route.handling, caller) {
        case (.open(let handler), _): return try await handler(request)
        case (.answer(_, let handler), let caller?):
            return try await handler(request, parameters, caller)
        case (.change(_, let handler), let caller?):
            let change = try await handler(request, parameters, caller)
            let key = try keys.key(of: request, route, by: caller)
            if let key, let answer = try await keys.answer(to: key) { return answer }
            return try await audit.make(change, route.name, key: key, by: caller)
        case (.answer, nil), (.change, nil):
            preconditionFailure("\(route.name) has a rule, and its request no caller.")
        }
    }

    private func refuse(
        _ request: HTTPRequest, _ route: Route, _ caller: Caller?, _ failure: Failure
    ) -> HTTPResponse {
        let response = FailureAnswer.response(to: failure)
        let metadata: () -> Logger.Metadata = {
            [
                "request": request.id, "route": route.name, "token": caller?.name ?? "none",
                "status": response.status, "code": failure.code, "error": failure.message,
            ]
        }
        if response.status == 500 {
            log.error("request failed", metadata())
        } else {
            log.debug("request rejected", metadata())
        }
        return response
    }

    /// Returns GET for HEAD, whose body the server omits (RFC 9110, 9.3.2).
    private static func method(of request: HTTPRequest) -> String {
        request.method == "HEAD" ? "GET" : request.method
    }

    /// Returns 405 with the allowed methods (RFC 9110, 15.5.6), or 204 for OPTIONS.
    private func wrongMethod(
        _ request: HTTPRequest, allowed: [Route.Method]
    ) -> HTTPResponse {
        let names =
            allowed.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.rawValue] } + ["OPTIONS"]
        let list = names.joined(separator: ", ")
        var answer = HTTPResponse(status: 204)
        if request.method != "OPTIONS" {
            answer = refuse(
                request,
                Failure(
                    .inputMethod,
                    "\(Self.shown(request)) is not allowed; allowed: \(list)."))
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
