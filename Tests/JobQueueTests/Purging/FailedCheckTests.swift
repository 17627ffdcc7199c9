import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Stored files whose later check fails: no record has them any more, and they still lie at the edge.
@Suite struct FailedCheckTests: SelectionSuite {
    private let key = "origin.test/files/f1"

    /// Submits assets that are stored, and fails the checks of some of their files.
    private func failChecks(
        _ fixture: F, _ assets: [AssetSubmission], of suffixes: String...,
        with code: FailureCode = "origin.http.404"
    ) async throws {
        try await fixture.submit(assets)
        // The last try of each.
        try await fixture.pool.query("UPDATE job SET attempt = 7 WHERE kind = 'fetch'")
        let grant = try await fixture.lease()
        let failing = grant.jobs.filter { job in suffixes.contains { job.key.hasSuffix($0) } }
        #expect(failing.count == suffixes.count && failing.allSatisfy { $0.kind == .fetch })
        _ = try await fixture.report(
            grant.jobs.map { job in
                failing.contains { $0.id == job.id }
                    ? F.failed(job, grant, code) : F.done(job, grant)
            })
        try await fixture.drain()
    }

    private func status(_ fixture: F, _ name: String) async throws -> AssetStatus {
        let catalog = try await fixture.queue.catalogs.selections.catalog(
            CatalogReference(name: "movies"))
        return try #require(try await fixture.assets(of: catalog).first { $0.name == name })
    }

    /// Lets the time pass for which workers may still be storing something.
    private func passGrace(_ fixture: F) async throws {
        try await fixture.pool.query(
            "UPDATE unneeded_file SET due_at = now() WHERE due_at < 'infinity'")
        _ = try await fixture.queue.files.purges.reconcile()
    }

    @Test(
        arguments: ["origin.http.404", "storage.permission", "storage.pathConflict"]
            as [FailureCode])
    func theFileGoesWithItsAsset(code: FailureCode) async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            try await failChecks(fixture, files(1...2), of: "f1", with: code)
            #expect(try await status(fixture, "f1").state == .failed)
            // Nothing is deleted while it may be tried again.
            #expect(try await fixture.queue.files.purges.reconcile() == 0)
            _ = try await apply(fixture, .remove, catalog, asset: "f1")
            #expect(try await RemovalTests.purge(fixture) == [key])
            let removed = try await status(fixture, "f1")
            #expect(removed.state == .removed)
            #expect(removed.freedFiles == 1 && removed.freedBytes == 10)
            #expect(try await status(fixture, "f2").state == .completed)
            #expect(try await fixture.count("unneeded_file") == 0)
        }
    }

    @Test func theFileStaysWhenItIsStoredAgain() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await fixture.drain()
            try await failChecks(fixture, files(1...1), of: "f1")
            _ = try await apply(fixture, .retry, catalog)
            try await fixture.drain()
            #expect(try await status(fixture, "f1").state == .completed)
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await RemovalTests.purge(fixture) == [])
            #expect(try await fixture.count("unneeded_file") == 0)
            _ = try await apply(fixture, .remove, catalog)
            #expect(try await RemovalTests.purge(fixture) == [key])
        }
    }

    @Test func anotherAssetKeepsTheFile() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            let other = try await fixture.submit(files(1...1), catalog: "other")
            try await fixture.drain()
            try await failChecks(fixture, files(1...1), of: "f1")
            _ = try await apply(fixture, .remove, catalog)
            #expect(try await RemovalTests.purge(fixture) == [])
            #expect(try await status(fixture, "f1").state == .removed)
            _ = try await apply(fixture, .remove, other)
            #expect(try await RemovalTests.purge(fixture) == [key])
        }
    }

    /// By its own time, and by that of a submission that came too late.
    @Test(arguments: [false, true])
    func theFileGoesWithTheRights(isSubmittedAgain: Bool) async throws {
        try await F.with { fixture in
            let now = try #require(
                try await fixture.pool.query("SELECT extract(epoch FROM now())::float8").firstRow
            ).double(0)
            var assets = files(1...1)
            assets[0].expiresAt = now + 1_000
            try await fixture.submit(assets)
            try await fixture.drain()
            try await failChecks(fixture, assets, of: "f1")
            #expect(try await fixture.queue.files.purges.applyRights() == 0)
            if isSubmittedAgain {
                assets[0].expiresAt = now - 10
                try await fixture.submit(assets)
                #expect(try await status(fixture, "f1").failure?.code == .inputExpired)
            } else {
                try await fixture.pool.query("UPDATE asset SET expires_at = now()")
            }
            #expect(try await fixture.queue.files.purges.applyRights() == 1)
            #expect(try await status(fixture, "f1").state == .expiring)
            #expect(try await RemovalTests.purge(fixture) == [key])
            #expect(try await status(fixture, "f1").state == .expired)
        }
    }

    @Test func theFileGoesWhenTheListNoLongerNamesIt() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            try await failChecks(fixture, files(1...2), of: "f1")
            try await fixture.submit(files(2...2))
            var prune = SelectionAction(.remove, catalog: CatalogReference(catalog))
            prune.ofLeft = true
            _ = try await fixture.queue.catalogs.selections.apply(prune)
            #expect(try await RemovalTests.purge(fixture) == [key])
        }
    }

    /// A file whose later check failed is another object by the next submission.
    @Test func theFileGoesWhenItsAssetHasAnotherKey() async throws {
        try await F.with { fixture in
            try await fixture.submit(files(1...1))
            try await fixture.drain()
            try await failChecks(fixture, files(1...1), of: "f1")
            var moved = files(1...1)
            moved[0].key = "origin.test/files/moved"
            try await fixture.submit(moved)
            try await fixture.drain()
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await RemovalTests.purge(fixture) == [key])
            #expect(try await status(fixture, "f1").state == .completed)
        }
    }

    private static let posterKey = "origin.test/p.jpg"

    private func fileWithPoster() -> [AssetSubmission] {
        var assets = files(1...1)
        assets[0].sidecars = [
            SidecarSubmission(
                url: "http://\(Self.posterKey)", key: Self.posterKey, role: .image, required: false)
        ]
        return assets
    }

    /// A complete asset does without a sidecar that is not required.
    @Test(
        arguments: ["origin.http.404", "origin.http.410", "content.unexpectedType"]
            as [FailureCode])
    func aSidecarThatIsNotRequiredGoes(code: FailureCode) async throws {
        try await F.with { fixture in
            try await fixture.submit(fileWithPoster())
            try await fixture.drain()
            try await failChecks(fixture, fileWithPoster(), of: "p.jpg", with: code)
            #expect(try await status(fixture, "f1").state == .completed)
            #expect(try await status(fixture, "f1").missing?.count == 1)
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await RemovalTests.purge(fixture) == [Self.posterKey])
            #expect(try await status(fixture, "f1").state == .completed)
        }
    }

    /// It is served as before: nothing says that it is outdated.
    @Test(
        arguments: ["origin.http.503", "origin.connect", "origin.http.403", "worker.internal"]
            as [FailureCode])
    func aSidecarThatIsNotRequiredStaysIfItCannotBeChecked(code: FailureCode) async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(fileWithPoster())
            try await fixture.drain()
            for _ in 1...2 {
                try await failChecks(fixture, fileWithPoster(), of: "p.jpg", with: code)
                let status = try await status(fixture, "f1")
                #expect(status.state == .completed && status.failure == nil)
                #expect(status.missing == nil)
                #expect(status.segments == 2 && status.segmentsDone == 2)
                #expect(status.bytes == 20 && status.adoptedBytes == 10)
                let totals = try await fixture.queue.catalogs.status(of: catalog).totals
                #expect(totals.segments == 2 && totals.segmentsDone == 2)
                #expect(totals.segmentsFailed == 0 && totals.bytes == 20)
                #expect(try await fixture.queue.files.purges.reconcile() == 0)
                #expect(try await RemovalTests.purge(fixture) == [])
                #expect(try await fixture.count("unneeded_file") == 0)
            }
            _ = try await apply(fixture, .remove, catalog)
            #expect(
                try await Set(RemovalTests.purge(fixture)) == [
                    "origin.test/files/f1", Self.posterKey,
                ])
        }
    }

    // MARK: Titles

    private static let files: Set<String> = [
        "origin.test/t/main.m3u8", "origin.test/t/1.ts", "origin.test/t/0.ts",
    ]

    @Test func allFilesOfATitleGo() async throws {
        try await F.with { fixture in
            let catalog = try await RemovalTests.storeTitle(fixture, "t", segments: 2)
            try await failChecks(fixture, [F.title("t")], of: "1.ts", "main.m3u8")
            #expect(try await status(fixture, "t").state == .failed)
            _ = try await apply(fixture, .remove, catalog)
            #expect(try await Set(RemovalTests.purge(fixture)) == Self.files)
            #expect(try await status(fixture, "t").state == .removed)
        }
    }

    /// Its title still lacks another file, so that nothing is deleted.
    @Test(arguments: [true, false])
    func aFileThatIsStoredAgainCountsOnce(isReportedAlone: Bool) async throws {
        try await F.with { fixture in
            func usedBytes() async throws -> Int64? {
                try await fixture.queue.sites.list().sites.first { $0.storageURL == F.site }?
                    .usedBytes
            }
            let catalog = try await RemovalTests.storeTitle(fixture, "t", segments: 2)
            try await failChecks(fixture, [F.title("t")], of: "0.ts", "1.ts")
            #expect(try await fixture.count("unneeded_file") == 2)
            #expect(try await usedBytes() == 30)
            _ = try await apply(fixture, .retry, catalog)
            let grant = try await fixture.lease()
            try #require(grant.jobs.count == 2)
            let reports = grant.jobs.map { job in
                job.key.hasSuffix("0.ts")
                    ? F.done(job, grant) : F.failed(job, grant, "origin.http.404")
            }
            for batch in isReportedAlone ? reports.map({ [$0] }) : [reports] {
                _ = try await fixture.report(batch)
            }
            try await fixture.drain()
            #expect(try await status(fixture, "t").state == .failed)
            #expect(try await fixture.count("unneeded_file") == 1)
            #expect(try await usedBytes() == 30)
            _ = try await apply(fixture, .remove, catalog)
            #expect(try await Set(RemovalTests.purge(fixture)) == Self.files)
            #expect(try await usedBytes() == 0)
        }
    }

    /// Its manifest lists another object under a stored file's key, which is not fetched yet.
    @Test func aFileThatIsToBeReplacedGoesWithItsTitle() async throws {
        try await F.with { fixture in
            let catalog = try await RemovalTests.storeTitle(fixture, "t", segments: 2)
            try await failChecks(fixture, [F.title("t")], of: "1.ts")
            // As after `manifest.changed`.
            try await fixture.pool.query("UPDATE asset SET resolved = false")
            _ = try await apply(fixture, .retry, catalog)
            let grant = try await fixture.lease()
            #expect(grant.jobs.map(\.kind) == [.resolve])
            let segments = ["0.ts", "1.ts", "main.m3u8"].enumerated().map { ordinal, name in
                ResolvedSegment(
                    ordinal: ordinal, url: "http://origin.test/t/\(name)",
                    key: "origin.test/t/\(name)", role: ordinal == 2 ? .playlist : .media,
                    sha256: ordinal == 0 ? F.digest(of: "another") : nil)
            }
            #expect(
                try await fixture.queue.jobs.segments.add(
                    TitleTests.batch(fixture, grant, segments))
                    == .accepted)
            var report = F.done(grant.jobs[0], grant)
            report.segments = segments.count
            _ = try await fixture.report([report])
            _ = try await apply(fixture, .remove, catalog)
            try await passGrace(fixture)
            #expect(try await Set(RemovalTests.purge(fixture)) == Self.files)
        }
    }

    // MARK: Large files

    /// A file that is stored, and divided when it is fetched again; its first part is stored.
    private func divide(_ fixture: F) async throws -> CatalogID {
        let catalog = try await fixture.submit(files(1...1))
        try await fixture.drain()
        try await fixture.submit(files(1...1))
        let grant = try await fixture.lease()
        let request = SplitTests.request(
            fixture, grant, total: 2 * SplitTests.part, multipart: .random())
        #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
        _ = try await fixture.report([F.done(grant.jobs[0], grant, bytes: SplitTests.part)])
        return catalog
    }

    @Test func aFileThatCannotBePutTogetherGoes() async throws {
        try await F.with { fixture in
            let catalog = try await divide(fixture)
            let second = try await fixture.lease()
            _ = try await fixture.report([F.done(second.jobs[0], second, bytes: SplitTests.part)])
            let verify = try await fixture.lease()
            #expect(verify.jobs.map(\.kind) == [.verify])
            _ = try await fixture.report([F.failed(verify.jobs[0], verify, "origin.http.404")])
            #expect(try await status(fixture, "f1").state == .failed)
            _ = try await apply(fixture, .remove, catalog)
            #expect(try await RemovalTests.purge(fixture) == [key])
        }
    }

    /// Its record is that of the new file: nothing is noted of the old one any more.
    @Test func aFileThatIsPutTogetherAgainCountsOnce() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await fixture.drain()
            try await failChecks(fixture, files(1...1), of: "f1")
            #expect(try await fixture.count("unneeded_file") == 1)
            _ = try await apply(fixture, .retry, catalog)
            let first = try await fixture.lease()
            let request = SplitTests.request(
                fixture, first, total: 2 * SplitTests.part, multipart: .random())
            #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
            _ = try await fixture.report([F.done(first.jobs[0], first, bytes: SplitTests.part)])
            let second = try await fixture.lease()
            _ = try await fixture.report([F.done(second.jobs[0], second, bytes: SplitTests.part)])
            #expect(try await fixture.count("unneeded_file") == 1)
            let verify = try await fixture.lease()
            #expect(verify.jobs.map(\.kind) == [.verify])
            _ = try await fixture.report([
                F.done(verify.jobs[0], verify, bytes: 2 * SplitTests.part)
            ])
            #expect(try await status(fixture, "f1").state == .completed)
            #expect(try await fixture.count("unneeded_file") == 0)
        }
    }

    @Test func aFileWhosePartsAreGivenUpGoes() async throws {
        try await F.with { fixture in
            let catalog = try await divide(fixture)
            let second = try await fixture.lease()
            _ = try await fixture.report([F.failed(second.jobs[0], second, "origin.http.404")])
            #expect(try await status(fixture, "f1").state == .failed)
            try await fixture.pool.query(
                "UPDATE asset SET changed_at = changed_at - interval '61 minutes'")
            try await fixture.queue.housekeeping.multipartFiles.release()
            #expect(try await fixture.count("multipart_file") == 0)
            _ = try await apply(fixture, .remove, catalog)
            #expect(try await RemovalTests.purge(fixture) == [key])
        }
    }
}
