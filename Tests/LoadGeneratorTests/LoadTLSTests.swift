import LoadModel
import Model
import Statistics
import TestSupport
import Testing

/// Load over TLS and over HTTP/2, beside what a real nginx has in its access log.
@Suite(.timeLimit(.minutes(2))) struct LoadTLSTests {
    private let directory: TemporaryDirectory
    private let certificate: TestCertificate

    init() async throws {
        directory = try TemporaryDirectory("load-tls")
        certificate = try await TestCertificate(in: directory, "server")
        try directory.write([UInt8](repeating: 7, count: 20_000), to: "www/file")
    }

    private func server(http2: Bool = false, _ configuration: String = "") async throws
        -> NginxServer
    {
        try await NginxServer(
            root: directory.path("www"), configuration: configuration,
            encryption: .init(certificate, offersHTTP2: http2))
    }

    private func trusting(_ scenario: LoadScenario, capped requests: Int64? = nil) -> LoadScenario {
        var scenario = scenario
        scenario.http.caFile = certificate.certificate
        scenario.caps.requests = requests
        return scenario
    }

    /// All that nginx has logged, once there are so many.
    private func logged(_ server: NginxServer, _ count: Int64) async throws -> [NginxServer.Request]
    {
        try await waitUntil(deadlineSeconds: 60, "nginx's log") {
            server.requests().count >= count
        }
        return server.requests()
    }

    @Test func overTLSEveryRequestIsCountedAndEveryConnectionOnce() async throws {
        let server = try await server()
        let run = try await EngineRun(
            LoadPlan(files: ["\(server.url)/file"]),
            trusting(.closed(users: 4, seconds: 60), capped: 200), threads: 1)
        #expect(run.counts.requests.succeeded == 200)
        #expect(run.counts.requests.failed == 0)
        #expect(run.counts.requests.bytes == 200 * 20_000)
        let requests = try await logged(server, 200)
        #expect(requests.count == 200)
        #expect(requests.allSatisfy { $0.version == "HTTP/1.1" && $0.status == 200 })
        // One of each user, which is kept; the others have no connecting time.
        #expect(run.counts.requests.connections == 4)
        #expect(Set(requests.map(\.connection)).count == 4)
        #expect(run.total[.connect]?.total == 4)
        #expect((run.total[.connect]?.minimum ?? 0) > 0)
    }

    @Test func withoutKeepAliveEveryRequestHasItsHandshake() async throws {
        let server = try await server()
        var scenario = trusting(.closed(users: 3, seconds: 60), capped: 30)
        scenario.http.keepsAlive = false
        let run = try await EngineRun(LoadPlan(files: ["\(server.url)/file"]), scenario)
        #expect(run.counts.requests.succeeded == 30)
        #expect(run.counts.requests.connections == 30)
        #expect(run.total[.connect]?.total == 30)
        #expect(Set(try await logged(server, 30).map(\.connection)).count == 30)
    }

    @Test func anUntrustedCertificateFailsEveryRequest() async throws {
        let server = try await server()
        var scenario = LoadScenario.closed(users: 1, seconds: 60)
        scenario.caps.requests = 5
        let run = try await EngineRun(LoadPlan(files: ["\(server.url)/file"]), scenario)
        #expect(run.total.errors == ["origin.tls": 5])
        #expect(run.counts.requests.succeeded == 0)
        #expect(server.requests().isEmpty)
    }

    /// A first request alone opens the connection; then there are twenty under way at a time, each half a
    /// second long.
    @Test func overHTTP2StreamsShareOneConnection() async throws {
        try directory.write([UInt8](repeating: 7, count: 100_000), to: "www/slow")
        let server = try await server(http2: true, "limit_rate 200k;")
        var scenario = trusting(.open(rate: 1, seconds: 1))
        scenario.stages.append(LoadStage(seconds: 2, from: 40, to: 40))
        let run = try await EngineRun(
            LoadPlan(files: ["\(server.url)/slow"]), scenario, threads: 1)
        #expect(run.counts.pacing.planned == 81)
        #expect(run.counts.requests.succeeded == 81)
        let requests = try await logged(server, 81)
        #expect(requests.count == 81)
        #expect(requests.allSatisfy { $0.version == "HTTP/2.0" && $0.status == 200 })
        #expect(Set(requests.map(\.connection)).count == 1)
        #expect(run.counts.requests.connections == 1)
        #expect(run.total[.connect]?.total == 1)
        #expect(run.total[.firstByte]?.total == 81)
        #expect((run.intervals.map(\.counts.levels.inFlight).max() ?? 0) >= 10)
    }

    @Test func whoAsksForHTTP1GetsItFromAServerOfBoth() async throws {
        let server = try await server(http2: true)
        var scenario = trusting(.closed(users: 2, seconds: 60), capped: 20)
        scenario.http.version = .http1
        let run = try await EngineRun(LoadPlan(files: ["\(server.url)/file"]), scenario)
        #expect(run.counts.requests.succeeded == 20)
        #expect(try await logged(server, 20).allSatisfy { $0.version == "HTTP/1.1" })
    }

    /// Users who begin at the same time open a connection each: none knows yet that they could share one.
    @Test func usersOverHTTP2AreCountedAsTheServerCountsThem() async throws {
        let server = try await server(http2: true)
        let run = try await EngineRun(
            LoadPlan(files: ["\(server.url)/file"]),
            trusting(.closed(users: 8, seconds: 60), capped: 400))
        #expect(run.counts.requests.succeeded == 400)
        let requests = try await logged(server, 400)
        #expect(requests.count == 400)
        #expect(requests.allSatisfy { $0.version == "HTTP/2.0" })
        #expect(Int64(Set(requests.map(\.connection)).count) == run.counts.requests.connections)
        #expect(run.total[.connect]?.total == run.counts.requests.connections)
    }

    /// A viewer's first request opens a connection over HTTP/2 too.
    @Test func viewersOverHTTP2HaveAConnectionEach() async throws {
        let server = try await server(http2: true)
        var plan = LoadPlan(files: ["\(server.url)/file"])
        plan.targets[0].title = MediaTitle(
            manifest: 0,
            video: [
                MediaTitle.Track(
                    name: "v", bitsPerSecond: 1_000, setup: [],
                    segments: (0..<3).map { _ in .init(object: 0, seconds: 0.1) })
            ])
        var scenario = trusting(.open(rate: 5, seconds: 1))
        scenario.stages.append(LoadStage(seconds: 1, from: 0, to: 0))
        var settings = ViewerSettings()
        settings.startupSeconds = 0.1
        scenario.user = .viewers(settings)
        let run = try await EngineRun(plan, scenario, threads: 1)
        #expect(run.counts.viewers.ended == 5)
        #expect(run.counts.requests.succeeded == 20)
        let requests = try await logged(server, 20)
        #expect(requests.allSatisfy { $0.version == "HTTP/2.0" })
        #expect(Set(requests.map(\.connection)).count == 5)
        #expect(run.counts.requests.connections == 5)
    }
}
