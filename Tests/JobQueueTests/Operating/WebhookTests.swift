import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Deliveries of events to webhooks: which are made, and who may send them.
@Suite struct WebhookTests {
    typealias F = QueueFixture

    @discardableResult
    private static func add(
        _ fixture: F, _ url: String = "https://hook.example/x", catalog: CatalogID? = nil,
        kinds: [EventKind] = []
    ) async throws -> WebhookStatus {
        try await fixture.queue.webhooks.create(
            WebhookSubmission(url: url, secret: "canary-of-a-webhook"), catalog: catalog,
            kinds: kinds, by: "test")
    }

    /// Makes deliveries until all events have theirs.
    private static func enqueue(_ fixture: F) async throws {
        try await waitUntil(deadlineSeconds: 30, "the end of older transactions") {
            try await fixture.count("event WHERE xact >= events_end()") == 0
        }
        while try await fixture.queue.webhooks.enqueue() > 0 {}
    }

    private static func lease(
        _ fixture: F, _ limit: Int = 100, seconds: Double = 60
    ) async throws -> [Webhooks.Leased] {
        try await fixture.queue.webhooks.lease(limit, each: limit, seconds: seconds)
    }

    @Test func eachEventFromNowOnHasOneDelivery() async throws {
        try await F.with("webhooks") { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await Self.enqueue(fixture)
            let all = try await Self.add(fixture)
            let kind = EventKind(rawValue: "catalog.interrupted")
            try await Self.add(fixture, catalog: catalog, kinds: [kind])
            try await Self.add(fixture, catalog: CatalogID(999))
            try await fixture.queue.submissions.interrupt(catalog)
            try await Self.enqueue(fixture)
            let leased = try await Self.lease(fixture)
            #expect(
                leased.map(\.kind.rawValue).sorted() == [
                    "asset.interrupted", "catalog.interrupted", "catalog.interrupted",
                ])
            #expect(leased.allSatisfy { $0.secret == "canary-of-a-webhook" && $0.attempt == 1 })
            let event = try WireJSON.decode(
                ClusterEvent.self, from: Array(leased[0].body.utf8))
            #expect(event.catalog == catalog && event.catalogName == "movies")
            #expect(try await fixture.queue.webhooks.list().webhooks.map(\.waiting) == [2, 1, 0])
            // Its deliveries go with it.
            _ = try await fixture.queue.webhooks.remove(all.id)
            #expect(try await fixture.count("webhook_delivery") == 1)
        }
    }

    @Test func aDeliveryIsLeasedToOneAtATime() async throws {
        try await F.with("webhook_leases") { fixture in
            let webhooks = fixture.queue.webhooks
            try await Self.add(fixture, kinds: [EventKind(rawValue: "asset.ready")])
            try await fixture.submit((0..<40).map { F.file("\($0)") })
            try await Self.enqueue(fixture)
            let ids = try await withThrowingTaskGroup(of: [WebhookDeliveryID].self) { group in
                for _ in 0..<4 {
                    group.addTask { try await Self.lease(fixture, 10).map(\.id) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(Set(ids).count == ids.count)
            let rest = try await Self.lease(fixture)
            #expect(ids.count + rest.count == 40)
            #expect(try await Self.lease(fixture).isEmpty)
            // A coordinator dies with its leases; what it reports afterwards changes nothing.
            let latest = try await webhooks.deliveries(after: nil, state: nil, limit: 1)
            let first = latest.deliveries[0].id
            try await fixture.pool.query(
                "UPDATE webhook_delivery SET leased_until = now() - interval '1 s' WHERE id = $1",
                [.int(first.rawValue)])
            let again = try await Self.lease(fixture)
            #expect(again.map(\.id) == [first] && again[0].attempt == 2)
            var late = again[0]
            late.attempt = 1
            try await webhooks.record(late, status: 200, failure: nil)
            #expect(
                try await webhooks.deliveries(after: nil, state: .delivered, limit: 9).deliveries
                    .isEmpty)
            try await webhooks.record(again[0], status: 200, failure: nil)
            let delivered = try await webhooks.deliveries(after: nil, state: .delivered, limit: 9)
            #expect(delivered.deliveries.map(\.id) == [first])
        }
    }

    @Test func aFailureIsRepeatedLaterAndTheLastOneIsDead() async throws {
        try await F.with("webhook_retries") { fixture in
            let webhooks = fixture.queue.webhooks
            try await Self.add(fixture, kinds: [EventKind(rawValue: "catalog.open")])
            try await fixture.submit([F.file("a")])
            try await Self.enqueue(fixture)
            let failure = Failure(.originHTTP500, "https://hook.example/x?key=canary: status 500")
            for attempt in 1...Webhooks.maxAttempts {
                let leased = try await Self.lease(fixture)
                #expect(leased.map(\.attempt) == [attempt])
                try await webhooks.record(leased[0], status: 500, failure: failure)
                let now = try await webhooks.deliveries(after: nil, state: nil, limit: 9)
                let state = now.deliveries[0]
                #expect(state.state == (attempt == Webhooks.maxAttempts ? .dead : .waiting))
                #expect(state.failure?.code == .originHTTP500 && state.status == 500)
                #expect(state.failure?.message.contains("canary") == false)
                try await fixture.pool.query("UPDATE webhook_delivery SET due_at = now()")
            }
            #expect(try await Self.lease(fixture).isEmpty)
            try await fixture.pool.query(
                "UPDATE webhook_delivery SET ended_at = now() - interval '8 days'")
            #expect(try await webhooks.trim() == false)
            #expect(try await fixture.count("webhook_delivery") == 0)
        }
    }

    @Test func eachWebhookHasATurn() async throws {
        try await F.with("webhook_turns") { fixture in
            let webhooks = fixture.queue.webhooks
            let kinds = [EventKind(rawValue: "asset.ready")]
            let slow = try await Self.add(fixture, kinds: kinds)
            let other = try await Self.add(fixture, kinds: kinds)
            try await fixture.submit((0..<20).map { F.file("\($0)") })
            try await Self.enqueue(fixture)
            let leased = try await webhooks.lease(100, seconds: 60)
            for webhook in [slow, other] {
                #expect(
                    leased.filter { $0.webhook == webhook.id }.count
                        == Webhooks.maxAtOncePerWebhook)
            }
            let next = try await webhooks.lease(100, busy: [slow.id], seconds: 60)
            #expect(next.count == Webhooks.maxAtOncePerWebhook)
            #expect(next.allSatisfy { $0.webhook == other.id })
            // An attempt that was not made does not count.
            try await webhooks.giveBack(next[0])
            let again = try await webhooks.lease(100, each: 100, busy: [slow.id], seconds: 60)
            #expect(again.first { $0.id == next[0].id }?.attempt == 1)
        }
    }

    @Test func onlyTheLatestEndedDeliveriesAreKept() async throws {
        try await F.with("webhook_rows") { fixture in
            let webhooks = fixture.queue.webhooks
            try await Self.add(fixture, kinds: [EventKind(rawValue: "asset.ready")])
            try await fixture.submit((0..<10).map { F.file("\($0)") })
            try await Self.enqueue(fixture)
            let leased = try await Self.lease(fixture)
            #expect(leased.count == 10)
            for delivery in leased.dropFirst() {
                try await webhooks.record(delivery, status: 200, failure: nil)
            }
            #expect(try await webhooks.trim(rows: 3) == false)
            // The first one waits.
            #expect(try await fixture.count("webhook_delivery") == 4)
        }
    }
}
