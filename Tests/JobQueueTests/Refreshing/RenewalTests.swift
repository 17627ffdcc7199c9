import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Signed URLs that expire: a title's manifest is read again, once for all of its segments that wait.
@Suite struct RenewalTests {
    typealias F = QueueFixture

    static func segments(_ count: Int, signature: String) -> [ResolvedSegment] {
        TitleTests.segments(count).map { segment in
            var signed = segment
            signed.url += "?Policy=p&Signature=\(signature)"
            return signed
        }
    }

    static func refused(
        _ job: Job, _ grant: LeaseGrant, _ code: FailureCode = "origin.http.403"
    ) -> JobReport {
        F.failed(job, grant, code)
    }

    /// Reads the manifest that a grant's only job is of.
    static func read(
        _ fixture: QueueFixture, _ grant: LeaseGrant, _ segments: [ResolvedSegment]
    ) async throws {
        try #require(grant.jobs.map(\.kind) == [.resolve])
        let batch = TitleTests.batch(fixture, grant, segments)
        #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
        var done = F.done(grant.jobs[0], grant)
        done.segments = segments.count
        #expect(try await fixture.report([done]) == [.accepted])
    }

    /// A title of `count` segments, all of them leased.
    static func begin(
        _ fixture: QueueFixture, _ count: Int
    ) async throws -> (CatalogID, LeaseGrant) {
        let catalog = try await fixture.submit([F.title("t")])
        try await read(fixture, try await fixture.lease(), segments(count, signature: "old"))
        let grant = try await fixture.lease()
        try #require(grant.jobs.count == count)
        return (catalog, grant)
    }

    static func failures(_ fixture: QueueFixture) async throws -> [String: String] {
        let rows = try await fixture.pool.query(
            """
            SELECT s.key, r.failure_code FROM result r JOIN segment s ON s.id = r.segment_id
            WHERE NOT r.done
            """
        ).rows
        return Dictionary(
            uniqueKeysWithValues: try rows.map { (try $0.string(0), try $0.string(1)) })
    }

    @Test func oneReadGivesAllThatWaitFreshURLs() async throws {
        try await F.with { fixture in
            let (catalog, work) = try await Self.begin(fixture, 6)
            // One is done, three are rejected in two reports, two are still fetched.
            _ = try await fixture.report([F.done(work.jobs[0], work)])
            _ = try await fixture.report(
                [
                    Self.refused(work.jobs[1], work),
                    Self.refused(work.jobs[2], work, "origin.http.410"),
                ])
            _ = try await fixture.report([Self.refused(work.jobs[3], work)])
            #expect(try await fixture.count("delayed_job WHERE refused_code IS NOT NULL") == 3)
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.url) == [F.title("t").url])
            #expect(try await fixture.lease().lease == nil)
            try await Self.read(fixture, again, Self.segments(6, signature: "new"))
            let fresh = try await fixture.lease()
            #expect(
                Set(fresh.jobs.map(\.url))
                    == Set(Self.segments(6, signature: "new")[1...3].map(\.url)))
            _ = try await fixture.report(fresh.jobs.map { F.done($0, fresh) })
            // A running one fails with its old URL: it has a fresh one by now.
            var late = Self.refused(work.jobs[4], work)
            late.refused = String(repeating: "0", count: 64)
            _ = try await fixture.report([late, F.done(work.jobs[5], work)])
            let last = try await fixture.lease()
            #expect(last.jobs.map(\.url) == [Self.segments(6, signature: "new")[4].url])
            _ = try await fixture.report([F.done(last.jobs[0], last)])
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segmentsDone == 6)
            #expect(try await fixture.assets(of: catalog)[0].retries == 4)
        }
    }

    /// A title may end before the job that reads its manifest again. A start takes that job away: it would list the
    /// segments again.
    @Test func aStartEndsAReadThatOutlivedWhatWaitedForIt() async throws {
        try await F.with { fixture in
            let (catalog, work) = try await Self.begin(fixture, 2)
            _ = try await fixture.report(
                [F.done(work.jobs[0], work), Self.refused(work.jobs[1], work)])
            let again = try await fixture.lease()
            try #require(again.jobs.map(\.kind) == [.resolve])
            let fresh = Self.segments(2, signature: "new")
            #expect(
                try await fixture.queue.jobs.segments.add(TitleTests.batch(fixture, again, fresh))
                    == .accepted)
            let last = try await fixture.lease()
            _ = try await fixture.report(last.jobs.map { F.done($0, last) })
            #expect(try await fixture.assets(of: catalog)[0].state == .completed)
            _ = try await fixture.submit([F.title("t")])
            var late = F.done(again.jobs[0], again)
            late.segments = 2
            #expect(try await fixture.report([late]) == [.stale])
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segmentsDone == 2)
            #expect(try await fixture.count("job") == 0)
        }
    }

    @Test func aURLThatIsListedAsBeforeEndsAsItWasRefused() async throws {
        try await F.with { fixture in
            let (catalog, work) = try await Self.begin(fixture, 3)
            _ = try await fixture.report(
                [F.done(work.jobs[0], work), Self.refused(work.jobs[1], work, "origin.http.401")])
            var listed = Self.segments(3, signature: "old")
            listed[2].url += "1"
            try await Self.read(fixture, try await fixture.lease(), listed)
            #expect(try await Self.failures(fixture) == [work.jobs[1].key: "origin.http.401"])
            _ = try await fixture.report([F.done(work.jobs[2], work)])
            #expect(try await fixture.assets(of: catalog)[0].state == .failed)
        }
    }

    @Test func aFreshURLThatIsRefusedHasNotExpired() async throws {
        try await F.with { fixture in
            let (catalog, work) = try await Self.begin(fixture, 2)
            _ = try await fixture.report(work.jobs.map { Self.refused($0, work) })
            try await Self.read(
                fixture, try await fixture.lease(), Self.segments(2, signature: "new"))
            let fresh = try await fixture.lease()
            _ = try await fixture.report(fresh.jobs.map { Self.refused($0, fresh) })
            #expect(try await fixture.count("job") == 0)
            let title = try await fixture.assets(of: catalog)[0]
            #expect(title.state == .failed && title.failure?.code == "origin.http.403")
        }
    }

    /// The part of the manifest that lists a segment is there, and the rest of it is still read, when its URL, which had
    /// expired by then too, is rejected. In the second round both are in one report.
    @Test(arguments: [false, true])
    func segmentsRefusedAfterTheirListingAreReadAgain(together: Bool) async throws {
        try await F.with { fixture in
            let (catalog, work) = try await Self.begin(fixture, 3)
            _ = try await fixture.report(
                [F.done(work.jobs[0], work), Self.refused(work.jobs[1], work)])
            let reading = try await fixture.lease()
            try #require(reading.jobs.map(\.kind) == [.resolve])
            let listed = Self.segments(3, signature: "brief")
            #expect(
                try await fixture.queue.jobs.segments.add(
                    TitleTests.batch(fixture, reading, listed))
                    == .accepted)
            let brief = try await fixture.lease()
            try #require(brief.jobs.map(\.url) == [listed[1].url])
            // They expired before the requests.
            try await fixture.pool.query(
                "UPDATE asset SET renewing_since = renewing_since - interval '1 minute'")
            try await fixture.pool.query(
                "UPDATE segment SET renewed_at = renewed_at - interval '30 s'")
            var done = F.done(reading.jobs[0], reading)
            done.segments = 3
            let refused = Self.refused(brief.jobs[0], brief)
            if together {
                _ = try await fixture.report([refused, done])
            } else {
                _ = try await fixture.report([refused])
                _ = try await fixture.report([done])
            }
            #expect(try await Self.failures(fixture) == [:])
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.url) == [listed[1].url])
            _ = try await fixture.report([Self.refused(again.jobs[0], again)])
            let fresh = Self.segments(3, signature: "new")
            try await Self.read(fixture, try await fixture.lease(), fresh)
            let last = try await fixture.lease()
            #expect(last.jobs.map(\.url) == [fresh[1].url])
            _ = try await fixture.report(
                [F.done(last.jobs[0], last), F.done(work.jobs[2], work)])
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func manifestsAreReadAFewTimesWithoutProgress() async throws {
        try await F.with { fixture in
            let (_, first) = try await Self.begin(fixture, 1)
            var work = first
            for number in 1...3 {
                _ = try await fixture.report([Self.refused(work.jobs[0], work)])
                try await Self.read(
                    fixture, try await fixture.lease(), Self.segments(1, signature: "\(number)"))
                work = try await fixture.lease()
                try #require(work.jobs.map(\.kind) == [.fetch])
                // It was paused for hours.
                try await fixture.pool.query(
                    "UPDATE segment SET renewed_at = renewed_at - interval '2 hours'")
            }
            _ = try await fixture.report([Self.refused(work.jobs[0], work)])
            #expect(try await Self.failures(fixture) == [work.jobs[0].key: "origin.http.403"])
            #expect(try await fixture.count("asset WHERE renewing_since IS NOT NULL") == 0)
        }
    }

    @Test func theFirstResultOfAJobCounts() async throws {
        try await F.with { fixture in
            let (_, work) = try await Self.begin(fixture, 1)
            _ = try await fixture.report(
                [F.failed(work.jobs[0], work, "origin.http.502"), Self.refused(work.jobs[0], work)])
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.kind) == [.fetch])
        }
    }

    @Test func cancellingInterruptingAndRetryingEndTheRead() async throws {
        try await F.with { fixture in
            for isCancelled in [true, false] {
                let name = isCancelled ? "cancelled" : "interrupted"
                let catalog = try await fixture.submit([F.title(name)], catalog: name)
                try await Self.read(
                    fixture, try await fixture.lease(), Self.segments(2, signature: "old"))
                let work = try await fixture.lease()
                _ = try await fixture.report(work.jobs.map { Self.refused($0, work) })
                let read = try await fixture.lease()
                try #require(read.jobs.map(\.kind) == [.resolve])
                if isCancelled {
                    _ = try await fixture.queue.catalogs.selections.apply(
                        SelectionAction(.cancel, catalog: CatalogReference(catalog)))
                } else {
                    try await fixture.queue.catalogs.submissions.interrupt(catalog)
                }
                let batch = TitleTests.batch(fixture, read, Self.segments(2, signature: "new"))
                #expect(try await fixture.queue.jobs.segments.add(batch) == .stale)
                #expect(try await fixture.count("delayed_job") == 0)
                // Tried again with the URLs that are known, then with fresh ones.
                if isCancelled {
                    _ = try await fixture.queue.catalogs.selections.apply(
                        SelectionAction(.retry, catalog: CatalogReference(catalog)))
                } else {
                    try await fixture.submit([F.title(name)], catalog: name)
                }
                let again = try await fixture.lease()
                try #require(again.jobs.map(\.kind) == [.fetch, .fetch])
                _ = try await fixture.report(again.jobs.map { Self.refused($0, again) })
                try await Self.read(
                    fixture, try await fixture.lease(), Self.segments(2, signature: "new"))
                try await fixture.drain()
                #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
            }
        }
    }

    @Test func partsOfALargeSegmentGetFreshURLs() async throws {
        try await F.with { fixture in
            let (catalog, work) = try await Self.begin(fixture, 1)
            _ = try await fixture.queue.jobs.splits.split(
                SplitRequest(
                    worker: fixture.worker, job: work.jobs[0].id, lease: work.lease ?? "",
                    multipart: .random(), totalBytes: 25, partBytes: 10,
                    validator: "\"v\""))
            let others = try await fixture.lease()
            _ = try await fixture.report(
                [Self.refused(work.jobs[0], work)] + [F.done(others.jobs[0], others, bytes: 10)]
                    + [Self.refused(others.jobs[1], others)])
            try await Self.read(
                fixture, try await fixture.lease(), Self.segments(1, signature: "new"))
            let fresh = try await fixture.lease()
            #expect(fresh.jobs.count == 2)
            #expect(Set(fresh.jobs.map(\.url)) == [Self.segments(1, signature: "new")[0].url])
            _ = try await fixture.report(
                fresh.jobs.map { F.done($0, fresh, bytes: $0.length ?? 0) })
            let verify = try await fixture.lease()
            #expect(verify.jobs.map(\.kind) == [.verify])
            _ = try await fixture.report([F.done(verify.jobs[0], verify, bytes: 25)])
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }
}
