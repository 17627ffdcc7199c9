import API
import HTTPServer
import JobQueue
import Model

/// Routes for operators: the cluster's status, daily figures, queues, origins and sites.
struct OperatorRoutes: Sendable {
    let queue: JobQueue

    func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(try await queue.workers.clusterStatus())
    }

    func queues(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(QueueList(queues: try await queue.sites.queues()))
    }

    func origins(_ request: HTTPRequest) async throws -> HTTPResponse {
        var page = try await queue.origins.page(
            after: try PageCursor.position(in: request, of: "origins"),
            limit: try Validation.limit(request.queryValue("limit")))
        page.next = PageCursor.sealed(page.next, of: "origins")
        return try .wire(page)
    }

    func sites(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(try await queue.sites.list())
    }

    func report(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(try await queue.figures.daily.report(try DailyReportQuery.read(request)))
    }

    // MARK: Changes

    func control(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let name = path["queue"]
        let control: QueueControl = try RequestBody.read(request)
        try Validation.text(name, "queue", 1...200)
        return Change("queue \(name): \(control.action.rawValue)") {
            try .wire(try await queue.sites.set(control.action.state, ofQueue: name))
        }
    }

    func setLimits(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let change: OriginLimitsChange = try RequestBody.read(request)
        try Validation.check(change)
        return Change(ChangeText.text(of: change)) {
            try await queue.origins.setLimits(change)
            return .done
        }
    }

    func configure(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        var settings: SiteSettings = try RequestBody.read(request)
        _ = try Validation.check(settings)
        if settings.adds == true {
            settings.site = try Validation.storageURL(settings.site, "site")
        }
        let checked = settings
        return Change(ChangeText.text(of: checked)) {
            try .wire(try await queue.sites.configure(checked))
        }
    }
}
