import API
import JobQueue
import Model
import TestSupport
import Testing

/// Files of another tool that may lie under the keys of segments and sidecars.
@Suite struct AdoptedTitleTests {
    typealias F = QueueFixture

    private static let poster = SidecarSubmission(
        url: "http://images.test/p.jpg", key: "images.test/p.jpg", role: .image)
    private static let described = SidecarSubmission(
        url: "http://images.test/d.jpg", key: "images.test/d.jpg", role: .image,
        sha256: F.digest(of: "images.test/d.jpg"))

    private static func adopted(
        _ asset: AssetSubmission = F.title("t"), _ sidecars: [SidecarSubmission]? = nil
    ) -> AssetSubmission {
        var asset = asset
        (asset.adopts, asset.sidecars) = (true, sidecars)
        return asset
    }

    /// Resolves the title to two segments and its playlist, whose digest is known.
    private func resolve(_ fixture: QueueFixture) async throws {
        let grant = try await fixture.lease()
        let job = try #require(grant.jobs.first { $0.kind == .resolve })
        var playlist = ResolvedSegment(
            ordinal: 2, url: F.title("t").url, key: F.title("t").key, role: .playlist)
        playlist.sha256 = F.digest(of: playlist.key)
        let batch = TitleTests.batch(fixture, grant, TitleTests.segments(2) + [playlist])
        #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
        var done = F.done(job, grant)
        done.segments = 3
        #expect(try await fixture.report([done]) == [.accepted])
    }

    /// Leases all fetches; answers the keys of those whose workers look for a file.
    private func looked(_ fixture: QueueFixture) async throws -> (LeaseGrant, [String]) {
        let grant = try await fixture.lease()
        #expect(grant.jobs.allSatisfy { $0.previous == nil })
        return (grant, grant.jobs.filter { $0.fetch?.adopts == true }.map(\.key).sorted())
    }

    private static let segments = ["cdn.test/t/0.ts", "cdn.test/t/1.ts"]

    @Test func whatNoDigestDescribesIsLookedFor() async throws {
        try await F.with { fixture in
            let title = Self.adopted(F.title("t"), [Self.poster, Self.described])
            let catalog = try await fixture.submit([title])
            try await resolve(fixture)
            #expect(try await fixture.count("found_file") == 0)
            let (first, keys) = try await looked(fixture)
            #expect(first.jobs.count == 5)
            #expect(keys == Self.segments + [Self.poster.key])
            // The next attempts look as well, until it is stored.
            _ = try await fixture.report(
                first.jobs.map {
                    $0.key == Self.segments[0]
                        ? F.failed($0, first, "origin.http.500") : F.done($0, first)
                })
            try await fixture.skipDelays()
            let (second, rest) = try await looked(fixture)
            #expect(rest == [Self.segments[0]])
            _ = try await fixture.report(second.jobs.map { F.done($0, second) })
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
            // Of a title that is complete nothing is to be found.
            try await fixture.submit([title])
            #expect(try await fixture.count("found_file") == 0)
            for job in try await fixture.drain() { #expect(job.fetch?.adopts != true) }
        }
    }

    @Test func aTitleThatWasResolvedBeforeIsAdopted() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.title("t")])
            try await resolve(fixture)
            let (grant, none) = try await looked(fixture)
            #expect(none.isEmpty)
            let stored = try #require(grant.jobs.first { $0.key == Self.segments[0] })
            _ = try await fixture.report(
                grant.jobs.map {
                    $0.id == stored.id ? F.done($0, grant) : F.failed($0, grant, "origin.http.404")
                })
            try await fixture.submit([Self.adopted()])
            #expect(try await fixture.count("found_file") == 0)
            let again = try await fixture.lease()
            let looked = again.jobs.filter { $0.fetch?.adopts == true }.map(\.key)
            #expect(looked == [Self.segments[1]])
            // What is stored already is not fetched again.
            #expect(!again.jobs.contains { $0.key == Self.segments[0] && $0.previous == nil })
        }
    }

    @Test func aFileIsDescribedAndItsSidecarsAreLookedFor() async throws {
        try await F.with { fixture in
            var file = Self.adopted(F.file("a"), [Self.poster])
            file.found = FoundFile(bytes: 7, sha256: F.digest(of: "a"), modified: 1_700_000_000)
            try await fixture.submit([file, F.file("b")])
            let jobs = try await fixture.lease().jobs
            let described = try #require(jobs.first { $0.key == file.key }?.fetch)
            #expect(described.previous?.foundModified == 1_700_000_000 && !described.adopts)
            #expect(jobs.filter { $0.fetch?.adopts == true }.map(\.key) == [Self.poster.key])
        }
    }
}
