import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Which jobs a claim takes, and in what order.
@Suite struct ClaimTests {
    typealias F = QueueFixture

    private static func files(_ prefix: String, _ count: Int) -> [AssetSubmission] {
        (0..<count).map { F.file("\(prefix)/\($0)") }
    }

    private static func count(_ grant: LeaseGrant, _ prefix: String) -> Int {
        grant.jobs.count { $0.key.hasPrefix("origin.test/files/\(prefix)/") }
    }

    @Test func aSmallCatalogIsThroughWithItsFirstClaims() async throws {
        try await F.with { fixture in
            try await fixture.submit(Self.files("large", 3_000), catalog: "large")
            let first = try await fixture.lease(100)
            #expect(Self.count(first, "large") == 100)
            try await fixture.submit(Self.files("small", 10), catalog: "small")
            let second = try await fixture.lease(100)
            #expect(Self.count(second, "small") == 10 && Self.count(second, "large") == 90)
        }
    }

    @Test func catalogsOfOnePriorityShareEachClaim() async throws {
        try await F.with { fixture in
            for name in ["a", "b", "c"] {
                try await fixture.submit(Self.files(name, 200), catalog: name)
            }
            for _ in 1...3 {
                let grant = try await fixture.lease(90)
                #expect(["a", "b", "c"].map { Self.count(grant, $0) } == [30, 30, 30])
            }
            // One job at a time goes round as well.
            var single: [String: Int] = [:]
            for _ in 1...6 {
                let grant = try await fixture.lease(1)
                for name in ["a", "b", "c"] { single[name, default: 0] += Self.count(grant, name) }
            }
            #expect(single == ["a": 2, "b": 2, "c": 2])
        }
    }

    @Test func aHigherPriorityComesFirstUntilALowerOneHasWaitedLong() async throws {
        try await F.with { fixture in
            try await fixture.submit(Self.files("low", 100), catalog: "low", priority: 2)
            try await fixture.submit(Self.files("high", 100), catalog: "high", priority: 6)
            #expect(Self.count(try await fixture.lease(10), "high") == 10)
            try await fixture.pool.query(
                "UPDATE lane SET ready_since = ready_since - interval '5 minutes' "
                    + "FROM catalog c WHERE c.id = lane.catalog_id AND c.name = 'low'")
            #expect(Self.count(try await fixture.lease(10), "low") == 10)
            // Served, it waits again.
            #expect(Self.count(try await fixture.lease(10), "high") == 10)
        }
    }

    @Test func aDeadlineRaisesThePriorityAsItNears() async throws {
        try await F.with { fixture in
            let now = try await Self.now(fixture)
            let due = try await fixture.submit(
                Self.files("due", 100), catalog: "due", priority: 2, deadline: now + 9 * 3_600)
            try await fixture.submit(Self.files("high", 100), catalog: "high", priority: 6)
            // An hour of ten has passed: 2.7 is less than 6.
            try await fixture.pool.query(
                "UPDATE catalog SET started_at = now() - interval '1 hour' WHERE name = 'due'")
            #expect(Self.count(try await fixture.lease(10), "high") == 10)
            // Six sevenths of its time have passed: 8.
            try await Self.reschedule(fixture, due, deadline: now + 600)
            #expect(Self.count(try await fixture.lease(10), "due") == 10)
            try await Self.reschedule(fixture, due, deadline: now - 600)
            #expect(Self.count(try await fixture.lease(10), "due") == 10)
            try await Self.reschedule(fixture, due, deadline: 0)
            #expect(Self.count(try await fixture.lease(10), "high") == 10)
            #expect(try await fixture.queue.catalogs.status(of: due).deadline == nil)
        }
    }

    @Test func aCatalogIsNotHandedOutBeforeItsTime() async throws {
        try await F.with { fixture in
            let now = try await Self.now(fixture)
            let later = try await fixture.submit(
                Self.files("later", 20), catalog: "later", priority: 9, notBefore: now + 3_600)
            try await fixture.submit(Self.files("now", 5), catalog: "now")
            #expect(Self.count(try await fixture.lease(10), "now") == 5)
            #expect(try await fixture.lease(10).lease == nil)
            #expect(try await !fixture.queue.jobs.claims.hasWork())
            let status = try await fixture.queue.catalogs.status(of: later)
            #expect(status.notBefore == now + 3_600 && status.deadline == nil)

            // Its time comes.
            try await fixture.pool.query(
                "UPDATE catalog SET not_before = now() WHERE name = 'later'")
            #expect(try await fixture.queue.jobs.claims.hasWork())
            let held = try await fixture.lease(5)
            #expect(Self.count(held, "later") == 5)
            // Postponed, it keeps its leases; then it continues.
            try await Self.reschedule(fixture, later, notBefore: now + 60)
            #expect(try await fixture.lease(10).lease == nil)
            let verdicts = try await fixture.report(held.jobs.map { F.done($0, held) })
            #expect(verdicts.allSatisfy { $0 == .accepted })
            try await Self.reschedule(fixture, later, notBefore: 0)
            #expect(Self.count(try await fixture.lease(100), "later") == 15)
            let failure = await #expect(throws: Failure.self) {
                try await Self.reschedule(
                    fixture, later, notBefore: now + 7_200, deadline: now + 7_100)
            }
            #expect(failure?.code == "input.field")
        }
    }

    @Test func submittingAgainSetsTheTimesAgain() async throws {
        try await F.with { fixture in
            let later = try await Self.now(fixture) + 3_600
            let catalog = try await fixture.submit(
                [F.file("a")], notBefore: later, deadline: later + 60)
            #expect(try await fixture.lease().lease == nil)
            try await fixture.submit([F.file("a")])
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.notBefore == nil && status.deadline == nil)
            #expect(try await fixture.lease().jobs.count == 1)
        }
    }

    /// By the database's clock, in whole seconds.
    private static func now(_ fixture: F) async throws -> Double {
        let sql = "SELECT floor(extract(epoch FROM now()))::float8 AS now"
        return try await fixture.pool.query(sql).firstRow?.double("now") ?? 0
    }

    private static func reschedule(
        _ fixture: F, _ catalog: CatalogID, notBefore: Double? = nil, deadline: Double? = nil
    ) async throws {
        _ = try await fixture.queue.catalogs.selections.apply(
            SelectionAction(
                .reschedule, catalog: CatalogReference(catalog), notBefore: notBefore,
                deadline: deadline))
    }

    @Test func anOriginInCooldownDelaysNoOther() async throws {
        try await F.with { fixture in
            var mixed = Self.files("a", 500)
            mixed.append(
                AssetSubmission(
                    name: "other", url: "http://other.test/x", kind: .file, key: "other.test/x"))
            try await fixture.submit(mixed)
            let grant = try await fixture.lease(1)
            let answer = F.failed(grant.jobs[0], grant, "origin.http.503", retryAfter: 3_600)
            _ = try await fixture.report([answer])
            #expect(try await fixture.lease(100).jobs.map(\.key) == ["other.test/x"])
            #expect(try await fixture.lease(100).lease == nil)
            let cooldowns = try await fixture.queue.origins.cooldowns()
            #expect(cooldowns.map(\.origin) == ["http://origin.test"])
            #expect(cooldowns.allSatisfy { (3_400...3_600).contains($0.seconds) })
        }
    }

    @Test func whatWasTriedBeforeComesBeforeWhatWasNot() async throws {
        try await F.with { fixture in
            try await fixture.submit(Self.files("a", 50))
            let grant = try await fixture.lease(1)
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "origin.http.502")])
            try await fixture.skipDelays()
            let next = try await fixture.lease(1)
            #expect(next.jobs.map(\.key) == grant.jobs.map(\.key))
            #expect(next.jobs.map(\.attempt) == [2])
            // A new number, so that nothing of the first try counts.
            #expect(next.jobs[0].id != grant.jobs[0].id)
            #expect(try await fixture.report([F.done(grant.jobs[0], grant)]) == [.stale])
        }
    }

    // MARK: Slow origins

    private static func slow(
        _ fixture: F, _ most: Int, of origins: [String], maxJobs: Int
    ) async throws -> LeaseGrant {
        var request = LeaseRequest(
            worker: fixture.worker, queues: [], maxJobs: most, waitMilliseconds: 0)
        request.slow = SlowOrigins(origins: origins, maxJobs: maxJobs)
        return try await fixture.queue.jobs.claims.lease(request, as: .random())
    }

    private static func filesOf(_ host: String, _ count: Int) -> [AssetSubmission] {
        (0..<count).map {
            AssetSubmission(
                name: "\(host)-\($0)", url: "http://\(host)/\($0)", kind: .file,
                key: "\(host)/\($0)")
        }
    }

    @Test func aWorkerGetsNoMoreOfSlowOriginsThanItAsksFor() async throws {
        try await F.with { fixture in
            try await fixture.submit(
                Self.filesOf("one.test", 20) + Self.filesOf("two.test", 20), catalog: "slow")
            try await fixture.submit(Self.files("fast", 20), catalog: "fast")
            let slow = ["http://one.test", "http://two.test", "http://nobody.test"]
            let first = try await Self.slow(fixture, 30, of: slow, maxJobs: 3)
            #expect(Self.count(first, "fast") == 20 && first.jobs.count == 23)
            #expect(try await Self.slow(fixture, 30, of: slow, maxJobs: 0).lease == nil)
            // Each for itself: another worker may find them fast.
            let other = try await fixture.lease(30, as: WorkerID.random())
            #expect(other.jobs.count == 30)
            let last = try await Self.slow(fixture, 30, of: ["http://one.test"], maxJobs: 0)
            #expect(last.jobs.allSatisfy { $0.url.hasPrefix("http://two.test/") })
            // Nothing is lost for having been skipped.
            let rest = try await fixture.lease(30)
            #expect(first.jobs.count + other.jobs.count + last.jobs.count + rest.jobs.count == 60)
        }
    }

    @Test func claimsThatGoTogetherGetTheirOwnTraces() async throws {
        try await F.with { fixture in
            let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            try await fixture.submit(Self.filesOf("one.test", 200))
            try await fixture.pool.query("UPDATE catalog SET traceparent = $1", [.text(header)])
            let grants = try await withThrowingTaskGroup(of: (Bool, LeaseGrant).self) { group in
                for number in 0..<16 {
                    group.addTask {
                        var request = LeaseRequest(
                            worker: .random(), queues: [], maxJobs: 10, waitMilliseconds: 0)
                        request.wantsTraces = number % 2 == 1
                        let grant = try await fixture.queue.jobs.claims.lease(
                            request, as: .random())
                        return (request.wantsTraces, grant)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (wantsTraces, grant) in grants {
                #expect(!grant.jobs.isEmpty && (grant.traces != nil) == wantsTraces)
                for trace in grant.traces ?? [] {
                    #expect(trace.traceparent == header)
                    #expect(Set(trace.jobs) == Set(grant.jobs.map(\.id)))
                }
            }
        }
    }

    @Test func claimsThatGoTogetherKeepToTheirOwnSlowOrigins() async throws {
        try await F.with { fixture in
            try await fixture.submit(Self.filesOf("one.test", 200), catalog: "one")
            try await fixture.submit(Self.filesOf("two.test", 200), catalog: "two")
            let grants = try await withThrowingTaskGroup(of: (String, LeaseGrant).self) { group in
                for number in 0..<16 {
                    let host = number % 2 == 0 ? "one.test" : "two.test"
                    group.addTask {
                        var request = LeaseRequest(
                            worker: .random(), queues: [], maxJobs: 10, waitMilliseconds: 0)
                        request.slow = SlowOrigins(origins: ["http://\(host)"], maxJobs: 2)
                        let grant = try await fixture.queue.jobs.claims.lease(
                            request, as: .random())
                        return (host, grant)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (host, grant) in grants {
                #expect(grant.jobs.count { $0.url.hasPrefix("http://\(host)/") } <= 2)
                #expect(!grant.jobs.isEmpty)
            }
        }
    }
}
