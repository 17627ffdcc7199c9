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
        try await fixture.queue.events.webhooks.create(
            WebhookSubmission(url: url, secret: "canary-of-a-webhook"), catalog: catalog,
            kinds: kinds, by: "test")
    }

    /// Makes deliveries until all events have theirs.
    private static func enqueue(_ fixture: F) async throws {
        try await waitUntil(deadlineSeconds: 30, "the end of older transactions") {
            try await fixture.count("event WHERE xact >= events_end()") == 0
        }
        while try await fixture.queue.events.webhooks.enqueue() > 0 {}
    }

    private static func lease(
        _ fixture: F, _ limit: Int = 100, seconds: Double = 60
    ) async throws -> [Webhooks.Leased] {
        try await fixture.queue.events.webhooks.lease(limit, each: limit, seconds: seconds)
    }

    @Test func eachEventFromNowOnHasOneDelivery() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await Self.enqueue(fixture)
            let all = try await Self.add(fixture)
            let kind = EventKind(rawValue: "catalog.interrupted")
            try await Self.add(fixture, catalog: catalog, kinds: [kind])
            try await Self.add(fixture, catalog: CatalogID(999))
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
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
            #expect(
                try await fixture.queue.events.webhooks.list().webhooks.map(\.waiting) == [2, 1, 0])
            // Its deliveries go with it.
            _ = try await fixture.queue.events.webhooks.remove(all.id)
            #expect(try await fixture.count("webhook_delivery") == 1)
        }
    }

    @Test func aDeliveryIsLeasedToOneAtATime() async throws {
        try await F.with { fixture in
            let webhooks = fixture.queue.events.webhooks
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
            #expect(try await webhooks.record(Webhooks.Attempt(status: 200), of: late) == nil)
            #expect(
                try await webhooks.deliveries(after: nil, state: .delivered, limit: 9).deliveries
                    .isEmpty)
            let outcome = try await webhooks.record(
                Webhooks.Attempt(status: 200), of: again[0])
            #expect(outcome == .delivered)
            let delivered = try await webhooks.deliveries(after: nil, state: .delivered, limit: 9)
            #expect(delivered.deliveries.map(\.id) == [first])
        }
    }

    @Test func aFailureIsRepeatedLaterAndTheLastOneIsDead() async throws {
        try await F.with { fixture in
            let webhooks = fixture.queue.events.webhooks
            try await Self.add(fixture, kinds: [EventKind(rawValue: "catalog.open")])
            try await fixture.submit([F.file("a")])
            try await Self.enqueue(fixture)
            let failure = Failure(.originHTTP500, "https://hook.example/x?key=canary: status 500")
            for attempt in 1...Webhooks.maxAttempts {
                let leased = try await Self.lease(fixture)
                #expect(leased.map(\.attempt) == [attempt])
                let outcome = try await webhooks.record(
                    Webhooks.Attempt(status: 500, failure: failure), of: leased[0])
                #expect(outcome == (attempt == Webhooks.maxAttempts ? .dead : .retried))
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

    @Test func eachChangeOfADeliveryIsSeen() async throws {
        try await F.with { fixture in
            let webhooks = fixture.queue.events.webhooks
            try await Self.add(fixture, kinds: [EventKind(rawValue: "asset.ready")])
            try await fixture.submit([F.file("a")])
            try await Self.enqueue(fixture)
            let leased = try #require(try await Self.lease(fixture).first)
            let answer = Webhooks.Attempt(status: 200)
            #expect(try await webhooks.record(answer, of: leased) == .delivered)
            #expect(try await webhooks.redeliver(leased.id).state == .waiting)
            try await fixture.pool.query(
                "UPDATE webhook_delivery SET waiting_since = now() - interval '8 days'")
            #expect(try await webhooks.expire() == 1)
            #expect(try await webhooks.redeliver(leased.id).state == .waiting)
            try await fixture.expectSeen(TransitionLog.ofDeliveries)
        }
    }

    @Test func eachWebhookHasATurn() async throws {
        try await F.with { fixture in
            let webhooks = fixture.queue.events.webhooks
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

    @Test func aRetryAfterHoldsAllDeliveriesOfItsWebhook() async throws {
        try await F.with { fixture in
            let webhooks = fixture.queue.events.webhooks
            let kinds = [EventKind(rawValue: "asset.ready")]
            let busy = try await Self.add(fixture, kinds: kinds)
            let other = try await Self.add(fixture, kinds: kinds)
            try await fixture.submit((0..<3).map { F.file("\($0)") })
            try await Self.enqueue(fixture)
            let leased = try await Self.lease(fixture)
            let answered = try #require(leased.first { $0.webhook == busy.id })
            for delivery in leased where delivery.id != answered.id {
                try await webhooks.giveBack(delivery)
            }
            var answer = Webhooks.Attempt(status: 429, failure: Failure(.originHTTP429, "busy"))
            answer.retryAfterSeconds = 3_600
            try await webhooks.record(answer, of: answered)
            let list = try await webhooks.list().webhooks
            let now = try await fixture.pool.query(
                "SELECT extract(epoch FROM clock_timestamp())::float8 AS now"
            ).only().double("now")
            let seconds = try #require(list[0].cooldownUntil) - now
            #expect((3_400...3_600).contains(seconds) && list[1].cooldownUntil == nil)
            #expect(try await Self.lease(fixture).map(\.webhook) == [other.id, other.id, other.id])
            try await fixture.pool.query(
                "UPDATE webhook SET cooldown_until = now() WHERE id = $1",
                [.int(busy.id.rawValue)])
            // The one that was answered waits for its own time.
            #expect(try await Self.lease(fixture).map(\.webhook) == [busy.id, busy.id])
            let waiting = try await webhooks.deliveries(after: nil, state: .waiting, limit: 100)
            let due = try #require(waiting.deliveries.first { $0.status == 429 }?.due) - now
            #expect((3_400...7_201).contains(due))
        }
    }

    /// A report that comes too late starts none; one by hand ends it.
    @Test func aDeliveryThatIsSentAgainEndsTheCooldown() async throws {
        try await F.with { fixture in
            let webhooks = fixture.queue.events.webhooks
            try await Self.add(fixture, kinds: [EventKind(rawValue: "asset.ready")])
            try await fixture.submit([F.file("a"), F.file("b")])
            try await Self.enqueue(fixture)
            let leased = try await Self.lease(fixture)
            var answer = Webhooks.Attempt(status: 503, failure: Failure(.originHTTP503, "busy"))
            answer.retryAfterSeconds = 3_600
            var late = leased[0]
            late.attempt = 9
            #expect(try await webhooks.record(answer, of: late) == nil)
            #expect(try await webhooks.list().webhooks[0].cooldownUntil == nil)
            #expect(try await webhooks.record(answer, of: leased[0]) == .retried)
            #expect(try await webhooks.list().webhooks[0].cooldownUntil != nil)
            // It is being sent.
            await #expect(throws: Failure.self) { try await webhooks.redeliver(leased[1].id) }
            #expect(try await webhooks.list().webhooks[0].cooldownUntil != nil)
            _ = try await webhooks.redeliver(leased[0].id)
            #expect(try await webhooks.list().webhooks[0].cooldownUntil == nil)
            #expect(try await Self.lease(fixture).map(\.id) == [leased[0].id])
        }
    }

    @Test func aChangedWebhookKeepsItsDeliveries() async throws {
        try await F.with { fixture in
            let webhooks = fixture.queue.events.webhooks
            let webhook = try await Self.add(fixture, kinds: [EventKind(rawValue: "asset.ready")])
            try await fixture.submit([F.file("a"), F.file("b")])
            try await Self.enqueue(fixture)
            try await fixture.pool.query(
                "UPDATE webhook SET cooldown_until = now() + interval '1 hour'")
            try await fixture.pool.query(
                """
                UPDATE webhook_delivery SET state = 'dead', ended_at = now()
                WHERE id = (SELECT min(id) FROM webhook_delivery)
                """)
            let url = "https://other.example/y"
            let changed = try await webhooks.change(webhook.id, WebhookChange(url: url))
            #expect(changed.url == url && changed.waiting == 1 && changed.dead == 1)
            #expect(changed.cooldownUntil == nil)
            let dead = try await webhooks.deliveries(after: nil, state: .dead, limit: 9)
            _ = try await webhooks.redeliver(dead.deliveries[0].id)
            _ = try await webhooks.change(
                webhook.id, WebhookChange(secret: "canary-of-another"))
            let leased = try await Self.lease(fixture)
            #expect(leased.map(\.url) == [url, url])
            #expect(leased.allSatisfy { $0.secret == "canary-of-another" })
            await #expect(throws: Failure.self) {
                try await webhooks.change(WebhookID(99), WebhookChange(url: url))
            }
        }
    }

    /// A receiver that always asks for more time holds nothing for ever.
    @Test func aDeliveryThatWaitsForTooLongIsDead() async throws {
        try await F.with { fixture in
            let webhooks = fixture.queue.events.webhooks
            try await Self.add(fixture, kinds: [EventKind(rawValue: "asset.ready")])
            try await fixture.submit((0..<4).map { F.file("\($0)") })
            try await Self.enqueue(fixture)
            let leased = try await Self.lease(fixture)
            // The first is new, the second is being sent.
            try await fixture.pool.query(
                "UPDATE webhook_delivery SET waiting_since = now() - interval '8 days' "
                    + "WHERE id > $1", [.int(leased[0].id.rawValue)])
            let failure = Failure(.originHTTP503, "busy")
            for delivery in leased where delivery.id != leased[1].id {
                try await webhooks.record(
                    Webhooks.Attempt(status: 503, failure: failure), of: delivery)
            }
            #expect(try await webhooks.expire() == 2)
            #expect(try await webhooks.expire() == 0)
            let dead = try await webhooks.deliveries(after: nil, state: .dead, limit: 9).deliveries
            #expect(Set(dead.map(\.id)) == Set(leased[2...].map(\.id)))
            for delivery in dead {
                #expect(delivery.failure?.code == .clusterDeliveryExpired)
                #expect(
                    delivery.failure?.message
                        == "Not delivered within 7 days. The last attempt: busy")
                #expect(delivery.status == 503 && delivery.ended != nil)
            }
            // Its time begins anew.
            _ = try await webhooks.redeliver(dead[0].id)
            #expect(try await webhooks.expire() == 0)
            #expect(try await webhooks.list().webhooks[0].waiting == 3)
        }
    }

    @Test func onlyTheLatestEndedDeliveriesAreKept() async throws {
        try await F.with { fixture in
            let webhooks = fixture.queue.events.webhooks
            try await Self.add(fixture, kinds: [EventKind(rawValue: "asset.ready")])
            try await fixture.submit((0..<10).map { F.file("\($0)") })
            try await Self.enqueue(fixture)
            let leased = try await Self.lease(fixture)
            #expect(leased.count == 10)
            for delivery in leased.dropFirst() {
                try await webhooks.record(Webhooks.Attempt(status: 200), of: delivery)
            }
            #expect(try await webhooks.trim(rows: 3) == false)
            // The first one waits.
            #expect(try await fixture.count("webhook_delivery") == 4)
        }
    }
}
