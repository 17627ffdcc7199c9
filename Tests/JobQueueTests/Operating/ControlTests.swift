import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Queues that are paused and drained, and sites with schedules.
@Suite struct ControlTests {
    typealias F = QueueFixture

    private func queueName(_ fixture: F) async throws -> String {
        try #require(try await fixture.queue.sites.queues().first?.name)
    }

    @Test func aPausedQueueHandsOutNothing() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((0..<3).map { F.file("f\($0)") })
            let held = try await fixture.lease(1)
            let name = try await queueName(fixture)
            for _ in 0..<2 {
                let status = try await fixture.queue.sites.set(.paused, ofQueue: name)
                #expect(status.state == .paused && status.waiting == 2 && status.leased == 1)
            }
            #expect(try await fixture.lease().lease == nil)
            #expect(try await !fixture.queue.jobs.claims.hasWork())
            // What is held is finished, and new work is taken in.
            #expect(try await fixture.report([F.done(held.jobs[0], held)]) == [.accepted])
            try await fixture.submit([F.title("late")], catalog: "late")
            #expect(try await fixture.lease().lease == nil)
            #expect(
                try await fixture.queue.workers.clusterStatus().queues.map(\.state) == [.paused])

            #expect(try await fixture.queue.sites.set(.active, ofQueue: name).state == .active)
            let grant = try await fixture.lease()
            #expect(grant.jobs.count { $0.kind == .fetch } == 2 && grant.jobs.count == 3)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func eachChangeOfAQueueIsSeen() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let name = try await queueName(fixture)
            for first in QueueEvent.allCases {
                for second in QueueEvent.allCases {
                    for event in [first, second] {
                        let status = try await fixture.queue.sites.set(event.state, ofQueue: name)
                        #expect(status.state == event.state)
                    }
                }
            }
            try await fixture.expectSeen(TransitionLog.ofQueues)
        }
    }

    /// Before the first catalog of its site, a queue has workers and nothing else.
    @Test func workersOfAQueueWithoutACatalogAreNamed() async throws {
        try await F.with { fixture in
            let queue = fixture.queue
            var heartbeat = Heartbeat(
                worker: fixture.worker, leases: [], progress: [:], name: "w-1", activeTransfers: 0)
            heartbeat.queues = ["north"]
            _ = try await queue.jobs.leases.heartbeat(heartbeat)
            #expect(try await queue.workers.load(ofQueue: "north").workers == 1)
            let paused = await #expect(throws: Failure.self) {
                try await queue.sites.set(.paused, ofQueue: "north")
            }
            let tested = await #expect(throws: Failure.self) {
                try await queue.loadTests.create(LoadTestTests.test(queue: "north"))
            }
            for failure in [paused, tested] {
                #expect(failure?.code == .inputNotFound)
                #expect(
                    failure?.message.hasPrefix("Queue north has 1 worker and no site yet: ")
                        == true, "\(failure?.message ?? "")")
            }
            let other = await #expect(throws: Failure.self) {
                try await queue.workers.load(ofQueue: "south")
            }
            #expect(other?.message.hasPrefix("There is no queue south.") == true)
        }
    }

    @Test func aDrainingQueueFinishesWhatItHasAndTakesInNothing() async throws {
        try await F.with { fixture in
            let open = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "opened before", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                [F.file("x")], to: open.id, generation: open.generation)
            let catalog = try await fixture.submit([F.title("film")])
            _ = try await fixture.queue.sites.set(.draining, ofQueue: try await queueName(fixture))

            let refused = await #expect(throws: Failure.self) {
                try await fixture.submit([F.file("a")], catalog: "new")
            }
            #expect(refused?.code == "input.draining")
            let late = await #expect(throws: Failure.self) {
                try await fixture.queue.catalogs.submissions.start(
                    open.id, generation: open.generation)
            }
            #expect(late?.code == "input.draining")
            #expect(try await fixture.count("catalog") == 2)
            // What a title turns out to be made of is part of what the queue has.
            let resolve = try await fixture.lease(1)
            try #require(resolve.jobs.map(\.kind) == [.resolve])
            let verdict = try await fixture.queue.jobs.segments.add(
                SegmentBatch(
                    worker: fixture.worker, job: resolve.jobs[0].id, lease: resolve.lease ?? "",
                    segments: [
                        ResolvedSegment(
                            ordinal: 0, url: "http://origin.test/film/0.ts",
                            key: "origin.test/film/0.ts", role: .media)
                    ]))
            #expect(verdict == .accepted)
            var done = JobReport(
                job: resolve.jobs[0].id, lease: resolve.lease ?? "", outcome: .done())
            done.segments = 1
            #expect(try await fixture.report([done]) == [.accepted])
            // Another site's queue is its own.
            try await fixture.submit([F.file("b")], catalog: "elsewhere", site: "file:///srv/two")
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func whatIsNotThereIsNamed() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let queue = await #expect(throws: Failure.self) {
                try await fixture.queue.sites.set(.paused, ofQueue: "nowhere")
            }
            #expect(queue?.code == "input.notFound" && queue?.message.contains("nowhere") == true)
            let site = await #expect(throws: Failure.self) {
                try await fixture.queue.sites.configure(
                    SiteSettings(site: "nowhere", schedule: "off"))
            }
            #expect(site?.code == "input.notFound")
            let bad = await #expect(throws: Failure.self) {
                try await fixture.queue.sites.configure(
                    SiteSettings(site: F.site, schedule: "Mo off"))
            }
            #expect(bad?.code == "input.field")
            let sites = try await fixture.queue.sites.list().sites
            #expect(sites.map(\.schedule) == [""] && sites.map(\.isClosed) == [false])
        }
    }

    // MARK: Sites

    @Test func aSiteIsClosedAndOpenedByItsSchedule() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let name = try await queueName(fixture)
            let closed = try await fixture.queue.sites.configure(
                SiteSettings(site: name, schedule: "off in Europe/Berlin"))
            #expect(closed.isClosed && closed.schedule == "off in Europe/Berlin")
            #expect(closed.bytesPerSecond == nil && closed.nextChange == nil)
            #expect(try await fixture.lease().lease == nil)
            #expect(try await !fixture.queue.jobs.claims.hasWork())

            // By its storage URL as well; what is not given stays.
            let limited = try await fixture.queue.sites.configure(
                SiteSettings(site: F.site, schedule: "200Mbit/s", maximumBytesPerSecond: nil))
            #expect(!limited.isClosed && limited.bytesPerSecond == 25_000_000)
            let capped = try await fixture.queue.sites.configure(
                SiteSettings(site: name, maximumBytesPerSecond: 1_000_000))
            #expect(capped.schedule == "200Mbit/s" && capped.bytesPerSecond == 1_000_000)
            let free = try await fixture.queue.sites.configure(
                SiteSettings(site: name, schedule: ""))
            #expect(free.schedule.isEmpty && free.bytesPerSecond == 1_000_000)
            let unbounded = try await fixture.queue.sites.configure(
                SiteSettings(site: name, maximumBytesPerSecond: 0))
            #expect(unbounded.bytesPerSecond == nil && unbounded.maximumBytesPerSecond == nil)
            #expect(try await fixture.queue.sites.list().sites == [unbounded])
            #expect(try await fixture.lease().jobs.count == 1)
        }
    }

    @Test func whatComesDueIsPutInForce() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let name = try await queueName(fixture)
            // Half a day of each, at any time.
            let status = try await fixture.queue.sites.configure(
                SiteSettings(site: name, schedule: "00:00-12:00 8Mbit/s, else 16Mbit/s"))
            let rate = try #require(status.bytesPerSecond)
            let next = try #require(status.nextChange)
            let now = try await fixture.queue.sites.list().now
            #expect(next > now && next <= now + 43_200)

            // As if it had been worked out half a day ago.
            func forget(_ change: String) async throws {
                try await fixture.pool.query(
                    "UPDATE site SET schedule_closed = true, bytes_per_second = 5, next_change = \(change)"
                )
            }
            try await forget("now() + interval '1 hour'")
            try await fixture.queue.sites.applySchedules(all: false)
            #expect(try await fixture.queue.sites.list().sites[0].bytesPerSecond == 5)
            try await forget("now()")
            try await fixture.queue.sites.applySchedules(all: false)
            #expect(try await fixture.queue.sites.list().sites[0].bytesPerSecond == rate)
            #expect(try await fixture.queue.sites.list().sites[0].nextChange == next)
            try await forget("NULL")
            try await fixture.queue.sites.applySchedules(all: true)
            #expect(try await fixture.queue.sites.list().sites[0].isClosed == false)
        }
    }

    // MARK: Origins

    @Test func limitsAreTheDefaultsOrTheOriginsOwn() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<3).map { F.file("f\($0)") })
            _ = try await fixture.lease(1)
            let origin = "http://origin.test"
            func page() async throws -> OriginPage {
                try await fixture.queue.origins.page(after: nil, limit: 10)
            }
            var status = try #require(try await page().origins.first)
            #expect(status.origin == origin && status.limits == OriginLimits())
            #expect(status.waiting == 2 && status.leased == 1 && !status.hasOwnLimits)
            #expect(status.breaker == .closed && status.cooldownUntil == nil)

            let base = OriginLimits(connections: 4, requestsPerSecond: 0.5)
            try await fixture.queue.origins.setLimits(OriginLimitsChange(origin: nil, limits: base))
            #expect(try await page().defaults == base)
            #expect(try await page().origins[0].limits == base)
            let own = OriginLimits(bytesPerSecond: 5_000)
            for name in [origin, "https://never.asked"] {
                try await fixture.queue.origins.setLimits(
                    OriginLimitsChange(origin: name, limits: own))
            }
            #expect(try await page().origins.map(\.origin) == [origin, "https://never.asked"])
            #expect(try await page().origins.allSatisfy { $0.limits == own && $0.hasOwnLimits })
            try await fixture.queue.origins.setLimits(
                OriginLimitsChange(origin: origin, limits: nil))
            status = try #require(try await page().origins.first)
            #expect(status.limits == base && !status.hasOwnLimits)
            try await fixture.queue.origins.setLimits(OriginLimitsChange(origin: nil, limits: nil))
            #expect(try await page().origins[0].limits == OriginLimits())

            for name in ["http://missing.test", ""] {
                let failure = await #expect(throws: Failure.self) {
                    try await fixture.queue.origins.setLimits(
                        OriginLimitsChange(origin: name, limits: nil))
                }
                #expect(failure?.code == "input.notFound")
            }
        }
    }

    @Test func originsComeInPagesWithTheirDecisions() async throws {
        try await F.with { fixture in
            try await fixture.pool.query(
                "INSERT INTO origin (url) SELECT 'http://o' || n FROM generate_series(1, 5) AS n")
            _ = try await fixture.queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: fixture.worker, leases: [], progress: [:], name: "here-1",
                    activeTransfers: 0))
            try await fixture.pool.query(
                """
                INSERT INTO origin_decision (origin_id, worker_id, decision, reason, concurrency,
                                             bytes_per_second)
                SELECT o.id, w.id, 'raised', 'try ' || n, n, 100
                FROM origin o, (SELECT $1::uuid AS id UNION SELECT $2::uuid) AS w,
                     generate_series(1, 3) AS n
                WHERE o.url = 'http://o1'
                """, [.uuid(fixture.worker), .uuid(WorkerID.random())])
            try await fixture.pool.query(
                """
                INSERT INTO origin_decision (origin_id, decision, code, failures, seconds)
                SELECT o.id, 'open', 'origin.connect', n, 2.5 FROM origin o, generate_series(1, 30) AS n
                WHERE o.url = 'http://o1' ORDER BY n
                """)
            try await fixture.pool.query(
                "UPDATE origin SET cooldown_until = now() + interval '1 minute', "
                    + "cooldown_reason = 'origin.http.429', breaker = 'open' WHERE url = 'http://o2'"
            )
            try await fixture.pool.query(
                """
                INSERT INTO quota (kind, resource_id, worker_id, number, since, connections, requests, ends_at)
                SELECT 'origin', o.id, w.id, 1, 1, c, c, now() + interval '1 minute' * m
                FROM origin o, (VALUES ($1::uuid, 5, 1), ($2::uuid, 4, 1), ($3::uuid, 9, -1)) AS w(id, c, m)
                WHERE o.url = 'http://o1'
                """, [.uuid(fixture.worker), .uuid(WorkerID.random()), .uuid(WorkerID.random())])

            var names: [String] = []
            var after: String?
            repeat {
                let page = try await fixture.queue.origins.page(after: after, limit: 2)
                names += page.origins.map(\.origin)
                after = page.next
            } while after != nil
            #expect(names == (1...5).map { "http://o\($0)" })

            let page = try await fixture.queue.origins.page(after: nil, limit: 500)
            let first = page.origins[0]
            // The last decision of the worker that is there, and not of the one that has gone.
            #expect(first.workers.map(\.reason) == ["try 3"])
            #expect(first.workers.map(\.name) == ["here-1"])
            #expect(first.workers.map(\.concurrency) == [3])
            #expect(
                first.decisions.map(\.reason)
                    == (11...30).reversed().map {
                        "\($0) failures in a row, the last origin.connect; cooldown of 2.5 s"
                    })
            #expect(first.inUse == OriginStatus.InUse(connections: 9, requestsPerSecond: 9))
            let second = page.origins[1]
            #expect(second.breaker == .open && second.reason == "origin.http.429")
            #expect(try #require(second.cooldownUntil) > page.now)
            #expect(page.origins[2].reason == nil && page.next == nil)
        }
    }

    @Test func jobsThatWaitAtAnOriginAreCountedUpToABound() async throws {
        try await F.with { fixture in
            let bound = OriginStatus.countedJobs
            try await fixture.submit((0...bound).map { F.file("f\($0)") })
            func only() async throws -> OriginStatus {
                try #require(
                    try await fixture.queue.origins.page(after: nil, limit: 10).origins.first)
            }
            var status = try await only()
            #expect(status.waiting == bound && status.hasMoreWaiting == true)
            for leased in 1...2 {
                _ = try await fixture.lease(1)
                status = try await only()
                #expect(status.waiting == bound + 1 - leased && status.leased == leased)
                #expect(status.hasMoreWaiting == nil)
            }
        }
    }
}
