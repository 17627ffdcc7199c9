import API
import JobQueue
import Model
import TestSupport
import Testing

@Suite struct TitleTests {
    typealias F = QueueFixture

    static func segments(_ count: Int) -> [ResolvedSegment] {
        (0..<count).map { index in
            ResolvedSegment(
                ordinal: index, url: "http://cdn.test/t/\(index).ts",
                key: "cdn.test/t/\(index).ts", role: .media)
        }
    }

    static func batch(
        _ fixture: QueueFixture, _ grant: LeaseGrant, _ segments: [ResolvedSegment]
    ) -> SegmentBatch {
        SegmentBatch(
            worker: fixture.worker, job: grant.jobs[0].id, lease: grant.lease ?? "",
            segments: segments)
    }

    @Test func aTitleIsResolvedThenFetchedInItsOrder() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t")])
            let resolve = try await fixture.lease()
            #expect(resolve.jobs.map(\.kind) == [.resolve])
            #expect(resolve.jobs[0].assetKind == .hls)
            let all = Self.segments(5)
            // Sent in two batches, the first one twice.
            for part in [all[..<3], all[..<3], all[3...]] {
                let batch = Self.batch(fixture, resolve, Array(part))
                #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            }
            // Nothing is fetched before the list is whole.
            #expect(try await fixture.lease().lease == nil)
            var done = F.done(resolve.jobs[0], resolve)
            done.segments = 5
            #expect(try await fixture.report([done]) == [.accepted])
            let title = try await fixture.assets(of: catalog)[0]
            #expect(title.state == .ready && title.path == F.title("t").key)
            let jobs = try await fixture.drain()
            #expect(jobs.dropLast().map(\.key) == all.map(\.key))
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segments == 5)
            let files = try await fixture.queue.catalogs.files(of: catalog, after: nil, limit: 3)
            #expect(files.files.map(\.path) == all.prefix(3).map(\.key))
            let rest = try await fixture.queue.catalogs.files(
                of: catalog, after: files.next, limit: 3)
            #expect(rest.files.map(\.path) == all.suffix(2).map(\.key) && rest.next == nil)
        }
    }

    @Test func theLastSegmentsEndTheirTitleAlthoughTheyAreInTwoLanes() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.title("t")])
            let resolve = try await fixture.lease()
            let batch = Self.batch(fixture, resolve, Self.segments(2))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            var resolved = F.done(resolve.jobs[0], resolve)
            resolved.segments = 2
            #expect(try await fixture.report([resolved]) == [.accepted])
            let first = try await fixture.lease(1)
            _ = try await fixture.report([F.failed(first.jobs[0], first, "origin.http.500")])
            try await fixture.skipDelays()
            let both = try await fixture.lease()
            #expect(both.jobs.count == 2)
            #expect(try await fixture.count("(SELECT DISTINCT lane_id FROM job) AS lanes") == 2)
            // Before any fold.
            let verdicts = try await fixture.queue.jobs.reports.record(
                ReportRequest(
                    worker: fixture.worker, results: both.jobs.map { F.done($0, both) }))
            #expect(verdicts == [.accepted, .accepted])
            #expect(try await fixture.count("asset WHERE state = 'completed'") == 1)
            #expect(try await fixture.count("tally WHERE asset_id IS NOT NULL") == 0)
            #expect(try await fixture.count("event WHERE kind = 'asset.completed'") == 1)
        }
    }

    @Test func aListWithAMissingBatchIsNotTakenAsWhole() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.title("t")])
            let grant = try await fixture.lease()
            let some = Self.batch(fixture, grant, Self.segments(2))
            #expect(try await fixture.queue.jobs.segments.add(some) == .accepted)
            var done = F.done(grant.jobs[0], grant)
            done.segments = 3
            await #expect(throws: Failure.self) { try await fixture.report([done]) }
            #expect(try await fixture.count("job WHERE kind = 'resolve'") == 1)
        }
    }

    @Test func aLaterTryReplacesWhatAnEarlierOneListed() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t")])
            let first = try await fixture.lease()
            let long = Self.batch(fixture, first, Self.segments(9))
            #expect(try await fixture.queue.jobs.segments.add(long) == .accepted)
            try await fixture.expireLeases()
            let second = try await fixture.lease()
            #expect(try await fixture.queue.jobs.segments.add(long) == .stale)
            let short = Self.batch(fixture, second, Self.segments(4))
            #expect(try await fixture.queue.jobs.segments.add(short) == .accepted)
            var done = F.done(second.jobs[0], second)
            done.segments = 4
            #expect(try await fixture.report([done]) == [.accepted])
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.segmentsDone == 4)
        }
    }

    @Test func oneFailedSegmentFailsTheTitleAndNoOther() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t"), F.file("f")])
            let grant = try await fixture.lease(1)
            let batch = Self.batch(fixture, grant, Self.segments(3))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            var resolved = F.done(grant.jobs[0], grant)
            resolved.segments = 3
            _ = try await fixture.report([resolved])
            let work = try await fixture.lease()
            _ = try await fixture.report(
                work.jobs.map { job in
                    job.key.hasSuffix("1.ts")
                        ? F.failed(job, work, "origin.http.404") : F.done(job, work)
                })
            try await fixture.drain()
            let assets = try await fixture.assets(of: catalog)
            #expect(assets.map(\.state) == [.failed, .completed])
            #expect(assets[0].segmentsDone == 2)
            #expect(assets[0].failure?.code == "origin.http.404")
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .failed)

            // Submitted again, only what is missing is fetched of it; the file is checked.
            try await fixture.submit([F.title("t"), F.file("f")])
            let again = try await fixture.drain()
            let fetched = again.filter { $0.kind == .fetch }
            #expect(fetched.filter { $0.previous == nil }.map(\.key) == ["cdn.test/t/1.ts"])
            #expect(fetched.filter { $0.previous != nil }.map(\.key) == ["origin.test/files/f"])
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func aTitleWhosePlaylistChangedIsResolvedAgainNextTime() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t")])
            let resolve = try await fixture.lease()
            let batch = Self.batch(fixture, resolve, Self.segments(2))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            var resolved = F.done(resolve.jobs[0], resolve)
            resolved.segments = 2
            _ = try await fixture.report([resolved])
            for _ in 1...3 {
                let work = try await fixture.lease()
                _ = try await fixture.report(
                    work.jobs.map { job in
                        job.key.hasSuffix("1.ts")
                            ? F.failed(job, work, "manifest.changed") : F.done(job, work)
                    })
            }
            try await fixture.drain()
            #expect(try await fixture.assets(of: catalog)[0].failure?.code == "manifest.changed")
            try await fixture.submit([F.title("t")])
            #expect(try await fixture.lease().jobs.map(\.kind) == [.resolve])
        }
    }

    @Test func aManifestThatCannotBeReadFailsItsAsset() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t")])
            let grant = try await fixture.lease()
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "manifest.live")])
            try await fixture.drain()
            #expect(try await fixture.assets(of: catalog)[0].failure?.code == "manifest.live")
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .failed)
            // The next start reads the manifest again.
            try await fixture.submit([F.title("t")])
            #expect(try await fixture.lease().jobs.map(\.kind) == [.resolve])
        }
    }
}
