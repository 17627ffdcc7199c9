import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// What lies at a site already, by another choice of tracks or another catalog.
@Suite struct KnownFilesTests {
    typealias F = QueueFixture

    private static let validator = "\"v1\""

    private func submit(
        _ fixture: QueueFixture, catalog: String = "movies", site: String = F.site,
        height: Int64? = nil, _ assets: [AssetSubmission] = [F.title("t")]
    ) async throws {
        var submission = CatalogSubmission(name: catalog, storageURL: site)
        if let height {
            var options = TitleOptions()
            options.tracks.maximumHeight = height
            submission.titles = options
        }
        let handle = try await fixture.queue.catalogs.submissions.open(submission)
        try await fixture.queue.catalogs.submissions.add(
            assets, to: handle.id, generation: handle.generation)
        try await fixture.queue.catalogs.submissions.start(handle.id, generation: handle.generation)
    }

    /// The title's own manifest comes last. `packaged` distinguishes versions; for a selection it is
    /// rewritten.
    private func resolve(
        _ fixture: QueueFixture, _ media: [String], packaged: String = "1", isWritten: Bool = true
    ) async throws {
        let grant = try await fixture.lease()
        let job = try #require(grant.jobs.first { $0.kind == .resolve })
        var segments = media.enumerated().map { ordinal, name in
            ResolvedSegment(
                ordinal: ordinal, url: "http://origin.test/t/\(name)", key: "origin.test/t/\(name)",
                role: .media)
        }
        var main = ResolvedSegment(
            ordinal: media.count, url: F.title("t").url, key: F.title("t").key, role: .playlist,
            sha256: F.digest(of: "served \(packaged)"))
        if isWritten {
            main.content = media.joined(separator: "\n")
            main.servedSHA256 = main.sha256
            main.sha256 = F.digest(of: "written \(media)")
        }
        segments.append(main)
        let verdict = try await fixture.queue.jobs.segments.add(
            TitleTests.batch(fixture, grant, segments))
        #expect(verdict == .accepted)
        var report = JobReport(job: job.id, lease: grant.lease ?? "", outcome: .done())
        report.segments = segments.count
        #expect(try await fixture.report([report]) == [.accepted])
    }

    /// Ends all that is to be fetched; what is known lies there. Answers the names that are known.
    @discardableResult
    private func work(_ fixture: QueueFixture) async throws -> Set<String> {
        var known: Set<String> = []
        while true {
            let grant = try await fixture.lease()
            guard grant.lease != nil else { return known }
            _ = try await fixture.report(
                grant.jobs.map { job in
                    var report = F.done(job, grant)
                    guard job.kind == .fetch else { return report }
                    if job.isRewritten, let sha256 = job.sha256 {
                        report.stored = StoredObject(bytes: 10, sha256: sha256)
                    }
                    if let there = job.previous {
                        known.insert(String(job.key.split(separator: "/").last ?? ""))
                        #expect(there == report.stored)
                        report.isReused = true
                        report.validator = job.fetch?.previous?.validator
                    } else {
                        report.validator = Self.validator
                    }
                    return report
                })
        }
    }

    @Test func anotherChoiceOfTracksKnowsWhatIsThere() async throws {
        try await F.with { fixture in
            try await submit(fixture)
            try await resolve(fixture, ["low.ts", "high.ts"], isWritten: false)
            #expect(try await work(fixture) == [])
            try await submit(fixture, height: 720)
            try await resolve(fixture, ["low.ts"])
            #expect(try await work(fixture) == ["low.ts"])
            // What the second choice was without is known of as well.
            try await submit(fixture, height: 1_080)
            try await resolve(fixture, ["other.ts", "high.ts", "low.ts"])
            #expect(try await work(fixture) == ["low.ts", "high.ts"])
            // With all that was: a refresh has something to ask with.
            #expect(try await fixture.count("result WHERE validator IS NULL") == 0)
        }
    }

    /// Media may be repackaged under the same URLs: old and new segments do not mix.
    @Test func whatBelongsToAnotherManifestIsFetched() async throws {
        try await F.with { fixture in
            try await submit(fixture)
            try await resolve(fixture, ["low.ts", "high.ts"])
            try await work(fixture)
            try await submit(fixture, height: 720)
            try await resolve(fixture, ["low.ts"], packaged: "2")
            #expect(try await work(fixture) == [])
            // Nor does what was put aside then come back.
            try await submit(fixture, height: 1_080)
            try await resolve(fixture, ["low.ts", "high.ts"], packaged: "2")
            #expect(try await work(fixture) == ["low.ts"])
        }
    }

    @Test func whatWasInterruptedIsKnownAsFarAsItCame() async throws {
        try await F.with { fixture in
            try await submit(fixture)
            try await resolve(fixture, ["low.ts", "high.ts"])
            let grant = try await fixture.lease(1)
            _ = try await fixture.report(
                grant.jobs.map { job in
                    var report = F.done(job, grant)
                    report.validator = Self.validator
                    return report
                })
            try await fixture.queue.catalogs.submissions.interruptAll()
            try await submit(fixture, height: 720)
            try await resolve(fixture, ["high.ts", "low.ts"])
            // Interrupted once more before it was looked at, it still is to be looked at.
            try await fixture.queue.catalogs.submissions.interruptAll()
            try await submit(fixture, height: 720)
            #expect(try await work(fixture) == ["low.ts"])
        }
    }

    /// A manifest that is put aside once more before it was stored again still lies there.
    @Test func whatWasPutAsideTwiceGoesWithItsTitle() async throws {
        try await F.with { fixture in
            try await submit(fixture)
            try await resolve(fixture, ["low.ts"])
            try await work(fixture)
            for height in [720, 1_080] as [Int64] {
                try await submit(fixture, height: height)
                try await resolve(fixture, ["low.ts"])
            }
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(name: "movies")))
            // No worker stores anything of it any more.
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(
                try await Set(RemovalTests.purge(fixture)) == [
                    "origin.test/t/low.ts", "origin.test/t/main.m3u8",
                ])
        }
    }

    @Test func anotherCatalogOfTheSiteKnowsToo() async throws {
        try await F.with { fixture in
            try await submit(fixture)
            try await resolve(fixture, ["low.ts", "high.ts"])
            try await work(fixture)
            try await submit(fixture, catalog: "films", height: 720)
            try await resolve(fixture, ["high.ts", "new.ts"])
            #expect(try await work(fixture) == ["high.ts"])
            try await submit(fixture, catalog: "films", site: "file:///srv/other")
            try await resolve(fixture, ["low.ts", "high.ts"])
            #expect(try await work(fixture) == [])
            #expect(try await fixture.count("result WHERE validator IS NULL") == 0)
        }
    }

    @Test func filesOfAnotherCatalogAreKnown() async throws {
        try await F.with { fixture in
            let digests = [F.digest(of: "1"), F.digest(of: "2")]
            try await submit(
                fixture, [F.file("a"), F.file("b"), F.file("c", sha256: digests[0])])
            try await work(fixture)
            // Of another digest than was recorded nothing is known.
            try await submit(
                fixture, catalog: "films",
                [F.file("a"), F.file("b", sha256: digests[1]), F.file("d")])
            #expect(try await work(fixture) == ["a"])
            try await submit(
                fixture, catalog: "elsewhere", site: "file:///srv/other", [F.file("a")])
            #expect(try await work(fixture) == [])
        }
    }

    /// The origin is asked whether what others stored is still right: without a validator there is no asking.
    @Test func whatCannotBeAskedForIsFetched() async throws {
        try await F.with { fixture in
            try await submit(fixture, [F.file("a")])
            let grant = try await fixture.lease()
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await submit(fixture, catalog: "films", [F.file("a")])
            #expect(try await work(fixture) == [])
        }
    }

    @Test func whatIsForgottenIsForgotten() async throws {
        try await F.with { fixture in
            try await submit(fixture)
            try await resolve(fixture, ["low.ts"])
            try await work(fixture)
            try await submit(fixture, height: 720)
            #expect(try await fixture.count("previous_file") == 2)
            try await fixture.queue.catalogs.submissions.interruptAll()
            try await fixture.pool.query(
                "UPDATE catalog SET opened_at = now() - interval '2 days', "
                    + "ended_at = now() - interval '2 days'")
            try await fixture.queue.housekeeping.retention.delete(olderThanDays: 1)
            #expect(try await fixture.count("asset") == 0)
            #expect(try await fixture.count("previous_file") == 0)
        }
    }
}
