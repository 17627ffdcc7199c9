import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// What mirrors and the targets of redirects do is booked on them, and not on the origin that a list names.
@Suite struct OriginOutcomeTests {
    typealias F = QueueFixture

    private static let main = "http://origin.test"
    private static let mirror = "http://mirror.test"

    private static func submit(_ fixture: F, _ count: Int) async throws {
        try await fixture.submit((0..<count).map { F.file("\($0)") })
    }

    /// Failures of the mirror, which is all that was asked.
    private static func failed(
        _ job: Job, _ grant: LeaseGrant, _ code: FailureCode, retryAfter: Double? = nil
    ) -> JobReport {
        var report = F.failed(job, grant, code, retryAfter: retryAfter)
        report.origins = [
            OriginOutcome(origin: mirror, code: code, retryAfterSeconds: retryAfter)
        ]
        return report
    }

    private static func served(_ job: Job, _ grant: LeaseGrant) -> JobReport {
        var report = F.done(job, grant)
        report.origins = [OriginOutcome(origin: mirror)]
        return report
    }

    private static func origin(_ name: String, _ fixture: F) async throws -> OriginStatus? {
        try await fixture.queue.origins.page(after: nil, limit: 10).origins.first {
            $0.origin == name
        }
    }

    private static func failures(of name: String, _ fixture: F) async throws -> Int64 {
        try await fixture.pool.query(
            "SELECT failures::bigint FROM origin WHERE url = $1", [.text(name)]
        ).only().int64(0)
    }

    @Test func aFailingMirrorCoolsDownAndTheMainOriginDoesNot() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 100)
            let grant = try await fixture.lease(20)
            _ = try await fixture.report(
                grant.jobs.map { Self.failed($0, grant, "origin.http.502") })
            #expect(try await fixture.queue.origins.cooldowns().map(\.origin) == [Self.mirror])
            #expect(try await Self.failures(of: Self.main, fixture) == 0)
            let next = try await fixture.lease(10)
            #expect(next.jobs.count == 10)
            // After its time the first failure makes its cooldown longer, and a success ends it.
            try await fixture.skipCooldowns()
            _ = try await fixture.report([Self.failed(next.jobs[0], next, "origin.http.502")])
            let again = try await fixture.queue.origins.cooldowns()
            #expect(again.map(\.origin) == [Self.mirror] && again.allSatisfy { $0.seconds > 5 })
            _ = try await fixture.report([Self.served(next.jobs[1], next)])
            #expect(try await fixture.queue.origins.cooldowns().isEmpty)
            #expect(try await Self.origin(Self.mirror, fixture)?.breaker == .closed)
        }
    }

    @Test func aMirrorsAnswersDoNotCountForTheMainOrigin() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 100)
            let grant = try await fixture.lease(30)
            _ = try await fixture.report(
                grant.jobs[..<19].map { F.failed($0, grant, "origin.connect") })
            _ = try await fixture.report([Self.served(grant.jobs[19], grant)])
            #expect(try await Self.failures(of: Self.main, fixture) == 19)
            _ = try await fixture.report([F.failed(grant.jobs[20], grant, "origin.connect")])
            #expect(try await Self.origin(Self.main, fixture)?.breaker == .open)

            // The job that was to try it was served elsewhere: the next one tries it, at once.
            for _ in 0..<3 {
                try await fixture.skipDelays()
                if try await Self.origin(Self.main, fixture)?.breaker == .open {
                    try await fixture.skipCooldowns()
                }
                let trial = try await fixture.lease(10)
                #expect(trial.jobs.count == 1)
                #expect(try await fixture.lease(10).lease == nil)
                _ = try await fixture.report(trial.jobs.map { Self.served($0, trial) })
                #expect(try await Self.origin(Self.main, fixture)?.breaker == .halfOpen)
            }
            let trial = try await fixture.lease(10)
            _ = try await fixture.report(trial.jobs.map { F.done($0, trial) })
            #expect(try await Self.origin(Self.main, fixture)?.breaker == .closed)
        }
    }

    @Test func whatFailedBeforeAMirrorServedIsRemembered() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 30)
            let grant = try await fixture.lease(30)
            let results = grant.jobs.prefix(20).map { job in
                var report = Self.served(job, grant)
                report.origins?.append(OriginOutcome(origin: Self.main, code: "origin.connect"))
                return report
            }
            let verdicts = try await fixture.report(results)
            #expect(verdicts == .init(repeating: .accepted, count: 20))
            #expect(try await Self.origin(Self.main, fixture)?.breaker == .open)
            #expect(try await fixture.count("result WHERE done") == 20)
            // One that failed again has a longer cooldown, although its job is done.
            try await fixture.skipCooldowns()
            _ = try await fixture.report(
                grant.jobs.dropFirst(20).map { F.failed($0, grant, "worker.internal") })
            try await fixture.skipDelays()
            let trial = try await fixture.lease(10)
            try #require(trial.jobs.count == 1)
            var report = Self.served(trial.jobs[0], trial)
            report.origins?.append(OriginOutcome(origin: Self.main, code: "origin.connect"))
            _ = try await fixture.report([report])
            let cooldowns = try await fixture.queue.origins.cooldowns()
            #expect(
                cooldowns.map(\.origin) == [Self.main] && cooldowns.allSatisfy { $0.seconds > 5 })
        }
    }

    @Test func retryAfterCoolsTheOriginThatSentIt() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 10)
            let grant = try await fixture.lease(2)
            _ = try await fixture.report([
                Self.failed(grant.jobs[0], grant, "origin.http.429", retryAfter: 600)
            ])
            let cooldowns = try await fixture.queue.origins.cooldowns()
            #expect(cooldowns.map(\.origin) == [Self.mirror])
            // The job waits for it, the others of its own origin do not.
            let waiting = try await fixture.count(
                "delayed_job WHERE available_at > now() + interval '400 seconds'")
            #expect(waiting == 1)
            #expect(try await fixture.lease(10).jobs.count == 8)
            // A Retry-After during the cooldown is not reported again.
            var report = F.failed(grant.jobs[1], grant, "origin.limited", retryAfter: 550)
            report.origins = [OriginOutcome(origin: Self.mirror, code: "origin.limited")]
            _ = try await fixture.report([report])
            let decisions = try #require(try await Self.origin(Self.mirror, fixture)).decisions
            #expect(decisions.map(\.decision) == ["cooldown"])
            #expect(
                try await fixture.count(
                    "delayed_job WHERE available_at > now() + interval '400 seconds'") == 2)
        }
    }

    /// Lets the one job that tests the main origin fail or succeed.
    private static func probe(_ fixture: F, succeeds: Bool) async throws {
        try await fixture.skipDelays()
        try await fixture.skipCooldowns()
        let grant = try await fixture.lease(1)
        let job = try #require(grant.jobs.first)
        _ = try await fixture.report([
            succeeds ? F.done(job, grant) : F.failed(job, grant, "origin.connect")
        ])
    }

    @Test func eachChangeOfACircuitBreakerIsSeen() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 200)
            func trip() async throws -> LeaseGrant {
                try await fixture.skipDelays()
                let grant = try await fixture.lease(21)
                _ = try await fixture.report(
                    grant.jobs[..<20].map { F.failed($0, grant, "origin.connect") })
                #expect(try await Self.origin(Self.main, fixture)?.breaker == .open)
                return grant
            }
            // A job that was leased before succeeds.
            let grant = try await trip()
            _ = try await fixture.report([F.done(grant.jobs[20], grant)])
            #expect(try await Self.origin(Self.main, fixture)?.breaker == .closed)
            _ = try await trip()
            try await Self.probe(fixture, succeeds: false)
            #expect(try await Self.origin(Self.main, fixture)?.breaker == .open)
            try await Self.probe(fixture, succeeds: true)
            #expect(try await Self.origin(Self.main, fixture)?.breaker == .closed)
            _ = try await trip()
            for _ in 0..<JobQueue.Breaker().openings {
                try await Self.probe(fixture, succeeds: false)
            }
            #expect(try await Self.origin(Self.main, fixture)?.breaker == .failing)
            try await Self.probe(fixture, succeeds: true)
            #expect(try await Self.origin(Self.main, fixture)?.breaker == .closed)

            // No job of its own tests a mirror.
            try await fixture.skipDelays()
            let jobs = try await fixture.lease(20 + JobQueue.Breaker().openings)
            for number in jobs.jobs.indices {
                if number >= 20 { try await fixture.skipCooldowns() }
                let failed = Self.failed(jobs.jobs[number], jobs, "origin.http.502")
                _ = try await fixture.report([failed])
            }
            #expect(try await Self.origin(Self.mirror, fixture)?.breaker == .failing)
            try await fixture.expectSeen(TransitionLog.ofBreakers)
        }
    }

    /// Large files and manifests as well.
    @Test func whateverAnOriginServesClosesItsBreaker() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.title("t")])
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first)
            try await fixture.pool.query(
                "UPDATE origin SET failures = 19 WHERE url = '\(Self.main)'")
            _ = try await fixture.queue.jobs.segments.add(
                SegmentBatch(
                    worker: fixture.worker, job: job.id, lease: grant.lease ?? "",
                    segments: [
                        ResolvedSegment(
                            ordinal: 0, url: job.url, key: job.key, role: .playlist)
                    ]))
            var report = JobReport(job: job.id, lease: grant.lease ?? "", outcome: .done())
            report.segments = 1
            #expect(try await fixture.report([report]) == [.accepted])
            #expect(try await Self.failures(of: Self.main, fixture) == 0)
        }
    }

    // MARK: Origins that no list names

    private static func led(_ job: Job, _ grant: LeaseGrant, to names: [String]) -> JobReport {
        var report = F.failed(job, grant, "origin.http.503")
        report.origins = names.map { OriginOutcome(origin: $0, code: "origin.http.503") }
        return report
    }

    /// A hostile redirector names as many as it likes.
    @Test func thereAreOnlySoManyThatNoListNames() async throws {
        try await F.with { fixture in
            var settings = fixture.queue.settings
            settings.maxUnlistedOrigins = 150
            let queue = JobQueue(pool: fixture.pool, settings: settings)
            try await Self.submit(fixture, 60)
            let grant = try await fixture.lease()
            for (turn, expected) in [100, 150, 150].enumerated() {
                let results = grant.jobs[(turn * 20)..<(turn * 20 + 20)].enumerated().map {
                    index, job in
                    Self.led(
                        job, grant, to: (0..<6).map { "http://r\(turn).\(index).\($0).test" })
                }
                _ = try await queue.jobs.reports.record(
                    ReportRequest(worker: fixture.worker, results: results))
                #expect(try await fixture.count("origin WHERE NOT is_listed") == expected)
            }
            // An outcome beyond the limit does not count for the job's own origin instead.
            #expect(try await Self.failures(of: Self.main, fixture) == 0)
            // A known one is still reported.
            _ = try await fixture.report([])
            #expect(try await Self.failures(of: "http://r0.0.0.test", fixture) == 1)
        }
    }

    @Test func whatNoListNamesIsForgottenWhenThereIsNothingToRemember() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture, 30)
            let grant = try await fixture.lease()
            let names = ["old", "cooling", "recent", "limited", "named"].map { "http://\($0).test" }
            _ = try await fixture.report(
                grant.jobs[..<20].map { Self.led($0, grant, to: names) })
            #expect(try await fixture.count("origin WHERE NOT is_listed") == 5)
            #expect(try await fixture.count("origin_decision") == 5)
            try await fixture.queue.origins.setLimits(
                OriginLimitsChange(origin: names[3], limits: OriginLimits(connections: 2)))
            var asset = F.file("x")
            asset.url = names[4] + "/x"
            try await fixture.submit([asset], catalog: "names it")
            try await fixture.queue.housekeeping.tables.delete()
            #expect(try await fixture.count("origin WHERE url LIKE 'http://%.test'") == 6)
            try await fixture.pool.query(
                """
                UPDATE origin SET noted_at = now() - interval '61 minutes',
                    cooldown_until = CASE WHEN url LIKE '%cooling%' THEN now() + interval '1 minute'
                                          ELSE now() - interval '1 minute' END
                WHERE url NOT LIKE '%recent%' AND id <> 0
                """)
            try await fixture.queue.housekeeping.tables.delete()
            let left = try await fixture.pool.query(
                "SELECT url FROM origin WHERE id <> 0 ORDER BY url")
            #expect(
                try left.rows.map { try $0.string(0) }
                    == (names.dropFirst() + [Self.main]).sorted())
            let decisions = try await fixture.count(
                "origin_decision d WHERE NOT EXISTS (SELECT FROM origin o WHERE o.id = d.origin_id)"
            )
            #expect(decisions == 0)
            try await fixture.skipCooldowns()
            try await fixture.drain()
        }
    }
}
