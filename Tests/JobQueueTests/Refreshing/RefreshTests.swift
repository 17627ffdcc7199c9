import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Completed assets that are refreshed: they stay complete meanwhile.
@Suite struct RefreshTests {
    typealias F = QueueFixture

    private func refresh(
        _ fixture: QueueFixture, _ catalog: CatalogID
    ) async throws -> SelectionAnswer {
        try await fixture.queue.catalogs.selections.apply(
            SelectionAction(.refresh, catalog: CatalogReference(catalog)))
    }

    private static func outcome(
        _ job: Job, _ grant: LeaseGrant, _ outcome: RefreshOutcome, segments: Int? = nil
    ) -> JobReport {
        var report = JobReport(job: job.id, lease: grant.lease ?? "", outcome: .done())
        report.refreshed = outcome
        report.segments = segments
        return report
    }

    private func files(
        _ fixture: QueueFixture, _ job: Job, _ grant: LeaseGrant
    ) async throws -> [RefreshFile] {
        try await fixture.queue.files.refreshes.files(
            RefreshFilesRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
        ).files
    }

    /// Hands in files with new bytes.
    private func handIn(
        _ segments: [ResolvedSegment], bytes: Int64, _ fixture: QueueFixture, _ job: Job,
        _ grant: LeaseGrant
    ) async throws -> ReportAnswer.Verdict {
        let files = segments.map { segment in
            RefreshedFile(
                segment: segment,
                stored: StoredObject(bytes: bytes, sha256: F.digest(of: "new \(segment.key)")),
                validator: "\"new\"")
        }
        return try await fixture.queue.files.refreshes.add(
            RefreshBatch(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "", files: files))
    }

    @Test func whatAnOriginCallsItsBytesIsKept() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a"), F.file("b")])
            let grant = try await fixture.lease()
            var reports = grant.jobs.map { F.done($0, grant) }
            reports[0].validator = "W/\"v1\""
            _ = try await fixture.report(reports)
            #expect(try await fixture.count("result WHERE validator = 'W/\"v1\"'") == 1)
            #expect(try await fixture.count("result WHERE validator IS NULL") == 1)
            // Found where it was, it is called what it was called.
            try await fixture.submit([F.file("a"), F.file("b")])
            let again = try await fixture.lease()
            _ = try await fixture.report(
                again.jobs.map { job in
                    var report = F.done(job, again)
                    report.isReused = true
                    return report
                })
            #expect(try await fixture.count("result WHERE validator = 'W/\"v1\"'") == 1)
        }
    }

    @Test func anAssetStaysCompleteWhateverItsRefreshDoes() async throws {
        try await F.with { fixture in
            let names = ["a", "b", "c"]
            let catalog = try await fixture.submit(names.map { F.file($0) })
            try await fixture.drain()
            let before = try await fixture.queue.catalogs.status(of: catalog)
            #expect(before.state == .completed)

            let answer = try await refresh(fixture, catalog)
            #expect(answer.assets == 3 && answer.jobs == 3 && answer.catalog == catalog)
            let running = try await fixture.queue.catalogs.status(of: catalog)
            #expect(running.state == .running && running.totals.completed == 0)
            #expect(running.totals.bytes == before.totals.bytes)
            #expect(try await fixture.assets(of: catalog).allSatisfy { $0.state == .refreshing })
            // Another start skips it.
            #expect(try await refresh(fixture, catalog).jobs == 0)

            let grant = try await fixture.lease()
            #expect(grant.jobs.map(\.kind) == [.refresh, .refresh, .refresh])
            #expect(grant.jobs.map(\.url) == names.map { F.file($0).url })
            #expect(grant.jobs.map(\.key) == names.map { F.file($0).key })
            #expect(grant.jobs.map(\.assetKind) == [.file, .file, .file])
            let file = try await files(fixture, grant.jobs[1], grant)
            #expect(file.map(\.segment.key) == [F.file("b").key])
            #expect(file.first?.stored.bytes == 10)
            #expect(
                try await handIn(file.map(\.segment), bytes: 25, fixture, grant.jobs[1], grant)
                    == .accepted)
            // Nothing of it counts yet.
            #expect(try await fixture.count("result WHERE validator = '\"new\"'") == 0)
            _ = try await fixture.report([
                Self.outcome(grant.jobs[0], grant, .unchanged),
                Self.outcome(grant.jobs[1], grant, .changed),
                F.failed(grant.jobs[2], grant, "origin.http.404"),
            ])
            let lists = try await fixture.drain()
            #expect(lists.map(\.kind) == [.checksums])
            let after = try await fixture.queue.catalogs.status(of: catalog)
            #expect(after.state == .completed && after.totals.completed == 3)
            #expect(after.totals.bytes == 45 && after.totals.segments == 3)
            let assets = try await fixture.assets(of: catalog)
            #expect(assets.allSatisfy { $0.state == .completed })
            #expect(assets.map(\.refreshed) == [.unchanged, .changed, .failed])
            #expect(assets.map(\.failure?.code) == [nil, nil, "origin.http.404"])
            #expect(assets.map(\.bytes) == [10, 25, 10])
            let summary = try await fixture.queue.files.refreshes.summary(of: catalog)
            #expect(summary.unchanged == 1 && summary.changed == 1 && summary.failed == 1)
            #expect(summary.failures.map(\.name) == ["c"])
            #expect(try await fixture.count("refreshed_file") == 0)
            #expect(try await fixture.count("result WHERE validator = '\"new\"'") == 1)

            // The next one starts from nothing.
            _ = try await refresh(fixture, catalog)
            let next = try await fixture.queue.files.refreshes.summary(of: catalog)
            #expect(next.unchanged + next.changed + next.failed == 0)
            #expect(try await fixture.assets(of: catalog).allSatisfy { $0.failure == nil })
        }
    }

    @Test func whatMayHealIsTriedAgainAndWhatIsLostComesBack() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await fixture.drain()
            _ = try await refresh(fixture, catalog)
            let first = try await fixture.lease()
            _ = try await fixture.report([F.failed(first.jobs[0], first, "origin.reset")])
            try await fixture.skipDelays()
            let second = try await fixture.lease()
            #expect(second.jobs.map(\.kind) == [.refresh] && second.jobs.map(\.attempt) == [2])
            _ = try await handIn(
                try await files(fixture, second.jobs[0], second).map(\.segment), bytes: 99,
                fixture, second.jobs[0], second)
            try await fixture.expireLeases()
            try await fixture.skipDelays()
            // Whoever lost it changes nothing any more.
            #expect(
                try await fixture.report([Self.outcome(second.jobs[0], second, .changed)])
                    == [.stale])
            await #expect(throws: Failure.self) {
                try await files(fixture, second.jobs[0], second)
            }
            let third = try await fixture.lease()
            _ = try await fixture.report([Self.outcome(third.jobs[0], third, .unchanged)])
            try await fixture.drain()
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .completed && asset.refreshed == .unchanged)
            #expect(asset.bytes == 10)
            #expect(try await fixture.count("refreshed_file") == 0)
        }
    }

    @Test func aTitleMayListOtherFilesThanBefore() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t")])
            let resolving = try await fixture.lease()
            func segment(_ ordinal: Int, _ name: String, _ role: SegmentRole) -> ResolvedSegment {
                ResolvedSegment(
                    ordinal: ordinal, url: "http://origin.test/t/\(name)",
                    key: "origin.test/t/\(name)", role: role)
            }
            let old = [
                segment(0, "s1", .media), segment(1, "s2", .media), segment(2, "s3", .media),
                segment(3, "s4", .media),
            ]
            _ = try await fixture.queue.jobs.segments.add(
                SegmentBatch(
                    worker: fixture.worker, job: resolving.jobs[0].id,
                    lease: resolving.lease ?? "", segments: old))
            var resolved = F.done(resolving.jobs[0], resolving)
            resolved.segments = 4
            _ = try await fixture.report([resolved])
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.bytes == 40)

            _ = try await refresh(fixture, catalog)
            let grant = try await fixture.lease()
            #expect(grant.jobs.map(\.assetKind) == [.hls])
            let now = [segment(0, "s2", .media), segment(1, "s4", .media)]
            _ = try await handIn(now, bytes: 50, fixture, grant.jobs[0], grant)
            // Repeated, it has one effect.
            _ = try await handIn(now, bytes: 50, fixture, grant.jobs[0], grant)
            _ = try await fixture.report([
                Self.outcome(grant.jobs[0], grant, .changed, segments: 2)
            ])
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed)
            #expect(status.totals.segments == 2 && status.totals.segmentsDone == 2)
            #expect(status.totals.bytes == 100)
            let files = try await fixture.queue.catalogs.files(of: catalog, after: nil, limit: 10)
                .files
            #expect(files.map(\.path) == ["origin.test/t/s2", "origin.test/t/s4"])
            #expect(files.allSatisfy { $0.bytes == 50 })
            // What it does not list is noted once, and what has moved is not.
            let unneeded = try await fixture.pool.query(
                "SELECT key FROM unneeded_file ORDER BY key")
            #expect(
                try unneeded.rows.map { try $0.string(0) }
                    == ["origin.test/t/s1", "origin.test/t/s3"])
            #expect(try await HistoryDatabase(pool: fixture.pool).storedMiscounts() == [])
            #expect(
                try await fixture.queue.sites.list().sites.map(\.usedBytes) == [120])
        }
    }

    @Test func interruptedOrCancelledItIsWhatItWas() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a"), F.file("b")])
            try await fixture.drain()
            _ = try await refresh(fixture, catalog)
            let held = try await fixture.lease(1)
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await fixture.assets(of: catalog).allSatisfy { $0.state == .completed })
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.completed == 2)
            #expect(
                try await fixture.report([Self.outcome(held.jobs[0], held, .changed)]) == [.stale])

            #expect(try await refresh(fixture, catalog).jobs == 2)
            let cancelled = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.cancel, catalog: CatalogReference(catalog), asset: "a"))
            #expect(cancelled.assets == 1 && cancelled.jobs == 1)
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { Self.outcome($0, grant, .unchanged) })
            try await fixture.drain()
            let assets = try await fixture.assets(of: catalog)
            #expect(assets.map(\.state) == [.completed, .completed])
            #expect(assets.map(\.refreshed) == [.failed, .unchanged])
            #expect(assets[0].failure?.code == "worker.cancelled" && assets[0].bytes == 10)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    /// Submitting it again keeps a running refresh, or ends it completely.
    @Test func aSubmissionMeanwhileKeepsWhatIsThere() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a"), F.file("b")])
            try await fixture.drain()
            _ = try await refresh(fixture, catalog)
            let held = try await fixture.lease(1)
            try await fixture.submit([F.file("a")])
            let left = try await fixture.assets(of: catalog)
            #expect(left.map(\.name) == ["a"] && left[0].state == .refreshing)
            #expect(
                try await fixture.report(held.jobs.map { Self.outcome($0, held, .unchanged) })
                    == [.accepted])
            let rest = try await fixture.drain()
            #expect(rest.map(\.kind) == [.checksums])
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
            // What left the catalog is as whole as it was, and found when it comes back.
            try await fixture.submit([F.file("a"), F.file("b")])
            #expect(try await fixture.drain().filter { $0.kind == .fetch }.count == 2)
        }
    }

    /// Another key is another file: the asset starts over, and its refresh ends.
    @Test func aSubmissionMeanwhileMayRedefineTheAsset() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await fixture.drain()
            _ = try await refresh(fixture, catalog)
            var other = F.file("a")
            other.key = "other/a"
            try await fixture.submit([other])
            try await fixture.expectSeen([
                .init(table: "asset", old: "refreshing", new: "new")
            ])
            #expect(try await fixture.drain().filter { $0.kind == .fetch }.count == 1)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func whatIsNotCompletedIsNotRefreshed() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a"), F.file("b")])
            let grant = try await fixture.lease()
            _ = try await fixture.report([
                F.done(grant.jobs[0], grant), F.failed(grant.jobs[1], grant, "origin.http.404"),
            ])
            try await fixture.drain()
            let answer = try await refresh(fixture, catalog)
            #expect(answer.assets == 1)
            let job = try await fixture.lease()
            _ = try await fixture.report(job.jobs.map { Self.outcome($0, job, .unchanged) })
            try await fixture.drain()
            let assets = try await fixture.assets(of: catalog)
            #expect(assets.map(\.state) == [.completed, .failed])
            #expect(assets[1].failure?.code == "origin.http.404" && assets[1].refreshed == nil)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .failed)

            try await fixture.submit([F.file("a"), F.file("b"), F.file("c")])
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            await #expect(throws: Failure.self) { try await refresh(fixture, catalog) }
        }
    }
}
