import API
import JobQueue
import Model
import TestSupport
import Testing

/// A refresh that has staged its files is granted its publication once; then the holder of the job
/// publishes them.
@Suite struct PublicationTests {
    typealias F = QueueFixture

    /// A catalog of completed files whose refreshes are leased.
    private struct Refreshes {
        let fixture: QueueFixture
        let catalog: CatalogID
        let grant: LeaseGrant

        init(_ fixture: QueueFixture, _ names: [String]) async throws {
            self.fixture = fixture
            catalog = try await fixture.submit(names.map { F.file($0) })
            try await fixture.drain()
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.refresh, catalog: CatalogReference(catalog)))
            grant = try await fixture.lease()
        }

        func files(
            _ index: Int = 0, of other: LeaseGrant? = nil
        ) async throws -> RefreshFilesPage {
            let grant = other ?? self.grant
            return try await fixture.queue.files.refreshes.files(
                RefreshFilesRequest(
                    worker: fixture.worker, job: grant.jobs[index].id, lease: grant.lease ?? ""))
        }

        /// Asks for a publication, by the first lease.
        func request(
            _ index: Int = 0, staged: Int? = 1, segments: Int? = nil
        ) async throws -> ReportAnswer.Verdict {
            let job = grant.jobs[index]
            let file = RefreshedFile(
                segment: ResolvedSegment(ordinal: 0, url: job.url, key: job.key, role: .file),
                stored: StoredObject(bytes: 77, sha256: F.digest(of: "new")), validator: "\"new\"",
                staged: staged)
            return try await fixture.queue.files.refreshes.add(
                RefreshBatch(
                    worker: fixture.worker, job: job.id, lease: grant.lease ?? "", files: [file],
                    publication: RefreshBatch.Publication(segments: segments)))
        }

        func ended(
            _ index: Int = 0, of other: LeaseGrant? = nil
        ) async throws -> [ReportAnswer.Verdict] {
            let grant = other ?? self.grant
            var report = JobReport(
                job: grant.jobs[index].id, lease: grant.lease ?? "", outcome: .done())
            report.refreshed = .changed
            return try await fixture.report([report])
        }

        func assets() async throws -> [AssetStatus] { try await fixture.assets(of: catalog) }

        /// Nothing is kept of what was handed in.
        func leftovers() async throws -> Int64 {
            let files = try await fixture.count("refreshed_file")
            return try await files + fixture.count("refresh_publication")
        }
    }

    @Test func itIsGrantedOnceAndNothingTakesItAway() async throws {
        try await F.with { fixture in
            let work = try await Refreshes(fixture, ["a", "b", "c"])
            // Without new bytes, or all that is listed, there is nothing to publish.
            #expect(try await work.request(staged: nil) == .rejected)
            #expect(try await work.request(segments: 2) == .rejected)
            #expect(try await work.request() == .accepted)
            // Its answer was lost.
            #expect(try await work.request() == .accepted)
            #expect(
                try await work.assets().map(\.state) == [.publishing, .refreshing, .refreshing])
            #expect(try await fixture.count("result WHERE bytes = 77") == 0)

            let cancelled = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .cancel, catalog: CatalogReference(work.catalog), asset: "a"))
            #expect(cancelled.assets == 0 && cancelled.jobs == 0)
            let b = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .cancel, catalog: CatalogReference(work.catalog), asset: "b",
                    ofRefresh: true))
            #expect(b.assets == 1 && b.jobs == 1)
            try await fixture.queue.catalogs.submissions.interrupt(work.catalog)
            #expect(
                try await work.assets().map(\.state) == [.publishing, .completed, .completed])
            #expect(try await work.request(1) == .stale)
            #expect(try await work.ended() == [.accepted])
            #expect(try await work.ended(2) == [.stale])
            let assets = try await work.assets()
            #expect(assets.map(\.state) == [.completed, .completed, .completed])
            #expect(assets[0].refreshed == .changed && assets[0].bytes == 77)
            let status = try await fixture.queue.catalogs.status(of: work.catalog)
            #expect(status.state == .interrupted && status.totals.completed == 3)
            #expect(try await work.leftovers() == 0)
        }
    }

    @Test func theNextWorkerOfAJobLearnsTheStagedFiles() async throws {
        try await F.with { fixture in
            let work = try await Refreshes(fixture, ["a"])
            #expect(try await work.request(staged: 3) == .accepted)
            try await fixture.expireLeases()
            try await fixture.skipDelays()
            // The previous worker is stale.
            #expect(try await work.request() == .stale)
            #expect(try await work.ended() == [.stale])

            let next = try await fixture.lease()
            #expect(next.jobs.map(\.kind) == [.publish])
            #expect(next.jobs.map(\.key) == work.grant.jobs.map(\.key))
            #expect(next.jobs[0].id != work.grant.jobs[0].id)
            let page = try await work.files(of: next)
            #expect(
                page.staging
                    == RefreshFilesPage.Staging(
                        lease: work.grant.lease ?? "", job: work.grant.jobs[0].id))
            #expect(page.files.map(\.staged) == [3] && page.next == nil)
            #expect(page.files[0].stored.bytes == 77)
            #expect(page.files[0].segment.key == work.grant.jobs[0].key)
            // What is granted is not added to.
            let more = RefreshedFile(
                segment: page.files[0].segment, stored: page.files[0].stored, staged: 4)
            #expect(
                try await fixture.queue.files.refreshes.add(
                    RefreshBatch(
                        worker: fixture.worker, job: next.jobs[0].id, lease: next.lease ?? "",
                        files: [more])) == .rejected)
            #expect(try await work.ended(of: next) == [.accepted])
            try await fixture.drain()
            let asset = try await work.assets()[0]
            #expect(asset.state == .completed && asset.refreshed == .changed && asset.bytes == 77)
            #expect(try await fixture.queue.catalogs.status(of: work.catalog).state == .completed)
            #expect(try await work.leftovers() == 0)
        }
    }

    /// A try that was lost before the publication was granted leaves nothing behind in the next one's.
    @Test func whatAnEarlierTryHandedInIsForgotten() async throws {
        try await F.with { fixture in
            let work = try await Refreshes(fixture, ["a"])
            let file = RefreshedFile(
                segment: try await work.files().files[0].segment,
                stored: StoredObject(bytes: 66, sha256: F.digest(of: "half")), staged: 1)
            #expect(
                try await fixture.queue.files.refreshes.add(
                    RefreshBatch(
                        worker: fixture.worker, job: work.grant.jobs[0].id,
                        lease: work.grant.lease ?? "", files: [file])) == .accepted)
            try await fixture.expireLeases()
            try await fixture.skipDelays()
            let next = try await fixture.lease()
            #expect(next.jobs.map(\.kind) == [.refresh])
            #expect(try await work.files(of: next).staging == nil)
            var report = JobReport(job: next.jobs[0].id, lease: next.lease ?? "", outcome: .done())
            report.refreshed = .unchanged
            #expect(try await fixture.report([report]) == [.accepted])
            #expect(try await fixture.count("result WHERE bytes = 10") == 1)
            #expect(try await work.leftovers() == 0)
        }
    }

    /// A submission that drops or redefines an asset waits until it is published.
    @Test func aStartThatWouldTakeItAwayComesLater() async throws {
        try await F.with { fixture in
            let work = try await Refreshes(fixture, ["a", "b"])
            #expect(try await work.request() == .accepted)
            // One that skips it does not wait.
            try await fixture.submit([F.file("a"), F.file("b")])
            #expect(try await work.assets().map(\.state) == [.publishing, .refreshing])
            let renamed = AssetSubmission(
                name: "a", url: "http://origin.test/other/a", kind: .file,
                key: "origin.test/files/a")
            for assets in [[F.file("b")], [renamed, F.file("b")]] {
                let busy = await #expect(throws: Failure.self) {
                    try await fixture.submit(assets)
                }
                #expect(busy?.code == "cluster.busy")
                #expect(busy?.message.contains("asset a") == true)
            }
            #expect(try await work.ended() == [.accepted])
            try await fixture.submit([F.file("b")])
            #expect(try await fixture.assets(of: work.catalog).map(\.name) == ["b"])
        }
    }

    /// If no worker can publish it, the asset is not complete: each file is checked next time.
    @Test func oneThatFailsForGoodLeavesTheAssetToBeChecked() async throws {
        try await F.with { fixture in
            let work = try await Refreshes(fixture, ["a", "b"])
            #expect(try await work.request() == .accepted)
            // A full disk uses up no try.
            for _ in 1...6 {
                let grant = try await fixture.lease()
                let mine = grant.lease == nil ? work.grant : grant
                guard let index = mine.jobs.firstIndex(where: { $0.url.hasSuffix("/a") }) else {
                    break
                }
                _ = try await fixture.report([F.failed(mine.jobs[index], mine, "storage.full")])
                try await fixture.skipDelays()
            }
            #expect(try await work.assets()[0].state == .publishing)
            // Whatever else it is, another worker may do it yet.
            for attempt in 1...WireLimits.publicationAttempts {
                let grant = try await fixture.lease()
                let job = try #require(grant.jobs.first { $0.kind == .publish })
                #expect(job.attempt == attempt)
                #expect(try await work.assets()[0].state == .publishing)
                _ = try await fixture.report([F.failed(job, grant, "storage.permission")])
                try await fixture.skipDelays()
            }
            let failed = try await work.assets()[0]
            #expect(failed.state == .failed && failed.refreshed == .failed)
            #expect(failed.failure?.code == "storage.permission")
            #expect(try await work.leftovers() == 0)
            try await fixture.expectSeen([
                .init(table: "asset", old: "publishing", new: "failed")
            ])

            try await fixture.submit([F.file("a"), F.file("b")])
            let again = try await fixture.lease()
            let check = try #require(again.jobs.first { $0.url.hasSuffix("/a") })
            // What lies there may be the one or the other.
            #expect(check.kind == .fetch && check.previous == nil)
        }
    }

    /// What lies under its key has no record any more, and is deleted with the asset nevertheless.
    @Test func oneThatFailsForGoodLeavesNoFileBehindItsAsset() async throws {
        try await F.with { fixture in
            let work = try await Refreshes(fixture, ["a", "b"])
            #expect(try await work.request() == .accepted)
            var grant = work.grant
            for _ in 1...WireLimits.publicationAttempts {
                let job = try #require(grant.jobs.first { $0.key.hasSuffix("/a") })
                _ = try await fixture.report([F.failed(job, grant, "storage.permission")])
                try await fixture.skipDelays()
                grant = try await fixture.lease()
            }
            #expect(try await work.assets()[0].state == .failed)
            // Nothing is deleted while it may be tried again.
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await fixture.lease().jobs.isEmpty)
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(work.catalog), asset: "a"))
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/a"])
            #expect(try await work.assets()[0].state == .removed)
        }
    }
}
