import API
import JobQueue
import Model
import Postgres
import Testing

/// Workers' reports of their work, minute by minute.
@Suite(.timeLimit(.minutes(2))) struct WorkerMinutesTests {
    typealias F = QueueFixture

    @Test func theyAreForgottenAfterAWeek() async throws {
        try await F.with("worker_minutes") { fixture in
            var heartbeat = Heartbeat(
                worker: .random(), leases: [], progress: [:], name: "w", activeTransfers: 0)
            var done = WorkDone(connections: 1, cores: 1)
            done.add(seconds: 1, bytes: 1)
            done.busySeconds = 1
            heartbeat.done = done
            _ = try await fixture.queue.leases.heartbeat(heartbeat)
            func age(_ days: Int) async throws {
                _ = try await fixture.pool.query(
                    "UPDATE worker_minute SET minute = minute - interval '\(days) days'")
                try await fixture.queue.housekeeping.tables.delete()
            }
            try await age(6)
            let week = WorkersHistory.keptSeconds
            #expect(try await fixture.queue.workers.history(seconds: week).minutes.count == 1)
            try await age(2)
            #expect(try await fixture.count("worker_minute") == 0)
        }
    }
}
