import Coordinator
import CoordinatorClient
import EventLoop
import Glibc
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

@Suite struct AccessTests {
    @Test func everyRequestMustCarryTheToken() async throws {
        try await Fixture.with { fixture in
            let before = try await fixture.tables()
            let token = AccessToken.test.text
            let wrong = [
                "", "Bearer", "Bearer ", "Bearer \(token.dropLast())", "Bearer \(token)2",
                "Bearer \(token)\(token)", "bearer\(token)", "bearer \(token)2",
                "Basic \(token)", "Bearer  \(token)", token,
                "Bearer \(token.uppercased())", "Bearer \(AccessToken.random().text)",
            ]
            for header in wrong {
                let answer = try await fixture.send(
                    "POST", "/v1/catalogs",
                    #"{"name":"a","storageURL":"file:///x","priority":5}"#,
                    headers: ["Authorization": header])
                #expect(answer.status == 401, "\(header)")
                #expect(answer.code == "cluster.unauthorized", "\(header)")
                #expect(!answer.body.contains(token))
            }
            #expect(try await fixture.tables() == before)
            #expect(try await fixture.send("GET", "/v1/status").status == 200)
            // The name of a scheme may have any case (RFC 9110, 11.1).
            for scheme in ["bearer", "BEARER"] {
                let headers = ["Authorization": "\(scheme) \(token)"]
                #expect(try await fixture.send("GET", "/v1/status", headers: headers).status == 200)
            }
            // A proxy may name the host in the target as well (RFC 9112, 3.2.2).
            for (target, status) in [
                ("http://127.0.0.1:\(fixture.port)/v1/status", 200),
                ("HTTPS://other.example/v1/workers/history?seconds=60", 200),
                ("http://other.example", 404), ("http://other.example?a=b", 404),
                ("http:///v1/status", 400), ("http://u@h/v1/status", 400),
                ("http://h@/v1/status", 400), ("ftp://h/v1/status", 400),
            ] {
                let answer = try await fixture.send("GET", target)
                #expect(answer.status == status, "\(target) \(answer)")
            }
            // It does not matter by which name the coordinator is reached.
            let named = ["Host": "dray.example"]
            #expect(try await fixture.send("GET", "/v1/status", headers: named).status == 200)
            for path in ["/healthz", "/readyz"] {
                let answer = try await fixture.send("GET", path, headers: ["Authorization": ""])
                #expect(answer.status == 200)
            }
        }
    }

    /// A database that hangs is asked once, however many ask and go away.
    @Test(.timeLimit(.minutes(1))) func closedConnectionsLeaveNoQueriesBehind() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            func count(_ condition: String) async throws -> Int {
                let text = try await fixture.execute(
                    """
                    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                    AND pid <> pg_backend_pid() AND \(condition)
                    """)
                return Int(text.dropLast()) ?? -1
            }
            let loop = try EventLoop(name: "holder")
            defer { loop.shutdown() }
            let holder = try await PostgresConnection.connect(
                PostgresConfiguration.queue(url: fixture.databaseURL), on: loop)
            let probe = Array("GET /readyz HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
            try await holder.transaction { holder in
                _ = try await holder.query("LOCK TABLE lane, delayed_job IN ACCESS EXCLUSIVE MODE")
                for _ in 0..<40 {
                    let descriptor = try Wire.open(port: fixture.port, sending: probe)
                    // Answered after the probe was read: one loop reads all connections in turn.
                    #expect(try await fixture.send("GET", "/healthz").status == 200)
                    close(descriptor)
                }
                let probes = "wait_event_type = 'Lock' AND query LIKE '%claim_order(q.id)%'"
                // Housekeeping asks the same.
                #expect(try await count(probes) <= 2)
            }
            await holder.close()
            #expect(try await fixture.send("GET", "/readyz").status == 200)
        }
    }

    /// Without a token, a connection has one request, also on routes that need none.
    @Test func onlyWhoHasTheTokenKeepsAConnection() async throws {
        try await Fixture.with { fixture in
            let second = "Host: h\r\n\r\nGET /healthz"
            for (target, header, isKept) in [
                ("/v1/status", "Authorization: Bearer \(AccessToken.test.text)", true),
                ("/healthz", "Authorization: Bearer \(AccessToken.test.text)", true),
                ("/v1/status", "Authorization: Bearer \(AccessToken.random().text)", false),
                ("/v1/status", "X-Nothing: x", false), ("/healthz", "X-Nothing: x", false),
            ] {
                let answer = try await fixture.send(
                    "GET", "\(target) HTTP/1.1\r\n\(header)\r\n\(second)",
                    headers: ["Authorization": ""])
                #expect(answer.body.contains("HTTP/1.1 200") == isKept, "\(target) \(header)")
                #expect((answer.headers["connection"] == "close") != isKept)
            }
        }
    }

    @Test func anyAddressOfLoopbackCanBeListenedOn() async throws {
        let url = try await PostgresServer.shared().databaseURL("access")
        let coordinator = try Coordinator(
            Coordinator.Configuration(
                databaseURL: url, address: "127.0.0.2", port: 0, token: .test))
        let port = try await coordinator.start()
        let client = try CoordinatorClient(endpoints: "http://127.0.0.2:\(port)", token: .test)
        let sites = try? await client.sites()
        client.shutdown()
        await coordinator.stop()
        #expect(sites != nil)
    }

    private static func startFailure(
        _ databaseURL: String, port: Int = 0
    ) async throws -> Failure? {
        let coordinator = try Coordinator(
            Coordinator.Configuration(
                databaseURL: databaseURL, address: "127.0.0.1", port: port, token: .test))
        var failure: Failure?
        do throws(Failure) {
            _ = try await coordinator.start()
        } catch {
            failure = error
        }
        await coordinator.stop()
        return failure
    }

    @Test func aPortInUseOrOutOfRangeIsNamed() async throws {
        try await Fixture.with { fixture in
            let taken = try await Self.startFailure(fixture.databaseURL, port: fixture.port)
            #expect(taken?.code == "cluster.portInUse")
            #expect(taken?.message.contains("\(fixture.port)") == true)
            for port in [-1, 65_536] {
                let failure = try await Self.startFailure(fixture.databaseURL, port: port)
                #expect(failure?.code == "input.field")
            }
        }
    }

    @Test func aDatabaseThatIsDownIsNamedWithoutItsPassword() async throws {
        let failure = try await Self.startFailure("postgresql://dray:geheim@127.0.0.1:1/dray")
        #expect(failure?.code == "cluster.databaseUnreachable")
        #expect(failure?.message.contains("geheim") == false)
    }

    @Test func aNewerSchemaIsNotChanged() async throws {
        try await Fixture.with { fixture in
            _ = try await fixture.execute(
                "INSERT INTO schema_migration (version, checksum) VALUES (999, '')")
            let failure = try await Self.startFailure(fixture.databaseURL)
            #expect(failure?.code == "cluster.schemaNewer")
            #expect(failure?.message.contains("999") == true)
        }
    }
}
