import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

@Suite struct SiteAuditTests {
    private let worker: WorkerID = .random()
    private let lease: LeaseID = .random()

    private func leased(
        _ fixture: QueueFixture, repairs: Bool = true
    ) async throws -> SiteAuditID {
        let audits = fixture.queue.sites.audits
        let audit = try await audits.create(
            SiteAuditSubmission(site: QueueFixture.site, isDeep: true, repairs: repairs))
        let grant = try await audits.work.lease(
            audit.id, WorkLeaseRequest(worker: worker, name: "w", lease: lease))
        #expect(grant.work?.repairs == repairs)
        return audit.id
    }

    private func records(
        _ audit: SiteAuditID, _ fixture: QueueFixture
    ) async throws -> [String] {
        let page = try await fixture.queue.sites.audits.work.records(
            audit, SiteAuditRecordsRequest(worker: worker, lease: lease, page: 0))
        return page.content.split(separator: "\n").map(String.init)
    }

    private func report(
        _ findings: [SiteAuditReport.Finding], of audit: SiteAuditID, _ fixture: QueueFixture
    ) async throws -> [AuditRepair] {
        var report = SiteAuditReport(worker: worker, lease: lease, page: 0)
        report.number = 0
        report.findings = findings
        report.isPageDone = true
        _ = try await fixture.queue.sites.audits.work.report(audit, report)
        return try await fixture.queue.sites.audits.findings(
            of: audit, kind: nil, after: nil, limit: 10
        ).findings.map(\.repair)
    }

    private static func missing(_ record: String) -> SiteAuditReport.Finding {
        let (head, key) = (record.split(separator: ":")[0], record.split(separator: ":")[1])
        let fields = head.split(separator: " ")
        var finding = SiteAuditReport.Finding(kind: .missing, path: String(key))
        finding.segment = Int64(fields[1])
        finding.sha256 = String(fields[3])
        return finding
    }

    @Test func whatIsDamagedIsTriedAgainAndNothingElse() async throws {
        try await QueueFixture.with { fixture in
            let catalog = try await fixture.submit(["a", "b"].map { QueueFixture.file($0) })
            _ = try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
            let audit = try await leased(fixture)
            let records = try await records(audit, fixture)
            let files = records.filter { !$0.contains("SHA256SUMS") }
            #expect(files.count == 2)
            #expect(files[0].hasSuffix(":origin.test/files/a"))
            var stale = Self.missing(files[1])
            stale.sha256 = String(repeating: "0", count: 64)
            // The second one is recorded as something else by now.
            let repairs = try await report(
                [Self.missing(files[0]), stale], of: audit, fixture)
            #expect(repairs == [.queued, .postponed])

            var status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .running)
            #expect(status.totals.completed == 1)
            #expect(status.totals.segmentsDone == 1)
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first)
            #expect(grant.jobs.count == 1)
            // The file is compared first.
            #expect(job.previous?.sha256 == QueueFixture.digest(of: job.key))
            // Twice at the same time: it is under way.
            #expect(
                try await fixture.queue.sites.audits.work.check(
                    audit, Self.check(worker, lease, files)
                ).segments.map(\.bytes) == [nil, 10])
            _ = try await fixture.report([QueueFixture.done(job, grant)])
            _ = try await fixture.drain()
            status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed)
            #expect(status.totals.bytes == 20)
            try await fixture.expectSeen([
                .init(table: "asset", old: "completed", new: "failed")
            ])
        }
    }

    @Test func whatRightsRejectIsNotQueued() async throws {
        try await QueueFixture.with { fixture in
            var file = QueueFixture.file("a")
            let catalog = try await fixture.submit([file])
            _ = try await fixture.drain()
            try await fixture.submit([file])
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.cancel, catalog: CatalogReference(catalog)))
            file.expiresAt = 4e9
            try await fixture.submit([file], notBefore: 4.1e9)
            let audit = try await leased(fixture)
            let records = try await records(audit, fixture)
            let record = try #require(records.first { $0.hasSuffix("files/a") }, "\(records)")
            let repairs = try await report([Self.missing(record)], of: audit, fixture)
            #expect(repairs == [.postponed], "\(records) \(repairs)")
            #expect(try await fixture.assets(of: catalog).map(\.state) == [.failed])
            #expect(try await fixture.count("job") == 0)
        }
    }

    /// What is damaged lies at the edge, although it is recorded no longer.
    @Test func whatCannotBeRepairedGoesWithItsAsset() async throws {
        try await QueueFixture.with { fixture in
            let catalog = try await fixture.submit([QueueFixture.file("a")])
            _ = try await fixture.drain()
            let audit = try await leased(fixture)
            let record = try #require(
                try await records(audit, fixture).first { $0.hasSuffix("files/a") })
            var finding = Self.missing(record)
            finding.kind = .truncated
            #expect(try await report([finding], of: audit, fixture) == [.queued])
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { QueueFixture.failed($0, grant, "origin.http.404") })
            _ = try await fixture.drain()
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(catalog)))
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/a"])
        }
    }

    private static func check(
        _ worker: WorkerID, _ lease: LeaseID, _ records: [String]
    ) -> SiteAuditCheck {
        var check = SiteAuditCheck(worker: worker, lease: lease)
        check.segments = records.compactMap { Int64($0.split(separator: " ")[1]) }
        return check
    }

    @Test func aReportWithoutTheLeaseChangesNothing() async throws {
        try await QueueFixture.with { fixture in
            try await fixture.submit([QueueFixture.file("a")])
            _ = try await fixture.drain()
            let audit = try await leased(fixture)
            let work = fixture.queue.sites.audits.work
            var report = SiteAuditReport(worker: worker, lease: .random(), page: 0)
            report.number = 0
            report.isEnd = true
            await #expect { try await work.report(audit, report) } throws: {
                ($0 as? Failure)?.code == .workerLeaseLost
            }
            await #expect {
                try await fixture.queue.sites.audits.create(
                    SiteAuditSubmission(site: QueueFixture.site))
            } throws: { ($0 as? Failure)?.code == .inputAuditRunning }
            #expect(try await fixture.queue.sites.audits.cancel(audit).state == .cancelled)
            report.lease = lease
            await #expect { try await work.report(audit, report) } throws: {
                ($0 as? Failure)?.code == .workerLeaseLost
            }
            #expect(try await fixture.queue.sites.audits.status(of: audit).state == .cancelled)
        }
    }

    @Test func eachChangeOfAnAuditIsSeen() async throws {
        try await QueueFixture.with { fixture in
            try await fixture.submit([QueueFixture.file("a")])
            _ = try await fixture.drain()
            let audits = fixture.queue.sites.audits
            let unwanted = try await audits.create(SiteAuditSubmission(site: QueueFixture.site))
            #expect(try await audits.cancel(unwanted.id).state == .cancelled)
            let untaken = try await audits.create(SiteAuditSubmission(site: QueueFixture.site))
            try await fixture.pool.query(
                "UPDATE site_audit SET created_at = now() - interval '25 hours' "
                    + "WHERE ended_at IS NULL")
            try await audits.reconcile()
            #expect(try await audits.status(of: untaken.id).state == .failed)

            let cancelled = try await leased(fixture)
            #expect(try await audits.cancel(cancelled).state == .cancelled)
            for failure in [nil, Failure("storage.permission", "It cannot be read.")] {
                let audit = try await leased(fixture)
                var report = SiteAuditReport(worker: worker, lease: lease, page: 0)
                report.failure = Failure(.workerCancelled, "It stops.")
                _ = try await audits.work.report(audit, report)
                #expect(try await audits.status(of: audit).state == .waiting)
                _ = try await audits.work.lease(
                    audit, WorkLeaseRequest(worker: worker, name: "w", lease: lease))
                report.failure = failure
                report.isEnd = failure == nil
                _ = try await audits.work.report(audit, report)
                let ended = try await audits.status(of: audit)
                #expect(ended.state == (failure == nil ? .completed : .failed))
            }
            try await fixture.expectSeen(TransitionLog.ofAudits)
        }
    }

    @Test func aRepeatedReportCountsOnce() async throws {
        try await QueueFixture.with { fixture in
            try await fixture.submit(["a", "b"].map { QueueFixture.file($0) })
            _ = try await fixture.drain()
            let audit = try await leased(fixture)
            let files = try await records(audit, fixture).filter { !$0.contains("SHA256SUMS") }
            let work = fixture.queue.sites.audits.work
            var report = SiteAuditReport(worker: worker, lease: lease, page: 0)
            report.number = 0
            report.readBytes = 500
            report.findings = [Self.missing(files[0])]
            for _ in 0..<2 { #expect(try await work.report(audit, report).continues) }
            var status = try await fixture.queue.sites.audits.status(of: audit)
            #expect(status[.missing].found == 1 && status[.missing].repaired == 1)
            #expect(status.readBytes == 500)
            // A coordinator that was lost between the repair and its record: the repeat has the
            // same result.
            try await fixture.pool.query("UPDATE site_audit SET reports = 0")
            try await fixture.pool.query("DELETE FROM site_audit_finding")
            try await fixture.pool.query("DELETE FROM site_audit_count")
            _ = try await work.report(audit, report)
            status = try await fixture.queue.sites.audits.status(of: audit)
            #expect(status[.missing].found == 1 && status[.missing].repaired == 1)
        }
    }

    @Test func aKeyOfTwoCatalogsIsWhatWasStoredLast() async throws {
        try await QueueFixture.with { fixture in
            let first = try await fixture.submit([QueueFixture.file("a")], catalog: "one")
            _ = try await fixture.drain()
            try await fixture.submit([QueueFixture.file("a")], catalog: "two")
            _ = try await fixture.drain()
            let audit = try await leased(fixture)
            let digest = String(repeating: "7", count: 64)
            let segments = try await fixture.pool.query(
                "SELECT id FROM segment ORDER BY id"
            ).rows.map { try $0.int64("id") }
            #expect(segments.count == 2)
            // The first one is refreshed meanwhile.
            try await fixture.pool.query(
                """
                UPDATE result SET bytes = 20, sha256 = '\(digest)', recorded_at = now()
                WHERE segment_id = \(segments[0])
                """)
            var check = SiteAuditCheck(worker: worker, lease: lease)
            check.segments = segments
            let work = fixture.queue.sites.audits.work
            for record in try await work.check(audit, check).segments {
                #expect(record.bytes == 20 && record.sha256 == digest)
                #expect(record.segment == segments[0])
            }
            // While it is fetched again, nothing is said of the key.
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.refresh, catalog: CatalogReference(first)))
            for record in try await work.check(audit, check).segments {
                #expect(record.bytes == nil && !record.isLacking)
            }
        }
    }

    @Test func filesThatAreToBeDeletedAreNotForeign() async throws {
        try await QueueFixture.with { fixture in
            let catalog = try await fixture.submit(["a", "b"].map { QueueFixture.file($0) })
            _ = try await fixture.drain()
            var action = SelectionAction(.remove, catalog: CatalogReference(catalog))
            action.asset = "a"
            _ = try await fixture.queue.catalogs.selections.apply(action)
            let audit = try await leased(fixture)
            let key = "origin.test/files/a"
            #expect(try await records(audit, fixture).contains { $0.hasSuffix(" 0 - -:\(key)") })
            var check = SiteAuditCheck(worker: worker, lease: lease)
            check.keys = [key, "origin.test/files/b", "origin.test/files/c"]
            #expect(
                try await fixture.queue.sites.audits.work.check(audit, check).keys
                    == [true, true, false])
        }
    }

    @Test func anOrderlyEndIsNoTryAndNoAuditWaitsForEver() async throws {
        try await QueueFixture.with { fixture in
            try await fixture.submit([QueueFixture.file("a")])
            _ = try await fixture.drain()
            let audits = fixture.queue.sites.audits
            let audit = try await leased(fixture)
            for code in [FailureCode.workerCancelled, .workerCancelled, .clusterBusy] {
                for _ in 0..<2 {
                    let next = LeaseID.random()
                    var report = SiteAuditReport(worker: worker, lease: next, page: 0)
                    try await fixture.pool.query("UPDATE site_audit SET expires_at = now()")
                    _ = try await audits.work.lease(
                        audit, WorkLeaseRequest(worker: worker, name: "w", lease: next))
                    report.failure = Failure(code, "It stops.")
                    _ = try await audits.work.report(audit, report)
                    #expect(try await audits.status(of: audit).state == .waiting)
                }
            }
            // The first lease, which ran out, and two tries that failed.
            #expect(try await fixture.count("site_audit WHERE tries = 3") == 1)
            try await audits.reconcile()
            #expect(try await audits.status(of: audit).state == .waiting)
            try await fixture.pool.query(
                "UPDATE site_audit SET expires_at = now() - interval '25 hours'")
            try await audits.reconcile()
            let ended = try await audits.status(of: audit)
            #expect(ended.state == .failed && ended.failure?.code == .clusterNoWork)
        }
    }

    @Test func whatARepairFetchesAgainIsNoFailureOfTheDay() async throws {
        try await QueueFixture.with { fixture in
            try await fixture.submit(["a", "b"].map { QueueFixture.file($0) })
            _ = try await fixture.drain()
            let audit = try await leased(fixture)
            let records = try await records(audit, fixture)
            let lost = records.filter { !$0.contains("SHA256SUMS") }.map(Self.missing)
            #expect(lost.count == 2)
            #expect(try await report(lost, of: audit, fixture) == [.queued, .queued])
            _ = try await fixture.drain()
            try await fixture.fold()
            let total = try await fixture.queue.figures.daily.report(DailyReportQuery()).total
            #expect(total.failed == 0 && total.done == 4)
            #expect(total.assets?.failed == 0)
            // One that is fetched again counts again.
            #expect(total.assets?.completed == 4)
        }
    }
}
