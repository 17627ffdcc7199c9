import API
import JobQueue
import Model
import Postgres
import Testing

/// Workers' reports of their work for runs of catalogs.
@Suite(.timeLimit(.minutes(2))) struct RunWorkTests {
    typealias F = QueueFixture

    private func report(
        _ fixture: F, _ run: RunID, seconds: [Double], connections: Int = 2, age: Double = 1_000,
        as worker: WorkerID? = nil
    ) async throws {
        var work = RunWork(run: run, connections: connections)
        for value in seconds { work.add(seconds: value) }
        work.connectionSeconds = seconds.reduce(0, +) + 1
        work.ageSeconds = age
        var heartbeat = Heartbeat(
            worker: worker ?? fixture.worker, leases: [], progress: [:], name: "w",
            activeTransfers: 0)
        heartbeat.runs = [work]
        _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
    }

    @Test func workIsOfTheLastRunOfItsCatalog() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a"), F.file("b")])
            let grant = try await fixture.lease()
            let run = try #require(grant.jobs.first?.run)
            #expect(grant.jobs.allSatisfy { $0.run == run })
            #expect(try await fixture.queue.workers.work(for: catalog).workers == 0)
            try await report(fixture, run, seconds: [2])
            try await report(fixture, run, seconds: [2, 4])
            // One that comes late reports nothing new.
            try await report(fixture, run, seconds: [2])
            try await report(fixture, run, seconds: [3], connections: 4, age: 500, as: .random())
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            // Its SHA256SUMS.
            let last = try await fixture.lease()
            _ = try await fixture.report(last.jobs.map { F.done($0, last) })
            let state = try await fixture.queue.catalogs.status(of: catalog, withActive: false)
                .state
            #expect(state == .completed)
            let work = try await fixture.queue.workers.work(for: catalog)
            #expect(work.workers == 2 && work.connections == 6 && work.fetches == 3)
            #expect(work.seconds == 9 && work.seconds2 == 29 && work.usedSeconds == 11)
            // Twice a thousand seconds and four times half as many, and what the test took.
            #expect((4_000...4_600).contains(work.connectionSeconds), "\(work.connectionSeconds)")

            // Another catalog's work, and that of another run, is not of it.
            let other = try await fixture.submit([F.file("c")], catalog: "other")
            let others = try await fixture.lease()
            #expect(others.jobs.map(\.run) != [run])
            try await report(fixture, try #require(others.jobs.first?.run), seconds: [1])
            #expect(try await fixture.queue.workers.work(for: catalog) == work)
            #expect(try await fixture.queue.workers.work(for: other).fetches == 1)
            _ = try await fixture.submit([F.file("a"), F.file("d")])
            #expect(try await fixture.queue.workers.work(for: catalog).workers == 0)
            await #expect(throws: Failure.self) {
                _ = try await fixture.queue.workers.work(for: CatalogID(999))
            }
        }
    }

    @Test func itIsForgottenAfterAWeek() async throws {
        try await F.with { fixture in
            try await report(fixture, RunID(1), seconds: [1])
            try await fixture.pool.query(
                "UPDATE run_work SET reported_at = now() - interval '8 days'")
            try await fixture.queue.housekeeping.tables.delete()
            #expect(try await fixture.count("run_work") == 0)
        }
    }
}
