import API
import HTTPServer
import JobQueue
import Model

/// Routes for operators: the cluster's status, queues, origins and sites.
struct OperatorRoutes: Sendable {
    let queue: JobQueue
    /// Fired when counts of catalogs may have changed.
    let reported: WorkSignal

    func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(try await queue.workers.clusterStatus())
    }

    func queues(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(QueueList(queues: try await queue.sites.queues()))
    }

    func control(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let name = path["queue"]
        let control: QueueControl = try RequestBody.read(request)
        try Validation.text(name, "queue", 1...200)
        return try .wire(try await queue.sites.set(control.action.state, ofQueue: name))
    }

    func select(_ request: HTTPRequest) async throws -> HTTPResponse {
        let action: SelectionAction = try RequestBody.read(request)
        try Validation.check(action)
        let answer = try await queue.catalogs.selections.apply(action)
        reported.fire()
        return try .wire(answer)
    }

    func origins(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(
            try await queue.origins.page(
                after: request.queryValue("after"),
                limit: try Validation.limit(request.queryValue("limit"))))
    }

    func setLimits(_ request: HTTPRequest) async throws -> HTTPResponse {
        let change: OriginLimitsChange = try RequestBody.read(request)
        try Validation.check(change)
        try await queue.origins.setLimits(change)
        return .done
    }

    func sites(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(try await queue.sites.list())
    }

    func configure(_ request: HTTPRequest) async throws -> HTTPResponse {
        let settings: SiteSettings = try RequestBody.read(request)
        _ = try Validation.check(settings)
        return try .wire(try await queue.sites.configure(settings))
    }
}
