import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// A quota counts all that lies at the site by its records, whatever its catalogs do with it.
@Suite struct SiteStoredBytesTests: SelectionSuite {
    private func used(_ fixture: F) async throws -> Int64? {
        let miscounts = try await HistoryDatabase(pool: fixture.pool).storedMiscounts()
        #expect(miscounts == [])
        return try await fixture.queue.sites.list().sites.first { $0.storageURL == F.site }?
            .usedBytes
    }

    private func set(_ fixture: F, quota: Int64) async throws {
        var settings = SiteSettings(site: F.site)
        settings.quotaBytes = quota
        _ = try await fixture.queue.sites.configure(settings)
    }

    private func reports(
        _ fixture: F, _ grant: LeaseGrant, bytes: Int64 = 10, failing suffix: String? = nil
    ) async throws {
        _ = try await fixture.report(
            grant.jobs.map { job in
                if let suffix, job.key.hasSuffix(suffix) {
                    F.failed(job, grant, "origin.http.404")
                } else {
                    F.done(job, grant, bytes: bytes)
                }
            })
    }

    /// Reads a title's manifest, which has the same digest each time if it `isKnown`.
    private func resolve(
        _ fixture: F, _ names: [String], isKnown: Bool = false
    ) async throws {
        let grant = try await fixture.lease()
        let job = try #require(grant.jobs.first { $0.kind == .resolve })
        let segments = names.enumerated().map { ordinal, name in
            let key = "origin.test/t/\(name)"
            let isPlaylist = name.hasSuffix("m3u8")
            return ResolvedSegment(
                ordinal: ordinal, url: "http://\(key)", key: key,
                role: isPlaylist ? .playlist : .media,
                sha256: isPlaylist && isKnown ? F.digest(of: key) : nil)
        }
        let verdict = try await fixture.queue.jobs.segments.add(
            SegmentBatch(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "", segments: segments))
        #expect(verdict == .accepted)
        var report = F.done(job, grant)
        report.segments = segments.count
        _ = try await fixture.report([report])
    }

    /// A full site that is checked again is as full as before, file by file.
    @Test func aSubmissionAgainLeavesWhatIsStored() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            try await fixture.drain()
            #expect(try await used(fixture) == 30)
            try await set(fixture, quota: 40)
            try await fixture.submit(files(1...3))
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.bytes == 0)
            #expect(try await used(fixture) == 30)
            let first = try await fixture.lease(1)
            #expect(first.site?.space?.quotaLeftBytes == 10)
            // It is longer by now.
            try await reports(fixture, first, bytes: 16)
            #expect(try await used(fixture) == 36)
            let others = try await fixture.lease()
            #expect(others.site?.space?.quotaLeftBytes == 4)
            // What could not be checked still lies there.
            try await reports(fixture, others, failing: "f3")
            #expect(try await used(fixture) == 36)
            try await fixture.fold()
            #expect(try await used(fixture) == 36)
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.bytes == 26)
        }
    }

    /// Full with a catalog that was submitted again: another one waits.
    @Test func aFullSiteStaysFullWhileItIsCheckedAgain() async throws {
        try await F.with { fixture in
            try await fixture.submit(files(1...3))
            try await fixture.drain()
            try await fixture.submit(files(1...3))
            try await set(fixture, quota: 29)
            try await fixture.queue.sites.closed.watch()
            let site = try #require(try await fixture.queue.sites.list().sites.first)
            #expect(site.fault?.code == .storageQuota && site.usedBytes == 30)
            #expect(try await fixture.lease().lease == nil)
            try await set(fixture, quota: 31)
            #expect(try await fixture.lease().site?.space?.quotaLeftBytes == 1)
        }
    }

    @Test func whatLeftItsListCountsUntilItIsDeleted() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...4))
            try await fixture.drain()
            try await fixture.submit(files(3...5))
            try await fixture.drain()
            #expect(try await used(fixture) == 50)
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.bytes == 30)
            var prune = SelectionAction(.remove, catalog: CatalogReference(catalog))
            prune.ofLeft = true
            #expect(try await fixture.queue.catalogs.selections.apply(prune).files == 2)
            #expect(try await used(fixture) == 50)
            #expect(try await RemovalTests.purge(fixture).count == 2)
            #expect(try await used(fixture) == 30)
            try await fixture.fold()
            #expect(try await used(fixture) == 30)
        }
    }

    @Test func whatCannotBeDeletedCounts() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first { $0.kind == .purge })
            var request = PurgeRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
            let page = try await fixture.queue.files.purges.next(request)
            #expect(page.files.count == 2)
            request.results = [
                PurgeRequest.Result(file: page.files[0].file, deleted: true),
                PurgeRequest.Result(
                    file: page.files[1].file, deleted: false,
                    failure: Failure(.storagePermission, "refused")),
            ]
            _ = try await fixture.queue.files.purges.next(request)
            #expect(try await used(fixture) == 10)
        }
    }

    /// The files of a title whose manifest is read again, until it is complete.
    @Test func whatIsPutAsideCounts() async throws {
        try await F.with { fixture in
            var title = F.title("t")
            try await fixture.submit([title])
            try await resolve(fixture, ["a1.ts", "a2.ts", "both.ts", "main.m3u8"])
            try await fixture.drain()
            #expect(try await used(fixture) == 40)
            title.url += "?v=2"
            try await fixture.submit([title])
            #expect(try await fixture.count("previous_file") == 4)
            #expect(try await used(fixture) == 40)
            try await resolve(fixture, ["b1.ts", "both.ts", "main.m3u8"])
            #expect(try await used(fixture) == 40)
            // What it lists again is one file with a new result.
            let grant = try await fixture.lease(2)
            try await reports(fixture, grant)
            #expect(try await used(fixture) == 50)
            try await fixture.drain()
            #expect(try await used(fixture) == 50)
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await RemovalTests.purge(fixture).count == 2)
            #expect(try await used(fixture) == 30)
        }
    }

    /// The files of all selections, each once, while the manifest is the same.
    @Test func anotherSelectionOfTracksCountsSharedFilesOnce() async throws {
        try await F.with { fixture in
            func select(_ height: Int64?, _ media: [String]) async throws {
                var submission = CatalogSubmission(name: "movies", storageURL: F.site)
                if let height {
                    submission.titles = TitleOptions()
                    submission.titles?.tracks.maximumHeight = height
                }
                let handle = try await fixture.queue.catalogs.submissions.open(submission)
                try await fixture.queue.catalogs.submissions.add(
                    [F.title("t")], to: handle.id, generation: handle.generation)
                try await fixture.queue.catalogs.submissions.start(
                    handle.id, generation: handle.generation)
                let before = try await used(fixture)
                try await resolve(fixture, media + ["audio.ts", "main.m3u8"], isKnown: true)
                #expect(try await used(fixture) == before)
            }
            try await select(480, ["low.ts"])
            try await fixture.drain()
            #expect(try await used(fixture) == 30)
            try await select(720, ["high.ts"])
            // File by file.
            try await reports(fixture, try await fixture.lease(2))
            #expect(try await used(fixture) == 40)
            try await reports(fixture, try await fixture.lease(1))
            #expect(try await used(fixture) == 40)
            #expect(try await fixture.count("previous_file") == 1)
            try await fixture.drain()
            try await select(nil, ["low.ts", "high.ts"])
            // One that cannot be fetched again lies there as before.
            try await fixture.pool.query("UPDATE job SET attempt = 7 WHERE kind = 'fetch'")
            try await reports(fixture, try await fixture.lease(), failing: "low.ts")
            #expect(try await used(fixture) == 40)
            #expect(try await fixture.count("previous_file") == 1)
            try await fixture.drain()
            try await select(480, ["low.ts"])
            try await fixture.drain()
            #expect(try await used(fixture) == 40)
            let prefix = "origin.test/t/"
            #expect(
                try await fixture.count("previous_file WHERE key = '\(prefix)high.ts'") == 1)
        }
    }

    /// A file that one catalog leaves to another goes with the second.
    @Test func whatAnotherCatalogNeedsIsCountedThere() async throws {
        try await F.with { fixture in
            let first = try await fixture.submit(files(1...1))
            try await fixture.drain()
            let second = try await fixture.submit(files(1...1), catalog: "second")
            _ = try await apply(fixture, .remove, first)
            #expect(try await RemovalTests.purge(fixture) == [])
            try await fixture.drain()
            #expect(try await used(fixture) == 10)
            _ = try await apply(fixture, .remove, second)
            #expect(try await used(fixture) == 10)
            #expect(try await RemovalTests.purge(fixture).count == 1)
            #expect(try await used(fixture) == 0)
        }
    }

    /// Of an asset that its list no longer names, and that was being checked when it left.
    @Test func anEvictionFreesWhatItSays() async throws {
        try await F.with { fixture in
            let old = try await fixture.submit(files(1...3))
            try await fixture.drain()
            // A check of the first has failed, the second was not checked again.
            try await fixture.submit(files(1...3))
            let grant = try await fixture.lease(1)
            try await reports(fixture, grant, failing: "f1")
            _ = try await apply(fixture, .cancel, old)
            try await fixture.submit(files(3...3))
            try await fixture.drain()
            #expect(try await used(fixture) == 30)
            let answer = try await fixture.queue.files.evictions.evict(
                SiteEviction(site: F.site, bytes: 20))
            #expect(answer.assets == 2 && answer.bytes == 20)
            try await fixture.pool.query(
                "UPDATE unneeded_file SET due_at = now() WHERE due_at < 'infinity'")
            #expect(try await RemovalTests.purge(fixture).count == 2)
            #expect(try await used(fixture) == 10)
        }
    }
}
