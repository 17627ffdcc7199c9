import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Files with mirrors do not wait for their own origin during its cooldown.
@Suite struct MirrorLaneTests {
    typealias F = QueueFixture

    private static let main = "http://origin.test"
    private static let mirror = "http://mirror.test"
    private static let second = "http://second.test"

    /// - Parameter mirrors: origins, in order.
    private static func files(
        _ range: Range<Int>, at mirrors: [String] = [mirror]
    ) -> [AssetSubmission] {
        range.map { number in
            var file = F.file("\(number)")
            file.mirrors = mirrors.map { "\($0)/copy/\(number)" }
            return file
        }
    }

    private static func plain(_ range: Range<Int>) -> [AssetSubmission] {
        range.map { F.file("plain\($0)") }
    }

    /// Sets a cooldown of origins, as a circuit breaker that has just opened does.
    private static func leaveAlone(_ fixture: F, _ origins: [String]) async throws {
        for origin in origins {
            try await fixture.pool.query(
                """
                INSERT INTO origin (url, breaker, failures, openings, cooldown_until)
                VALUES ($1, 'open', 20, 1, now() + interval '1 hour')
                ON CONFLICT (url) DO UPDATE SET breaker = 'open', failures = 20, openings = 1,
                    cooldown_until = excluded.cooldown_until
                """, [.text(origin)])
        }
    }

    private static func heal(_ fixture: F, _ origin: String) async throws {
        try await fixture.pool.query(
            """
            UPDATE origin SET breaker = 'closed', failures = 0, openings = 0, cooldown_until = NULL
            WHERE url = $1
            """, [.text(origin)])
    }

    private static func breaker(_ fixture: F, _ origin: String) async throws -> OriginBreaker? {
        try await fixture.queue.origins.page(after: nil, limit: 10).origins
            .first { $0.origin == origin }?.breaker
    }

    private static func served(_ job: Job, _ grant: LeaseGrant) -> JobReport {
        var report = F.done(job, grant)
        report.origins = job.mirrorOrigin.map { [OriginOutcome(origin: $0)] }
        return report
    }

    private static func failed(
        _ job: Job, _ grant: LeaseGrant, _ code: FailureCode
    ) -> JobReport {
        var report = F.failed(job, grant, code)
        report.origins = job.mirrorOrigin.map { [OriginOutcome(origin: $0, code: code)] }
        return report
    }

    @Test func jobsWithAMirrorContinueThereAndTheRestWait() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(Self.files(0..<30) + Self.plain(0..<10))
            #expect(try await fixture.queue.origins.mirrors.move() == 0)
            try await Self.leaveAlone(fixture, [Self.main])
            #expect(try await fixture.lease().lease == nil)
            #expect(try await fixture.queue.origins.mirrors.move() == 30)
            #expect(try await fixture.queue.origins.mirrors.move() == 0)
            let grant = try await fixture.lease()
            #expect(grant.jobs.count == 30)
            #expect(grant.jobs.allSatisfy { $0.mirrorOrigin == Self.mirror && $0.attempt == 1 })
            #expect(grant.jobs.allSatisfy { $0.url.hasPrefix(Self.main) })
            #expect(Set(grant.jobs.map(\.key)) == Set(Self.files(0..<30).map(\.key)))
            let verdicts = try await fixture.report(grant.jobs.map { Self.served($0, grant) })
            #expect(verdicts.allSatisfy { $0 == .accepted })
            // The mirror's answers do not count for the main origin.
            #expect(try await Self.breaker(fixture, Self.main) == .open)
            #expect(try await fixture.lease().lease == nil)
            // That is found well again by what has no mirror.
            try await fixture.skipCooldowns()
            let trial = try await fixture.lease()
            #expect(trial.jobs.count == 1)
            _ = try await fixture.report(trial.jobs.map { F.done($0, trial) })
            #expect(try await Self.breaker(fixture, Self.main) == .closed)
            try await fixture.drain()
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.completed == 40)
        }
    }

    @Test func aTitlesSegmentsMoveToMirrorsToo() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t")])
            let grant = try await fixture.lease()
            var segments = TitleTests.segments(4)
            for index in 0..<3 { segments[index].mirrors = ["\(Self.mirror)/\(index)"] }
            _ = try await fixture.queue.jobs.segments.add(
                TitleTests.batch(fixture, grant, segments))
            var done = F.done(grant.jobs[0], grant)
            done.segments = 4
            #expect(try await fixture.report([done]) == [.accepted])
            try await Self.leaveAlone(fixture, ["http://cdn.test"])
            #expect(try await fixture.queue.origins.mirrors.move() == 3)
            let work = try await fixture.lease()
            #expect(work.jobs.map(\.mirrorOrigin) == .init(repeating: Self.mirror, count: 3))
            _ = try await fixture.report(work.jobs.map { Self.served($0, work) })
            try await Self.heal(fixture, "http://cdn.test")
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func whatTheMirrorsHaveNotIsLeftToTheOwnOrigin() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(Self.files(0..<2))
            try await Self.leaveAlone(fixture, [Self.main])
            #expect(try await fixture.queue.origins.mirrors.move() == 2)
            let grant = try await fixture.lease()
            let codes: [FailureCode] = ["origin.http.404", "origin.http.503"]
            _ = try await fixture.report(
                zip(grant.jobs, codes).map { Self.failed($0, grant, $1) })
            // One waits for its own origin, the other for its next try, which may be at the mirror.
            #expect(try await fixture.count("delayed_job") == 2)
            #expect(
                try await fixture.count(
                    "delayed_job WHERE available_at > now() + interval '50 seconds'") == 1)
            #expect(try await fixture.lease().lease == nil)
            #expect(try await fixture.queue.origins.mirrors.move() == 1)
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.attempt) == [2])
            #expect(again.jobs.map(\.mirrorOrigin) == [Self.mirror])
            _ = try await fixture.report(again.jobs.map { Self.served($0, again) })
            try await Self.heal(fixture, Self.main)
            try await fixture.skipDelays()
            let own = try await fixture.lease()
            #expect(own.jobs.map(\.mirrorOrigin) == [nil])
            _ = try await fixture.report(own.jobs.map { F.done($0, own) })
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    /// Without any source it fails nevertheless.
    @Test func itsAttemptsAreBounded() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(Self.files(0..<1))
            try await Self.leaveAlone(fixture, [Self.main])
            var attempts = 0
            while try await fixture.queue.catalogs.status(of: catalog).state == .running {
                try await fixture.skipDelays()
                // A claim is what puts it into its lane.
                #expect(try await fixture.lease().lease == nil)
                try #require(try await fixture.queue.origins.mirrors.move() == 1)
                let grant = try await fixture.lease()
                _ = try await fixture.report(
                    grant.jobs.map { Self.failed($0, grant, "origin.http.404") })
                attempts += 1
                try #require(attempts <= 8)
                if attempts == 8 { try await fixture.drain() }
            }
            #expect(attempts == 8)
            let ended = try await fixture.assets(of: catalog)
            #expect(ended.map(\.failure?.code) == ["origin.http.404"])
        }
    }

    @Test func theFirstThatIsWellHasItAndItGoesBack() async throws {
        try await F.with { fixture in
            try await fixture.submit(Self.files(0..<4, at: [Self.mirror, Self.second]))
            try await Self.leaveAlone(fixture, [Self.main, Self.mirror, Self.second])
            #expect(try await fixture.queue.origins.mirrors.move() == 0)
            try await Self.heal(fixture, Self.second)
            #expect(try await fixture.queue.origins.mirrors.move() == 4)
            let grant = try await fixture.lease(1)
            #expect(grant.jobs.map(\.mirrorOrigin) == [Self.second])
            _ = try await fixture.report(grant.jobs.map { Self.served($0, grant) })
            try await Self.leaveAlone(fixture, [Self.second])
            try await Self.heal(fixture, Self.mirror)
            #expect(try await fixture.queue.origins.mirrors.move() == 3)
            let next = try await fixture.lease(1)
            #expect(next.jobs.map(\.mirrorOrigin) == [Self.mirror])
            // What is given back waits for its own origin again.
            let given = try #require(next.jobs.first)
            var back = JobReport(job: given.id, lease: next.lease ?? "", outcome: .returned())
            back.origins = nil
            _ = try await fixture.report([back])
            try await Self.heal(fixture, Self.main)
            try await Self.leaveAlone(fixture, [Self.mirror])
            #expect(try await fixture.queue.origins.mirrors.move() == 2)
            let own = try await fixture.lease()
            #expect(own.jobs.count == 3)
            #expect(own.jobs.allSatisfy { $0.mirrorOrigin == nil && $0.attempt == 1 })
        }
    }

    /// They stand in the mirror's lane, so its limits hold for the cluster.
    @Test func theMirrorsLimitsHold() async throws {
        try await F.with { fixture in
            try await fixture.submit(Self.files(0..<200))
            try await fixture.queue.origins.setLimits(
                OriginLimitsChange(
                    origin: Self.mirror, limits: OriginLimits(connections: 3)))
            try await Self.leaveAlone(fixture, [Self.main])
            #expect(try await fixture.queue.origins.mirrors.move() == 200)
            var connections = 0
            for _ in 0..<3 {
                let grant = try await fixture.lease(100, as: WorkerID.random())
                guard grant.lease != nil else { continue }
                let share = try #require(
                    grant.shares?.first { $0.origin == Self.mirror }?.connections)
                connections += share
                // Few for each connection, and none to spare for those that have yet to get theirs.
                #expect(grant.jobs.count <= 24)
            }
            #expect((1...3).contains(connections))
        }
    }

    /// No worker tries an origin with a lane that is empty.
    @Test func whatHasMovedLeavesNothingToTry() async throws {
        try await F.with { fixture in
            try await fixture.submit(Self.files(0..<5))
            try await Self.leaveAlone(fixture, [Self.main])
            #expect(try await fixture.queue.origins.mirrors.move() == 5)
            let grant = try await fixture.lease()
            _ = try await fixture.report(grant.jobs.map { Self.served($0, grant) })
            // Its list of digests.
            try await fixture.drain()
            try await fixture.skipCooldowns()
            #expect(try await fixture.lease().lease == nil)
            #expect(try await Self.breaker(fixture, Self.main) == .open)
            // What comes later tries it, and what waits meanwhile goes to the mirror.
            try await fixture.submit(Self.files(10..<20), catalog: "more")
            let trial = try await fixture.lease()
            #expect(trial.jobs.map(\.mirrorOrigin) == [nil])
            #expect(try await fixture.lease().lease == nil)
            #expect(try await fixture.queue.origins.mirrors.move() == 9)
            _ = try await fixture.report(trial.jobs.map { F.done($0, trial) })
            #expect(try await Self.breaker(fixture, Self.main) == .closed)
            #expect(try await fixture.drain().count { $0.kind == .fetch } == 9)
        }
    }

    @Test func asManyAsKeepItFedAreMovedAndNoneIsOverlooked() async throws {
        try await F.with { fixture in
            try await fixture.submit(Self.plain(0..<6_000) + Self.files(0..<8_000))
            try await Self.leaveAlone(fixture, [Self.main])
            // Those without mirrors come first.
            var moved: [Int] = []
            repeat {
                moved.append(try await fixture.queue.origins.mirrors.move())
            } while moved.reduce(0, +) < 5_000 && moved.count < 20
            #expect(moved.reduce(0, +) == 5_000)
            #expect(try await fixture.queue.origins.mirrors.move() == 0)
            let grant = try await fixture.lease(1_000)
            #expect(grant.jobs.count == 1_000)
            _ = try await fixture.report(grant.jobs.map { Self.served($0, grant) })
            #expect(try await fixture.queue.origins.mirrors.move() == 1_000)
        }
    }

    @Test func whatIsInterruptedCancelledOrPutFirstIsSoThereToo() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(Self.files(0..<20))
            try await Self.leaveAlone(fixture, [Self.main])
            #expect(try await fixture.queue.origins.mirrors.move() == 20)
            let held = try await fixture.lease(2)
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .reprioritise, catalog: CatalogReference(catalog), asset: "7", failureCode: nil,
                    priority: 9))
            let first = try await fixture.lease(1)
            #expect(first.jobs.map(\.key) == [F.file("7").key])
            #expect(first.jobs.map(\.mirrorOrigin) == [Self.mirror])
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .cancel, catalog: CatalogReference(catalog), asset: "8", failureCode: nil,
                    priority: nil))
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await fixture.count("job") == 0)
            let late = try await fixture.report(held.jobs.map { Self.served($0, held) })
            #expect(late.allSatisfy { $0 == .stale })
            try await fixture.submit(Self.files(0..<20))
            #expect(try await fixture.queue.origins.mirrors.move() == 20)
            let again = try await fixture.lease()
            // One that is lost goes back to its own origin's lane.
            try await fixture.expireLeases()
            #expect(try await fixture.lease().lease == nil)
            #expect(try await fixture.queue.origins.mirrors.move() == again.jobs.count)
            let last = try await fixture.lease()
            #expect(last.jobs.allSatisfy { $0.attempt == 2 })
            _ = try await fixture.report(last.jobs.map { Self.served($0, last) })
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    /// A start or a cancellation has locked a job to be moved: it stays, and nothing waits.
    @Test func whatIsLockedIsLeftWhereItIs() async throws {
        try await F.with { fixture in
            try await fixture.submit(Self.files(0..<10))
            try await Self.leaveAlone(fixture, [Self.main])
            try await fixture.pool.transaction { connection in
                _ = try await connection.query("SELECT FROM lane FOR UPDATE")
                #expect(try await fixture.queue.origins.mirrors.move() == 0)
            }
            try await fixture.pool.transaction { connection in
                _ = try await connection.query(
                    "SELECT FROM job ORDER BY id LIMIT 3 FOR UPDATE")
                #expect(try await fixture.queue.origins.mirrors.move() == 7)
            }
            #expect(try await fixture.queue.origins.mirrors.move() == 3)
        }
    }
}
