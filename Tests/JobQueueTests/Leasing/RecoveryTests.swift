import API
import JobQueue
import Model
import TestSupport
import Testing

/// Ways back to a whole catalog after something was cut short or went wrong for good.
@Suite struct RecoveryTests {
    typealias F = QueueFixture

    @Test(arguments: [true, false])
    func anAssetThatNeverStartedIsStartedLater(isInterrupted: Bool) async throws {
        try await F.with { fixture in
            let first = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                [F.file("a")], to: first.id, generation: first.generation)
            if isInterrupted {
                try await fixture.queue.catalogs.submissions.interrupt(first.id)
            } else {
                // The submitter vanished before its start; another one named something else.
                try await fixture.submit([F.file("b")])
                try await fixture.drain()
            }
            let catalog = try await fixture.submit([F.file("a")])
            #expect(try await fixture.drain().map(\.kind) == [.fetch, .checksums])
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func aLeaseThatIsReleasedUnseenHoldsNothing() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<3).map { F.file("f\($0)") })
            let request = LeaseRequest(
                worker: fixture.worker, queues: [], maxJobs: 2, waitMilliseconds: 0)
            let (early, late) = (LeaseID.random(), LeaseID.random())
            // Before it is granted: it never is.
            try await fixture.queue.jobs.leases.release(
                LeaseRelease(worker: fixture.worker, lease: early))
            #expect(try await fixture.queue.jobs.claims.lease(request, as: early).lease == nil)
            let grant = try await fixture.queue.jobs.claims.lease(request, as: late)
            #expect(grant.jobs.count == 2)
            // Others cannot release it.
            try await fixture.queue.jobs.leases.release(
                LeaseRelease(worker: .random(), lease: late))
            #expect(try await fixture.queue.sites.queues().map(\.leased) == [2])
            for _ in 0..<2 {
                try await fixture.queue.jobs.leases.release(
                    LeaseRelease(worker: fixture.worker, lease: late))
                #expect(try await fixture.queue.sites.queues().map(\.leased) == [0])
            }
            #expect(
                try await fixture.report(grant.jobs.map { F.done($0, grant) }) == [.stale, .stale])
            // No attempt was used up.
            let again = try await fixture.lease(100)
            #expect(again.jobs.count == 3 && again.jobs.allSatisfy { $0.attempt == 1 })
        }
    }

    @Test func aCheckThatWasInterruptedIsDoneAgain() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await fixture.drain()
            try await fixture.submit([F.file("a")])
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            try await fixture.submit([F.file("a")])
            #expect(try await fixture.drain().map(\.kind) == [.fetch, .checksums])
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func aNewNameForItsFileDoesNotDelayRunningJobs() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            var moved = F.file("a")
            moved.key = "elsewhere/a"
            let next = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                [moved], to: catalog, generation: next.generation)
            // The list of the old directory is written all the same; the new one's comes later.
            #expect(try await fixture.drain().map(\.key).last == "origin.test/files")
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
            try await fixture.queue.catalogs.submissions.start(catalog, generation: next.generation)
            #expect(try await fixture.drain().map(\.key) == ["elsewhere/a", "elsewhere"])
        }
    }

    @Test func aFileSplitAgainIsVerifiedAgain() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            try await fixture.drain()
            try await fixture.submit([F.file("large")])
            let (first, _) = try await Self.split(fixture)
            _ = try await fixture.report([
                F.done(first.jobs[0], first, bytes: SplitTests.part)
            ])
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            try await fixture.submit([F.file("large")])
            let rest = try await fixture.lease()
            _ = try await fixture.report([F.done(rest.jobs[0], rest, bytes: SplitTests.part)])
            #expect(try await fixture.assets(of: catalog)[0].state == .verifying)
            #expect(try await fixture.drain().map(\.kind) == [.verify, .checksums])
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    /// Splits the one file of a catalog into two parts; the grants of its first and second part.
    private static func split(
        _ fixture: QueueFixture
    ) async throws -> (LeaseGrant, LeaseGrant) {
        let first = try await fixture.lease(1)
        let request = SplitTests.request(
            fixture, first, total: 2 * SplitTests.part, multipart: .random())
        #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
        return (first, try await fixture.lease(1))
    }

    @Test func aFileIsFetchedAgainAfterAPartFailed() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            let (first, second) = try await Self.split(fixture)
            _ = try await fixture.report([F.failed(first.jobs[0], first, "origin.http.404")])
            let changed = F.failed(second.jobs[0], second, "content.changed")
            #expect(try await fixture.report([changed]) == [.accepted])
            let anew = try await fixture.lease()
            #expect(anew.jobs.map(\.offset) == [nil])
            _ = try await fixture.report([F.done(anew.jobs[0], anew)])
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segmentsFailed == 0)
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .completed && asset.failure == nil)
        }
    }

    @Test func partsThatAreThrownAwayWereNotReused() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            let (first, _) = try await Self.split(fixture)
            _ = try await fixture.report([
                F.done(first.jobs[0], first, bytes: SplitTests.part)
            ])
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            try await fixture.submit([F.file("large")])
            let before = try await fixture.queue.catalogs.status(of: catalog).totals
            #expect(before.adoptedBytes == SplitTests.part)
            let rest = try await fixture.lease()
            #expect(rest.jobs.map(\.offset) == [SplitTests.part])
            _ = try await fixture.report([F.failed(rest.jobs[0], rest, "content.changed")])
            try await fixture.drain()
            let totals = try await fixture.queue.catalogs.status(of: catalog).totals
            #expect(totals.completed == 1 && totals.bytes == 10 && totals.adoptedBytes == 0)
        }
    }

    @Test func aFileWhosePartsDidNotFitIsRetriedWhenSubmittedAgain() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            while try await fixture.queue.catalogs.status(of: catalog).totals.failed == 0 {
                let (first, second) = try await Self.split(fixture)
                for part in [first, second] {
                    _ = try await fixture.report([
                        F.done(part.jobs[0], part, bytes: SplitTests.part)
                    ])
                }
                let verify = try await fixture.lease(1)
                _ = try await fixture.report([
                    F.failed(verify.jobs[0], verify, "integrity.digestMismatch")
                ])
            }
            try await fixture.drain()
            try await fixture.submit([F.file("large")])
            let verify = try await fixture.lease(1)
            #expect(verify.jobs.map(\.kind) == [.verify])
            _ = try await fixture.report([
                F.failed(verify.jobs[0], verify, "integrity.digestMismatch")
            ])
            #expect(try await fixture.drain().map(\.kind) == [.fetch, .checksums])
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }
}
