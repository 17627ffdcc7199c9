import API
import JobQueue
import Model
import Postgres
import Testing

/// Workers' reports of their work, minute by minute.
@Suite(.timeLimit(.minutes(2))) struct WorkerMinutesTests {
    typealias F = QueueFixture

    @Test func theyAreForgottenAfterAWeek() async throws {
        try await F.with { fixture in
            var heartbeat = Heartbeat(
                worker: .random(), leases: [], progress: [:], name: "w", activeTransfers: 0)
            var done = WorkDone(connections: 1, cores: 1)
            done.add(seconds: 1, bytes: 1)
            done.busySeconds = 1
            heartbeat.done = done
            _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
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

    @Test func aWorkerThatStoresNothingIsStuck() async throws {
        try await F.with { fixture in
            _ = try await fixture.submit([F.file("a"), F.file("b")])
            let grant = try await fixture.lease()
            var heartbeat = Heartbeat(
                worker: fixture.worker, leases: [try #require(grant.lease)], progress: [:],
                name: "w", activeTransfers: 2)
            func status() async throws -> ClusterStatus.WorkerStatus {
                _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
                return try #require(
                    try await fixture.queue.workers.clusterStatus().workers.first)
            }
            #expect(try await status().leases == 1)
            #expect(try await !status().isStuck)
            try await fixture.pool.query(
                "UPDATE lease SET granted_at = granted_at - interval '6 min'")
            let stuck = try await status()
            #expect(stuck.isStuck && stuck.resultSeconds == nil)
            var done = WorkDone(connections: 1, cores: 1)
            done.add(seconds: 1, bytes: 1)
            heartbeat.done = done
            #expect(try await !status().isStuck)
            heartbeat.done = nil
            try await fixture.pool.query(
                "UPDATE worker_minute SET minute = minute - interval '7 min'")
            let again = try await status()
            #expect(again.isStuck && (again.resultSeconds ?? 0) >= 300)
            // What keeps it from working is named instead.
            heartbeat.issue = Failure(.clusterUnauthorized, "no token")
            #expect(try await !status().isStuck)
        }
    }
}
