import API
import HTTPServer
import JobQueue
import Model

/// Routes for evictions, and for the popularity of assets.
struct EvictionRoutes: Sendable {
    let queue: JobQueue

    func popularity(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let site = request.queryValue("site") else {
            throw Validation.wrong("site", "none", "a site's queue or storage URL")
        }
        try Validation.text(site, "site", 1...2_048)
        let order = request.queryValue("order") ?? PopularityOrder.most.rawValue
        guard let order = PopularityOrder(rawValue: order) else {
            throw Validation.wrong(
                "order", order,
                PopularityOrder.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return try .wire(
            try await queue.files.evictions.popularity(
                of: site, order: order,
                limit: try Validation.limit(request.queryValue("limit"))))
    }

    // MARK: Changes

    func evict(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let eviction: SiteEviction = try RequestBody.read(request)
        try Validation.check(eviction)
        return Change(ChangeText.text(of: eviction)) {
            try .wire(try await queue.files.evictions.evict(eviction))
        }
    }

    /// Adds a part of an access log, which may have thousands of them.
    func note(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let requests: SiteRequests = try RequestBody.read(request)
        try Validation.check(requests)
        return Change(
            detailed: "popularity at site \(redacted(url: requests.site)), files "
                + "\(requests.files.count)"
        ) { key in
            Change.Made(try .wire(try await queue.files.evictions.note(requests, key: key)))
        }
    }
}
