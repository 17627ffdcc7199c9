import API
import JobQueue
import Model
import TestSupport
import Testing

/// Workers that stop while they delete files.
@Suite struct PurgeEndTests: SelectionSuite {
    @Test func aWorkerThatStopsReportsAndGetsNoMoreFiles() async throws {
        try await F.with("purge_last") { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            let grant = try await fixture.lease()
            var request = PurgeRequest(
                worker: fixture.worker, job: try #require(grant.jobs.first).id,
                lease: grant.lease ?? "")
            let page = try await fixture.queue.purges.next(request)
            request.results = [PurgeRequest.Result(file: page.files[0].file, deleted: true)]
            request.isLast = true
            let last = try await fixture.queue.purges.next(request)
            #expect(last.files.isEmpty && last.waitSeconds != nil)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.totals.freedFiles == 1)
            #expect(try await fixture.count("unneeded_file") == 1)
        }
    }
}
