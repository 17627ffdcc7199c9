import Digest
import LoadGenerator
import LoadModel
import Model
import Statistics
import TestSupport
import Testing
import Titles

/// Requests without libcurl have the same results as with it.
@Suite(.timeLimit(.minutes(1))) struct LoadTransportTests {
    private static let body = [UInt8](repeating: 7, count: 10_000)
    /// With libcurl alone, and without.
    static let both = [true, false]

    private static func run(
        _ plan: LoadPlan, _ scenario: LoadScenario, libcurl: Bool,
        adjust: (inout LoadEngine.Options) -> Void = { _ in }
    ) async throws -> EngineRun {
        try await EngineRun(
            plan, scenario, threads: 1,
            adjust: {
                $0.usesLibcurlAlone = libcurl
                adjust(&$0)
            })
    }

    private static func requests(_ count: Int64, users: Double = 1) -> LoadScenario {
        var scenario = LoadScenario.closed(users: users, seconds: 30)
        scenario.caps.requests = count
        return scenario
    }

    /// An answer, the result of a request for it, and the connections that four of them open.
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var answer: FaultOrigin.Response
        var code: FailureCode?
        var connections: Int64
        var bytes: Int64 = 0

        init(
            _ name: String, _ answer: FaultOrigin.Response, _ code: FailureCode?,
            connections: Int64, bytes: Int64 = 0
        ) {
            (self.name, self.answer, self.code) = (name, answer, code)
            (self.connections, self.bytes) = (connections, bytes)
        }

        var testDescription: String { name }

        /// As it is sent.
        static func raw(
            _ text: String, _ code: FailureCode?, bytes: Int64 = 0,
            then step: FaultOrigin.Step = .close
        ) -> Case {
            Case(
                String(text.prefix(90)), .raw(text, then: step), code, connections: 4, bytes: bytes)
        }
    }

    private static let ok = "HTTP/1.1 200 OK\r\n"

    private static let cases: [Case] = [
        Case("whole", .init(200, body: body), nil, connections: 1, bytes: 40_000),
        Case("empty", .init(200), nil, connections: 1),
        Case("204", .init(204).with("Content-Length", "0"), nil, connections: 1),
        Case("304", .init(304), "origin.redirected", connections: 1),
        Case("404", .init(404, text: "no"), "origin.http.404", connections: 1, bytes: 8),
        Case("503", .init(503, text: "no"), "origin.http.503", connections: 1, bytes: 8),
        Case("moved", .redirect(to: "/a"), "origin.redirected", connections: 1),
        Case("206", .init(206, body: body), "origin.rangeMismatch", connections: 1, bytes: 40_000),
        Case(
            "closes", .init(200, headers: [("Connection", "close")], body: body), nil,
            connections: 4, bytes: 40_000),
        Case(
            "cut", .init(200, body: body).cut(after: 100), "origin.truncated", connections: 4,
            bytes: 400),
        Case(
            "reset", .init(200, body: body).cut(after: 100, then: .reset), "origin.reset",
            connections: 4, bytes: 400),
        Case(
            "reset before the answer", .raw("", then: .reset), "origin.reset", connections: 4),
        Case("nothing", .raw(""), "origin.reset", connections: 4),
        .raw("\(ok)\r\nhello", nil, bytes: 20),
        .raw("\(ok)Transfer-Encoding: identity\r\n\r\nhello", nil, bytes: 20),
        .raw("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", nil, bytes: 20),
        .raw("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", nil, bytes: 20),
        .raw("\(ok)Content-Length: 5\r\n\r\nhellohello", nil, bytes: 20),
        Case(
            "a second answer without a request",
            .raw(
                "\(ok)Content-Length: 10000\r\n\r\n" + String(repeating: "a", count: 10_000)
                    + "\(ok)Content-Length: 0\r\n\r\n", then: .send([])), nil, connections: 4,
            bytes: 40_000),
        .raw(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                + "\(ok)Content-Length: 5\r\n\r\nhello", nil, bytes: 20),
        .raw(
            "\(ok)Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: x\r\n\r\n", nil,
            bytes: 20),
        .raw(
            "\(ok)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "origin.truncated",
            bytes: 20),
        .raw("\(ok)Transfer-Encoding: chunked\r\n\r\n5\r\nhel", "origin.truncated", bytes: 12),
        .raw("\(ok)Transfer-Encoding: chunked\r\n\r\nzz\r\nhel", "origin.protocol"),
        .raw("\(ok)Content-Length: 5\r\n", "origin.truncated"),
        .raw("\(ok)Content-Length: -5\r\n\r\nhello", "origin.protocol"),
        .raw("\(ok)A\u{0}: b\r\n\r\nhello", "origin.protocol"),
        .raw("\(ok)no colon\r\n\r\nhello", "origin.protocol"),
        .raw("SSH-2.0-OpenSSH_9.2\r\n", "origin.protocol"),
        .raw("HTTP/1.1 2000 OK\r\n\r\n", "origin.protocol"),
    ]

    @Test(arguments: cases, both)
    func bothTransportsReportTheSameAnswer(of wanted: Case, libcurl: Bool) async throws {
        let origin = try FaultOrigin()
        origin.route("/a", wanted.answer)
        let run = try await Self.run(
            LoadPlan(files: [origin.url("/a")]), Self.requests(4), libcurl: libcurl)
        #expect(run.total.errors == (wanted.code.map { [$0.rawValue: 4] } ?? [:]))
        #expect(run.counts.requests.succeeded == (wanted.code == nil ? 4 : 0))
        #expect(run.counts.requests.sent == 4)
        #expect(run.counts.requests.bytes == wanted.bytes)
        #expect(run.counts.requests.connections == wanted.connections)
        #expect(run.total[.connect]?.total == wanted.connections)
        #expect((run.total[.firstByte]?.total ?? 0) == run.counts.requests.succeeded)
        #expect((run.total[.failed]?.total ?? 0) == run.counts.requests.failed)
        #expect(Int64(origin.acceptedConnections) == wanted.connections)
        #expect(origin.count("/a") == 4)
    }

    /// libcurl takes some of them for one of the two things that they may be taken for.
    @Test(arguments: [
        "\(ok)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "\(ok)Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        "\(ok)Server: x\r\n y\r\nContent-Length: 5\r\n\r\nhello",
        "\(ok)Content-Length: 99999999999999999999\r\n\r\nhello",
        "\(ok)" + String(repeating: "A: b\r\n", count: 12_000) + "\r\n",
        "\(ok)A: " + String(repeating: "b", count: 70_000),
        String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", count: 2_000),
    ])
    func whatMayBeTakenForTwoThingsIsTakenForNone(head: String) async throws {
        let origin = try FaultOrigin()
        origin.route("/a", .raw(head))
        let run = try await Self.run(
            LoadPlan(files: [origin.url("/a")]), Self.requests(2), libcurl: false)
        #expect(run.total.errors == ["origin.protocol": 2])
    }

    // MARK: Connections

    @Test(arguments: both) func withoutAListenerConnectingFails(libcurl: Bool) async throws {
        let plan = LoadPlan(files: ["http://127.0.0.1:1/", "http://[::1]:1/"])
        let run = try await Self.run(plan, Self.requests(6, users: 3), libcurl: libcurl)
        #expect(run.total.errors == ["origin.connect": 6])
        #expect(run.counts.requests.connections == 0)
        #expect(run.total[.connect] == nil)
        #expect(run.total[.firstByte] == nil)
        #expect(run.total[.failed]?.total == 6 && run.total[.total] == nil)
    }

    /// The server closes a connection that waited for the next request, as that request comes: it is not at fault,
    /// and nothing has failed.
    @Test(arguments: [FaultOrigin.Step.close, .reset], both)
    func aRequestOnAConnectionThatWasClosedMeanwhileGoesByANewOne(
        step: FaultOrigin.Step, libcurl: Bool
    ) async throws {
        let origin = try FaultOrigin()
        origin.route("/a") { request in
            request.number % 2 == 1 ? .init(200, body: Self.body) : .raw("", then: step)
        }
        let run = try await Self.run(
            LoadPlan(files: [origin.url("/a")]), Self.requests(5), libcurl: libcurl)
        #expect(run.total.errors == [:])
        #expect(run.counts.requests.succeeded == 5)
        #expect(run.counts.requests.sent == 5)
        // The server's log has them twice.
        #expect(origin.count("/a") == 9)
        #expect(run.counts.requests.resent == 4)
        #expect(origin.acceptedConnections == 5)
        #expect(run.counts.requests.connections == 5)
    }

    @Test(arguments: both) func nginxClosesConnectionsThatAreIdle(libcurl: Bool) async throws {
        let directory = try TemporaryDirectory("load")
        try directory.write("hello", to: "a")
        let server = try await NginxServer(
            root: directory.path, configuration: "keepalive_timeout 1s;")
        var scenario = Self.requests(2)
        scenario.think = .constant(seconds: 1.5)
        let run = try await Self.run(
            LoadPlan(files: ["\(server.url)/a"]), scenario, libcurl: libcurl)
        #expect(run.counts.requests.succeeded == 2)
        #expect(run.counts.requests.failed == 0)
        #expect(run.counts.requests.connections == 2)
    }

    @Test(arguments: both) func connectionsAreBounded(libcurl: Bool) async throws {
        let origin = try FaultOrigin()
        let plan = ViewerEngineTests.plan(origin, count: 30, seconds: 0.2)
        var scenario = LoadScenario.open(rate: 20, seconds: 2)
        scenario.user = .viewers(ViewerSettings())
        scenario.http.concurrency = 6
        let run = try await Self.run(plan, scenario, libcurl: libcurl) {
            $0.viewerConnections = 3 * 64 + 10
        }
        #expect(run.counts.viewers.started == 40)
        #expect(run.counts.requests.failed == 0)
        #expect(run.counts.requests.connections >= 20)
        #expect(origin.connections.peak <= 12)
    }

    // MARK: Time

    @Test(arguments: both) func whatDoesNotComeInTimeHasFailed(libcurl: Bool) async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        defer { gate.open() }
        origin.route("/none", .init(200, body: Self.body).held(at: gate))
        origin.route("/head", .raw("HTTP/1.1 200 OK\r\nConte", then: .wait(gate)))
        origin.route("/half", .init(200, body: Self.body).held(after: 5_000, at: gate))
        let plan = LoadPlan(files: ["/none", "/head", "/half"].map { origin.url($0) })
        var scenario = Self.requests(6, users: 6)
        scenario.popularity = .zipf(exponent: 0)
        scenario.http.timeoutSeconds = 0.4
        let run = try await Self.run(plan, scenario, libcurl: libcurl)
        #expect(run.total.errors == ["origin.timeout": 6])
        // However far they came.
        #expect(run.total[.failed]?.total == 6)
        #expect((run.total[.failed]?.minimum ?? 0) >= 399_000)
        #expect((run.total[.failed]?.maximum ?? 0) < 2_000_000)
        #expect(run.counts.requests.connections == 6)
    }

    @Test(arguments: both) func whoDoesNotTakeConnectionsIsNotWaitedForLonger(
        libcurl: Bool
    ) async throws {
        let full = try FullListener()
        var scenario = Self.requests(2, users: 2)
        scenario.http.connectTimeoutSeconds = 0.3
        let run = try await Self.run(
            LoadPlan(files: ["http://127.0.0.1:\(full.port)/"]), scenario, libcurl: libcurl)
        #expect(run.total.errors == ["origin.timeout": 2])
        #expect(run.counts.requests.connections == 0)
        #expect((run.total[.failed]?.minimum ?? 0) >= 299_000)
        #expect((run.total[.failed]?.maximum ?? 0) < 5_000_000)
    }

    // MARK: Bytes

    /// Each place where an answer may be split in two, with its bytes looked at and dropped.
    @Test(arguments: [LoadBodies.checked, .discarded], both)
    func anAnswerIsTheSameWhereverItIsSplit(bodies: LoadBodies, libcurl: Bool) async throws {
        let origin = try FaultOrigin()
        let answer = Array(
            ("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "5\r\nhello\r\n7; x=y\r\n, world\r\n0\r\nT: x\r\n\r\n").utf8)
        origin.route("/a") { request in
            let split = min(request.number, answer.count - 1)
            var response = FaultOrigin.Response()
            response.rawHead = Array(answer[..<split])
            response.steps = [.send(Array(answer[split...]))]
            return response.with("Content-Length", "\(answer.count - split)")
        }
        var scenario = Self.requests(Int64(answer.count - 1))
        scenario.bodies = bodies
        let plan = LoadPlan(
            files: [origin.url("/a")],
            sha256: SHA256Digest(hashing: Array("hello, world".utf8)).description)
        let run = try await Self.run(plan, scenario, libcurl: libcurl)
        #expect(run.total.errors == [:])
        #expect(run.counts.requests.succeeded == Int64(answer.count - 1))
        #expect(run.counts.requests.bytes == Int64(12 * (answer.count - 1)))
        #expect(run.counts.requests.connections == 1)
    }

    @Test(arguments: [LoadBodies.checked, .discarded], both)
    func aLongBodyIsCountedToItsLastByte(bodies: LoadBodies, libcurl: Bool) async throws {
        let directory = try TemporaryDirectory("load")
        let bytes = (0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try directory.write(bytes, to: "a")
        let server = try await NginxServer(root: directory.path)
        var scenario = Self.requests(12, users: 3)
        scenario.bodies = bodies
        let plan = LoadPlan(
            files: ["\(server.url)/a"], sha256: SHA256Digest(hashing: bytes).description)
        let run = try await Self.run(plan, scenario, libcurl: libcurl)
        #expect(run.total.errors == [:])
        #expect(run.counts.requests.bytes == 12 * 3_000_001)
        #expect(run.counts.requests.connections == 3)
        // A part of it alone.
        var part = plan
        part.objects[0].range = SegmentRange(offset: 2_000_000, length: nil)
        part.objects[0].sha256 = SHA256Digest(hashing: Array(bytes[2_000_000...])).description
        let ranged = try await Self.run(part, scenario, libcurl: libcurl)
        #expect(ranged.total.errors == [:])
        #expect(ranged.counts.requests.bytes == 12 * 1_000_001)
    }

    @Test(arguments: both) func aCapOfBytesEndsABodyInItsMidst(libcurl: Bool) async throws {
        let origin = try FaultOrigin()
        origin.route("/a", .endless())
        var scenario = LoadScenario.closed(users: 2, seconds: 30)
        scenario.caps.bytes = 3_000_000
        let run = try await Self.run(
            LoadPlan(files: [origin.url("/a")]), scenario, libcurl: libcurl)
        #expect(run.outcome.ending == .capped)
        #expect(run.counts.requests.bytes <= 3_000_000)
        #expect(run.counts.requests.bytes > 2_000_000)
        #expect(run.counts.requests.unfinished == 2)
        #expect(run.counts.requests.failed == 0)
    }

    // MARK: What is sent

    @Test(arguments: both) func requestsAreWrittenAlike(libcurl: Bool) async throws {
        let origin = try FaultOrigin()
        origin.serve("/", Self.body)
        origin.serve("/a", Self.body)
        var plan = LoadPlan(files: ["", "?x=1&y=%20", "/a?b=/../c"].map { origin.url($0) })
        plan.objects[2].range = SegmentRange(offset: 5, length: 10)
        var scenario = Self.requests(3)
        scenario.http.headers = [
            try RequestHeader(name: "X-Load", value: "yes, indeed"),
            try RequestHeader(name: "Accept", value: "video/*"),
        ]
        scenario.popularity = .zipf(exponent: 0)
        scenario.seed = 3
        scenario.caps.requests = 40
        let run = try await Self.run(plan, scenario, libcurl: libcurl) { $0.userAgent = "tester/1" }
        #expect(run.counts.requests.failed == 0)
        let wanted = [
            "host": "127.0.0.1:\(origin.port)", "user-agent": "tester/1", "accept": "video/*",
            "x-load": "yes, indeed",
        ]
        for (target, range) in [("/", nil), ("/?x=1&y=%20", nil), ("/a?b=/../c", "bytes=5-14")] {
            let request = try #require(origin.requests.first { $0.target == target })
            var headers = wanted
            headers["range"] = range
            #expect(request.method == "GET")
            #expect(request.headers == headers)
        }
    }
}
