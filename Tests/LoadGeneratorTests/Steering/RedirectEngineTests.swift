import LoadGenerator
import LoadModel
import Model
import Statistics
import TestSupport
import Testing

/// Viewers follow redirects, as the access logs of nginx show.
@Suite(.timeLimit(.minutes(1))) struct RedirectEngineTests {
    private let directory: TemporaryDirectory
    /// The edges have the title.
    private let edges: [NginxServer]

    init() async throws {
        directory = try TemporaryDirectory("redirect")
        try Self.write(directory, isLive: false)
        edges = [
            try await NginxServer(root: directory.path),
            try await NginxServer(root: directory.path),
        ]
    }

    private static func write(_ directory: TemporaryDirectory, isLive: Bool) throws {
        try directory.write(
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\nv/list.m3u8\n", to: "t/main.m3u8")
        let segments = (0..<6).map { "#EXTINF:1,\n\($0).ts\n" }.joined()
        try directory.write(
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n\(segments)\(isLive ? "" : "#EXT-X-ENDLIST\n")",
            to: "t/v/list.m3u8")
        for number in 0..<6 {
            try directory.write([UInt8](repeating: 1, count: 1_000), to: "t/v/\(number).ts")
        }
    }

    private func scenario(_ url: String, users: Double = 2, seconds: Double = 2) -> LoadScenario {
        var scenario = LoadScenario.closed(users: users, seconds: seconds)
        scenario.targets = [LoadTarget(name: "t", source: .url(url, .hls))]
        var settings = ViewerSettings()
        settings.startupSeconds = 1
        scenario.user = .viewers(settings)
        return scenario
    }

    /// Requests of a log after the first `count`, once there are as many as expected.
    private func logged(
        _ servers: [NginxServer], after counts: [Int], atLeast wanted: Int64
    ) async throws -> [[NginxServer.Request]] {
        func all() -> [[NginxServer.Request]] {
            zip(servers, counts).map { Array($0.requests().dropFirst($1)) }
        }
        try await waitUntil(deadlineSeconds: 60, "the access logs") {
            all().map(\.count).reduce(0, +) >= Int(wanted)
        }
        return all()
    }

    @Test(arguments: [(301, false), (302, true), (303, false), (307, false), (308, true)])
    func whatARedirectedManifestListsComesFromWhereItLed(_ status: Int, libcurl: Bool) async throws
    {
        let start = try await NginxServer(
            root: directory.path,
            configuration: """
                absolute_redirect off;
                location = /go { return \(status) /start/go2; }
                location = /start/go2 { return \(status) \(edges[0].url)/t/main.m3u8?k=1; }
                """)
        let scenario = scenario("\(start.url)/go")
        let outcome = try await preflight(scenario)
        #expect(outcome.plan.finalURLs.values.map { $0 } == ["\(edges[0].url)/t/main.m3u8?k=1"])
        let servers = [start, edges[0]]
        try await waitUntil(deadlineSeconds: 60, "the preflight's requests") {
            servers.allSatisfy { $0.requests().count >= 2 }
        }
        let before = servers.map { $0.requests().count }
        let run = try await EngineRun(outcome, scenario, libcurl: libcurl)
        #expect(run.total.errors == [:])
        #expect(run.counts.viewers.started == 2 && run.counts.viewers.failed == 0)
        let logs = try await logged(servers, after: before, atLeast: run.counts.requests.sent)
        #expect(logs[0].map(\.target).sorted() == ["/go", "/go", "/start/go2", "/start/go2"])
        #expect(logs[0].allSatisfy { $0.status == status })
        #expect(logs[1].count { $0.target == "/t/main.m3u8?k=1" } == 2)
        #expect(logs[1].count { $0.target == "/t/v/list.m3u8" } == 2)
        #expect(logs[1].count { $0.target.hasSuffix(".ts") } >= 4)
        #expect(logs[1].allSatisfy { $0.status == 200 })
        // Each answer on the way counts, and is timed.
        #expect(Int64(logs.map(\.count).reduce(0, +)) == run.counts.requests.sent)
        #expect(run.counts.requests.redirects == 4)
        #expect(run.total[.redirect]?.total == 4)
        let kinds = run.outcome.breakdown.groups[.kind]
        #expect(kinds?["redirect"]?.requests == 4)
        #expect(kinds?["playlist"]?.requests == 4)
        #expect(run.outcome.breakdown.groups[.status]?["\(status)"]?.requests == 4)
    }

    @Test(arguments: [false, true])
    func eachViewerStaysWhereItWasLed(libcurl: Bool) async throws {
        let start = try await NginxServer(
            root: directory.path,
            configuration: """
                location = /go {
                    if ($arg_edge = b) { return 302 \(edges[1].url)/t/main.m3u8; }
                    return 302 \(edges[0].url)/t/main.m3u8;
                }
                """)
        let scenario = scenario("\(start.url)/go", users: 4)
        var outcome = try await preflight(scenario)
        outcome.plan.viewerData = try ViewerData(
            Array("query,Cookie\nedge=a,s=1\nedge=b,s=2\n".utf8))
        let run = try await EngineRun(outcome, scenario, libcurl: libcurl)
        #expect(run.total.errors == [:])
        #expect(run.counts.requests.redirects == 4)
        for (edge, query) in [(edges[0], "edge=a"), (edges[1], "edge=b")] {
            try await waitUntil(deadlineSeconds: 60, "the access log") {
                edge.requests().count { $0.target.contains(".ts?\(query)") } >= 2
            }
            let queries = Set(
                edge.requests().filter { $0.target.contains("?") }.map {
                    $0.target.split(separator: "?")[1]
                })
            #expect(queries == [Substring(query)])
            // A redirect's URL is requested as it is.
            #expect(edge.requests().count { $0.target == "/t/main.m3u8" } >= 2)
        }
    }

    @Test func liveViewersFollowToo() async throws {
        let root = try TemporaryDirectory("live")
        try Self.write(root, isLive: true)
        let edge = try await NginxServer(root: root.path)
        let start = try await NginxServer(
            root: root.path,
            configuration: "location = /go { return 302 \(edge.url)/t/main.m3u8; }")
        let scenario = scenario("\(start.url)/go")
        let outcome = try await preflight(scenario)
        #expect(outcome.plan.targets[0].live != nil)
        let run = try await EngineRun(outcome, scenario)
        #expect(run.total.errors == [:])
        #expect(run.counts.requests.redirects == 2)
        #expect(run.counts.playback.segments >= 4)
        try await waitUntil(deadlineSeconds: 60, "the access log") {
            edge.requests().count { $0.target.hasSuffix(".ts") }
                >= Int(run.counts.playback.segments)
        }
        #expect(start.requests().allSatisfy { $0.target == "/go" })
    }

    // MARK: Rejections

    private func requests(
        _ configuration: String, path: String, most: Int?, redirects: Int = 0, isProbed: Bool = true
    ) async throws -> (EngineRun, [NginxServer.Request]) {
        let origin = try await NginxServer(root: directory.path, configuration: configuration)
        var scenario = LoadScenario.closed(users: 1, seconds: 5)
        scenario.caps.requests = 30
        scenario.http.maxRedirects = most
        var target = LoadTarget(name: "t", source: .url("\(origin.url)\(path)", .file))
        target.mayFail = true
        scenario.targets = [target]
        let outcome = try await preflight(
            scenario, probe: isProbed ? CurlLoadProbe() : FixedProbe())
        try await waitUntil(deadlineSeconds: 60, "the preflight's requests") {
            origin.requests().count >= (isProbed ? redirects + 1 : 0)
        }
        let before = origin.requests().count
        let run = try await EngineRun(outcome, scenario)
        let logs = try await logged([origin], after: [before], atLeast: run.counts.requests.sent)
        return (run, logs[0])
    }

    @Test func aRouteWithoutEndIsCutShort() async throws {
        let (run, log) = try await requests(
            "absolute_redirect off; location /hop { return 302 ${uri}x; }", path: "/hop", most: 4,
            redirects: 4)
        // Five requests each, the last of which fails.
        #expect(log.count == 30)
        #expect(run.total.errors == ["origin.redirectLimit": 6])
        #expect(run.counts.requests.redirects == 24)
        #expect(Set(log.map(\.target)) == ["/hop", "/hopx", "/hopxx", "/hopxxx", "/hopxxxx"])
    }

    @Test func aLoopIsRefused() async throws {
        let (run, log) = try await requests(
            """
            absolute_redirect off;
            location = /a { return 302 /b; }
            location = /b { return 302 /a; }
            """, path: "/a", most: 20, redirects: 1)
        #expect(log.count == 30)
        #expect(run.total.errors == ["origin.redirectLoop": 15])
    }

    @Test func withoutALimitARedirectIsAFailure() async throws {
        let (run, log) = try await requests("location /r { return 302 /a; }", path: "/r", most: nil)
        #expect(run.total.errors == ["origin.redirected": 30])
        #expect(log.count == 30 && run.counts.requests.redirects == 0)
    }

    @Test(arguments: [
        ("http://localhost:9/", "origin.addressNotOfTarget"),
        ("http://169.254.169.254/", "origin.addressNotOfTarget"),
        ("file:///etc/passwd", "origin.redirectRefused"),
    ])
    func noOtherHostIsContacted(location: String, code: String) async throws {
        let (run, _) = try await requests(
            "location /r { return 302 \(location); }", path: "/r", most: 5, isProbed: false)
        #expect(run.total.errors == [code: 30])
    }

    /// The preflight finds out where a redirect leads, and rejects it by its rules.
    @Test(arguments: [AssetKind.hls, .file])
    func aRedirectToAnotherHostNeedsToBeAllowed(kind: AssetKind) async throws {
        let start = try await NginxServer(
            root: directory.path,
            configuration:
                "location = /go { return 302 http://localhost:\(edges[0].port)/t/main.m3u8; }")
        var scenario = scenario("\(start.url)/go")
        scenario.targets = [LoadTarget(name: "t", source: .url("\(start.url)/go", kind))]
        if kind == .file {
            scenario.user = .requests
            scenario.http.maxRedirects = 1
        }
        do {
            _ = try await preflight(scenario)
            Issue.record("it is not rejected")
        } catch let failure as Failure {
            #expect(failure.code == .inputTarget)
            #expect(
                failure.message.contains("allow it with \"allow\": [\"localhost\"]"),
                "\(failure.message)")
        }
        #expect(edges[0].requests().isEmpty)
        scenario.allow = ["localhost"]
        let lookup = FixedLookup(
            hosts: ["localhost": ["127.0.0.1"], "127.0.0.1": ["127.0.0.1"]])
        let outcome = try await preflight(scenario, lookup: lookup)
        let run = try await EngineRun(outcome, scenario, lookup: lookup)
        #expect(run.total.errors == [:])
        #expect(run.counts.requests.redirects >= 2)
    }

    @Test(arguments: [false, true])
    func credentialsDoNotFollowToAnotherOrigin(libcurl: Bool) async throws {
        let origin = try FaultOrigin()
        let other = try FaultOrigin()
        other.route("/2", .redirect(to: other.url("/3")))
        other.serve("/3", [1])
        origin.route("/1", .redirect(to: other.url("/2")))
        var plan = LoadPlan(files: [origin.url("/1")])
        plan.targets[0].title = MediaTitle(
            manifest: 0,
            video: [
                MediaTitle.Track(
                    name: "v", bitsPerSecond: 1, setup: [],
                    segments: [MediaTitle.Segment(object: 0, seconds: 9)])
            ])
        plan.viewerData = try ViewerData(
            Array("query,Cookie,Authorization,X-Who\nt=1,s=1,Bearer x,me\n".utf8))
        let run = try await EngineRun(
            plan, scenario("http://unused/", users: 1, seconds: 1), threads: 1,
            adjust: { $0.usesLibcurlAlone = libcurl })
        #expect(run.total.errors == [:])
        #expect(origin.requests.allSatisfy { $0.headers["cookie"] == "s=1" })
        #expect(origin.requests.allSatisfy { $0.headers["authorization"] == "Bearer x" })
        #expect(other.requests.count >= 2)
        for request in other.requests {
            #expect(request.headers["cookie"] == nil && request.headers["authorization"] == nil)
            #expect(request.headers["x-who"] == "me")
            #expect(!request.target.contains("t=1"))
        }
    }
}
