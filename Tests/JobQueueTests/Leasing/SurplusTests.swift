import API
import JobQueue
import Model
import Postgres
import Testing

/// Workers that hold more than they can begin return some of it while others are idle.
@Suite(.timeLimit(.minutes(2))) struct SurplusTests {
    typealias F = QueueFixture

    /// A heartbeat of a worker that holds jobs of one lease, or none.
    private func wanted(
        _ fixture: F, _ worker: WorkerID, _ grant: LeaseGrant? = nil, surplus: Int = 0,
        idle: Int = 0, change: (inout Heartbeat) -> Void = { _ in }
    ) async throws -> Int? {
        var heartbeat = Heartbeat(
            worker: worker, leases: [grant?.lease].compactMap(\.self), progress: [:], name: "w",
            activeTransfers: 0)
        heartbeat.surplusJobs = surplus > 0 ? surplus : nil
        heartbeat.idleConnections = idle > 0 ? idle : nil
        change(&heartbeat)
        return try await fixture.queue.leases.heartbeat(heartbeat).wantedJobs
    }

    @Test func surplusJobsAreDividedByIdleConnections() async throws {
        try await F.with("surplus") { fixture in
            _ = try await fixture.submit((0..<20).map { F.file("\($0)") })
            let (one, other, idle) = (WorkerID.random(), WorkerID.random(), WorkerID.random())
            let grants = (
                try await fixture.lease(10, as: one), try await fixture.lease(10, as: other)
            )
            #expect(try await wanted(fixture, one, grants.0, surplus: 6) == nil)
            _ = try await wanted(fixture, idle, idle: 4)
            #expect(try await wanted(fixture, one, grants.0, surplus: 6) == 4)
            #expect(try await wanted(fixture, one, grants.0, surplus: 3) == 3)
            #expect(try await wanted(fixture, one, grants.0) == nil)
            _ = try await wanted(fixture, one, grants.0, surplus: 3)
            // Two thirds of them are its own.
            #expect(try await wanted(fixture, other, grants.1, surplus: 6) == 3)
            _ = try await wanted(fixture, idle)
            #expect(try await wanted(fixture, other, grants.1, surplus: 6) == nil)
        }
    }

    @Test func idleWorkersThatCannotTakeTheJobsDoNotCount() async throws {
        try await F.with("surplus_queues") { fixture in
            _ = try await fixture.submit([F.file("a"), F.file("b")])
            let grant = try await fixture.lease()
            func isWanted(_ change: (inout Heartbeat) -> Void) async throws -> Bool {
                let idle = WorkerID.random()
                _ = try await wanted(fixture, idle, idle: 1, change: change)
                let count = try await wanted(fixture, fixture.worker, grant, surplus: 1)
                _ = try await wanted(fixture, idle)
                return count == 1
            }
            #expect(try await isWanted { _ in })
            #expect(try await !isWanted { $0.queues = ["another"] })
            #expect(try await !isWanted { $0.roots = ["file:///srv/other"] })
            #expect(try await isWanted { $0.roots = ["file:///srv"] })
            #expect(try await !isWanted { $0.trouble = Failure(.clusterUnauthorized, "no token") })
            let site = try #require(grant.site?.id)
            #expect(try await !isWanted { $0.refusedSites = [site] })
            _ = try await wanted(fixture, .random(), idle: 1)
            try await fixture.pool.query(
                "UPDATE worker SET last_seen = last_seen - interval '41 s' WHERE idle_connections > 0"
            )
            #expect(try await wanted(fixture, fixture.worker, grant, surplus: 1) == nil)
        }
    }

    @Test func ofAnOriginWithALimitOfRequestsIdleWorkersKeepTheirPart() async throws {
        try await F.with("surplus_rate") { fixture in
            _ = try await fixture.submit((0..<60).map { F.file("\($0)") })
            try await fixture.queue.origins.setLimits(
                OriginLimitsChange(origin: nil, limits: OriginLimits(requestsPerSecond: 12)))
            let idle = (0..<3).map { _ in WorkerID.random() }
            for worker in idle { _ = try await wanted(fixture, worker, idle: 4) }
            // Two seconds of a quarter.
            #expect(try await fixture.lease(60).jobs.count == 6)
            for worker in idle { _ = try await wanted(fixture, worker) }
            // Two seconds of all, without those that it holds.
            #expect(try await fixture.lease(60).jobs.count == 18)
        }
    }
}
