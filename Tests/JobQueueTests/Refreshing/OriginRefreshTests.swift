import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Assets that are refreshed when their origins say: once what workers report is no longer fresh.
@Suite struct OriginRefreshTests {
    typealias F = QueueFixture

    private func file(
        _ name: String, every seconds: Double? = nil, byOrigin: Bool? = nil
    ) -> AssetSubmission {
        var asset = F.file(name)
        (asset.refreshSeconds, asset.refreshByOrigin) = (seconds, byOrigin)
        return asset
    }

    private func done(_ job: Job, _ grant: LeaseGrant, fresh: Int?) -> JobReport {
        var report = F.done(job, grant)
        guard case .done(var done) = report.outcome else { return report }
        done.freshSeconds = fresh
        report.outcome = .done(done)
        return report
    }

    /// Seconds until each asset is due, to the minute.
    private func due(_ fixture: F) async throws -> [String: Int] {
        let rows = try await fixture.pool.query(
            """
            SELECT name, (60 * round(extract(epoch FROM refresh_at - now()) / 60))::bigint
            FROM asset WHERE refresh_at IS NOT NULL
            """
        ).rows
        return Dictionary(
            uniqueKeysWithValues: try rows.map { (try $0.string(0), Int(try $0.int64(1))) })
    }

    private func submit(
        _ fixture: F, _ assets: [AssetSubmission], every seconds: Double? = nil,
        byOrigin: Bool? = nil
    ) async throws -> CatalogID {
        var submission = CatalogSubmission(name: "movies", storageURL: F.site)
        (submission.refreshSeconds, submission.refreshByOrigin) = (seconds, byOrigin)
        let handle = try await fixture.queue.catalogs.submissions.open(submission)
        try await fixture.queue.catalogs.submissions.add(
            assets, to: handle.id, generation: handle.generation)
        try await fixture.queue.catalogs.submissions.start(handle.id, generation: handle.generation)
        return handle.id
    }

    @Test func aFileIsDueWhenItsResponseIsNoLongerFresh() async throws {
        try await F.with { fixture in
            let names = ["hour", "none", "zero", "long"]
            let list = names.map { file($0, byOrigin: true) } + [file("fixed", every: 7_200)]
            _ = try await submit(fixture, list + [file("never")])
            let grant = try await fixture.lease()
            let fresh = [
                "hour": 3_600, "zero": 0, "long": 2_147_483_648, "fixed": 600, "never": 60,
            ]
            #expect(
                try await fixture.report(
                    grant.jobs.map {
                        done(
                            $0, grant, fresh: fresh[String($0.key.split(separator: "/").last ?? "")]
                        )
                    }
                ).allSatisfy { $0 == .accepted })
            #expect(
                try await due(fixture) == [
                    "hour": 3_600, "none": 86_400, "zero": 300, "long": 2_592_000, "fixed": 7_200,
                ])
            #expect(try await fixture.count("asset WHERE state = 'completed'") == 6)
        }
    }

    @Test func anAssetsOwnTimeHoldsInsteadOfItsCatalogs() async throws {
        try await F.with { fixture in
            let list = [
                file("plain"), file("own", every: 7_200), file("origin", byOrigin: true),
            ]
            _ = try await submit(fixture, list, every: 3_600)
            #expect(
                try await due(fixture) == ["plain": 3_600, "own": 7_200, "origin": 86_400])
            try await fixture.drain()
            // Another time replaces the one that was set.
            let again = try await submit(fixture, list, byOrigin: true)
            #expect(
                try await due(fixture) == ["plain": 86_400, "own": 7_200, "origin": 86_400])
            let grant = try await fixture.lease()
            _ = try await fixture.report(grant.jobs.map { done($0, grant, fresh: 1_800) })
            #expect(
                try await due(fixture) == ["plain": 1_800, "own": 7_200, "origin": 1_800])
            // A list that is read again keeps the times.
            _ = try await submit(fixture, list, byOrigin: true)
            #expect(
                try await due(fixture) == ["plain": 1_800, "own": 7_200, "origin": 1_800])
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: again).state == .completed)
            _ = try await submit(fixture, list)
            #expect(try await due(fixture) == ["own": 7_200, "origin": 1_800])
        }
    }

    @Test func aRefreshSetsTheNextTime() async throws {
        try await F.with { fixture in
            let catalog = try await submit(fixture, [file("a", byOrigin: true)])
            let fetch = try await fixture.lease()
            _ = try await fixture.report([done(fetch.jobs[0], fetch, fresh: 600)])
            try await fixture.drain()
            for (fresh, expected) in [(1_200, 1_200), (nil, 86_400), (0, 300)] as [(Int?, Int)] {
                try await fixture.pool.query("UPDATE asset SET refresh_at = now()")
                #expect(try await fixture.queue.files.assetRefreshes.start() == 1)
                // Until it is known, the time of a response that states none.
                #expect(try await due(fixture) == ["a": 86_400])
                let grant = try await fixture.lease()
                #expect(grant.jobs.map(\.kind) == [.refresh])
                var report = done(grant.jobs[0], grant, fresh: fresh)
                report.refreshed = .unchanged
                #expect(try await fixture.report([report]) == [.accepted])
                #expect(try await due(fixture) == ["a": expected])
                try await fixture.drain()
                #expect(try await fixture.assets(of: catalog)[0].state == .completed)
            }
        }
    }

    @Test func aTitleIsDueByItsManifest() async throws {
        try await F.with { fixture in
            var title = F.title("t")
            title.refreshByOrigin = true
            _ = try await submit(fixture, [title])
            let resolve = try await fixture.lease()
            _ = try await fixture.queue.jobs.segments.add(
                TitleTests.batch(fixture, resolve, TitleTests.segments(2)))
            var resolved = done(resolve.jobs[0], resolve, fresh: 900)
            resolved.segments = 2
            #expect(try await fixture.report([resolved]) == [.accepted])
            #expect(try await due(fixture) == ["t": 900])
            try await fixture.drain()
            #expect(try await due(fixture) == ["t": 900])
        }
    }

    /// Neither of these ends its asset by itself.
    @Test func filesWithSidecarsAndLargeFilesAreDueByTheirOwnResponse() async throws {
        try await F.with { fixture in
            var poster = file("poster", byOrigin: true)
            poster.sidecars = [
                SidecarSubmission(
                    url: "http://origin.test/p.jpg", key: "origin.test/p.jpg", role: .image)
            ]
            let catalog = try await submit(fixture, [poster])
            var grant = try await fixture.lease(1)
            _ = try await fixture.report([done(grant.jobs[0], grant, fresh: 600)])
            #expect(try await due(fixture) == ["poster": 600])
            #expect(try await fixture.assets(of: catalog)[0].state == .inProgress)
            try await fixture.drain()
            let status = try await fixture.assets(of: catalog)[0]
            #expect(status.state == .completed && status.segmentsDone == 2 && status.bytes == 20)
            #expect(try await due(fixture) == ["poster": 600])

            _ = try await submit(fixture, [file("large", byOrigin: true)])
            grant = try await fixture.lease()
            let request = SplitTests.request(
                fixture, grant, total: 2 * SplitTests.part, multipart: .random())
            #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
            var first = done(grant.jobs[0], grant, fresh: 1_200)
            first.stored?.bytes = SplitTests.part
            #expect(try await fixture.report([first]) == [.accepted])
            #expect(try await due(fixture)["large"] == 1_200)
        }
    }
}
