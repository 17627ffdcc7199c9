import API
import JobQueue
import Model
import Postgres
import Testing

/// Workers that hold more than they can begin return some of it while others are idle.
@Suite(.timeLimit(.minutes(2))) struct SurplusTests {
    typealias F = QueueFixture

    /// A heartbeat of a worker that holds jobs of one lease, or none. It stays young, however long the
    /// test takes.
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
        let answer = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
        try await fixture.pool.query(
            "UPDATE worker SET last_seen = now() + interval '1 day' WHERE id = $1", [.uuid(worker)])
        return answer.wantedJobs
    }

    @Test func surplusJobsAreDividedByIdleConnections() async throws {
        try await F.with { fixture in
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
            // Two thirds of them are its own, rounded either way.
            let part = try await wanted(fixture, other, grants.1, surplus: 6)
            #expect(part == 2 || part == 3)
            _ = try await wanted(fixture, idle)
            #expect(try await wanted(fixture, other, grants.1, surplus: 6) == nil)
        }
    }

    /// A hundred workers hold up to 300 jobs each that they cannot begin for a moment.
    @Test(arguments: [1, 7, 64, 250, 100_000])
    func allReturnAsManyAsIdleConnectionsCanTake(connections: Int) async throws {
        try await F.with { fixture in
            _ = try await fixture.submit((0..<100).map { F.file("\($0)") })
            let idle = WorkerID.random()
            var holders: [(worker: WorkerID, grant: LeaseGrant, surplus: Int)] = []
            for number in 0..<100 {
                let worker = WorkerID.random()
                let grant = try await fixture.lease(1, as: worker)
                holders.append((worker, grant, 201 + number))
                _ = try await wanted(fixture, worker, grant, surplus: 201 + number)
            }
            // The heartbeats of the rest of the test count, however long it takes.
            try await fixture.pool.query("UPDATE worker SET last_seen = now() + interval '1 hour'")
            _ = try await wanted(fixture, idle, idle: connections)
            try await fixture.pool.query("UPDATE worker SET last_seen = now() + interval '1 hour'")
            var parts: [Int] = []
            for holder in holders {
                parts.append(
                    try await wanted(
                        fixture, holder.worker, holder.grant, surplus: holder.surplus) ?? 0)
                try await fixture.pool.query(
                    "UPDATE worker SET last_seen = now() + interval '1 hour'")
            }
            let all = holders.reduce(0) { $0 + $1.surplus }
            #expect(parts.reduce(0, +) == min(connections, all))
            for (part, holder) in zip(parts, holders) {
                let exact = Double(min(connections, all) * holder.surplus) / Double(all)
                #expect(abs(Double(part) - exact) < 1)
            }
        }
    }

    /// It may have been killed. If it lives, it takes the job, and reports the other connections.
    @Test func anIdleWorkerThatWasSilentForAWhileCountsAsOneConnection() async throws {
        try await F.with { fixture in
            _ = try await fixture.submit((0..<10).map { F.file("\($0)") })
            let grant = try await fixture.lease(10)
            let idle = (WorkerID.random(), WorkerID.random())
            for worker in [idle.0, idle.1] { _ = try await wanted(fixture, worker, idle: 4) }
            #expect(try await wanted(fixture, fixture.worker, grant, surplus: 9) == 8)
            try await fixture.pool.query(
                "UPDATE worker SET last_seen = now() - interval '6 s' WHERE idle_connections > 0"
            )
            #expect(try await wanted(fixture, fixture.worker, grant, surplus: 9) == 2)
            _ = try await wanted(fixture, idle.0, idle: 3)
            #expect(try await wanted(fixture, fixture.worker, grant, surplus: 9) == 4)
        }
    }

    /// Its jobs are of no use to the idle worker: the other one's part is not smaller for them.
    @Test func surplusOfOtherQueuesDoesNotCount() async throws {
        try await F.with { fixture in
            _ = try await fixture.submit((0..<4).map { F.file("\($0)") })
            let grant = try await fixture.lease(4)
            _ = try await wanted(fixture, .random(), surplus: 1_000) { $0.queues = ["another"] }
            _ = try await wanted(fixture, .random(), idle: 2)
            #expect(try await wanted(fixture, fixture.worker, grant, surplus: 3) == 2)
        }
    }

    @Test func idleWorkersThatCannotTakeTheJobsDoNotCount() async throws {
        try await F.with { fixture in
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
            #expect(try await !isWanted { $0.issue = Failure(.clusterUnauthorized, "no token") })
            let site = try #require(grant.site?.id)
            #expect(try await !isWanted { $0.refusedSites = [site] })
            _ = try await wanted(fixture, .random(), idle: 1)
            try await fixture.pool.query(
                "UPDATE worker SET last_seen = now() - interval '41 s' WHERE idle_connections > 0"
            )
            #expect(try await wanted(fixture, fixture.worker, grant, surplus: 1) == nil)
        }
    }

    @Test func ofAnOriginWithALimitOfRequestsIdleWorkersKeepTheirPart() async throws {
        try await F.with { fixture in
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
