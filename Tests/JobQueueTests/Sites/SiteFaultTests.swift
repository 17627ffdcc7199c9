import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Sites that are full or broken, their floors and their quotas.
@Suite(.timeLimit(.minutes(2))) struct SiteFaultTests {
    typealias F = QueueFixture

    private func site(_ fixture: F) async throws -> SiteStatus {
        try #require(try await fixture.queue.sites.list().sites.first { $0.storageURL == F.site })
    }

    /// Fails the first of the jobs with the code and gives the others back.
    private func fail(
        _ grant: LeaseGrant, _ fixture: F, _ code: FailureCode = "storage.full"
    ) async throws {
        let results = grant.jobs.enumerated().map { index, job in
            index == 0
                ? F.failed(job, grant, code)
                : JobReport(job: job.id, lease: grant.lease ?? "", outcome: .returned())
        }
        _ = try await fixture.report(results)
    }

    private func letTimePass(_ fixture: F) async throws {
        try await fixture.pool.query(
            "UPDATE site SET fault_retry_at = now() WHERE fault_retry_at < 'infinity'")
        try await fixture.pool.query("UPDATE delayed_job SET available_at = now()")
        try await fixture.queue.sites.closed.watch()
    }

    private func sees(_ fixture: F, isSound: Bool) async throws {
        var heartbeat = Heartbeat(
            worker: fixture.worker, leases: [], progress: [:], name: "w", activeTransfers: 0)
        heartbeat.sites = [
            SiteReport(site: try await site(fixture).id, availableBytes: 5_000, isSound: isSound)
        ]
        _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
    }

    @Test func anotherSiteContinues() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<3).map { F.file("f\($0)") })
            let grant = try await fixture.lease()
            try await fixture.submit([F.file("x")], catalog: "other", site: "file:///srv/other")
            try await fail(grant, fixture)
            let other = try await fixture.lease()
            #expect(other.jobs.map(\.key) == [F.file("x").key])
            #expect(try await fixture.lease().lease == nil)
        }
    }

    /// One file that is too long for what is left does not keep its site from the others.
    @Test func whatDoesNotFitWaitsAlone() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((0..<3).map { F.file("f\($0)") })
            let grant = try await fixture.lease()
            let long = grant.jobs[0].key
            try await fail(grant, fixture, "storage.noRoom")
            #expect(try await site(fixture).fault == nil)
            let others = try await fixture.lease()
            #expect(others.jobs.count == 2 && !others.jobs.map(\.key).contains(long))
            #expect(try await fixture.queue.catalogs.status(of: catalog).issue == nil)
            _ = try await fixture.report(others.jobs.map { F.done($0, others) })
            // Now it is all that is left.
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.issue == Failure("storage.noRoom", "it did not work"))
            #expect(status.totals.failed == 0 && status.state == .running)
            #expect(try await fixture.lease().lease == nil)

            // More space: it is tried at once, and no attempt was used up.
            var settings = SiteSettings(site: F.site)
            settings.quotaBytes = 1_000
            _ = try await fixture.queue.sites.configure(settings)
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.key) == [long] && again.jobs.map(\.attempt) == [1])
            _ = try await fixture.report(again.jobs.map { F.done($0, again) })
            try await fixture.drain()
            let ended = try await fixture.queue.catalogs.status(of: catalog)
            #expect(ended.state == .completed && ended.issue == nil)
        }
    }

    /// What did not fit comes behind what was not tried yet, which may.
    @Test func whatDoesNotFitKeepsNothingBack() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<3).map { F.file("f\($0)") })
            let first = try await fixture.lease(2)
            _ = try await fixture.report(first.jobs.map { F.failed($0, first, "storage.noRoom") })
            try await letTimePass(fixture)
            let next = try await fixture.lease(1)
            #expect(next.jobs.count == 1)
            #expect(!first.jobs.map(\.key).contains(next.jobs[0].key))
        }
    }

    @Test func whatDoesNotFitIsTriedOnceAMinute() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            for _ in 0..<9 {
                let grant = try await fixture.lease()
                #expect(grant.jobs.map(\.attempt) == [1])
                try await fail(grant, fixture, "storage.noRoom")
                let isLater = try await fixture.count(
                    "delayed_job WHERE available_at > now() + interval '30 seconds'")
                #expect(isLater == 1)
                try await letTimePass(fixture)
            }
        }
    }

    @Test func runningTransfersReduceTheQuota() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<4).map { F.file("f\($0)") })
            var settings = SiteSettings(site: F.site)
            settings.quotaBytes = 25
            _ = try await fixture.queue.sites.configure(settings)
            let grant = try await fixture.lease(1)
            var heartbeat = Heartbeat(
                worker: fixture.worker, leases: [grant.lease ?? ""], progress: [:], name: "w",
                activeTransfers: 1)
            heartbeat.progress[grant.jobs[0].asset.description] = TransferProgress(
                receivedBytes: 1, expectedBytes: 15, transfers: 1)
            _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
            try await fixture.queue.sites.closed.watch()
            let other = try await fixture.lease(1, as: WorkerID.random())
            #expect(other.site?.space?.quotaLeftBytes == 10)
            #expect(try await site(fixture).fault == nil)
            // A worker knows its own transfers better.
            #expect(try await fixture.lease(1).site?.space?.quotaLeftBytes == 25)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant, bytes: 15) })
            heartbeat.progress = [:]
            _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
            try await fixture.queue.sites.closed.watch()
            let third = try await fixture.lease(1, as: WorkerID.random())
            #expect(third.site?.space?.quotaLeftBytes == 10)
        }
    }

    /// Changes of several sites lock them in one order, whatever the order of their names.
    @Test func severalSitesAreLockedInTheOrderOfTheirNumbers() async throws {
        try await F.with { fixture in
            for name in ["a", "b"] {
                try await fixture.submit(
                    [F.file(name)], catalog: name, site: "file:///srv/\(name)")
            }
            let sites = try await fixture.queue.sites.list().sites.map(\.id).sorted()
            try #require(sites.count == 2)
            var heartbeat = Heartbeat(
                worker: fixture.worker, leases: [], progress: [:], name: "w", activeTransfers: 0)
            heartbeat.sites = sites.reversed().map {
                SiteReport(site: $0, availableBytes: 1, isSound: false)
            }
            let beat = heartbeat
            try await expectSecondIsFree(sites, fixture) {
                _ = try await fixture.queue.jobs.leases.heartbeat(beat)
            }
            let grants = [try await fixture.lease(), try await fixture.lease()]
                .sorted { ($0.site?.id ?? SiteID(0)) > ($1.site?.id ?? SiteID(0)) }
            try #require(grants.compactMap(\.site?.id) == sites.reversed())
            try await expectSecondIsFree(sites, fixture) {
                _ = try await fixture.report(
                    grants.map { F.failed($0.jobs[0], $0, "storage.io") })
            }
        }
    }

    /// While the first site's row is locked, `change` waits for it and has not locked the second one's.
    private func expectSecondIsFree(
        _ sites: [SiteID], _ fixture: F, _ change: @escaping @Sendable () async throws -> Void
    ) async throws {
        let changing = try await fixture.pool.withConnection { connection in
            try await connection.transaction { connection in
                _ = try await connection.query(
                    "SELECT FROM site WHERE id = $1 FOR UPDATE", [.int(sites[0].rawValue)])
                let own = try await connection.query("SELECT pg_backend_pid()::bigint").rows[0]
                    .int64(0)
                let changing = Task { try await change() }
                try await waitUntil(deadlineSeconds: 60, "the wait for a lock") {
                    try await fixture.count(
                        "pg_locks WHERE NOT granted AND \(own) = ANY(pg_blocking_pids(pid))") > 0
                }
                _ = try await connection.query(
                    "SELECT FROM site WHERE id = $1 FOR UPDATE NOWAIT", [.int(sites[1].rawValue)])
                return changing
            }
        }
        try await changing.value
    }

    @Test func theReasonIsShownAndTheSiteResumesByItself() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((0..<3).map { F.file("f\($0)") })
            try await fail(try await fixture.lease(), fixture)
            #expect(try await fixture.lease(as: .random()).lease == nil)
            #expect(try await !fixture.queue.jobs.claims.hasWork())
            let shown = try await fixture.queue.catalogs.status(of: catalog)
            #expect(shown.issue == Failure("storage.full", "it did not work"))
            #expect(try #require(shown.issueSeconds) >= 0)
            #expect(
                try await fixture.queue.workers.clusterStatus().queues.map(\.siteFault?.code)
                    == ["storage.full"])
            // The report of a worker that was not chosen to try changes nothing.
            try await sees(fixture, isSound: true)
            #expect(try await fixture.lease().lease == nil)

            try await letTimePass(fixture)
            let tried = try await fixture.lease()
            #expect(tried.jobs.map(\.attempt) == [1, 1, 1])
            #expect(tried.site?.space?.isTried == true)
            #expect(try await site(fixture).fault != nil)
            try await sees(fixture, isSound: false)
            #expect(try await site(fixture).fault != nil)
            try await sees(fixture, isSound: true)
            let healed = try await site(fixture)
            #expect(healed.fault == nil && healed.availableBytes == 5_000)
            _ = try await fixture.report(tried.jobs.map { F.done($0, tried) })
            #expect(try await fixture.drain().allSatisfy { $0.kind == .checksums })
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func triesBackOffAndResumeContinuesAtOnce() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            var seconds: [Int64] = []
            for _ in 1...6 {
                try await fail(try await fixture.lease(), fixture, "storage.io")
                // A late failure changes nothing.
                seconds.append(
                    try await fixture.pool.query(
                        """
                        SELECT round(extract(epoch FROM fault_retry_at - now()))::bigint FROM site
                        """
                    ).only().int64(0))
                try await letTimePass(fixture)
            }
            // By the clock of the database, which has advanced a little.
            for (wait, whole) in zip(seconds, [5, 10, 20, 40, 60, 60] as [Int64]) {
                #expect((max(whole - 4, 1)...whole).contains(wait), "\(seconds)")
            }
            try await fail(try await fixture.lease(), fixture, "storage.io")
            try await fixture.pool.query("UPDATE delayed_job SET available_at = now()")
            #expect(try await fixture.lease().lease == nil)
            var settings = SiteSettings(site: F.site)
            settings.resumes = true
            #expect(try await fixture.queue.sites.configure(settings).fault == nil)
            let grant = try await fixture.lease()
            #expect(grant.jobs.map(\.attempt) == [1])
            #expect(grant.site?.space == nil)
        }
    }

    @Test func aSiteWhoseQuotaIsUsedUpWaitsUntilThereIsMore() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<4).map { F.file("f\($0)") })
            var settings = SiteSettings(site: F.site)
            settings.quotaBytes = 25
            settings.floorBytes = 7
            #expect(try await fixture.queue.sites.configure(settings).quotaBytes == 25)
            let first = try await fixture.lease(3)
            #expect(first.site?.space?.quotaLeftBytes == 25)
            #expect(first.site?.space?.floorBytes == 7)
            _ = try await fixture.report(first.jobs.map { F.done($0, first) })
            try await fixture.queue.sites.closed.watch()
            let full = try await site(fixture)
            #expect(full.fault?.code == "storage.quota" && full.usedBytes == 30)
            #expect(try await fixture.lease().lease == nil)
            // Time alone changes nothing.
            try await letTimePass(fixture)
            #expect(try await fixture.lease().lease == nil)
            settings.quotaBytes = 100
            settings.floorBytes = nil
            let wider = try await fixture.queue.sites.configure(settings)
            #expect(wider.fault == nil && wider.floorBytes == 7)
            #expect(try await fixture.lease().site?.space?.quotaLeftBytes == 70)
            settings.quotaBytes = 0
            settings.floorBytes = 0
            let unbounded = try await fixture.queue.sites.configure(settings)
            #expect(unbounded.quotaBytes == nil && unbounded.floorBytes == nil)
        }
    }
}
