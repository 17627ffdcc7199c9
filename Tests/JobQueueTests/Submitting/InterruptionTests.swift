import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Catalogs whose submitter disconnects once all of their assets have ended.
@Suite(.timeLimit(.minutes(2))) struct InterruptionTests {
    typealias F = QueueFixture

    private func status(_ fixture: F, _ catalog: CatalogID) async throws -> CatalogStatus {
        try await fixture.queue.catalogs.status(of: catalog)
    }

    /// Only its SHA256SUMS is left, which whoever runs next writes.
    @Test(arguments: [false, true])
    func aCatalogWithoutOpenAssetsEnds(isFailed: Bool) async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...3).map { F.file("f\($0)") })
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { job in
                    isFailed && job.id == grant.jobs.first?.id
                        ? F.failed(job, grant, "origin.http.404") : F.done(job, grant)
                })
            try await fixture.queue.catalogs.submissions.interruptAll()
            let ended = try await status(fixture, catalog)
            #expect(ended.state == (isFailed ? .failed : .completed))
            #expect(ended.totals.completed == (isFailed ? 2 : 3))
            let list = try await fixture.lease()
            #expect(list.jobs.map(\.kind) == [.checksums])
            _ = try await fixture.report(list.jobs.map { F.done($0, list) })
            try await fixture.drain()
            #expect(try await status(fixture, catalog).state == ended.state)
        }
    }

    @Test func aCatalogWithOpenAssetsIsInterrupted() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...3).map { F.file("f\($0)") })
            let grant = try await fixture.lease(2)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            let interrupted = try await status(fixture, catalog)
            #expect(interrupted.state == .interrupted && interrupted.totals.completed == 2)
            #expect(try await fixture.count("job") == 0)
            #expect(try await fixture.count("delayed_job") == 0)
        }
    }

    /// What was interrupted of it is removed: nothing of it is left to do.
    @Test func aRemovalOfTheRestEndsIt() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...3).map { F.file("f\($0)") })
            let grant = try await fixture.lease(2)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            var removal = SelectionAction(.remove, catalog: CatalogReference(catalog))
            removal.states = ["interrupted"]
            _ = try await fixture.queue.catalogs.selections.apply(removal)
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            _ = try await fixture.queue.files.purges.reconcile()
            try await RemovalTests.purge(fixture)
            try await fixture.drain()
            let ended = try await status(fixture, catalog)
            #expect(ended.state == .completed && ended.totals.completed == 2)
        }
    }
}
