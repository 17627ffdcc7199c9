import API
import CoordinatorClient
import JobQueue
import Model
import TestSupport
import Testing

@testable import Coordinator

/// Events as pages of JSON, and who may see which.
@Suite struct EventPageTests {
    @Test func pagesFollowEachOther() async throws {
        try await Fixture.with { fixture in
            let names = (0..<7).map { "file-\($0)" }
            let catalog = try await fixture.submit(names)
            try await fixture.submit(["x"], catalog: "other")
            try await fixture.settleEvents()
            var query = EventQuery()
            query.catalog = CatalogReference(name: "movies")
            var events: [ClusterEvent] = []
            var cursor: String?
            var pages = 0
            repeat {
                let page = try await fixture.client.eventPage(query, after: cursor, limit: 3)
                #expect(page.events.count <= 3)
                events += page.events
                cursor = page.next
                pages += 1
                guard page.hasMore else { break }
            } while pages < 10
            #expect(pages == 4 && events.count == 9)
            #expect(events.allSatisfy { $0.catalog == catalog })
            #expect(
                Set(events.filter { $0.kind.rawValue == "asset.ready" }.compactMap(\.name))
                    == Set(names))
            // The next page begins with what comes then.
            #expect(try await fixture.client.eventPage(query, after: cursor).events.isEmpty)
            try await fixture.client.interrupt(catalog)
            try await fixture.settleEvents()
            let page = try await fixture.client.eventPage(query, after: cursor)
            #expect(page.events.last?.kind.rawValue == "catalog.interrupted")
        }
    }

    @Test func wrongParametersAreNamed() async throws {
        try await Fixture.with { fixture in
            for (query, words) in [
                ("after=yesterday", "after: yesterday was given"), ("kind=asset.lost", "kind: "),
                ("since=soon", "since: soon"), ("limit=0", "limit: 0"), ("color=red", "the query"),
                ("site=file:///x", "site: "), ("catalog=nowhere", "There is no catalog nowhere"),
                ("kind=catalog.done", "allowed: catalog, or one of catalog.open, catalog.running,"),
                ("kind=thing", "allowed: catalog, asset, worker, origin, site, queue, or a kind"),
                ("since=0", "allowed: 1 to 253402300799, in seconds since 1970"),
            ] {
                let answer = try await fixture.send("GET", "/v1/events?\(query)")
                #expect([400, 404].contains(answer.status), "\(query): \(answer)")
                #expect(
                    answer.body.replacing("\\/", with: "/").contains(words), "\(query): \(answer)")
            }
        }
    }

    @Test func aNumberWithAnotherSiteHasNoEvents() async throws {
        try await Fixture.with { fixture in
            let catalog = try await fixture.submit(["a"])
            var query = EventQuery()
            query.catalog = CatalogReference(catalog)
            query.catalog?.site = Fixture.storageURL
            try await fixture.settleEvents()
            #expect(try await !fixture.client.eventPage(query, after: nil).events.isEmpty)
            query.catalog?.site = "file:///srv/other"
            let failure = await #expect(throws: Failure.self) {
                try await fixture.client.eventPage(query, after: nil)
            }
            #expect(failure?.code == .inputNotFound)
        }
    }

    @Test func aCursorBeforeDeletedEventsIsGone() async throws {
        try await Fixture.with { fixture in
            let start = try await fixture.client.eventPage(EventQuery(), after: "now").next
            try await fixture.submit(["a"])
            try await fixture.settleEvents()
            try await fixture.coordinator.queue.events.trim(rows: 1)
            for accept in ["application/json", "text/event-stream"] {
                let answer = try await fixture.send(
                    "GET", "/v1/events?after=\(start)", headers: ["Accept": accept])
                #expect(answer.status == 410 && answer.code == "cluster.eventsGone", "\(accept)")
            }
            #expect(fixture.coordinator.eventStreams == 0)
            #expect(try await fixture.client.eventPage(EventQuery(), after: nil).events.count == 1)
        }
    }

    /// Nothing of other sites, and nothing of what has no site.
    /// Workers and origins are of no site.
    @Test func aBoundTokenLearnsWhichEventsItCannotSee() async throws {
        try await Fixture.with { fixture in
            let bound = try await fixture.token(.submitter, sites: [Fixture.storageURL])
            for accept in ["application/json", "text/event-stream"] {
                for kinds in ["worker", "asset.failed,origin.open"] {
                    let answer = try await Wire.exchange(
                        port: fixture.port, "GET", "/v1/events?kind=\(kinds)",
                        headers: Fixture.bearer(bound.secret).merging(["Accept": accept]) { $1 })
                    #expect(answer.status == 403 && answer.code == "cluster.outOfScope")
                    #expect(answer.body.contains("are of no site"), "\(answer.body)")
                }
            }
            let seen = try await fixture.send(
                "GET", "/v1/events?kind=catalog,site,queue", by: bound)
            #expect(seen.status == 200, "\(seen)")
            let all = try await fixture.token(.submitter)
            #expect(try await fixture.send("GET", "/v1/events?kind=worker", by: all).status == 200)
        }
    }

    @Test func whoIsBoundToSitesSeesTheirEventsOnly() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let handle = try await fixture.client.openCatalog(
                CatalogSubmission(name: "theirs", storageURL: "file:///srv/theirs"))
            _ = try await fixture.client.heartbeat(
                Heartbeat(
                    worker: Fixture.worker, leases: [], progress: [:], name: "edge",
                    activeTransfers: 0))
            try await fixture.settleEvents()
            let token = try await fixture.token(.submitter, sites: ["file:///srv/theirs"])
            try await fixture.asking(with: token) { client in
                let events = try await client.eventPage(EventQuery(), after: nil).events
                #expect(events.map(\.catalogName) == ["theirs"])
                var query = EventQuery()
                query.catalog = CatalogReference(handle.id)
                #expect(try await client.eventPage(query, after: nil).events == events)
                query.catalog = CatalogReference(name: "movies")
                let refused = try await code { try await client.eventPage(query, after: nil) }
                #expect(refused == .clusterOutOfScope)
                for try await update in client.events(EventQuery(), after: events[0].id) {
                    guard case .position = update else { continue }
                    break
                }
            }
            let all = try await fixture.client.eventPage(EventQuery(), after: nil).events
            #expect(all.contains { $0.kind.rawValue == "worker.joined" })
        }
    }
}
