import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Events: that every change of a state is recorded, in which order they are read, and for how long.
@Suite struct EventTests {
    typealias F = QueueFixture

    static func all(
        _ fixture: F, after cursor: EventCursor? = nil, _ filter: Events.Filter = Events.Filter()
    ) async throws -> [ClusterEvent] {
        let beginning = try await fixture.queue.events.beginning()
        return try await page(fixture, after: cursor ?? beginning, filter).events.map(\.event)
    }

    /// Returns all events after a cursor: waits until each can be read. Transactions of other tests and of
    /// autovacuum may hide the latest for a moment, as often as one ends.
    private static func page(
        _ fixture: F, after cursor: EventCursor, _ filter: Events.Filter = Events.Filter()
    ) async throws -> Events.Page {
        var page = Events.Page(events: [], next: cursor, hasMore: false)
        try await waitUntil(deadlineSeconds: 30, "the end of older transactions") {
            page = try await fixture.queue.events.page(after: cursor, filter, limit: 5_000)
            let next = page.next
            return try await fixture.count(
                "event WHERE (xact, id) > ('\(next.transaction)'::xid8, \(next.number))") == 0
        }
        return page
    }

    /// Trims until so many are left; returns how many it deleted.
    private static func trim(_ fixture: F, rows: Int64, to left: Int64) async throws -> Int {
        var deleted = 0
        try await waitUntil(deadlineSeconds: 30, "the trim of all but \(left) events") {
            deleted += try await fixture.queue.events.trim(rows: rows)
            return try await fixture.count("event") == left
        }
        return deleted
    }

    private static func isGone(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return false
        } catch {
            return (error as? Failure)?.code == .clusterEventsGone
        }
    }

    private static func kinds(_ events: [ClusterEvent]) -> [String] { events.map(\.kind.rawValue) }

    private static func insert(_ fixture: F, _ count: Int, kind: String = "worker.joined")
        async throws
    {
        try await fixture.pool.query(
            "INSERT INTO event (kind) SELECT $1 FROM generate_series(1, $2::int)",
            [.text(kind), .int(count)])
    }

    // MARK: Recording

    @Test func theLifeOfACatalogIsRecorded() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a"), F.file("b"), F.title("t")])
            let grant = try await fixture.lease()
            #expect(grant.jobs.count == 3)
            _ = try await fixture.report(
                grant.jobs.map { job in
                    job.key.hasSuffix("/a")
                        ? F.done(job, grant) : F.failed(job, grant, .originHTTP404)
                })
            try await fixture.drain()
            let events = try await Self.all(fixture)
            func states(of name: String) -> [String] {
                Self.kinds(events.filter { $0.kind.subject == "asset" && $0.name == name })
            }
            #expect(states(of: "a") == ["asset.ready", "asset.completed"])
            #expect(states(of: "b") == ["asset.ready", "asset.failed"])
            #expect(states(of: "t") == ["asset.resolving", "asset.failed"])
            let ofCatalog = events.filter { $0.kind.subject == "catalog" }
            #expect(Self.kinds(ofCatalog) == ["catalog.open", "catalog.running", "catalog.failed"])
            #expect(ofCatalog.last?.assets == 3 && ofCatalog.last?.failed == 2)
            #expect(events.last == ofCatalog.last)
            for event in events where event.kind.subject != "worker" {
                #expect(event.catalog == catalog && event.catalogName == "movies")
                #expect(event.site == F.site)
            }
            let failed = events.filter { $0.kind.rawValue == "asset.failed" }
            #expect(failed.allSatisfy { $0.code == .originHTTP404 && $0.message != nil })
            #expect(events.map(\.id).count == Set(events.map(\.id)).count)
        }
    }

    @Test func theEventOfARemovalSaysWhatWasFreed() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await fixture.drain()
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(catalog)))
            try await RemovalTests.purge(fixture)
            let events = try await Self.all(fixture)
            let removed = events.filter { $0.kind.rawValue == "asset.removed" }
            #expect(removed.map(\.message) == ["1 file, 10 bytes"])
        }
    }

    @Test func oneEventStandsForManyAssetsOfOneStatement() async throws {
        try await F.with { fixture in
            let count = WireLimits.eventsPerChange + 1
            let catalog = try await fixture.submit((0..<count).map { F.file("\($0)") })
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            let events = try await Self.all(fixture)
            let many = events.filter { $0.kind.subject == "asset" }
            #expect(Self.kinds(many) == ["asset.ready", "asset.interrupted"])
            #expect(many.allSatisfy { $0.assets == Int64(count) && $0.asset == nil })
            #expect(events.last?.kind.rawValue == "catalog.interrupted")
        }
    }

    /// One row is stored for the assets that a report completes; readers see an event of each, and
    /// may stop at any of them.
    @Test func assetsThatOneReportCompletesHaveEventsOfTheirOwn() async throws {
        try await F.with { fixture in
            for catalog in ["movies", "series"] {
                try await fixture.submit(
                    (0..<10).map { F.file("\(catalog)/\($0)") }, catalog: catalog)
            }
            let start = try await fixture.queue.events.now()
            let grants = [try await fixture.lease(), try await fixture.lease()]
            _ = try await fixture.report(
                grants.flatMap { grant in grant.jobs.map { F.done($0, grant) } })
            #expect(try await fixture.count("event WHERE asset_ids IS NOT NULL") <= 2)
            let completed = EventKind(rawValue: "asset.completed")
            let all = try await Self.page(fixture, after: start, .init(kinds: [completed])).events
            #expect(all.count == 20 && Set(all.map(\.event.id)).count == 20)
            #expect(Set(all.compactMap(\.event.asset)).count == 20)
            #expect(all.map(\.cursor) == all.map(\.cursor).sorted())
            for event in all.map(\.event) {
                #expect(event.name?.hasPrefix(event.catalogName ?? "?") == true)
            }
            // From each of them on the rest, and no more is read than asked for.
            for (index, one) in all.enumerated() {
                let rest = try await Self.page(
                    fixture, after: one.cursor, .init(kinds: [completed]))
                #expect(rest.events.map(\.event.id) == all.dropFirst(index + 1).map(\.event.id))
            }
            let page = try await fixture.queue.events.page(
                after: all[2].cursor, .init(kinds: [completed]), limit: 3, scan: 3)
            #expect(page.events.map(\.event.id) == all[3..<6].map(\.event.id) && page.hasMore)
            #expect(page.next == all[5].cursor)
        }
    }

    @Test func workersSitesQueuesAndOriginsAreRecorded() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let start = try await fixture.queue.events.now()
            func beat(_ issue: Failure?) async throws {
                var heartbeat = Heartbeat(
                    worker: fixture.worker, leases: [], progress: [:], name: "edge-1",
                    activeTransfers: 0)
                heartbeat.issue = issue
                _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
            }
            try await beat(nil)
            try await beat(nil)
            try await beat(Failure(.storageFull, "no room"))
            try await beat(Failure(.storageFull, "no room"))
            try await beat(nil)
            try await fixture.pool.query("UPDATE worker SET last_seen = now() - interval '2 min'")
            #expect(try await fixture.queue.workers.noteSilent() == 1)
            #expect(try await fixture.queue.workers.noteSilent() == 0)
            try await beat(nil)
            let pool = fixture.pool
            try await pool.query(
                "UPDATE site SET fault_code = 'storage.full', fault_message = 'no room'")
            try await pool.query("UPDATE site SET fault_retry_at = now()")
            try await pool.query("UPDATE site SET fault_code = NULL, fault_message = NULL")
            try await pool.query("UPDATE site SET schedule_closed = true")
            try await pool.query("UPDATE site SET schedule_closed = false")
            try await pool.query("UPDATE queue SET state = 'paused'")
            try await pool.query(
                """
                UPDATE origin SET cooldown_until = now() + interval '1 min', cooldown_reason = 'origin.http.429'
                WHERE id <> 0
                """)
            try await pool.query(
                "UPDATE origin SET cooldown_until = now() + interval '2 min' WHERE id <> 0")
            try await pool.query("UPDATE origin SET breaker = 'open' WHERE id <> 0")
            try await pool.query(
                "UPDATE origin SET breaker = 'closed', cooldown_until = NULL WHERE id <> 0")
            // A transaction of another test may hold the position of `start` back.
            let events = try await Self.all(fixture, after: start).filter {
                $0.kind.subject != "asset" && $0.kind.subject != "catalog"
            }
            #expect(
                Self.kinds(events) == [
                    "worker.joined", "worker.failing", "worker.recovered", "worker.lost",
                    "worker.returned", "site.faulty", "site.recovered", "site.closed",
                    "site.opened", "queue.paused", "origin.cooldown", "origin.open",
                    "origin.closed",
                ])
            #expect(events[1].worker == fixture.worker && events[1].name == "edge-1")
            #expect(events[1].code == .storageFull && events[5].site == F.site)
            #expect(events[10].name == "http://origin.test")
            #expect(events[10].code == .originHTTP429)
            // All of these are in the table of kinds.
            for event in events { #expect(EventKind.all.contains(event.kind)) }
        }
    }

    @Test func noSecretIsInAnEvent() async throws {
        try await F.with { fixture in
            let url = "https://cdn.test/f.bin?X-Amz-Signature=canary"
            try await fixture.submit([
                AssetSubmission(name: url, url: url, kind: .file, key: "cdn.test/f.bin")
            ])
            let grant = try await fixture.lease()
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, .originHTTP404)])
            let events = try await Self.all(fixture)
            let text = String(decoding: try WireJSON.encode(events), as: UTF8.self)
            #expect(text.contains("cdn.test/f.bin") && !text.contains("canary"))
            let stored = try await fixture.pool.query(
                "SELECT count(*)::bigint FROM event e WHERE e::text LIKE '%canary%'"
            ).only().int64(0)
            #expect(stored == 0)
        }
    }

    // MARK: Order

    /// What an open transaction has inserted is not there yet, and nothing that comes after it is read
    /// before it.
    @Test func noEventAppearsBeforeOneThatWasRead() async throws {
        try await F.with { fixture in
            let start = try await fixture.queue.events.now()
            try await fixture.pool.withConnection { connection in
                try await connection.simple("BEGIN")
                _ = try await connection.query("INSERT INTO event (kind) VALUES ('worker.joined')")
                try await Self.insert(fixture, 1, kind: "worker.lost")
                let page = try await fixture.queue.events.page(after: start, limit: 10)
                #expect(page.events.isEmpty && page.next == start && !page.hasMore)
                try await connection.simple("COMMIT")
            }
            #expect(
                Self.kinds(try await Self.all(fixture, after: start)) == [
                    "worker.joined", "worker.lost",
                ])
        }
    }

    @Test func manyWritersAndOneReaderMissNothing() async throws {
        try await F.with { fixture in
            var cursor = try await fixture.queue.events.now()
            var seen = 0
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<25 { try await Self.insert(fixture, 2) }
                    }
                }
                while seen < 200 {
                    let page = try await fixture.queue.events.page(after: cursor, limit: 7)
                    #expect(page.events.allSatisfy { $0.cursor > cursor })
                    seen += page.events.count
                    cursor = page.next
                }
                try await group.waitForAll()
            }
            #expect(seen == 200)
            #expect(try await Self.all(fixture, after: cursor).isEmpty)
        }
    }

    @Test func pagesAreFilteredAndReadABoundedNumber() async throws {
        try await F.with { fixture in
            let events = fixture.queue.events
            let start = try await events.now()
            try await Self.insert(fixture, 30)
            try await Self.insert(fixture, 1, kind: "worker.lost")
            var filter = Events.Filter(kinds: [EventKind(rawValue: "worker.lost")])
            var page = Events.Page(events: [], next: start, hasMore: false)
            try await waitUntil(deadlineSeconds: 30, "the first events") {
                page = try await events.page(after: start, filter, limit: 5, scan: 20)
                return page.hasMore
            }
            let middle = page.next
            #expect(page.events.isEmpty && middle > start)
            try await waitUntil(deadlineSeconds: 30, "the other events") {
                page = try await events.page(after: middle, filter, limit: 5, scan: 20)
                return !page.events.isEmpty
            }
            #expect(page.events.count == 1 && !page.hasMore)
            filter = Events.Filter(since: 253_402_300_799)
            #expect(try await Self.all(fixture, after: start, filter).isEmpty)
            let other = try await fixture.submit([F.file("b")], catalog: "other")
            _ = try await fixture.submit([F.file("c")], catalog: "third", site: "file:///third")
            filter = Events.Filter(catalog: other)
            let found = try await Self.all(fixture, filter)
            #expect(!found.isEmpty && found.allSatisfy { $0.catalogName == "other" })
            filter = Events.Filter(sites: ["file:///third"])
            let third = try await Self.all(fixture, filter)
            #expect(!third.isEmpty && third.allSatisfy { $0.catalogName == "third" })
            // The conditions of SQL and of streams are the same.
            let all = try await Self.all(fixture)
            #expect(all.filter(filter.matches) == third)
        }
    }

    @Test func cursorsAreShortTexts() throws {
        let cursor = EventCursor(transaction: .max, number: 12_345)
        #expect(cursor.description.utf8.count <= 27)
        #expect(try EventCursor(cursor.description, field: "after") == cursor)
        for text in ["", "1", "1-", "-1", "1-2-3", "G-1", "1- 2", "zzzzzzzzzzzzz-1", "+1-1"] {
            #expect(throws: Failure.self, "\(text)") { try EventCursor(text, field: "after") }
        }
        #expect(EventCursor(transaction: 9, number: 5) < EventCursor(transaction: 10, number: 1))
    }

    // MARK: Trimming

    @Test func eventsAreKeptByAgeAndNumber() async throws {
        try await F.with { fixture in
            let events = fixture.queue.events
            let start = try await events.now()
            try await Self.insert(fixture, 30)
            let before = try await Self.page(fixture, after: start).events
            #expect(before.count == 30)
            #expect(try await Self.trim(fixture, rows: 10, to: 10) == 20)
            #expect(try await events.trim(rows: 10) == 0)
            #expect(try await Self.all(fixture) == before[20...].map(\.event))
            // What was deleted after a cursor is not silently missing.
            for cursor in [start, before[0].cursor, before[18].cursor] {
                #expect(
                    await Self.isGone { _ = try await events.page(after: cursor, limit: 10) })
            }
            #expect(try await events.page(after: before[19].cursor, limit: 99).events.count == 10)
            try await fixture.pool.query(
                "UPDATE event SET recorded_at = now() - interval '8 days' WHERE id <= $1",
                [.int(before[24].cursor.number)])
            #expect(try await Self.trim(fixture, rows: 1_000, to: 5) == 5)
            #expect(try await Self.all(fixture).count == 5)
        }
    }

    @Test func trimmingIsDoneInBatchesAndByManyAtOnce() async throws {
        try await F.with { fixture in
            let events = fixture.queue.events
            try await Self.insert(fixture, 25_000)
            var batch = 0
            try await waitUntil(deadlineSeconds: 30, "the first batch") {
                batch = try await events.trim(rows: 0, batches: 1)
                return batch > 0
            }
            #expect(batch == 10_000)
            let deleted = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<3 { group.addTask { try await events.trim(rows: 10) } }
                return try await group.reduce(0, +)
            }
            #expect(deleted <= 14_990)
            while try await events.trim(rows: 10) > 0 {}
            #expect(try await Self.all(fixture).count == 10)
        }
    }

    /// A dump has the numbers of another server's transactions.
    @Test func eventsOfARestoredDumpAreForgotten() async throws {
        try await F.with { fixture in
            let events = fixture.queue.events
            try await Self.insert(fixture, 3)
            try await fixture.pool.query("UPDATE event SET xact = '1000000000'")
            try await fixture.pool.query("UPDATE cluster SET trimmed_xact = '900000000'")
            let foreign = EventCursor(transaction: 1_000_000_000, number: 1)
            #expect(await Self.isGone { _ = try await events.page(after: foreign, limit: 10) })
            try await events.trim()
            #expect(try await fixture.count("event") == 0)
            try await Self.insert(fixture, 1)
            #expect(try await Self.all(fixture).count == 1)
        }
    }
}
