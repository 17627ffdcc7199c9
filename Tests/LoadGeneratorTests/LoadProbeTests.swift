import EventLoop
import LoadModel
import Model
import TestSupport
import Testing

@testable import LoadGenerator

/// Requests before any load, and the answers that end the test.
@Suite(.timeLimit(.minutes(2))) struct LoadProbeTests {
    private let origin: FaultOrigin

    init() throws { origin = try FaultOrigin() }

    private func scenario(_ urls: [String]) -> LoadScenario {
        var scenario = LoadScenario.closed(users: 1, seconds: 0.3)
        scenario.targets = urls.map { LoadTarget(name: $0, source: .url($0, .file)) }
        return scenario
    }

    private func rejection(
        _ scenario: LoadScenario, lists: [String: [AssetSubmission]] = [:]
    ) async throws -> String? {
        do {
            _ = try await preflight(scenario, lists: lists)
            return nil
        } catch let failure as Failure {
            #expect(["input.target", "input.field"].contains(failure.code.rawValue))
            return failure.message
        }
    }

    @Test func aFileThatIsNotThereEndsIt() async throws {
        origin.serve("/a", [UInt8](repeating: 1, count: 10 << 20))
        for status in [404, 403, 500] { origin.route("/\(status)", FaultOrigin.Response(status)) }
        for status in [404, 403, 500] {
            let url = origin.url("/\(status)")
            let message = try await rejection(scenario([origin.url("/a"), url]))
            #expect(message == "targets[1] (\(url)): origin.http.\(status): status \(status)")
        }
        // The last may be one that passes.
        #expect(origin.count("/404") == 1 && origin.count("/500") == 3)
        origin.route(
            "/busy", inTurn: [FaultOrigin.Response(503), .init(503), .init(200, text: "ok")])
        #expect(try await rejection(scenario([origin.url("/busy")])) == nil)
    }

    @Test func oneThatMayFailDoes() async throws {
        origin.route("/r", FaultOrigin.Response(302, headers: [("Location", "/a")]))
        var errors = scenario([origin.url("/missing"), origin.url("/r")])
        for index in errors.targets.indices { errors.targets[index].mayFail = true }
        #expect(try await rejection(errors) == nil)
        // A dead one starts as well.
        var nobody = scenario(["http://127.0.0.1:1/a"])
        let message = try #require(try await rejection(nobody))
        #expect(message.contains("targets[0] (http://127.0.0.1:1/a): origin.connect: "))
        nobody.targets[0].mayFail = true
        #expect(try await rejection(nobody) == nil)
    }

    @Test func itIsAskedAsTheLoadDoes() async throws {
        origin.serve("/a", [1])
        var scenario = scenario([origin.url("/a")])
        scenario.http.headers = [try RequestHeader(name: "X-Token", value: "7")]
        #expect(try await rejection(scenario) == nil)
        #expect(origin.requests.map(\.method) == ["GET"])
        #expect(origin.requests.first?.headers["x-token"] == "7")
        #expect(origin.requests.first?.headers["range"] == nil)
    }

    /// Of many targets the first hundred, of a list the first file, of other origins one.
    @Test func manyAreAskedForInPart() async throws {
        let other = try FaultOrigin()
        var list: [AssetSubmission] = []
        for number in 0..<300 {
            let url = number == 200 ? other.url("/x") : origin.url("/l\(number)")
            list.append(AssetSubmission(name: "f", url: url, kind: .file, key: "k\(number)"))
        }
        origin.serve("/l0", [1])
        other.serve("/x", [1])
        var some = scenario((0..<150).map { origin.url("/t\($0)") })
        for number in 0..<150 { origin.serve("/t\(number)", [1]) }
        some.targets.insert(LoadTarget(name: "l", source: .list("l")), at: 0)
        #expect(try await rejection(some, lists: ["l": list]) == nil)
        #expect(origin.count("/l0") == 1 && origin.requests.count == 100)
        #expect(other.requests.count == 1)
        other.route("/x", FaultOrigin.Response(404))
        let message = try await rejection(some, lists: ["l": list])
        #expect(
            message?.hasPrefix("targets[0] (l: f): origin.http.404") == true, "\(message ?? "")")
    }

    // MARK: TLS and HTTP/2

    private struct SecureOrigin {
        let nginx: NginxServer
        let authority: String
        let port: UInt16
        let plain: UInt16
        private let directory: TemporaryDirectory

        init() async throws {
            directory = try TemporaryDirectory("probe")
            let server = try await TestCertificate(in: directory, "server")
            authority = server.certificate
            try directory.write("hello", to: "root/a")
            port = try { try FaultOrigin().port }()
            plain = try { try FaultOrigin().port }()
            nginx = try await NginxServer(
                root: directory.path("root"),
                configuration: """
                    listen 127.0.0.1:\(port) ssl http2;
                    listen 127.0.0.1:\(plain) http2;
                    ssl_certificate \(server.certificate);
                    ssl_certificate_key \(server.key);
                    """)
        }
    }

    @Test func anAuthorityThatIsNotKnownEndsIt() async throws {
        let secure = try await SecureOrigin()
        var scenario = scenario(["https://localhost:\(secure.port)/a"])
        #expect(try await rejection(scenario)?.contains("origin.tls: ") == true)
        scenario.http.caFile = secure.authority
        #expect(try await rejection(scenario) == nil)
        // Plain HTTP where TLS is spoken.
        #expect(try await rejection(self.scenario(["http://localhost:\(secure.port)/a"])) != nil)
    }

    /// Over TLS, HTTP/2 has connections that are used again; without it only where the library can.
    @Test func http2IsSentAsItCanBe() async throws {
        let secure = try await SecureOrigin()
        var scenario = scenario(["https://localhost:\(secure.port)/a"])
        scenario.http.caFile = secure.authority
        scenario.http.version = .http2
        // nginx closes a connection after a thousand.
        scenario.caps.requests = 50
        let run = try await EngineRun(try await preflight(scenario).plan, scenario, threads: 1)
        #expect(run.counts.requests.failed == 0 && run.counts.requests.succeeded > 1)
        #expect(run.counts.requests.connections == 1)

        scenario = self.scenario(["http://127.0.0.1:\(secure.plain)/a"])
        scenario.http.version = .http2
        scenario.caps.requests = 50
        let message = try await rejection(scenario)
        if let message {
            #expect(message.hasPrefix("field http.version: given 2 for targets[0] ("))
            scenario.http.keepsAlive = false
        }
        let plain = try await EngineRun(try await preflight(scenario).plan, scenario, threads: 1)
        #expect(plain.counts.requests.failed == 0 && plain.counts.requests.succeeded > 1)
        #expect(
            message == nil || plain.counts.requests.connections == plain.counts.requests.succeeded)
    }

    @Test func manifestsAreFetchedInTheSameVersion() async throws {
        let secure = try await SecureOrigin()
        var scenario = scenario([])
        scenario.targets = [
            LoadTarget(
                name: "t", source: .url("http://127.0.0.1:\(secure.plain)/t.m3u8", .hls))
        ]
        scenario.http.version = .http2
        scenario.http.keepsAlive = false
        #expect(try await rejection(scenario)?.contains("origin.http.404") == true)
    }
}
