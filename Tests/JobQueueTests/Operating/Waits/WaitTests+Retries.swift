import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

extension WaitTests {
    /// Two catalogs: a worker holds jobs of the first one, and the second one's are tried again.
    private func retrying(_ fixture: F) async throws -> CatalogID {
        let catalog = try await fixture.submit([F.file("x")], catalog: "second")
        let failing = try await fixture.lease()
        _ = try await fixture.report([F.failed(failing.jobs[0], failing, "origin.http.503")])
        try await delay(fixture, seconds: 60)
        try await fixture.submit((0..<3).map { F.file("f\($0)") }, catalog: "first", priority: 9)
        let held = try await fixture.lease(3)
        #expect(held.jobs.allSatisfy { $0.key.hasPrefix("origin.test/files/f") })
        try await beat(fixture, leases: [held.lease ?? ""], active: 3)
        return catalog
    }

    private func delay(_ fixture: F, seconds: Double) async throws {
        try await fixture.pool.query(
            "UPDATE delayed_job SET available_at = now() + make_interval(secs => $1)",
            [.double(seconds)])
    }

    /// Coordinators look for what is due each second: until then nothing waits for other catalogs.
    @Test func aRetryThatIsJustDueIsARetry() async throws {
        try await F.with { fixture in
            let catalog = try await retrying(fixture)
            for seconds in [3_600.0, -0.1] {
                try await delay(fixture, seconds: seconds)
                let waits = try await waits(fixture, catalog)
                #expect(waits.map(\.reason) == [.retry("origin.http.503")], "\(seconds)")
                #expect((waits.first?.seconds == 0) == (seconds < 0))
            }
            try await delay(fixture, seconds: -5)
            #expect(try await reasons(fixture, catalog) == [.otherCatalogs(1)])
        }
    }

    @Test func nothingWaitsForOtherCatalogsBesideAnIdleWorker() async throws {
        try await F.with { fixture in
            let catalog = try await retrying(fixture)
            try await delay(fixture, seconds: -5)
            var idle = Heartbeat(
                worker: .random(), leases: [], progress: [:], name: "w-2", activeTransfers: 0)
            idle.idleConnections = 4
            _ = try await fixture.queue.jobs.leases.heartbeat(idle)
            #expect(try await reasons(fixture, catalog) == [])
            // It takes no jobs of the queue.
            idle.queues = ["another"]
            _ = try await fixture.queue.jobs.leases.heartbeat(idle)
            #expect(try await reasons(fixture, catalog) == [.otherCatalogs(1)])
        }
    }
}
