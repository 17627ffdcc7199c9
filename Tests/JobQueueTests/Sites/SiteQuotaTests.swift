import API
import JobQueue
import Model
import Postgres
import Statistics
import Testing

/// A site's bandwidth as the queue shares it out among workers that come and go.
@Suite struct SiteQuotaTests {
    typealias F = QueueFixture

    /// A worker that keeps to its last quota.
    private struct Worker {
        let id = WorkerID.random()
        var leases: [LeaseGrant] = []
        /// By site; nil bytes a second for no bound.
        var kept: (number: Int64, bytesPerSecond: Int64)?
        var isBounded: Bool { kept != nil }

        mutating func take(_ shares: [SiteQuota]?) {
            for share in shares ?? [] {
                guard let number = share.number else {
                    kept = nil
                    continue
                }
                if number >= kept?.number ?? 0 { kept = (number, share.bytesPerSecond) }
            }
        }

        func beat(at site: SiteID) -> Heartbeat {
            Heartbeat(
                worker: id, leases: leases.compactMap(\.lease), progress: [:], name: "w",
                activeTransfers: 1,
                siteShares: kept.map { [SiteQuotaUse(site: site, number: $0.number)] })
        }
    }

    private static func bound(_ fixture: F, _ bytesPerSecond: Int64) async throws -> SiteID {
        try await fixture.queue.sites.configure(
            SiteSettings(site: F.site, maximumBytesPerSecond: bytesPerSecond)
        ).id
    }

    /// The time of a worker's share is over, and what it counts longer.
    private static func lapse(_ fixture: F, _ worker: WorkerID) async throws {
        try await fixture.pool.query(
            "UPDATE quota SET ends_at = now() - interval '2 seconds' WHERE worker_id = $1",
            [.uuid(worker)])
    }

    private static func lease(
        _ fixture: F, _ worker: inout Worker, isHeard: Bool = true
    ) async throws {
        let grant = try await fixture.lease(1, as: worker.id)
        guard grant.lease != nil, isHeard else { return }
        worker.leases.append(grant)
        worker.take(grant.siteShares)
    }

    private static func beat(
        _ fixture: F, _ worker: inout Worker, _ site: SiteID, isHeard: Bool = true
    ) async throws {
        let answer = try await fixture.queue.jobs.leases.heartbeat(worker.beat(at: site))
        if isHeard { worker.take(answer.siteShares) }
    }

    @Test func workersShareEquallyAndTakeWhatOthersLeave() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<50).map { F.file("f\($0)") })
            let site = try await Self.bound(fixture, 9_000)
            var workers = (0..<3).map { _ in Worker() }
            try await Self.lease(fixture, &workers[0])
            #expect(workers[0].kept?.bytesPerSecond == 9_000)
            for index in 1..<3 { try await Self.lease(fixture, &workers[index]) }
            // Nothing is left for them until the first has acknowledged its smaller quota.
            #expect(workers[1...].allSatisfy { $0.kept?.bytesPerSecond == 0 })
            for _ in 0..<3 {
                for index in workers.indices { try await Self.beat(fixture, &workers[index], site) }
            }
            #expect(workers.allSatisfy { $0.kept?.bytesPerSecond == 3_000 })
            let shown = try await fixture.queue.sites.list().sites[0].shares
            #expect(shown.map(\.bytesPerSecond) == [3_000, 3_000, 3_000])
            #expect(Set(shown.map(\.worker)) == Set(workers.map(\.id)))

            // One has finished and reports it, one has disconnected.
            let grant = workers[2].leases[0]
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) }, as: workers[2].id)
            var last = Heartbeat(
                worker: workers[2].id, leases: [], progress: [:], name: "w", activeTransfers: 0)
            last.siteShares = workers[2].kept.map {
                [SiteQuotaUse(site: site, number: $0.number, isOver: true)]
            }
            _ = try await fixture.queue.jobs.leases.heartbeat(last)
            try await Self.lapse(fixture, workers[2].id)
            try await Self.beat(fixture, &workers[0], site)
            #expect(workers[0].kept?.bytesPerSecond == 4_500)
            try await Self.lapse(fixture, workers[1].id)
            try await Self.beat(fixture, &workers[0], site)
            #expect(workers[0].kept?.bytesPerSecond == 9_000)
        }
    }

    @Test func aChangeReachesWorkersWithTheirNextHeartbeat() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<50).map { F.file("f\($0)") })
            var workers = [Worker(), Worker()]
            for index in 0..<2 { try await Self.lease(fixture, &workers[index]) }
            #expect(!workers[0].isBounded && !workers[1].isBounded)
            let site = try await Self.bound(fixture, 8_000)
            func beat() async throws -> [Int64?] {
                for index in 0..<2 { try await Self.beat(fixture, &workers[index], site) }
                return workers.map { $0.kept?.bytesPerSecond }
            }
            for _ in 0..<3 { _ = try await beat() }
            #expect(workers.map { $0.kept?.bytesPerSecond } == [4_000, 4_000])
            // Less at once, and not nothing meanwhile.
            _ = try await Self.bound(fixture, 2_000)
            #expect(try await beat() == [1_000, 1_000])
            // More once the other has acknowledged its quota.
            _ = try await Self.bound(fixture, 6_000)
            for _ in 0..<3 { _ = try await beat() }
            #expect(workers.map { $0.kept?.bytesPerSecond } == [3_000, 3_000])
            // Closed: running transfers end as they began, and no worker gets more jobs.
            let closed = try await fixture.queue.sites.configure(
                SiteSettings(site: F.site, schedule: "off"))
            #expect(closed.isClosed)
            #expect(try await beat() == [3_000, 3_000])
            #expect(try await fixture.lease(1, as: .random()).lease == nil)
            _ = try await fixture.queue.sites.configure(
                SiteSettings(site: F.site, schedule: "", maximumBytesPerSecond: 0))
            #expect(try await beat() == [nil, nil])
            #expect(try await fixture.count("quota") == 0)
        }
    }

    /// Whatever workers do and whichever answers are lost, their quotas never total more than
    /// the site may have: the largest limit since all acknowledged the present one.
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func sharesNeverSumToMore(seed: UInt64) async throws {
        try await F.with { fixture in
            var random = SeededRandom(seed: seed)
            try await fixture.submit((0..<300).map { F.file("f\($0)") })
            var bound: Int64 = 10_000
            let site = try await Self.bound(fixture, bound)
            var workers = (0..<4).map { _ in Worker() }
            var heard = Set(workers.map(\.id))
            var most = bound
            for step in 0..<150 {
                let index = Int.random(in: workers.indices, using: &random)
                let isHeard = Int.random(in: 0..<4, using: &random) > 0
                switch Int.random(in: 0..<12, using: &random) {
                case 0..<3:
                    try await Self.lease(fixture, &workers[index], isHeard: isHeard)
                    if isHeard { heard.insert(workers[index].id) }
                case 3..<9:
                    try await Self.beat(fixture, &workers[index], site, isHeard: isHeard)
                    if isHeard { heard.insert(workers[index].id) }
                case 9:
                    for grant in workers[index].leases {
                        _ = try await fixture.report(
                            grant.jobs.map { F.done($0, grant) }, as: workers[index].id)
                    }
                    workers[index].leases = []
                case 10:
                    // Killed; its shares run out.
                    try await Self.lapse(fixture, workers[index].id)
                    workers[index] = Worker()
                    heard.insert(workers[index].id)
                default:
                    bound = Int64.random(in: 1...20_000, using: &random)
                    most = max(most, bound)
                    heard = []
                    _ = try await Self.bound(fixture, bound)
                }
                // Who holds nothing fetches nothing.
                let busy = workers.filter { !$0.leases.isEmpty }
                if busy.allSatisfy({ heard.contains($0.id) }) { most = bound }
                let sum = busy.reduce(0) { $0 + ($1.kept?.bytesPerSecond ?? 0) }
                #expect(sum <= most, "step \(step): \(sum) of \(most)")
            }
        }
    }
}
