import Coordinator
import CoordinatorClient
import Model
import TestSupport
import Testing

@Suite struct AccessTests {
    @Test func withATokenEveryRequestMustCarryIt() async throws {
        try await Fixture.with(token: "right-token") { fixture in
            let before = try await fixture.tables()
            let wrong = [
                "", "Bearer", "Bearer ", "Bearer right-toke", "Bearer right-token2",
                "bearer right-token", "Basic right-token", "Bearer Right-token",
            ]
            for header in wrong {
                let answer = try await fixture.send(
                    "POST", "/v1/catalogs",
                    #"{"name":"a","storageURL":"file:///x","priority":5}"#,
                    headers: ["Authorization": header])
                #expect(answer.status == 401, "\(header)")
                #expect(answer.code == "cluster.unauthorized", "\(header)")
                #expect(!answer.body.contains("right-token"))
            }
            #expect(try await fixture.tables() == before)
            let right = ["Authorization": "Bearer right-token"]
            #expect(try await fixture.send("GET", "/v1/status", headers: right).status == 200)
            // With a token it does not matter by which name the coordinator is reached.
            let named = right.merging(["Host": "dray.example"]) { $1 }
            #expect(try await fixture.send("GET", "/v1/status", headers: named).status == 200)
            #expect(try await fixture.send("GET", "/healthz").status == 200)
            #expect(try await fixture.send("GET", "/readyz").status == 200)
        }
    }

    /// Who has no token has one request for each connection, also where nobody needs one.
    @Test func onlyWhoHasTheTokenKeepsAConnection() async throws {
        try await Fixture.with(token: "right-token") { fixture in
            let second = "Host: h\r\n\r\nGET /healthz"
            for (target, header, isKept) in [
                ("/v1/status", "Authorization: Bearer right-token", true),
                ("/healthz", "Authorization: Bearer right-token", true),
                ("/v1/status", "Authorization: Bearer wrong-token", false),
                ("/v1/status", "X-Nothing: x", false), ("/healthz", "X-Nothing: x", false),
            ] {
                let answer = try await fixture.send(
                    "GET", "\(target) HTTP/1.1\r\n\(header)\r\n\(second)")
                #expect(answer.body.contains("HTTP/1.1 200") == isKept, "\(target) \(header)")
                #expect((answer.headers["connection"] == "close") != isKept)
            }
        }
    }

    @Test func withoutATokenOnlyLoopbackNamesAreAnswered() async throws {
        try await Fixture.with { fixture in
            for host in [
                "evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::2]", "0",
                "127.0.0.1evil", "127.0.0.1:80x", "127.0.0.1:80:80", "127.0.0.1:800000", "[::1]x",
                "[::1]80", "[::1", "[::1]:80x", "localhost evil.example", "localhost,evil.example",
                "localhost.", "evil@localhost", "127.0.0.1/x", "127.1", "0127.0.0.1",
                "127.0.0.01", "127.0.0.256", "127.0.0.1.", "2130706433",
            ] {
                let answer = try await fixture.send("GET", "/v1/status", headers: ["Host": host])
                #expect(answer.status == 403 && answer.code == "cluster.hostRefused", "\(host)")
            }
            for host in [
                "localhost", "LOCALHOST:1234", "localhost:", "127.0.0.1:9", "[::1]:80", "[::1]",
                "127.0.0.2", "127.0.0.2:7400", "127.255.255.254",
            ] {
                let answer = try await fixture.send("GET", "/v1/status", headers: ["Host": host])
                #expect(answer.status == 200, "\(host)")
            }
            #expect(
                try await fixture.send("GET", "/healthz", headers: ["Host": "probe"]).status == 200)
        }
    }

    @Test func anyAddressOfLoopbackCanBeListenedOn() async throws {
        let url = try await PostgresServer.shared().databaseURL("access")
        let coordinator = try Coordinator(
            Coordinator.Configuration(
                databaseURL: url, address: "127.0.0.2", port: 0, token: nil))
        let port = try await coordinator.start()
        let client = try CoordinatorClient(endpoints: "http://127.0.0.2:\(port)", token: nil)
        let sites = try? await client.sites()
        client.shutdown()
        await coordinator.stop()
        #expect(sites != nil)
    }

    private static func startFailure(
        _ databaseURL: String, address: String = "127.0.0.1", port: Int = 0
    ) async throws -> Failure? {
        let coordinator = try Coordinator(
            Coordinator.Configuration(
                databaseURL: databaseURL, address: address, port: port, token: nil))
        var failure: Failure?
        do throws(Failure) {
            _ = try await coordinator.start()
        } catch {
            failure = error
        }
        await coordinator.stop()
        return failure
    }

    @Test(arguments: ["0.0.0.0", "::", "192.0.2.1", "127.evil.example"])
    func beyondLoopbackATokenIsNeeded(address: String) async throws {
        let url = try await PostgresServer.shared().databaseURL("access")
        let failure = try await Self.startFailure(url, address: address)
        #expect(failure?.code == "input.field")
        #expect(failure?.message.contains("DRAY_TOKEN") == true)
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

    @Test func aNewerSchemaIsLeftAlone() async throws {
        try await Fixture.with { fixture in
            _ = try await fixture.execute("INSERT INTO schema_migration (version) VALUES (999)")
            let failure = try await Self.startFailure(fixture.databaseURL)
            #expect(failure?.code == "cluster.schemaNewer")
            #expect(failure?.message.contains("999") == true)
        }
    }
}
