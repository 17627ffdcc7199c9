import FoundationEssentials
import HTTPServer
import JobQueue
import Model

/// The HTTP API, version 1: finds what a request asks for, checks it, asks the queue, answers.
///
/// Stateless but for the signals that wake long polls and the folding of counts. Every answer that
/// is not 2xx carries a failure with its code.
struct Routes: Sendable {
    let queue: JobQueue
    let signal: WorkSignal
    /// Fired when a report has left tallies to fold.
    let reported: WorkSignal
    let cooling: CoolingOrigins
    let loadTests: CalledLoadTests
    let access: Access
    let readiness: ReadinessProbe

    // MARK: Finding the way

    typealias Handler = @Sendable (HTTPRequest) async throws -> HTTPResponse

    /// What a path can be asked, by method; nil when there is no such path.
    private func handlers(of path: [String]) -> [String: Handler]? {
        switch (path.first ?? "", path.count) {
        case ("healthz", 1): return ["GET": { _ in HTTPResponse.text(200, "ok\n") }]
        case ("readyz", 1): return ["GET": { _ in await isReady() }]
        case ("v1", 2...4): break
        default: return nil
        }
        switch (path[1], path.count) {
        case ("status", 2): return ["GET": { _ in try Self.json(try await queue.clusterStatus()) }]
        case ("leases", 2): return ["POST": lease]
        case ("reports", 2): return ["POST": report]
        case ("heartbeats", 2): return ["POST": heartbeat]
        case ("segments", 2): return ["POST": segments]
        case ("splits", 2): return ["POST": split]
        case ("refreshes", 2): return ["POST": refreshed]
        case ("refreshes", 3) where path[2] == "files": return ["POST": refreshFiles]
        case ("documents", 2): return ["POST": document]
        case ("releases", 2): return ["POST": release]
        case ("assets", 2): return ["GET": browse]
        case ("sums", 2): return ["GET": sums]
        case ("sums", 3) where path[2] == "turns": return ["POST": sumsTurns]
        case ("cooling", 2): return ["GET": coolingList]
        case ("catalogs", 2): return ["POST": openCatalog]
        case ("catalogs", 3...4): return handlers(ofCatalog: path[2], path.count > 3 ? path[3] : "")
        case ("load-tests", _): return loadTestHandlers(of: path)
        default: return controlHandlers(of: path)
        }
    }

    private func handlers(ofCatalog number: String, _ part: String) -> [String: Handler]? {
        switch part {
        case "":
            return [
                "GET": { request in
                    let withActive = try Validation.flag(request.queryValue("active"), "active")
                    return try Self.json(
                        try await queue.status(
                            of: try catalog(number), withActive: withActive ?? true))
                }
            ]
        case "assets":
            return [
                "GET": { try await assets($0, of: try catalog(number)) },
                "POST": { try await add($0, to: try catalog(number)) },
            ]
        case "start": return ["POST": { try await start($0, try catalog(number)) }]
        case "interrupt":
            return [
                "POST": { request in
                    let _: NoFields = try Self.body(of: request)
                    try await queue.interrupt(try catalog(number))
                    return HTTPResponse(status: 204)
                }
            ]
        case "files": return ["GET": { try await files($0, of: try catalog(number)) }]
        case "refresh":
            return [
                "GET": { _ in try Self.json(try await queue.refreshSummary(of: catalog(number))) }
            ]
        default: return nil
        }
    }

    /// The answer to a request that gets no further, whatever its body; nil for one that does.
    ///
    /// What is open to everyone is found first, and nothing else is told to whom it is not for.
    func refusal(of request: HTTPRequest) -> HTTPResponse? {
        let path = request.segments
        do throws(Failure) {
            if path != ["healthz"], path != ["readyz"] { try access.check(request) }
            guard let handlers = handlers(of: path) else { throw Self.noRoute(request) }
            if handlers[Self.method(of: request)] == nil {
                return Self.wrongMethod(request, allowed: handlers.keys.sorted())
            }
            if Self.method(of: request) != "GET" { try Self.requireJSON(request) }
            return nil
        } catch {
            return Self.response(to: error)
        }
    }

    /// Tells whether a request comes from somebody for whom room is kept, whatever strangers do.
    func knows(_ request: HTTPRequest) -> Bool {
        do throws(Failure) {
            try access.check(request)
            return true
        } catch {
            return false
        }
    }

    func answer(_ request: HTTPRequest) async -> HTTPResponse {
        if let refusal = refusal(of: request) { return refusal }
        do {
            guard let handler = handlers(of: request.segments)?[Self.method(of: request)] else {
                throw Self.noRoute(request)
            }
            return try await handler(request)
        } catch let failure as Failure {
            return Self.response(to: failure)
        } catch {
            return Self.response(to: Failure("worker.internal", "\(error)"))
        }
    }

    /// HEAD is GET, without the body that the server leaves out (RFC 9110, 9.3.2).
    private static func method(of request: HTTPRequest) -> String {
        request.method == "HEAD" ? "GET" : request.method
    }

    /// 405 with what is allowed (RFC 9110, 15.5.6); OPTIONS asks for no more than that.
    private static func wrongMethod(
        _ request: HTTPRequest, allowed: [String]
    ) -> HTTPResponse {
        let names = allowed.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] } + ["OPTIONS"]
        let list = names.joined(separator: ", ")
        var answer = HTTPResponse(status: 204)
        if request.method != "OPTIONS" {
            answer = response(
                to: Failure(
                    "input.method",
                    "\(shown(request)) was asked for; allowed: \(list)."))
        }
        answer.headers.append(("Allow", list))
        return answer
    }

    /// Says whether the database answers, and to strangers no more than that.
    private func isReady() async -> HTTPResponse {
        guard await readiness.isReady() else {
            return Self.response(
                to: Failure("cluster.databaseUnreachable", "PostgreSQL does not answer."))
        }
        return HTTPResponse.text(200, "ready\n")
    }

    // MARK: Catalogs

    private func catalog(_ number: String) throws(Failure) -> CatalogID {
        guard let id = Int64(number), id > 0 else {
            throw Validation.wrong("catalog", number, "a catalog's number")
        }
        return CatalogID(id)
    }

    private func openCatalog(_ request: HTTPRequest) async throws -> HTTPResponse {
        var submission: CatalogSubmission = try Self.body(of: request)
        try Validation.check(submission)
        // A site has one name, whoever spells it.
        submission.storageURL = try Validation.storageURL(submission.storageURL)
        return try Self.json(try await queue.open(submission))
    }

    private func add(_ request: HTTPRequest, to catalog: CatalogID) async throws -> HTTPResponse {
        let batch: AssetBatch = try Self.body(of: request)
        try Validation.check(batch)
        try await queue.add(batch.assets, to: catalog, generation: batch.generation)
        return HTTPResponse(status: 204)
    }

    private func start(_ request: HTTPRequest, _ catalog: CatalogID) async throws -> HTTPResponse {
        let start: CatalogStart = try Self.body(of: request)
        return try Self.json(try await queue.start(catalog, generation: start.generation))
    }

    private func files(
        _ request: HTTPRequest, of catalog: CatalogID
    ) async throws -> HTTPResponse {
        try Self.json(
            try await queue.files(
                of: catalog, after: request.queryValue("after"),
                limit: try Validation.limit(request.queryValue("limit"))))
    }

    private func assets(
        _ request: HTTPRequest, of catalog: CatalogID
    ) async throws -> HTTPResponse {
        let after = request.queryValue("after") ?? "0"
        guard let place = Int64(after) else {
            throw Validation.wrong("after", after, "an asset's number")
        }
        var state: AssetState?
        if let name = request.queryValue("state") {
            state = AssetState(rawValue: name)
            if state == nil {
                throw Validation.wrong(
                    "state", name, AssetState.allCases.map(\.rawValue).joined(separator: ", "))
            }
        }
        return try Self.json(
            try await queue.assets(
                of: catalog, after: AssetID(place), state: state,
                limit: try Validation.limit(request.queryValue("limit"))))
    }

    private func sums(_ request: HTTPRequest) async throws -> HTTPResponse {
        let site = request.queryValue("site") ?? ""
        guard let number = Int64(site), number > 0 else {
            throw Validation.wrong("site", site, "a site's number")
        }
        return try Self.json(
            try await queue.sums(
                site: SiteID(number), directory: request.queryValue("directory") ?? "",
                after: request.queryValue("after"),
                limit: try Validation.limit(request.queryValue("limit"))))
    }
}
