import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Limits of origins as the queue shares them out, and origins that fail.
@Suite struct OriginTests {
    typealias F = QueueFixture

    private static func limit(_ fixture: QueueFixture, _ what: String) async throws {
        try await fixture.pool.query(
            "UPDATE origin SET has_own_limits = true, \(what) WHERE url = 'http://origin.test'")
    }

    private static func submit(_ fixture: QueueFixture, _ count: Int) async throws {
        try await fixture.submit((0..<count).map { F.file("\($0)") })
    }

    @Test func sharesOfConnectionsNeverExceedTheLimit() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 2_000)
            try await Self.limit(fixture, "max_connections = 4")
            let workers = (0..<3).map { _ in WorkerID.random() }
            let first = try await fixture.lease(1_000, as: workers[0])
            #expect(first.shares?.map(\.connections) == [4])
            #expect((1...64).contains(first.jobs.count))
            // The second gets jobs, and nothing of the limit before the first needs less of it.
            let second = try await fixture.lease(1_000, as: workers[1])
            #expect(second.shares?.map(\.connections) == [0] && second.jobs.count > 1)
            func beat(
                _ worker: Int, _ lease: LeaseGrant, _ number: Int64?, using connections: Int
            ) async throws -> OriginQuota? {
                var beat = Heartbeat(
                    worker: workers[worker], leases: [lease.lease ?? ""], progress: [:],
                    name: "w", activeTransfers: 4)
                beat.originShares = number.map { number in
                    [
                        OriginQuotaUse(
                            origin: "http://origin.test", number: number, connections: connections)
                    ]
                }
                return try await fixture.queue.jobs.leases.heartbeat(beat).shares?.first
            }
            let smaller = try await beat(0, first, first.shares?[0].number, using: 4)
            #expect(smaller?.connections == 2)
            // It has not acknowledged it, then one earlier transfer still runs.
            #expect(try await beat(1, second, nil, using: 0)?.connections == 0)
            _ = try await beat(0, first, smaller?.number, using: 3)
            #expect(try await beat(1, second, nil, using: 0)?.connections == 1)
            _ = try await beat(0, first, smaller?.number, using: 2)
            #expect(try await beat(1, second, nil, using: 0)?.connections == 2)
        }
    }

    /// A worker whose reports are missing, as one of an earlier version's, goes by no grant that is older than a lease.
    @Test func whatIsNotReportedIsFreeAfterALease() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 2_000)
            try await Self.limit(fixture, "max_connections = 4")
            let workers = (0..<2).map { _ in WorkerID.random() }
            let leases = [
                try await fixture.lease(1_000, as: workers[0]),
                try await fixture.lease(1_000, as: workers[1]),
            ]
            func beat(_ worker: Int) async throws -> Int? {
                try await fixture.queue.jobs.leases.heartbeat(
                    Heartbeat(
                        worker: workers[worker], leases: [leases[worker].lease ?? ""],
                        progress: [:], name: "w", activeTransfers: 4)
                ).shares?.first?.connections
            }
            #expect(try await beat(0) == 2)
            #expect(try await beat(0) == 2)
            #expect(try await beat(1) == 0)
            try await fixture.pool.query(
                "UPDATE quota SET held_until = held_until - interval '40 seconds'")
            #expect(try await beat(0) == 2)
            #expect(try await beat(1) == 2)
        }
    }

    /// Each user has a connection: there are no more users than connections.
    @Test func whoeverCanHaveNothingGetsNoJobs() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 2_000)
            try await Self.limit(fixture, "max_connections = 2")
            let workers = (0..<3).map { _ in WorkerID.random() }
            let first = try await fixture.lease(10, as: workers[0])
            #expect(try await fixture.lease(10, as: workers[1]).jobs.count > 0)
            #expect(try await fixture.lease(10, as: workers[2]).lease == nil)
            #expect(try await fixture.count("quota") == 2)
            // One has no more to do there: the third takes its place.
            _ = try await fixture.report(first.jobs.map { F.done($0, first) }, as: workers[0])
            var beat = Heartbeat(
                worker: workers[0], leases: [], progress: [:], name: "w", activeTransfers: 0)
            beat.originShares = [
                OriginQuotaUse(
                    origin: "http://origin.test", number: first.shares?[0].number ?? 0,
                    isOver: true)
            ]
            _ = try await fixture.queue.jobs.leases.heartbeat(beat)
            #expect(try await fixture.lease(10, as: workers[2]).jobs.count > 0)
        }
    }

    /// An empty lane whose origin has limits makes no worker a user.
    @Test func aClaimWithoutJobsLeavesNoQuota() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 3)
            try await Self.limit(fixture, "max_connections = 2")
            let first = try await fixture.lease(3)
            #expect(first.jobs.count == 3)
            #expect(try await fixture.lease(10, as: .random()).lease == nil)
            #expect(try await fixture.count("quota") == 1)
        }
    }

    @Test func aWorkerThatHoldsNothingHasNoShare() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 200)
            try await Self.limit(fixture, "max_connections = 1")
            let first = try await fixture.lease(4)
            #expect(first.jobs.count == 4)
            let other = WorkerID.random()
            #expect(try await fixture.lease(4, as: other).lease == nil)
            // While it holds jobs nothing ends.
            #expect(try await !fixture.queue.sites.quotas.end())
            _ = try await fixture.report(first.jobs.map { F.done($0, first) })
            // It has gone without a word: housekeeping sees to it.
            #expect(try await fixture.queue.sites.quotas.end())
            // Its requests of the last second count for a second more.
            #expect(try await fixture.lease(4, as: other).shares?.map(\.connections) == [0])
            try await fixture.pool.query(
                "UPDATE quota SET ends_at = ends_at - interval '2 seconds' "
                    + "WHERE held_connections > 0")
            let beat = Heartbeat(
                worker: other, leases: [], progress: [:], name: "w", activeTransfers: 1,
                origins: [
                    OriginReport(
                        origin: "http://origin.test", concurrency: 1, bytesPerSecond: 0,
                        decision: "held", reason: "", active: 0, waiting: 4)
                ])
            #expect(
                try await fixture.queue.jobs.leases.heartbeat(beat).shares?.map(\.connections) == [
                    1
                ])
        }
    }

    @Test func requestsASecondAreSharedOutWhole() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 500)
            try await Self.limit(fixture, "requests_per_second = 5")
            let workers = (0..<3).map { _ in WorkerID.random() }
            var rates: [Double] = []
            for worker in workers {
                let grant = try await fixture.lease(100, as: worker)
                rates += grant.shares?.compactMap(\.requestsPerSecond) ?? []
                #expect(grant.jobs.count <= 25)
            }
            #expect(rates.reduce(0, +) <= 5 && rates.allSatisfy { $0 == $0.rounded() })
        }
    }

    /// All by the short way: the long one is one transaction, and ends with the resolution that is rejected.
    @Test func resultsOfOriginsWhoseJobsLieBetweenEachOtherAllCount() async throws {
        try await F.with { fixture in
            let files = (0..<40).map { number in
                AssetSubmission(
                    name: "\(number)", url: "http://o\(number % 3).test/\(number)", kind: .file,
                    key: "o\(number % 3).test/\(number)")
            }
            try await fixture.submit(files + [F.title("t")])
            let grant = try await fixture.lease(100)
            let fetches = grant.jobs.filter { $0.kind == .fetch }
            try #require(fetches.count == 40 && grant.jobs.count == 41)
            let numbers = Dictionary(grouping: fetches) { $0.key.prefix { $0 != "/" } }
                .mapValues { $0.map(\.id.rawValue) }
            let spans = numbers.values.compactMap { numbers in
                numbers.min().flatMap { least in numbers.max().map { least...$0 } }
            }
            try #require(spans.count == 3 && spans[0].overlaps(spans[1]))
            let reports = grant.jobs.map { job in
                var report = F.done(job, grant)
                if job.kind == .resolve { report.segments = 3 }
                return report
            }
            await #expect(throws: Failure.self) { try await fixture.report(reports) }
            try await fixture.fold()
            let status = try await fixture.queue.workers.clusterStatus().catalogs[0]
            #expect(status.totals.segmentsDone == 40)
        }
    }

    /// Of the origins of a catalog those count that are still to serve something.
    @Test func anOriginThatHasServedAllDoesNotHideTheOthers() async throws {
        try await F.with { fixture in
            let well = AssetSubmission(
                name: "well", url: "http://well.test/a", kind: .file, key: "well.test/a")
            try await fixture.submit((0..<30).map { F.file("\($0)") } + [well])
            let grant = try await fixture.lease(100)
            try #require(grant.jobs.count == 31)
            let isWell = { (job: Job) in job.key.hasPrefix("well.test/") }
            let others = grant.jobs.filter { !isWell($0) }
            _ = try await fixture.report(
                others.dropLast().map { F.failed($0, grant, "origin.connect") })
            // Both lanes have jobs that a worker holds.
            let status = { try await fixture.queue.workers.clusterStatus().catalogs[0] }
            #expect(try await status().issue == nil)
            _ = try await fixture.report(grant.jobs.filter(isWell).map { F.done($0, grant) })
            #expect(
                try await status().issue == Failure("origin.connect", "http://origin.test"))
            #expect(try await status().issueSeconds.map { (0..<60).contains($0) } == true)
            // It ended long ago, and no worker has tried since.
            try await fixture.pool.query(
                "UPDATE origin SET cooldown_until = now() - interval '1 minute' WHERE breaker = 'open'"
            )
            #expect(try await status().issue == nil)
        }
    }

    @Test func twentyFailuresInARowLeaveAnOriginAloneUntilOneJobSucceeds() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 100)
            let grant = try await fixture.lease(20)
            _ = try await fixture.report(grant.jobs.map { F.failed($0, grant, "origin.connect") })
            try await fixture.skipDelays()
            #expect(try await fixture.lease(10).lease == nil)
            // The catalog's status reports why it waits.
            let issue = try await fixture.queue.workers.clusterStatus().catalogs[0].issue
            #expect(issue == Failure("origin.connect", "http://origin.test"))
            try await fixture.skipCooldowns()
            // One job tries it; no worker gets another meanwhile.
            let probe = try await fixture.lease(10)
            #expect(probe.jobs.count == 1)
            #expect(try await fixture.lease(10).lease == nil)
            _ = try await fixture.report([F.failed(probe.jobs[0], probe, "origin.timeout")])
            #expect(
                try await fixture.queue.origins.cooldowns().first.map { $0.seconds > 5 } == true)
            try await fixture.skipCooldowns()
            let second = try await fixture.lease(10)
            #expect(second.jobs.count == 1)
            _ = try await fixture.report([F.done(second.jobs[0], second)])
            #expect(try await fixture.lease(10).jobs.count == 10)
            #expect(try await fixture.queue.workers.clusterStatus().catalogs[0].issue == nil)
            let decisions = try await fixture.pool.query(
                "SELECT decision FROM origin_decision ORDER BY id"
            ).rows.map { try $0.string(0) }
            #expect(decisions == ["open", "halfOpen", "open", "halfOpen", "closed"])
        }
    }

    @Test func aCatalogOfAnOriginThatStaysDownEnds() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 60)
            var rounds = 0
            while rounds < 200 {
                rounds += 1
                try await fixture.skipDelays()
                try await fixture.skipCooldowns()
                let grant = try await fixture.lease(20)
                guard grant.lease != nil else { break }
                _ = try await fixture.report(
                    grant.jobs.map {
                        $0.kind == .checksums
                            ? F.done($0, grant) : F.failed($0, grant, "origin.connect")
                    })
            }
            let status = try await fixture.queue.workers.clusterStatus().catalogs[0]
            #expect(status.state == .failed && status.totals.failed == 60)
            #expect(rounds < 60)
        }
    }

    /// Its last cooldown has ended, but nothing has arrived: followers must not read that it responds again.
    @Test func aFailingOriginIsReportedUntilSomethingArrives() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 40)
            let issue = {
                try await fixture.queue.workers.clusterStatus().catalogs.first {
                    $0.state == .running
                }?
                .issue
            }
            let grant = try await fixture.lease(20)
            _ = try await fixture.report(grant.jobs.map { F.failed($0, grant, "origin.connect") })
            for _ in 0..<8 {
                try await fixture.skipCooldowns()
                let probe = try await fixture.lease(1)
                _ = try await fixture.report([F.failed(probe.jobs[0], probe, "origin.connect")])
                #expect(try await issue() == Failure("origin.connect", "http://origin.test"))
            }
            let breaker = try await fixture.pool.query("SELECT breaker FROM origin WHERE id <> 0")
            #expect(try breaker.firstRow?.string(0) == "failing")
            // A later run knows nothing of it yet.
            try await fixture.pool.query("UPDATE origin SET noted_at = now() - interval '1 hour'")
            #expect(try await issue() == nil)
        }
    }
}

extension QueueFixture {
    /// Lets every cooldown be over.
    func skipCooldowns() async throws {
        try await pool.query("UPDATE origin SET cooldown_until = now()")
    }
}
