import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Workers that stop while they delete files.
@Suite struct PurgeEndTests: SelectionSuite {
    @Test func aWorkerThatStopsReportsAndGetsNoMoreFiles() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            let grant = try await fixture.lease()
            var request = PurgeRequest(
                worker: fixture.worker, job: try #require(grant.jobs.first).id,
                lease: grant.lease ?? "")
            let page = try await fixture.queue.files.purges.next(request)
            request.results = [PurgeRequest.Result(file: page.files[0].file, deleted: true)]
            request.isLast = true
            let last = try await fixture.queue.files.purges.next(request)
            #expect(last.files.isEmpty && last.waitSeconds != nil)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.totals.freedFiles == 1)
            #expect(try await fixture.count("unneeded_file") == 1)
        }
    }

    @Test func whatALostWorkerHasDeletedCountsAsFreed() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            // Its worker deletes f1, and is lost before it reports that.
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first)
            let request = PurgeRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
            #expect(try await fixture.queue.files.purges.next(request).files.count == 2)
            // A request that is repeated because its answer was lost is no other worker's.
            #expect(try await fixture.queue.files.purges.next(request).files.count == 2)
            #expect(try await fixture.count("unneeded_file WHERE offers = 1") == 2)
            try await fixture.expireLeases()
            try await fixture.pool.query("DELETE FROM job_loss")
            try await fixture.skipDelays()
            #expect(
                try await RemovalTests.purge(fixture, absent: ["origin.test/files/f1"]).count == 2)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.totals.freedFiles == 2)
        }
    }
}
