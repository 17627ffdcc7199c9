import API
import JobQueue
import Model
import TestSupport
import Testing

/// Files that belong to an asset: it is whole with those that it needs, and without the others.
@Suite struct SidecarTests {
    typealias F = QueueFixture

    private static let poster = SidecarSubmission(
        url: "http://images.test/p.jpg", key: "images.test/p.jpg", role: .image, required: false)
    private static let metadata = SidecarSubmission(
        url: "http://origin.test/m.json", key: "origin.test/m.json", role: .data, bytes: 10,
        sha256: F.digest(of: "origin.test/m.json"))

    private func with(
        _ sidecars: [SidecarSubmission]?, _ asset: AssetSubmission = F.file("a")
    ) -> AssetSubmission {
        var asset = asset
        asset.sidecars = sidecars
        return asset
    }

    /// Fails the jobs of `key` for good and does all others; the keys in the order they came.
    private func run(_ fixture: QueueFixture, failing key: String) async throws -> [String] {
        var keys: [String] = []
        while true {
            let grant = try await fixture.lease()
            guard grant.lease != nil else { return keys }
            keys += grant.jobs.map(\.key)
            _ = try await fixture.report(
                grant.jobs.map { job in
                    job.key == key
                        ? F.failed(job, grant, "origin.http.404") : F.done(job, grant)
                })
        }
    }

    @Test func anAssetDoesWithoutThoseThatAreNotRequired() async throws {
        try await F.with { fixture in
            let assets = [with([Self.poster, Self.metadata]), F.file("b")]
            let catalog = try await fixture.submit(assets)
            let keys = try await run(fixture, failing: Self.poster.key)
            #expect(keys.contains(Self.poster.key) && keys.contains(Self.metadata.key))
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed)
            #expect(status.totals.segments == 3 && status.totals.segmentsDone == 3)
            #expect(status.totals.segmentsFailed == 0)
            let found = try await fixture.assets(of: catalog)
            #expect(found.map(\.state) == [.completed, .completed])
            #expect(found[0].failure == nil)
            #expect(found[0].missing?.map(\.path) == [Self.poster.key])
            #expect(found[0].missing?.first?.url == Self.poster.url)
            #expect(found[0].missing?.first?.failure.code == "origin.http.404")
            #expect(found[1].missing == nil)

            // The next submission requests it again, and gets it.
            try await fixture.submit(assets)
            let again = try await fixture.drain()
            #expect(again.map(\.key).contains(Self.poster.key))
            #expect(try await fixture.assets(of: catalog)[0].missing == nil)
            let whole = try await fixture.queue.catalogs.status(of: catalog)
            #expect(whole.state == .completed && whole.totals.segments == 4)
        }
    }

    @Test func anAssetFailsWithOneThatIsRequired() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([with([Self.poster, Self.metadata])])
            _ = try await run(fixture, failing: Self.metadata.key)
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .failed && asset.failure?.code == "origin.http.404")
            #expect(asset.missing == nil)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .failed)
            // Tried again, it lacks that one alone.
            let answer = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.retry, catalog: CatalogReference(catalog)))
            #expect(answer.jobs == 1)
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func thoseOfATitleComeWithItsSegments() async throws {
        try await F.with { fixture in
            let title = with([Self.poster], F.title("t"))
            let catalog = try await fixture.submit([title])
            let resolve = try await fixture.lease()
            #expect(resolve.jobs.map(\.kind) == [.resolve])
            let batch = TitleTests.batch(fixture, resolve, TitleTests.segments(3))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            var done = F.done(resolve.jobs[0], resolve)
            done.segments = 3
            #expect(try await fixture.report([done]) == [.accepted])
            #expect(try await fixture.assets(of: catalog)[0].segments == 4)
            let keys = try await run(fixture, failing: Self.poster.key)
            #expect(keys.contains(Self.poster.key))
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .completed && asset.segments == 3)
            #expect(asset.missing?.count == 1)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segments == 3)
        }
    }

    @Test func theyAreNotAskedOfTheMirrorsOfTheirFile() async throws {
        try await F.with { fixture in
            var asset = with([Self.metadata])
            asset.mirrors = ["http://mirror.test/a"]
            try await fixture.submit([asset])
            let grant = try await fixture.lease()
            for job in grant.jobs {
                #expect((job.mirrors != nil) == (job.key == asset.key))
                // Too little to be worth parts of its own.
                #expect(job.key == asset.key || job.isWhole)
            }
            #expect(grant.jobs.count == 2)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await fixture.drain()
        }
    }

    @Test func changedOnesInTheNextListAreFetchedAgain() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([with([Self.poster])])
            try await fixture.drain()
            try await fixture.submit([with([Self.metadata])])
            let keys = try await fixture.drain().map(\.key)
            #expect(keys.contains(Self.metadata.key) && !keys.contains(Self.poster.key))
            try await fixture.submit([with(nil)])
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segments == 1)
        }
    }

    @Test func whatIsKnownOfAnAssetsOwnFileOutlastsOtherSidecars() async throws {
        try await F.with { fixture in
            let file = F.file("a")
            let catalog = try await fixture.submit([with([Self.poster])])
            try await fixture.drain()
            // What lies there is compared with what was stored: nothing of it is downloaded again.
            try await fixture.submit([with([Self.poster, Self.metadata])])
            let more = try await fixture.drain().filter { $0.kind == .fetch }
            #expect(Set(more.map(\.key)) == [file.key, Self.poster.key, Self.metadata.key])
            for job in more {
                #expect((job.previous != nil) == (job.key != Self.metadata.key), "\(job.key)")
            }
            // In another order they are others, each at its place; the file is what it was.
            try await fixture.submit([with([Self.metadata, Self.poster])])
            let turned = try await fixture.drain().filter { $0.kind == .fetch }
            #expect(turned.count == 3)
            #expect(turned.filter { $0.previous != nil }.map(\.key) == [file.key])
            // And without any.
            try await fixture.submit([with(nil)])
            let alone = try await fixture.drain().filter { $0.kind == .fetch }
            #expect(alone.map(\.key) == [file.key] && alone.first?.previous != nil)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segments == 1)
            #expect(try await fixture.count("result") == 1)
        }
    }

    @Test func aRunningAssetKeepsItsResultsWhenItsSidecarsChange() async throws {
        try await F.with { fixture in
            let title = F.title("t")
            let catalog = try await fixture.submit([with([Self.poster], title)])
            let resolve = try await fixture.lease()
            let batch = TitleTests.batch(fixture, resolve, TitleTests.segments(3))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            var done = F.done(resolve.jobs[0], resolve)
            done.segments = 3
            #expect(try await fixture.report([done]) == [.accepted])
            let grant = try await fixture.lease()
            let first = try #require(grant.jobs.first { $0.key != Self.poster.key })
            let rest = grant.jobs.filter { $0.id != first.id }
            #expect(try await fixture.report([F.done(first, grant)]) == [.accepted])

            try await fixture.submit([with([Self.metadata], title)])
            // Earlier leases hold nothing any more.
            let late = try await fixture.report(rest.map { F.done($0, grant) })
            #expect(!late.contains(.accepted))
            let jobs = try await fixture.drain().filter { $0.kind == .fetch }
            let wanted = Set(TitleTests.segments(3).map(\.key) + [Self.metadata.key])
            #expect(Set(jobs.map(\.key)) == wanted.subtracting([first.key]))
            #expect(jobs.count == 3)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segments == 4)
            #expect(status.totals.segmentsDone == 4)
        }
    }
}
