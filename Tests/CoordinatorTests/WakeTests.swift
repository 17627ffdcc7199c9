import API
import ClusterTestSupport
import Coordinator
import CoordinatorClient
import EventLoop
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Long polls, several coordinators over one database, and a database that goes away.
@Suite struct WakeTests {
    private static let clock = ContinuousClock()

    @Test func workWakesAPollAtAnotherCoordinator() async throws {
        try await Fixture.with { one in
            let two = try await Fixture(one.server, databaseURL: one.databaseURL)
            do {
                try await one.submit(["warm-up"])
                #expect(try await one.lease().jobs.count == 1)
                try await Self.withoutHousekeeping(of: 2, one) {
                    let poll = Task { try await one.lease(waitMilliseconds: 30_000) }
                    try await waitUntil(deadlineSeconds: 60, "the poll") {
                        one.coordinator.waitingRequests > 0
                    }
                    try await two.submit(["a"], catalog: "other")
                    let grant = try await poll.value
                    #expect(grant.jobs.map(\.key) == ["origin.test/a"])
                    // Long before it would end by itself.
                    #expect(grant.waitedSeconds > 0 && grant.waitedSeconds < 25)
                }
            } catch {
                await two.close()
                throw error
            }
            await two.close()
        }
    }

    /// Runs `body` while the chores of so many coordinators wait for a table: none of them looks for
    /// work.
    private static func withoutHousekeeping(
        of coordinators: Int, _ fixture: Fixture, _ body: () async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "holder")
        defer { loop.shutdown() }
        let holder = try await PostgresConnection.connect(
            PostgresConfiguration.queue(url: fixture.databaseURL), on: loop)
        try await holder.transaction { holder in
            let row = try #require(
                try await holder.query("SELECT pg_backend_pid()::bigint").firstRow)
            let pid = try row.int64(0)
            _ = try await holder.query("LOCK TABLE load_test IN ACCESS EXCLUSIVE MODE")
            try await waitUntil(deadlineSeconds: 60, "the chores") {
                try await fixture.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE \(pid) = ANY(pg_blocking_pids(pid))"
                ) == "\(coordinators)\n"
            }
            try await body()
        }
        await holder.close()
    }

    @Test func aPollWithoutWorkEndsAtItsDeadline() async throws {
        try await Fixture.with { fixture in
            for milliseconds in [0, 1, 300] {
                let began = Self.clock.now
                let grant = try await fixture.lease(waitMilliseconds: milliseconds)
                #expect(grant.lease == nil && grant.jobs.isEmpty)
                #expect(Self.clock.now - began >= .milliseconds(milliseconds))
            }
        }
    }

    @Test func stoppingAnswersThePollsThatWait() async throws {
        let server = try await PostgresServer.shared()
        let fixture = try await Fixture(
            server, databaseURL: try await server.databaseURL("coordinator", copying: .cluster))
        let polls = (0..<20).map { _ in
            Task { try await fixture.lease(waitMilliseconds: 30_000) }
        }
        try await waitUntil(deadlineSeconds: 60, "the polls") {
            // A client has sixteen connections.
            fixture.coordinator.waitingRequests >= 16
        }
        let began = Self.clock.now
        await fixture.coordinator.stop()
        // Long before they would end by themselves.
        #expect(Self.clock.now - began < .seconds(25))
        var answered = 0
        for poll in polls {
            if let grant = try? await poll.value, grant.lease == nil { answered += 1 }
        }
        #expect(answered >= 16)
        await fixture.close()
    }

    @Test func whatComesWhileItStopsIsSentOn() async throws {
        try await Fixture.with { fixture in
            let loop = try EventLoop(name: "holder")
            defer { loop.shutdown() }
            let holder = try await PostgresConnection.connect(
                PostgresConfiguration.queue(url: fixture.databaseURL), on: loop)
            let (underWay, stopping) = try await holder.transaction { holder in
                let row = try #require(
                    try await holder.query("SELECT pg_backend_pid()::bigint").firstRow)
                let pid = try row.int64(0)
                _ = try await holder.query("LOCK TABLE catalog IN ACCESS EXCLUSIVE MODE")
                let underWay = Task { try await fixture.send("GET", "/v1/status") }
                try await waitUntil(deadlineSeconds: 60, "the request that is under way") {
                    // Its own, for what keeps house is blocked as well.
                    let blocked = try await fixture.execute(
                        """
                        SELECT count(*) FROM pg_stat_activity WHERE \(pid) = ANY(pg_blocking_pids(pid))
                        AND query LIKE '%), under_way AS MATERIALIZED%'
                        """)
                    return blocked != "0\n"
                }
                let stopping = Task { await fixture.coordinator.stop() }
                try await waitUntil(deadlineSeconds: 60, "its rejections") {
                    let answer = try await fixture.send("GET", "/healthz")
                    guard answer.status != 200 else { return false }
                    #expect(answer.status == 503)
                    #expect(answer.code == "cluster.coordinatorUnreachable", "\(answer)")
                    return true
                }
                return (underWay, stopping)
            }
            #expect(try await underWay.value.status == 200)
            await stopping.value
            await holder.close()
        }
    }

    @Test func coordinatorsSweepTogether() async throws {
        try await Fixture.with { one in
            let two = try await Fixture(one.server, databaseURL: one.databaseURL)
            do {
                try await one.submit((0..<200).map { "f\($0)" })
                for _ in 0..<20 { #expect(try await one.lease(10).jobs.count == 10) }
                // All run out at once; each job is to wait again, once.
                _ = try await one.execute(
                    "UPDATE lease SET expires_at = now() - interval '1 second'")
                try await waitUntil(deadlineSeconds: 30, "the sweep") {
                    try await one.execute("SELECT count(*) FROM delayed_job").hasPrefix("200")
                }
                #expect(try await one.execute("SELECT DISTINCT attempt FROM delayed_job") == "1\n")
                let retries = try await one.execute(
                    "SELECT max(c.retries) + coalesce(sum(t.retries), 0) FROM catalog c "
                        + "LEFT JOIN tally t ON t.catalog_id = c.id")
                #expect(retries == "200\n")
            } catch {
                await two.close()
                throw error
            }
            await two.close()
        }
    }

    @Test func aDatabaseThatRestartsIsFoundAgain() async throws {
        let server = try await PostgresServer(isDurable: true)
        let fixture = try await Fixture(server, databaseURL: server.url)
        do {
            try await fixture.submit(["a", "b"])
            #expect(try await fixture.lease(1).jobs.count == 1)
            try await server.stop()
            for (method, target, body) in [
                ("GET", "/v1/status", nil), ("GET", "/readyz", nil), ("GET", "/v1/catalogs/1", nil),
                ("POST", "/v1/catalogs/1/start", #"{"generation":1}"#),
            ] {
                let answer = try await fixture.send(method, target, body)
                #expect(answer.status == 503, "\(answer)")
                #expect(answer.code == "cluster.databaseUnreachable", "\(answer)")
            }
            #expect(try await fixture.send("GET", "/healthz").status == 200)
            try await server.start()
            try await waitUntil(deadlineSeconds: 30, "readiness") {
                try await fixture.send("GET", "/readyz").status == 200
            }
            // A crash under connections that are open, and a poll that waits across it.
            let poll = Task { try await fixture.lease(waitMilliseconds: 30_000) }
            #expect(try await poll.value.jobs.map(\.key) == ["origin.test/b"])
            let across = Task {
                // A request during the crash fails and is repeated, as workers do.
                while true {
                    do {
                        return try await fixture.lease(waitMilliseconds: 30_000)
                    } catch let failure as Failure
                        where failure.code == "cluster.databaseUnreachable"
                    {
                        continue
                    }
                }
            }
            try await waitUntil(deadlineSeconds: 60, "the poll") {
                fixture.coordinator.waitingRequests > 0
            }
            try await server.crashAndRestart()
            try await fixture.submit(["c"], catalog: "later")
            // The crash may have taken back the claim before it, whose job then waits again.
            let keys = Set(try await across.value.jobs.map(\.key))
            #expect(!keys.isEmpty && keys.isSubset(of: ["origin.test/b", "origin.test/c"]))
        } catch {
            await fixture.close()
            throw error
        }
        await fixture.close()
    }
}
