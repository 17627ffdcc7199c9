import Foundation
import LoadGenerator
import LoadModel
import Model
import Statistics
import Synchronization
import TestSupport
import Testing

/// Viewers follow content steering: nginx servers are the pathways, and their access logs the judges.
@Suite(.timeLimit(.minutes(2))) struct SteeringEngineTests: SteeredSuite {
    let servers: SteeredServers

    /// Segments of the title, of a second each.
    private static let count = 20

    init() async throws {
        servers = try await SteeredServers("steering")
        for number in 0..<Self.count {
            try directory.write(
                [UInt8](repeating: 1, count: 60_000 + number), to: "v/\(number).ts")
        }
        try write()
    }

    private func write(
        isLive: Bool = false, first: NginxServer? = nil, names: [String] = ["a", "b"]
    )
        throws
    {
        let segments = (0..<Self.count).map { "#EXTINF:1,\n\($0).ts\n" }.joined()
        try directory.write(
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n\(segments)\(isLive ? "" : "#EXT-X-ENDLIST\n")",
            to: "v/list.m3u8")
        var lines = [
            "#EXTM3U",
            "#EXT-X-CONTENT-STEERING:SERVER-URI=\"\(steering.url("/steer"))\",PATHWAY-ID=\"a\"",
        ]
        for (name, server) in zip(names, [first ?? a, b]) {
            lines += [
                "#EXT-X-STREAM-INF:BANDWIDTH=800000,STABLE-VARIANT-ID=\"v\",PATHWAY-ID=\"\(name)\"",
                "\(server.url)/v/list.m3u8",
            ]
        }
        try directory.write(lines.joined(separator: "\n") + "\n", to: "main.m3u8")
    }

    /// Answers as a steering server does: one after another, the last one for all later requests.
    private func serve(_ answers: [FaultOrigin.Response]) {
        let count = Mutex(0)
        steering.route("/steer") { _ in
            count.withLock { count in
                defer { count += 1 }
                return answers[min(count, answers.count - 1)]
            }
        }
    }

    private func serve(_ lists: [[String]], _ more: String = "") {
        serve(lists.map { Self.list($0, more) })
    }

    /// A run, and the requests of media and of media playlists that each pathway's log has of it.
    private struct Played {
        var run: EngineRun
        var a: [NginxServer.Request]
        var b: [NginxServer.Request]

        var groups: [String: LoadGroup] { run.outcome.breakdown.groups[.pathway] ?? [:] }
        func segments(_ log: [NginxServer.Request]) -> [String] {
            log.map(\.target).filter { $0.contains(".ts") || $0.contains(".m4s") }
        }
    }

    private func play(
        _ scenario: LoadScenario, first: NginxServer? = nil, libcurl: Bool = false,
        clone: NginxServer? = nil, stops: (@Sendable (LoadInterval) -> Bool)? = nil
    ) async throws -> Played {
        let servers = [first ?? a, b]
        let outcome = try await preflight(scenario)
        #expect(outcome.plan.targets[0].steering != nil)
        #expect(steering.requests.isEmpty)
        func own(_ server: NginxServer) -> [NginxServer.Request] {
            server.requests().filter { !$0.target.hasPrefix("/main") }
        }
        // Each pathway's playlist, of HLS, was read before the load.
        let isHLS = outcome.plan.targets[0].steering?.form == .hls
        try await waitUntil(deadlineSeconds: 60, "the preflight's requests") {
            servers.allSatisfy { !isHLS || !own($0).isEmpty }
        }
        let before = servers.map { own($0).count }
        let run = try await EngineRun(outcome, scenario, libcurl: libcurl, stops: stops)
        func logs() -> [[NginxServer.Request]] {
            zip(servers, before).map { Array(own($0).dropFirst($1)) }
        }
        try await waitUntil(deadlineSeconds: 60, "the access logs") {
            let groups = run.outcome.breakdown.groups[.pathway] ?? [:]
            let answered =
                groups.values.reduce(0) { $0 + $1.requests }
                - (run.total.errors["origin.addressNotOfTarget"] ?? 0)
            let logged = logs().map(\.count).reduce(0, +) + (clone?.requests().count ?? 0)
            return logged >= Int(answered) || stops != nil
        }
        return Played(run: run, a: logs()[0], b: logs()[1])
    }

    // MARK: HLS

    @Test(arguments: [false, true])
    func theServerMovesViewersOfATitle(libcurl: Bool) async throws {
        serve([["a", "b"], ["a", "b"], ["b", "a"]])
        let played = try await play(scenario("/main.m3u8", .hls), libcurl: libcurl)
        #expect(played.run.total.errors == [:])
        #expect(played.run.counts.viewers.failed == 0)
        #expect(played.run.counts.pathways.changes == 1)
        #expect(played.run.counts.pathways.failures == 0)
        // All segments once, in order, first from one and then from the other.
        let (first, second) = (played.segments(played.a), played.segments(played.b))
        #expect(first.count >= 2 && second.count >= 2)
        #expect(first + second == (0..<(first.count + second.count)).map { "/v/\($0).ts" })
        #expect(played.b.first?.target == "/v/list.m3u8")
        // The report counts what the logs have.
        for (name, log) in [("a", played.a), ("b", played.b)] {
            #expect(played.groups[name]?.requests == Int64(log.count))
            #expect(played.groups[name]?.bytes == log.reduce(0) { $0 + $1.bytesSent })
            #expect(played.groups[name]?.failed == 0)
        }
        let requests = steering.requests
        try #require(requests.count >= 4)
        #expect(
            played.run.outcome.breakdown.groups[.kind]?["steering"]?.requests
                == Int64(requests.count))
        #expect(requests[0].target == "/steer?_HLS_pathway=%22a%22")
        #expect(requests[3].target.hasPrefix("/steer?_HLS_pathway=%22b%22&_HLS_throughput="))
        for (before, after) in zip(requests, requests.dropFirst()) {
            #expect(after.receivedAt - before.receivedAt > 0.9)
        }
    }

    @Test func viewersOfALiveTitleMoveToo() async throws {
        try write(isLive: true)
        serve([["a", "b"], ["b", "a"]])
        var scenario = scenario("/main.m3u8", .hls, seconds: 4)
        if case .viewers(var settings) = scenario.user {
            settings.bufferSeconds = 0.5
            scenario.user = .viewers(settings)
        }
        let played = try await play(scenario)
        #expect(played.run.total.errors == [:])
        #expect(played.run.counts.pathways.changes == 1)
        let all = played.segments(played.a) + played.segments(played.b)
        #expect(played.segments(played.a).count >= 1 && played.segments(played.b).count >= 1)
        #expect(all == (17..<(17 + all.count)).map { "/v/\($0).ts" })
        #expect(played.run.counts.playback.segments == Int64(all.count))
        #expect(played.b.count { $0.target == "/v/list.m3u8" } >= 2)
        #expect(played.groups["b"]?.requests == Int64(played.b.count))
    }

    @Test func aPathwayThatDiesIsLeft() async throws {
        let dying = try await NginxServer(root: directory.path)
        try write(first: dying)
        serve([["a", "b"]])
        let played = try await play(
            scenario("/main.m3u8", .hls, users: 2, seconds: 8), first: dying
        ) { interval in
            if interval.second == 1 { Task { try await dying.stop() } }
            return false
        }
        let run = played.run
        #expect(run.counts.viewers.failed == 0)
        #expect(run.counts.viewers.started == 2)
        #expect(run.counts.pathways.changes == 2 && run.counts.pathways.failures == 2)
        // Three tries each.
        #expect(played.groups["a"]?.failed == 6, "\(run.total.errors)")
        #expect(played.groups["b"]?.failed == 0)
        #expect(Set(run.total.errors.keys).isSubset(of: ["origin.connect", "origin.reset"]))
        // The server's list does not bring them back within the penalty.
        #expect(steering.requests.count >= 8)
        #expect(steering.requests.suffix(2).allSatisfy { $0.target.contains("%22b%22") })
        #expect(Set(played.segments(played.b)).count >= 3)
    }

    @Test func withoutAServerTheNextPathwayOfTheManifestIsUsed() async throws {
        let broken = try await NginxServer(
            root: directory.path, configuration: "location ~ /v/[3-9] { return 503; }")
        try write(first: broken)
        let main = try String(decoding: directory.read("main.m3u8"), as: UTF8.self)
            .replacingOccurrences(of: "#EXT-X-CONTENT", with: "#EXT-X-NO-CONTENT")
        try directory.write(main, to: "main.m3u8")
        let played = try await play(scenario("/main.m3u8", .hls, seconds: 4), first: broken)
        #expect(played.run.total.errors == ["origin.http.503": 3])
        #expect(played.run.counts.viewers.failed == 0)
        #expect(played.segments(played.a).suffix(3) == ["/v/3.ts", "/v/3.ts", "/v/3.ts"])
        #expect(played.segments(played.b).first == "/v/3.ts")
        #expect(steering.requests.isEmpty)
    }

    @Test func goneEndsTheRequestsOfTheServer() async throws {
        serve([
            FaultOrigin.Response(429, headers: [("Retry-After", "2")], text: ""),
            Self.list(["b"]), FaultOrigin.Response(410, text: ""),
        ])
        let played = try await play(scenario("/main.m3u8", .hls, seconds: 6))
        #expect(played.run.total.errors == ["origin.http.429": 1, "origin.http.410": 1])
        #expect(played.run.counts.viewers.failed == 0)
        #expect(played.run.counts.pathways.changes == 1)
        let requests = steering.requests
        try #require(requests.count == 3)
        #expect((1.9...3).contains(requests[1].receivedAt - requests[0].receivedAt))
        #expect(played.groups["b"]?.requests == Int64(played.b.count))
    }

    @Test func aCloneOfAPathwayIsPlayed() async throws {
        let clone = try await NginxServer(root: directory.path)
        serve(
            [["a"], ["c"]],
            """
            ,"PATHWAY-CLONES":[{"BASE-ID":"a","ID":"c","URI-REPLACEMENT":
            {"HOST":"127.0.0.1:\(clone.port)","PARAMS":{"k":"v"}}}]
            """)
        let played = try await play(scenario("/main.m3u8", .hls, seconds: 4), clone: clone)
        #expect(played.run.total.errors == [:])
        let log = clone.requests()
        #expect(Int64(log.count) == played.groups["c"]?.requests)
        #expect(log.first?.target == "/v/list.m3u8?k=v")
        let segments = log.dropFirst().map(\.target)
        #expect(segments.count >= 1 && segments.allSatisfy { $0.hasSuffix(".ts") })
        #expect(played.b.isEmpty)
    }

    @Test func noCloneLeadsToAnotherHost() async throws {
        serve(
            [["c", "a"]],
            """
            ,"PATHWAY-CLONES":[{"BASE-ID":"a","ID":"c","URI-REPLACEMENT":
            {"HOST":"169.254.169.254"}}]
            """)
        let played = try await play(scenario("/main.m3u8", .hls, seconds: 5))
        #expect(played.run.total.errors == ["origin.addressNotOfTarget": 3])
        #expect(played.run.counts.viewers.failed == 0)
        #expect(played.groups["c"]?.failed == 3)
        #expect(played.segments(played.a).count >= 2)
    }

    @Test func aMalformedListIsAFailureOfTheServer() async throws {
        steering.route("/steer", FaultOrigin.Response(text: "<html>"))
        let played = try await play(scenario("/main.m3u8", .hls, seconds: 2))
        #expect(played.run.total.errors == ["manifest.malformed": 1])
        #expect(played.run.outcome.breakdown.groups[.kind]?["steering"]?.failed == 1)
        #expect(played.run.counts.viewers.failed == 0)
    }

    @Test func theServersHostNeedsToBeAllowed() async throws {
        let main = try String(decoding: directory.read("main.m3u8"), as: UTF8.self)
        try directory.write(
            main.replacingOccurrences(
                of: steering.url("/steer"), with: "http://localhost:\(steering.port)/steer"),
            to: "main.m3u8")
        do {
            _ = try await preflight(scenario("/main.m3u8", .hls))
            Issue.record("it is not rejected")
        } catch let failure as Failure {
            #expect(failure.message.contains("allow it with \"allow\": [\"localhost\"]"))
        }
        #expect(steering.requests.isEmpty)
    }

    @Test func aServerThatCannotBeAskedIsNamed() async throws {
        let main = try String(decoding: directory.read("main.m3u8"), as: UTF8.self)
        try directory.write(
            main.replacingOccurrences(
                of: steering.url("/steer"), with: "data:application/json;base64,e30="),
            to: "main.m3u8")
        do {
            _ = try await preflight(scenario("/main.m3u8", .hls))
            Issue.record("it is not rejected")
        } catch let failure as Failure {
            #expect(failure.message.contains("manifest.unsupported"), "\(failure.message)")
            #expect(failure.message.contains("SERVER-URI"))
        }
    }

    // MARK: DASH

    private func writeMPD(isLive: Bool) throws {
        for number in 1...Self.count {
            try directory.write([UInt8](repeating: 1, count: 30_000), to: "d/\(number).m4s")
        }
        let type = Self.attributes(ofMPD: Self.count, isLive: isLive)
        try directory.write(
            """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" \(type)>
              <BaseURL serviceLocation="alpha">\(a.url)/d/</BaseURL>
              <BaseURL serviceLocation="beta">\(b.url)/d/</BaseURL>
              <ContentSteering defaultServiceLocation="beta" queryBeforeStart="true">
                \(steering.url("/steer"))
              </ContentSteering>
              <Period start="PT0S"><AdaptationSet mimeType="video/mp4">
                <SegmentTemplate media="$Number$.m4s" duration="1" startNumber="1"/>
                <Representation id="v" bandwidth="240000" height="360"/>
              </AdaptationSet></Period>
            </MPD>
            """, to: "main.mpd")
    }

    @Test(arguments: [false, true])
    func serviceLocationsOfDASHAreFollowed(isLive: Bool) async throws {
        try writeMPD(isLive: isLive)
        serve([["alpha", "beta"], ["alpha", "beta"], ["beta", "alpha"]])
        let played = try await play(scenario("/main.mpd", .dash))
        #expect(played.run.total.errors == [:])
        #expect(played.run.counts.viewers.failed == 0)
        // The server's first list came before the start.
        #expect(played.run.counts.pathways.changes == 2)
        let (first, second) = (played.segments(played.a), played.segments(played.b))
        #expect(first.count >= 1 && second.count >= 1)
        let all = (first + second).compactMap { Int($0.split(separator: "/")[1].dropLast(4)) }
        #expect(all == Array((all.first ?? 0)..<((all.first ?? 0) + all.count)))
        #expect(played.groups["alpha"]?.requests == Int64(first.count))
        #expect(played.groups["beta"]?.requests == Int64(second.count))
        let requests = steering.requests
        try #require(requests.count >= 3)
        #expect(requests[0].target == "/steer?_DASH_pathway=%22beta%22")
        #expect(requests[1].target.hasPrefix("/steer?_DASH_pathway=%22alpha%22"))
        #expect(requests[2].target.hasPrefix("/steer?_DASH_pathway=%22alpha%22"))
    }

    @Test func aServiceLocationThatFailsIsLeft() async throws {
        try writeMPD(isLive: false)
        serve([["alpha", "beta"]])
        let broken = try await NginxServer(
            root: directory.path, configuration: "location ~ /d/[3-9] { return 404; }")
        let mpd = try String(decoding: directory.read("main.mpd"), as: UTF8.self)
        try directory.write(
            mpd.replacingOccurrences(of: a.url, with: broken.url), to: "main.mpd")
        let played = try await play(scenario("/main.mpd", .dash), first: broken)
        #expect(played.run.total.errors == ["origin.http.404": 3])
        #expect(played.run.counts.viewers.failed == 0 && played.run.counts.pathways.failures == 1)
        #expect(played.segments(played.b).first == "/d/3.m4s")
        #expect(played.groups["alpha"]?.failed == 3)
    }
}
