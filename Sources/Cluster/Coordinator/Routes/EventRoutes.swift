import API
import HTTPServer
import JobQueue
import Model

/// The route for events: pages of JSON, or a stream of server-sent events.
struct EventRoutes: Sendable {
    let queue: JobQueue
    let hub: EventHub

    /// The word for a position after all events.
    private static let now = "now"

    /// Answers with a page, or opens a stream if the request accepts `text/event-stream`. A stream
    /// begins now, unless the request has a position.
    func events(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let filter = try await filter(request, caller)
        let limit = try Validation.limit(request.queryValue("limit"))
        guard Self.acceptsStream(request.header("accept") ?? "") else {
            var response = try HTTPResponse.wire(try await page(request, filter, limit: limit))
            response.headers.append(("Vary", "Accept"))
            return response
        }
        let cursor = try await start(request, filter)
        var response = HTTPResponse(
            status: 200,
            headers: [
                ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
                ("Vary", "Accept"),
                // nginx would hold events back.
                ("X-Accel-Buffering", "no"),
            ])
        response.body = EventText.opening(cursor)
        response.stream = try hub.open(after: cursor, filter, for: caller)
        return response
    }

    /// Returns true if `Accept` names the type of a stream with a weight that is not zero (RFC 9110,
    /// 12.5.1).
    static func acceptsStream(_ header: String) -> Bool {
        header.split(separator: ",").contains { range in
            let parts = range.split(separator: ";").map { part in
                part.filter { $0 != " " && $0 != "\t" }.lowercased()
            }
            guard parts.first == "text/event-stream" else { return false }
            return parts.dropFirst().allSatisfy { parameter in
                !parameter.hasPrefix("q=") || (Double(parameter.dropFirst(2)) ?? 0) > 0
            }
        }
    }

    private func page(
        _ request: HTTPRequest, _ filter: Events.Filter, limit: Int
    ) async throws -> EventPage {
        let cursor: EventCursor
        switch request.queryValue("after") {
        case nil: cursor = try await queue.events.beginning()
        case Self.now:
            return EventPage(
                events: [], next: try await queue.events.now().description, hasMore: false)
        case let text?: cursor = try EventCursor(text, field: "after")
        }
        let page = try await queue.events.page(after: cursor, filter, limit: limit)
        return EventPage(
            events: page.events.map(\.event), next: page.next.description, hasMore: page.hasMore)
    }

    /// Returns where a stream begins: after the last event that its client has. Throws
    /// `cluster.eventsGone` before the stream is opened.
    private func start(
        _ request: HTTPRequest, _ filter: Events.Filter
    ) async throws -> EventCursor {
        let cursor: EventCursor
        if let last = request.header("last-event-id"), !last.isEmpty {
            cursor = try EventCursor(last, field: "Last-Event-ID")
        } else if let text = request.queryValue("after"), text != Self.now {
            cursor = try EventCursor(text, field: "after")
        } else {
            return filter.since == nil
                ? try await queue.events.now() : try await queue.events.beginning()
        }
        _ = try await queue.events.page(after: cursor, limit: 1, scan: 1)
        return cursor
    }

    /// Returns the kinds that a name means. Throws `input.field` for an unknown one.
    static func kinds(named name: some StringProtocol) throws(Failure) -> [EventKind] {
        let kinds = EventKind.named(name)
        guard !kinds.isEmpty else {
            throw Validation.wrong("kind", String(name), EventKind.allowedNames(for: name))
        }
        return kinds
    }

    private static let names = ["catalog", "site", "kind", "since", "after", "limit"]

    /// Reads the parameters of a request, within what its token may see.
    private func filter(
        _ request: HTTPRequest, _ caller: Caller
    ) async throws(Failure) -> Events.Filter {
        if let other = request.query.first(where: { !Self.names.contains($0.name) }) {
            throw Validation.wrong("the query", other.name, Self.names.joined(separator: ", "))
        }
        var filter = Events.Filter(sites: caller.visibleSites)
        if let text = request.queryValue("catalog") {
            let reference = try CatalogReference.read(
                text, site: request.queryValue("site"))
            let catalog = try await queue.catalogs.selections.catalog(reference)
            try await caller.require(catalog, queue.access.tokens)
            filter.catalog = catalog
        } else if let site = request.queryValue("site") {
            throw Validation.wrong("site", site, "none without a catalog")
        }
        for name in (request.queryValue("kind") ?? "").split(separator: ",") {
            filter.kinds.formUnion(try Self.kinds(named: name))
        }
        try caller.require(filter.kinds)
        if let text = request.queryValue("since") {
            guard let since = Double(text), WireLimits.pointsInTime.contains(since) else {
                throw Validation.wrong("since", text, Validation.pointsInTime)
            }
            filter.since = since
        }
        return filter
    }
}
