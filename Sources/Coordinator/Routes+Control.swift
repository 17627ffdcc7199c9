import HTTPServer
import JobQueue
import Model

/// What operators ask for.
extension Routes {
    /// What the paths of control can be asked; nil for any other.
    func controlHandlers(of path: [String]) -> [String: Handler]? {
        switch (path[1], path.count) {
        case ("queues", 2):
            return ["GET": { _ in try Self.json(QueueList(queues: try await queue.queues())) }]
        case ("queues", 4) where path[3] == "control":
            return ["POST": { try await control($0, queue: path[2]) }]
        case ("selections", 2): return ["POST": select]
        case ("origins", 2): return ["GET": origins]
        case ("origins", 3) where path[2] == "limits": return ["POST": setLimits]
        case ("sites", 2): return ["GET": { _ in try Self.json(try await queue.sites()) }]
        case ("sites", 3) where path[2] == "settings": return ["POST": configure]
        case ("sites", 3) where path[2] == "volumes": return ["POST": volume]
        case ("workers", 3) where path[2] == "wanted": return ["GET": workersWanted]
        case ("workers", 3) where path[2] == "history": return ["GET": workersHistory]
        default: return nil
        }
    }

    private func control(_ request: HTTPRequest, queue name: String) async throws -> HTTPResponse {
        let control: QueueControl = try Self.body(of: request)
        try Validation.text(name, "queue", 1...200)
        return try Self.json(try await queue.set(control.action.state, ofQueue: name))
    }

    private func select(_ request: HTTPRequest) async throws -> HTTPResponse {
        let action: SelectionAction = try Self.body(of: request)
        try Validation.check(action)
        let answer = try await queue.apply(action)
        // Counts of catalogs may have changed.
        reported.fire()
        return try Self.json(answer)
    }

    private func origins(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Self.json(
            try await queue.origins(
                after: request.queryValue("after"),
                limit: try Validation.limit(request.queryValue("limit"))))
    }

    private func setLimits(_ request: HTTPRequest) async throws -> HTTPResponse {
        let change: OriginLimitsChange = try Self.body(of: request)
        try Validation.check(change)
        try await queue.setLimits(change)
        return HTTPResponse(status: 204)
    }

    private func configure(_ request: HTTPRequest) async throws -> HTTPResponse {
        let settings: SiteSettings = try Self.body(of: request)
        _ = try Validation.check(settings)
        return try Self.json(try await queue.configure(settings))
    }
}
