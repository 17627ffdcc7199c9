import FoundationEssentials
import HTTPServer
import JobQueue
import Model

/// The HTTP API, version 1: finds what a request asks for, checks it, asks the queue, answers.
///
/// Stateless but for the signals that wake long polls and the folding of counts. Every answer that is not 2xx carries a
/// failure with its code.
struct Routes: Sendable {
    let queue: JobQueue
    let signal: WorkSignal
    /// Fired when a report has left tallies to fold.
    let reported: WorkSignal
    let access: Access

    func answer(_ request: HTTPRequest) async -> HTTPResponse {
        do {
            switch (request.method, request.segments.first) {
            case ("GET", "healthz"):
                return HTTPResponse.text(200, "ok\n")
            case ("GET", "readyz"):
                return await isReady()
            default:
                try access.check(request)
                return try await route(request)
            }
        } catch let failure as Failure {
            return Self.response(to: failure)
        } catch {
            return Self.response(to: Failure("worker.internal", "\(error)"))
        }
    }

    /// Says whether the database answers, and to strangers no more than that.
    private func isReady() async -> HTTPResponse {
        do {
            _ = try await queue.hasWork()
            return HTTPResponse.text(200, "ready\n")
        } catch {
            return Self.response(
                to: Failure("cluster.databaseUnreachable", "PostgreSQL does not answer."))
        }
    }

    private func route(_ request: HTTPRequest) async throws -> HTTPResponse {
        let path = request.segments
        guard path.first == "v1" else { throw Self.noRoute(request) }
        switch (request.method, path.count > 1 ? path[1] : "", path.count) {
        case ("GET", "status", 2): return try Self.json(try await queue.clusterStatus())
        case ("POST", "leases", 2): return try await lease(request)
        case ("POST", "reports", 2):
            let report: ReportRequest = try Self.body(of: request)
            try Validation.check(report)
            let answers = try await queue.report(report)
            reported.fire()
            return try Self.json(ReportAnswer(answers: answers))
        case ("POST", "heartbeats", 2):
            let heartbeat: Heartbeat = try Self.body(of: request)
            try Validation.check(heartbeat)
            return try Self.json(try await queue.heartbeat(heartbeat))
        case ("POST", "segments", 2):
            let batch: SegmentBatch = try Self.body(of: request)
            try Validation.check(batch)
            return try Self.json(SplitAnswer(verdict: try await queue.addSegments(batch)))
        case ("POST", "splits", 2):
            let split: SplitRequest = try Self.body(of: request)
            try Validation.check(split)
            return try Self.json(try await queue.split(split))
        case ("GET", "sums", 2): return try await sums(request)
        case (_, "catalogs", _): return try await catalogs(request, Array(path.dropFirst(2)))
        default: throw Self.noRoute(request)
        }
    }

    private func catalogs(_ request: HTTPRequest, _ path: [String]) async throws -> HTTPResponse {
        if path.isEmpty && request.method == "POST" {
            let submission: CatalogSubmission = try Self.body(of: request)
            try Validation.check(submission)
            return try Self.json(try await queue.open(submission))
        }
        guard let number = path.first, path.count <= 2 else { throw Self.noRoute(request) }
        guard let id = Int64(number), id > 0 else {
            throw Validation.wrong("catalog", number, "a catalog's number")
        }
        let catalog = CatalogID(id)
        switch (request.method, path.count > 1 ? path[1] : "") {
        case ("GET", ""):
            return try Self.json(try await queue.status(of: catalog))
        case ("POST", "assets"):
            let batch: AssetBatch = try Self.body(of: request)
            try Validation.check(batch)
            try await queue.add(batch.assets, to: catalog, generation: batch.generation)
            return HTTPResponse(status: 204)
        case ("POST", "start"):
            let start: CatalogStart = try Self.body(of: request)
            try await queue.start(catalog, generation: start.generation)
            return HTTPResponse(status: 204)
        case ("POST", "interrupt"):
            try Self.requireJSON(request)
            try await queue.interrupt(catalog)
            return HTTPResponse(status: 204)
        case ("GET", "assets"): return try await assets(request, of: catalog)
        case ("GET", "files"):
            return try Self.json(
                try await queue.files(
                    of: catalog, after: request.queryValue("after"),
                    limit: try Validation.limit(request.queryValue("limit"))))
        default: throw Self.noRoute(request)
        }
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

    /// Leases a batch; without work, waits for some until the client's time is over.
    private func lease(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted: LeaseRequest = try Self.body(of: request)
        try Validation.check(wanted)
        let clock = ContinuousClock()
        let start = clock.now
        let deadline = start + .milliseconds(wanted.waitMilliseconds)
        while true {
            let version = signal.version
            let waited = start.duration(to: clock.now) / .seconds(1)
            var grant = try await queue.lease(wanted, as: UUID().uuidString.lowercased())
            grant.waitedSeconds = waited
            if let lease = grant.lease {
                guard request.isPeerConnected() else {
                    return try await takeBack(grant, lease, from: wanted.worker)
                }
                return try Self.json(grant)
            }
            let rest = clock.now.duration(to: deadline)
            guard rest > .zero, !signal.isClosed else { return try Self.json(grant) }
            await signal.wait(after: version, atMost: rest)
            // A coordinator that stops hands nothing out any more.
            guard !signal.isClosed else { return try Self.json(grant) }
            // Jobs that are leased to a worker that has gone lie idle until the lease runs out.
            guard request.isPeerConnected() else { return HTTPResponse(status: 204) }
        }
    }

    /// Returns the jobs of a grant that nobody is there to receive.
    private func takeBack(
        _ grant: LeaseGrant, _ lease: LeaseID, from worker: WorkerID
    ) async throws -> HTTPResponse {
        let results = grant.jobs.map { JobReport(job: $0.id, lease: lease, outcome: .returned) }
        _ = try await queue.report(ReportRequest(worker: worker, results: results))
        return HTTPResponse(status: 204)
    }

    // MARK: Bodies

    /// Only a request that a browser must ask leave for: no form can send this type.
    private static func requireJSON(_ request: HTTPRequest) throws(Failure) {
        let type = request.header("content-type") ?? ""
        guard type.lowercased().hasPrefix("application/json") else {
            throw Validation.wrong("Content-Type", type, "application/json")
        }
    }

    private static func body<Body: Decodable>(of request: HTTPRequest) throws -> Body {
        try requireJSON(request)
        do {
            return try JSONDecoder().decode(Body.self, from: Data(request.body))
        } catch let error as DecodingError {
            throw Failure("input.malformed", "The request's body: \(describe(error))")
        }
    }

    private static func describe(_ error: DecodingError) -> String {
        func place(_ context: DecodingError.Context, _ last: (any CodingKey)? = nil) -> String {
            let keys = context.codingPath + (last.map { [$0] } ?? [])
            let path = keys.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
            return path.isEmpty ? "the body" : String(path.joined().drop { $0 == "." })
        }
        switch error {
        case .keyNotFound(let key, let context): return "\(place(context, key)) is missing."
        case .typeMismatch(let type, let context):
            return "\(place(context)) is not of type \(type)."
        case .valueNotFound(let type, let context):
            return "\(place(context)) is null; \(type) is needed."
        case .dataCorrupted(let context):
            return "\(place(context)): \(context.debugDescription)"
        @unknown default: return "it cannot be read."
        }
    }

    private static func json(_ value: some Encodable) throws -> HTTPResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return HTTPResponse.json(200, bytes: Array(try encoder.encode(value)))
    }

    private static func noRoute(_ request: HTTPRequest) -> Failure {
        Failure(
            "input.notFound",
            "There is no \(request.method.prefix(10)) /\(request.segments.joined(separator: "/").prefix(100))."
        )
    }

    /// What a request gets that the server itself refuses.
    static func refusal(_ status: Int, _ reason: String) -> HTTPResponse {
        let code: FailureCode =
            switch status {
            case 413: "input.tooLarge"
            case 503: "cluster.busy"
            default: "input.malformed"
            }
        return response(to: Failure(code, "The request: \(reason)."))
    }

    static func response(to failure: Failure) -> HTTPResponse {
        let status =
            switch failure.code {
            case "input.notFound": 404
            case "input.tooLarge": 413
            case "cluster.unauthorized": 401
            case "cluster.hostRefused": 403
            case "cluster.databaseUnreachable", "cluster.busy": 503
            case "worker.internal": 500
            default: 400
            }
        let body = (try? JSONEncoder().encode(ErrorAnswer(failure))) ?? Data()
        return HTTPResponse.json(status, bytes: Array(body))
    }
}
