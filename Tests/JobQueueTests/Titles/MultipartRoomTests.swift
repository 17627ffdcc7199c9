import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// The space that multipart files use at a site, until they are released.
@Suite(.timeLimit(.minutes(2))) struct MultipartRoomTests {
    typealias F = QueueFixture
    private static let part = SplitTests.part

    /// A file in three parts, the first of which is stored, and another file.
    private struct Begun {
        var catalog: CatalogID
        var multipart: MultipartID
        /// The other parts, under one lease.
        var others: LeaseGrant

        init(_ fixture: F) async throws {
            catalog = try await fixture.submit([F.file("large")])
            let grant = try await fixture.lease()
            multipart = .random()
            _ = try await fixture.queue.jobs.splits.split(
                SplitTests.request(
                    fixture, grant, total: 3 * MultipartRoomTests.part, multipart: multipart))
            others = try await fixture.lease()
            #expect(others.jobs.count == 2)
            _ = try await fixture.report([
                F.done(grant.jobs[0], grant, bytes: MultipartRoomTests.part)
            ])
        }
    }

    /// Returns the files that the next lease of the site must remove.
    private func abandoned(_ fixture: F, catalog: String = "next") async throws -> [MultipartID] {
        try await fixture.submit([F.file(MultipartID.random().description)], catalog: catalog)
        let grant = try await fixture.lease(1)
        try #require(grant.jobs.count == 1)
        _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
        return grant.site?.space?.abandoned ?? []
    }

    private func cancel(_ fixture: F, _ catalog: CatalogID) async throws {
        _ = try await fixture.queue.catalogs.selections.apply(
            SelectionAction(.cancel, catalog: CatalogReference(catalog)))
        try await fixture.fold()
    }

    /// The catalog's counts are those of its one asset, of which nothing is stored.
    private func expectNothingStored(_ fixture: F, _ catalog: CatalogID) async throws {
        try await fixture.fold()
        let asset = try #require(try await fixture.assets(of: catalog).first)
        #expect([.failed, .cancelled].contains(asset.state) && asset.bytes == 0)
        #expect(asset.segments == 1 && asset.segmentsDone == 0)
        let totals = try await fixture.queue.catalogs.status(of: catalog).totals
        #expect(totals.segments == 1 && totals.segmentsDone == 0 && totals.segmentsFailed == 1)
        #expect(totals.bytes == 0)
        #expect(try await fixture.count("segment WHERE part > 0") == 0)
        #expect(try await fixture.count("multipart_file") == 0)
    }

    /// It is fetched from its start, once.
    private func expectWholeAgain(_ fixture: F, _ catalog: CatalogID) async throws {
        _ = try await fixture.queue.catalogs.selections.apply(
            SelectionAction(.retry, catalog: CatalogReference(catalog)))
        let jobs = try await fixture.drain().filter { $0.key == F.file("large").key }
        #expect(jobs.map(\.offset) == [nil])
        let status = try await fixture.queue.catalogs.status(of: catalog)
        // The list of digests of a directory that two catalogs share may come later.
        #expect(status.totals.completed == 1 && status.totals.failed == 0)
        #expect(status.totals.bytes == 10)
        #expect(status.totals.segments == 1 && status.totals.segmentsDone == 1)
    }

    @Test func aCancelledOneIsRemovedByTheNextWorkerOfItsSite() async throws {
        try await F.with { fixture in
            let begun = try await Begun(fixture)
            try await cancel(fixture, begun.catalog)
            try await fixture.queue.housekeeping.multipartFiles.release()
            try await expectNothingStored(fixture, begun.catalog)
            #expect(try await abandoned(fixture) == [begun.multipart])
            // Once is enough: what is left is swept.
            #expect(try await abandoned(fixture) == [])
            #expect(
                try await fixture.report(begun.others.jobs.map { F.done($0, begun.others) })
                    == [.stale, .stale])
            try await expectWholeAgain(fixture, begun.catalog)
        }
    }

    @Test func oneThatFailedWaitsAnHourForItsRetry() async throws {
        try await F.with { fixture in
            let begun = try await Begun(fixture)
            let (grant, code) = (begun.others, "origin.http.404" as FailureCode)
            _ = try await fixture.report(grant.jobs.map { F.failed($0, grant, code) })
            #expect(try await fixture.assets(of: begun.catalog)[0].state == .failed)
            try await fixture.queue.housekeeping.multipartFiles.release()
            #expect(try await abandoned(fixture) == [])
            #expect(try await fixture.count("multipart_file") == 1)
            try await fixture.pool.query(
                "UPDATE asset SET changed_at = changed_at - interval '61 minutes'")
            try await fixture.queue.housekeeping.multipartFiles.release()
            try await expectNothingStored(fixture, begun.catalog)
            #expect(try await fixture.assets(of: begun.catalog)[0].failure?.code == code)
            #expect(try await abandoned(fixture) == [begun.multipart])
            try await expectWholeAgain(fixture, begun.catalog)
        }
    }

    @Test func oneWhoseFileIsAnotherNowIsRemoved() async throws {
        try await F.with { fixture in
            let begun = try await Begun(fixture)
            var file = F.file("large")
            file.url = "http://origin.test/other"
            try await fixture.submit([file])
            #expect(try await abandoned(fixture) == [begun.multipart])
        }
    }

    /// They count with the whole file already, whichever worker has them.
    @Test func thePartsThatOthersFetchCountOnceInAQuota() async throws {
        try await F.with { fixture in
            var settings = SiteSettings(site: F.site)
            settings.quotaBytes = 10 * Self.part
            let begun = try await Begun(fixture)
            _ = try await fixture.queue.sites.configure(settings)
            var heartbeat = Heartbeat(
                worker: fixture.worker, leases: [], progress: [:], name: "w", activeTransfers: 2)
            var progress = TransferProgress(
                receivedBytes: 5, expectedBytes: 2 * Self.part + 1_000, transfers: 3)
            progress.partBytes = 2 * Self.part
            heartbeat.progress[begun.others.jobs[0].asset.description] = progress
            _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
            try await fixture.queue.sites.closed.watch()
            try await fixture.submit([F.file("x"), F.file("y")], catalog: "next")
            let other = try await fixture.lease(1, as: WorkerID.random())
            #expect(other.site?.space?.quotaLeftBytes == 7 * Self.part - 1_000)
            // What it has besides is its own to know.
            #expect(try await fixture.lease(1).site?.space?.quotaLeftBytes == 7 * Self.part)
        }
    }
}
