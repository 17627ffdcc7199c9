import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Removals that wait until workers store nothing more, and what they report meanwhile.
@Suite struct RemovalWaitTests: SelectionSuite {
    private func beat(_ fixture: F, _ name: String) async throws {
        _ = try await fixture.queue.jobs.leases.heartbeat(
            Heartbeat(
                worker: fixture.worker, leases: [], progress: [:], name: name, activeTransfers: 0))
    }

    /// A catalog that was interrupted when a worker of that name held both of its files.
    private func interrupted(_ fixture: F, by name: String) async throws -> CatalogID {
        let catalog = try await fixture.submit(files(1...2))
        try await beat(fixture, name)
        _ = try await fixture.lease()
        try await fixture.queue.catalogs.submissions.interrupt(catalog)
        return catalog
    }

    /// Returns a purge job as a worker does that was given no files.
    private func giveBack(_ fixture: F) async throws {
        let grant = try await fixture.lease()
        let job = try #require(grant.jobs.first)
        let request = PurgeRequest(worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
        let page = try await fixture.queue.files.purges.next(request)
        #expect(page.files.isEmpty)
        let outcome = JobReport.Outcome.returned(afterSeconds: page.waitSeconds)
        _ = try await fixture.report([
            JobReport(job: job.id, lease: grant.lease ?? "", outcome: outcome)
        ])
    }

    private func waits(_ fixture: F, _ catalog: CatalogID) async throws -> [CatalogWait] {
        try await fixture.queue.catalogs.status(of: catalog).waits ?? []
    }

    @Test(arguments: [nil, "f1"])
    func reportThatWorkersMayBeStoring(asset: String?) async throws {
        try await F.with { fixture in
            let catalog = try await interrupted(fixture, by: "host-1")
            _ = try await apply(fixture, .remove, catalog, asset: asset)
            try await giveBack(fixture)
            let waits = try await waits(fixture, catalog)
            #expect(waits.map(\.reason) == [.workerStoring])
            #expect((5...35).contains(waits.first?.seconds ?? 0), "\(waits)")
            // A paused queue holds it back as well.
            try await fixture.pool.query("UPDATE queue SET state = 'paused'")
            let name = try #require(try await fixture.queue.sites.queues().first).name
            #expect(
                try await self.waits(fixture, catalog).map(\.reason)
                    == [.queuePaused(queue: name), .workerStoring])
        }
    }

    /// A file that cannot be deleted is tried again.
    @Test func reportRetries() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await fixture.drain()
            try await beat(fixture, "host-1")
            _ = try await apply(fixture, .remove, catalog)
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first)
            var request = PurgeRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
            request.results = try await fixture.queue.files.purges.next(request).files.map {
                PurgeRequest.Result(
                    file: $0.file, deleted: false, failure: Failure(.storagePermission, "EACCES"))
            }
            let page = try await fixture.queue.files.purges.next(request)
            let outcome = JobReport.Outcome.returned(afterSeconds: page.waitSeconds)
            _ = try await fixture.report([
                JobReport(job: job.id, lease: grant.lease ?? "", outcome: outcome)
            ])
            #expect(
                try await waits(fixture, catalog).map(\.reason) == [.retry(.storagePermission)])
        }
    }

    /// All workers of a private cluster's earlier run are gone: they store nothing.
    @Test func doNotWaitForWorkersOfAnEarlierRun() async throws {
        try await F.with { fixture in
            let catalog = try await interrupted(fixture, by: "embedded-12-worker-1")
            try await fixture.queue.workers.forgetWorkers()
            // The next run's.
            let next = WorkerID.random()
            _ = try await fixture.queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: next, leases: [], progress: [:], name: "embedded-13-worker-1",
                    activeTransfers: 0))
            _ = try await apply(fixture, .remove, catalog)
            #expect(try await fixture.count("unneeded_file WHERE due_at > now()") == 0)
            #expect(try await RemovalTests.purge(fixture).count == 2)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .removed)
        }
    }

    /// One that was seen until now may hold what it got before an interruption, whoever came since.
    @Test func waitForWorkersThatAreLeft() async throws {
        try await F.with { fixture in
            let catalog = try await interrupted(fixture, by: "host-1")
            try await fixture.queue.workers.forgetWorkers()
            // Its lease is over, and tidied; its requests may be on their way.
            try await fixture.pool.query("DELETE FROM lease")
            _ = try await apply(fixture, .remove, catalog)
            let files = "unneeded_file WHERE due_at > now() AND key NOT LIKE '.dray/%'"
            #expect(try await fixture.count(files) == 2)
        }
    }
}
