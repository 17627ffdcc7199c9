import API
import CoordinatorClient
import Foundation
import HTTPServer
import JobQueue
import Model
import Synchronization
import TestSupport
import Testing
import Transfer

@testable import Coordinator

/// `GET /metrics` of a coordinator.
@Suite struct MetricsTests {
    /// Samples by name and labels, as the text has them.
    private struct Page {
        var bytes = 0
        var samples: [String: Double] = [:]

        subscript(_ series: String) -> Double? { samples[series] }

        init(_ fixture: Fixture, accept: String? = nil) async throws {
            let answer = try await fixture.send(
                "GET", "/metrics", headers: accept.map { ["Accept": $0] } ?? [:])
            try #require(answer.status == 200)
            let isPlain = accept == nil
            #expect(
                answer.headers["content-type"]
                    == (isPlain
                        ? "text/plain; version=0.0.4; charset=utf-8"
                        : "application/openmetrics-text; version=1.0.0; charset=utf-8"))
            #expect(answer.body.hasSuffix("# EOF\n") == !isPlain)
            bytes = answer.body.utf8.count
            for line in answer.body.split(separator: "\n") where !line.hasPrefix("#") {
                let end = try #require(line.lastIndex(of: " "))
                samples[String(line[..<end])] = Double(line[line.index(after: end)...])
            }
        }
    }

    @Test func aScrapeNeedsTheToken() async throws {
        try await Fixture.with { fixture in
            let answer = try await Wire.exchange(port: fixture.port, "GET", "/metrics")
            #expect(answer.status == 401 && !answer.body.contains("dray_"))
        }
    }

    @Test func bothFormatsHaveTheSameSamples() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let open = try await Page(fixture, accept: "application/openmetrics-text")
            let plain = try await Page(fixture)
            #expect(Set(open.samples.keys) == Set(plain.samples.keys))
            #expect(open["dray_build_info{version=\"\(drayVersion)\"}"] == 1)
            #expect(open["process_resident_memory_bytes"] ?? 0 > 1e6)
        }
    }

    @Test func jobsAreCountedFromTheirSubmissionToTheirEnd() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a", "b", "c", "d"])
            let site = try await Self.queueName(fixture)
            func jobs(_ state: String) -> String {
                "dray_queue_jobs{queue=\"\(site)\",state=\"\(state)\"}"
            }
            var page = try await Page(fixture)
            #expect(page[jobs("waiting")] == 4 && page[jobs("leased")] == 0)
            #expect(page["dray_queue_workers{queue=\"\(site)\"}"] == 0)
            #expect(page["dray_catalogs{state=\"running\"}"] == 1)
            let age = "dray_queue_oldest_job_age_seconds{queue=\"\(site)\",state=\"waiting\"}"
            #expect((0...60).contains(try #require(page[age])))

            let grant = try await fixture.lease(3)
            page = try await Page(fixture)
            #expect(page[jobs("waiting")] == 1 && page[jobs("leased")] == 3)
            #expect(page["dray_leases_total"] == 1 && page["dray_leased_jobs_total"] == 3)
            #expect(page["dray_queue_leases{queue=\"\(site)\"}"] == 1)
            let left = page["dray_queue_lease_left_seconds{queue=\"\(site)\"}"]
            #expect((1...30).contains(try #require(left)))
            #expect(page["dray_claim_duration_seconds_count"] == 1)

            let lease = try #require(grant.lease)
            var done = JobReport(job: grant.jobs[0].id, lease: lease, outcome: .done())
            done.stored = StoredObject(bytes: 500, sha256: String(repeating: "a", count: 64))
            let failed = JobReport(
                job: grant.jobs[1].id, lease: lease,
                outcome: .failed(JobReport.Failed(Failure("origin.http.404", "gone"))))
            let strange = JobReport(
                job: grant.jobs[2].id, lease: lease,
                outcome: .failed(
                    JobReport.Failed(Failure("origin.secret?token=1", "an unknown code"))))
            for _ in 0..<2 {
                _ = try? await fixture.client.report(
                    ReportRequest(worker: Fixture.worker, results: [done, failed, strange]))
            }
            try await waitUntil(deadlineSeconds: 60, "the fold") {
                page = try await Page(fixture)
                return page["dray_segments_total{queue=\"\(site)\",result=\"done\"}"] == 1
            }
            #expect(page["dray_stored_bytes_total{queue=\"\(site)\",source=\"origin\"}"] == 500)
            #expect(page["dray_segments_total{queue=\"\(site)\",result=\"failed\"}"] == 1)
            #expect(page["dray_results_total{outcome=\"done\",verdict=\"accepted\"}"] == 1)
            #expect(page["dray_results_total{outcome=\"done\",verdict=\"stale\"}"] == 1)
            #expect(page["dray_results_total{outcome=\"failed\",verdict=\"stale\"}"] == 2)
            #expect(page["dray_failures_total{code=\"origin.http.404\"}"] == 1)
            #expect(page["dray_failures_total{code=\"other\"}"] == 1)
            #expect(page["dray_retries_total{queue=\"\(site)\"}"] == 1)
            #expect(page[jobs("delayed")] == 1)
            #expect(page["dray_report_duration_seconds_count"] == 2)
            #expect(
                page["dray_http_requests_total{route=\"POST /v1/reports\",status=\"2xx\"}"] == 1)
            #expect(
                page["dray_http_requests_total{route=\"POST /v1/reports\",status=\"4xx\"}"] == 1)
        }
    }

    @Test func deliveriesToWebhooksAreCounted() async throws {
        let receiver = try WebhookReceiver(answers: [.text(500, ""), .text(404, "")])
        try await Fixture.with(configure: { configuration in
            configuration.webhookAddresses = AddressPolicy(allowsPrivate: true)
            configuration.webhookPeriod = .milliseconds(20)
            configuration.figuresPeriod = .milliseconds(10)
        }) { fixture in
            func attempts(_ outcome: String) -> String {
                "dray_webhook_attempts_total{outcome=\"\(outcome)\"}"
            }
            func open(_ name: String) async throws {
                _ = try await fixture.client.openCatalog(
                    CatalogSubmission(name: name, storageURL: Fixture.storageURL))
            }
            var page = try await Page(fixture)
            for outcome in ["delivered", "retried", "dead"] {
                #expect(page[attempts(outcome)] == 0)
            }
            var submission = WebhookSubmission(
                url: receiver.url, secret: "canary-secret-of-a-webhook")
            submission.kinds = ["catalog.open"]
            let webhook = try await fixture.client.createWebhook(submission).id
            // Its first attempt fails, and the next one is its last, in an hour.
            _ = try await fixture.execute(
                """
                CREATE FUNCTION dray.later() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    NEW.due_at = now() + interval '1 hour';
                    NEW.waiting_since = now() - interval '1 hour';
                    NEW.attempts = \(Webhooks.maxAttempts - 1);
                    RETURN NEW;
                END $$;
                CREATE TRIGGER later BEFORE UPDATE ON dray.webhook_delivery FOR EACH ROW
                WHEN (OLD.leased_until > NEW.leased_until AND NEW.attempts = 1)
                EXECUTE FUNCTION dray.later()
                """)
            try await open("one")
            let waiting = "dray_webhook_waiting_deliveries{webhook=\"\(webhook)\"}"
            let age = "dray_webhook_oldest_delivery_age_seconds{webhook=\"\(webhook)\"}"
            try await waitUntil(deadlineSeconds: 30, "the figures") {
                page = try await Page(fixture)
                return page[attempts("retried")] == 1 && page[waiting] == 1
                    && (3_600...3_660).contains(page[age] ?? 0)
            }
            _ = try await fixture.execute("UPDATE dray.webhook_delivery SET due_at = now()")
            try await waitUntil(deadlineSeconds: 30, "the last failure") {
                page = try await Page(fixture)
                return page[attempts("dead")] == 1 && page[waiting] == 0
            }
            #expect(page[age] == nil && page[attempts("delivered")] == 0)
            try await open("two")
            try await waitUntil(deadlineSeconds: 30, "the delivery") {
                page = try await Page(fixture)
                return page[attempts("delivered")] == 1
            }
            #expect(page[attempts("retried")] == 1 && page[attempts("dead")] == 1)
            #expect(page["dray_webhook_attempt_duration_seconds_count"] == 3)
        }
        await receiver.stop()
    }

    @Test func deadlinesLimitsAndCooldownsAreShown() async throws {
        try await Fixture.with { fixture in
            let deadline = Date().timeIntervalSince1970.rounded() + 3_600
            var submission = CatalogSubmission(name: "movies", storageURL: Fixture.storageURL)
            submission.deadline = deadline
            let handle = try await fixture.client.openCatalog(submission)
            try await fixture.client.submit(
                AssetBatch(
                    generation: handle.generation, assets: ["a", "b"].map(Fixture.file)),
                to: handle.id)
            try await fixture.client.start(
                handle.id, CatalogStartRequest(generation: handle.generation))
            _ = try await fixture.execute(
                """
                UPDATE origin SET max_connections = 7, has_own_limits = true,
                    breaker = 'open', cooldown_until = now() + interval '1 hour'
                WHERE url = 'http://origin.test';
                INSERT INTO quota (kind, resource_id, worker_id, number, since, held_connections, ends_at)
                SELECT 'origin', id, gen_random_uuid(), 1, 1, 4, now() + interval '1 hour'
                FROM origin WHERE url = 'http://origin.test';
                UPDATE site SET available_bytes = 1000, floor_bytes = 100, quota_bytes = 5000,
                    fault_code = 'storage.full', fault_message = 'full', fault_since = now()
                """)
            let queue = try await Self.queueName(fixture)
            let page = try await Page(fixture)
            let catalog = "queue=\"\(queue)\",catalog=\"movies\""
            #expect(page["dray_catalog_deadline_timestamp_seconds{\(catalog)}"] == deadline)
            #expect(page["dray_catalog_remaining_jobs{\(catalog)}"] == 2)
            let origin = "origin=\"http://origin.test\""
            #expect(page["dray_origin_failing{\(origin),breaker=\"open\"}"] == 1)
            #expect(page["dray_origin_cooldown_seconds{\(origin)}"] ?? 0 > 3_000)
            #expect(page["dray_origin_limit{\(origin),resource=\"connections\"}"] == 7)
            #expect(page["dray_origin_limit_used{\(origin),resource=\"connections\"}"] == 4)
            #expect(page["dray_origins{breaker=\"open\"}"] == 1)
            #expect(page["dray_site_available_bytes{queue=\"\(queue)\"}"] == 1_000)
            #expect(page["dray_site_floor_bytes{queue=\"\(queue)\"}"] == 100)
            #expect(page["dray_site_quota_bytes{queue=\"\(queue)\"}"] == 5_000)
            #expect(page["dray_site_failing{queue=\"\(queue)\",code=\"storage.full\"}"] == 1)
        }
    }

    /// A thousand origins with limits in use, and a hundred sites with work.
    @Test func aScrapeOfALargeClusterIsSmall() async throws {
        try await Fixture.with { fixture in
            let client = fixture.client
            for site in 0..<100 {
                let handle = try await client.openCatalog(
                    CatalogSubmission(
                        name: "catalog", storageURL: "file:///srv/sites/edge-\(site)"))
                let assets = (0..<10).map { number in
                    AssetSubmission(
                        name: "a\(number)", url: "http://origin-\(site * 10 + number).test/a",
                        kind: .file, key: "k\(number)")
                }
                try await client.submit(
                    AssetBatch(generation: handle.generation, assets: assets), to: handle.id)
                try await client.start(
                    handle.id, CatalogStartRequest(generation: handle.generation))
            }
            _ = try await fixture.execute(
                """
                UPDATE origin SET max_connections = 7, requests_per_second = 5,
                    bytes_per_second = 1000000000, has_own_limits = true, breaker = 'open',
                    cooldown_until = now() + interval '1 hour' WHERE id <> 0;
                INSERT INTO quota (kind, resource_id, worker_id, number, since, held_connections,
                                   held_requests, held_bytes, ends_at)
                SELECT 'origin', o.id, gen_random_uuid(), 1, 1, 1, 1, 123456789,
                    now() + interval '1 hour'
                FROM origin o, generate_series(1, 5) WHERE o.id <> 0;
                UPDATE site SET available_bytes = 1000000000000, floor_bytes = 10000000000,
                    quota_bytes = 5000000000000, bytes_per_second = 1000000000;
                UPDATE catalog SET deadline = now() + interval '1 day'
                """)
            for queue in try await client.queues().queues {
                var counts = FoldedCounts(queue: queue.name)
                (counts.segmentsDone, counts.segmentsFailed) = (1, 1)
                (counts.bytes, counts.reusedBytes, counts.retries) = (2, 1, 1)
                (counts.assetsCompleted, counts.assetsFailed) = (1, 1)
                fixture.coordinator.metrics.count(counts)
            }
            let page = try await Page(fixture)
            #expect(page.samples.keys.count { $0.hasPrefix("dray_queue_jobs") } == 200)
            #expect(page.samples.keys.count { $0.hasPrefix("dray_origin_cooldown") } == 50)
            #expect(page.bytes < 200_000)
        }
    }

    private static func queueName(_ fixture: Fixture) async throws -> String {
        try #require(try await fixture.client.queues().queues.first?.name)
    }
}

@Suite struct FigureCacheTests {
    @Test func oneReadServesAllScrapes() async {
        let reads = Counted()
        let isOpen = WorkSignal()
        let cache = FigureCache(period: .seconds(5)) {
            reads.add()
            await isOpen.wait(after: 0, atMost: .seconds(60))
            return Self.figures(workers: 3)
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 { group.addTask { await cache.prepare() } }
            group.addTask {
                while reads.count == 0 { await Task.yield() }
                isOpen.fire()
            }
        }
        await cache.prepare()
        #expect(reads.count == 1 && cache.figures?.workers == 3)
    }

    @Test func oldFiguresAreReadBeforeAScrapeAndAreUnknownInTheEnd() async {
        let reads = Counted()
        let clock = Mutex(ContinuousClock.now)
        let cache = FigureCache(period: .seconds(5), now: { clock.withLock { $0 } }) {
            reads.add()
            guard reads.count < 3 else { throw Failure(.clusterDatabaseUnreachable, "") }
            return Self.figures(workers: reads.count)
        }
        func scrape(afterSeconds seconds: Int) async -> Int? {
            clock.withLock { $0 += .seconds(seconds) }
            await cache.prepare()
            return cache.figures?.workers
        }
        #expect(await scrape(afterSeconds: 0) == 1)
        #expect(await scrape(afterSeconds: 14) == 1)
        #expect(cache.ageSeconds == 14)
        #expect(await scrape(afterSeconds: 1) == 2)
        #expect(await scrape(afterSeconds: 59) == 2)
        #expect(await scrape(afterSeconds: 1) == nil)
        #expect(reads.count == 4)
    }

    @Test(.timeLimit(.minutes(1))) func aScrapeDoesNotWaitForADatabaseThatHangs() async {
        let isOpen = WorkSignal()
        let cache = FigureCache(period: .seconds(5)) {
            // Like a query: a cancelled task waits for it too.
            let version = isOpen.version
            while isOpen.version == version { await Task.yield() }
            return Self.figures(workers: 1)
        }
        await cache.prepare()
        #expect(cache.figures == nil)
        isOpen.fire()
    }

    /// Each read takes a second, by the clock.
    @Test func figuresAreReadWhileTheyAreScrapedAndNoLonger() async throws {
        let reads = Counted()
        let clock = Mutex(ContinuousClock.now)
        let pauses = Mutex<[Duration]>([])
        let cache = FigureCache(
            period: .seconds(5), now: { clock.withLock { $0 } },
            pause: { duration in
                pauses.withLock { $0.append(duration) }
                clock.withLock { $0 += duration }
            }
        ) {
            reads.add()
            clock.withLock { $0 += .seconds(1) }
            return Self.figures(workers: reads.count)
        }
        let running = Task { await cache.run() }
        await cache.prepare()
        // 21 seconds each: the sixth one begins within two minutes after the scrape.
        try await waitUntil(deadlineSeconds: 60, "the last read") { pauses.withLock(\.count) >= 6 }
        let before = reads.count
        await cache.prepare()
        try await waitUntil(deadlineSeconds: 60, "another read") { reads.count > before + 1 }
        running.cancel()
        await running.value
        #expect(pauses.withLock { $0.allSatisfy { (.zero ... .seconds(40)).contains($0) } })
        #expect(pauses.withLock { $0.contains(.seconds(20)) })
    }

    private static func figures(workers: Int) -> ClusterFigures {
        var figures = ClusterFigures()
        figures.workers = workers
        return figures
    }

    private final class Counted: Sendable {
        private let number = Mutex(0)
        var count: Int { number.withLock { $0 } }
        func add() { number.withLock { $0 += 1 } }
    }
}

@Suite struct ChoreTimesTests {
    @Test func aChoreThatFailsIsOverdue() {
        let start = ContinuousClock.now
        let chores = [
            Chore("a", every: .seconds(1)) {}, Chore("b", every: .seconds(30)) {},
        ]
        let times = ChoreTimes(chores, now: start)
        for chore in ["a", ChoreTimes.folding] { times.succeeded(chore, now: start + .seconds(9)) }
        let lags = times.lags(now: start + .seconds(33))
        #expect(lags.map(\.name).first == "a" && lags.map(\.seconds) == [22, 22, 2])
        #expect(times.lags(now: start + .seconds(10)).allSatisfy { $0.seconds == 0 })
    }
}
