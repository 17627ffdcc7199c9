import LoadGenerator
import LoadModel
import Model
import TestSupport
import Testing

/// Service locations of single sets of an MPD, and a proxy of the steering server: access logs are
/// the judges.
@Suite(.timeLimit(.minutes(2))) struct LocationEngineTests: SteeredSuite {
    let servers: SteeredServers

    /// Segments of each track, of a second each.
    private static let count = 20

    init() async throws {
        servers = try await SteeredServers("locations")
        for number in 1...Self.count {
            try directory.write([UInt8](repeating: 1, count: 30_000), to: "v/\(number).m4s")
            try directory.write([UInt8](repeating: 2, count: 3_000), to: "s/\(number).m4s")
        }
    }

    /// Writes an MPD whose video has two locations, and whose audio has a third one.
    private func write(
        isLive: Bool = false, beta: String = "v/", steering: String, attributes: String = "",
        reloads: String = ""
    ) throws {
        let type = Self.attributes(ofMPD: Self.count, isLive: isLive)
        let template = "<SegmentTemplate media=\"$Number$.m4s\" duration=\"1\" startNumber=\"1\"/>"
        try directory.write(
            """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" \(type)>
              <ContentSteering defaultServiceLocation="beta" \(attributes)>\(steering)
              </ContentSteering>\(reloads)
              <Period start="PT0S">
                <AdaptationSet mimeType="video/mp4">
                  <BaseURL serviceLocation="alpha">\(a.url)/v/</BaseURL>
                  <BaseURL serviceLocation="beta">\(beta)</BaseURL>
                  \(template)<Representation id="v" bandwidth="240000" height="360"/>
                </AdaptationSet>
                <AdaptationSet mimeType="audio/mp4">
                  <BaseURL serviceLocation="gamma">\(a.url)/s/</BaseURL>
                  \(template)<Representation id="s" bandwidth="24000"/>
                </AdaptationSet>
              </Period>
            </MPD>
            """, to: "main.mpd")
    }

    private var viewers: LoadScenario { scenario("/main.mpd", .dash) }

    private func play(_ path: String = "/main.mpd") async throws -> EngineRun {
        let viewers = scenario(path, .dash)
        let outcome = try await preflight(viewers, probe: FixedProbe())
        #expect(steering.requests.isEmpty && a.requests().isEmpty)
        let run = try await EngineRun(
            outcome.plan, viewers, threads: 1, adjust: { $0.addresses = outcome.addresses })
        #expect(run.total.errors == [:])
        #expect(run.counts.viewers.failed == 0)
        let media = Self.groups(run).values.reduce(0) { $0 + $1.requests }
        try await waitUntil(deadlineSeconds: 60, "the access logs") {
            segments(a, "v").count + segments(b, "v").count + segments(a, "s").count
                + [a, b].flatMap { $0.requests() }.count { $0.target.hasPrefix("/main.mpd?at=") }
                >= Int(media)
        }
        return run
    }

    private static func groups(_ run: EngineRun) -> [String: LoadGroup] {
        run.outcome.breakdown.groups[.pathway] ?? [:]
    }

    /// Numbers of the segments of a track that a server's log has.
    private func segments(_ server: NginxServer, _ track: String) -> [Int] {
        server.requests().map(\.target).filter { $0.hasPrefix("/\(track)/") }.compactMap {
            Int($0.dropFirst(3).prefix { $0 != "." })
        }
    }

    @Test(arguments: [false, true])
    func aSetFollowsItsOwnLocations(isLive: Bool) async throws {
        try write(isLive: isLive, steering: steering.url("/steer"))
        let lists = [["beta", "alpha"], ["beta", "alpha"], ["alpha", "beta"]]
        steering.route("/steer", inTurn: lists.map { Self.list($0) })
        let run = try await play()
        #expect(run.counts.pathways.changes == 1 && run.counts.pathways.failures == 0)
        // Video continues where the list leads it, without a gap.
        let (before, after) = (segments(b, "v"), segments(a, "v"))
        #expect(before.count >= 1 && after.count >= 1)
        let all = before + after
        #expect(all == Array((all.first ?? 0)..<((all.first ?? 0) + all.count)))
        // Audio has another location, which the list does not name.
        let sound = segments(a, "s")
        #expect(sound.count >= 3)
        #expect(sound == Array((sound.first ?? 0)..<((sound.first ?? 0) + sound.count)))
        #expect(segments(b, "s").isEmpty)
        let groups = Self.groups(run)
        #expect(groups["beta"]?.requests == Int64(before.count))
        #expect(groups["alpha"]?.requests == Int64(after.count))
        #expect(groups["gamma"]?.requests == Int64(sound.count))
        let requests = steering.requests
        try #require(requests.count >= 4)
        #expect(requests[0].target == "/steer?_DASH_pathway=%22beta%22")
        #expect(requests[1].target.hasPrefix("/steer?_DASH_pathway=%22beta%2Cgamma%22"))
    }

    /// The MPD is requested again where the list leads, as its segments are.
    @Test func theManifestFollowsItsLocations() async throws {
        try write(
            isLive: true, steering: steering.url("/steer"),
            reloads: """
                <Location serviceLocation="beta">\(b.url)/main.mpd?at=b</Location>
                <Location serviceLocation="alpha">\(a.url)/main.mpd?at=a</Location>
                """)
        let lists = [["beta", "alpha"], ["beta", "alpha"], ["alpha", "beta"]]
        steering.route("/steer", inTurn: lists.map { Self.list($0) })
        let run = try await play()
        #expect(run.counts.pathways.changes == 1 && run.counts.pathways.failures == 0)
        func manifests(_ server: NginxServer) -> [String] {
            server.requests().map(\.target).filter { $0.hasPrefix("/main.mpd") }
        }
        // Before the load, and first by the viewer.
        let own = manifests(b).prefix { $0 == "/main.mpd" }
        let again = manifests(b).dropFirst(own.count)
        #expect(own.count >= 2)
        #expect(!again.isEmpty && again.allSatisfy { $0 == "/main.mpd?at=b" })
        #expect(!manifests(a).isEmpty && manifests(a).allSatisfy { $0 == "/main.mpd?at=a" })
        let (before, after) = (segments(b, "v"), segments(a, "v"))
        #expect(before.count >= 1 && after.count >= 1)
        let all = before + after
        #expect(all == Array((all.first ?? 0)..<((all.first ?? 0) + all.count)))
        #expect(segments(b, "s").isEmpty)
    }

    /// The Location and the base of segments; `HOST` is the server's URL.
    struct Layout: Sendable {
        var location = "HOST/session/42/main.mpd"
        var base = ""
        var template = ""
        /// The folder of segments that are requested after the MPD has come from its Location.
        var folder = "/v/"
    }

    /// The MPD moves to another folder; of its segments only those with relative URLs do.
    @Test(arguments: [
        Layout(base: "HOST/v/"), Layout(base: "/v/"),
        Layout(location: "/session/42/main.mpd", base: "/v/"),
        Layout(template: "HOST/v/"), Layout(template: "/v/"), Layout(base: "//AUTHORITY/v/"),
        Layout(base: "../v/", folder: "/session/v/"),
    ])
    func absoluteBasesDoNotFollowTheLocation(_ layout: Layout) async throws {
        func filled(_ text: String) -> String {
            text.replacing("HOST", with: b.url)
                .replacing("AUTHORITY", with: b.url.dropFirst("http://".count))
        }
        for number in 1...Self.count {
            try directory.write(
                [UInt8](repeating: 1, count: 30_000), to: "session/v/\(number).m4s")
        }
        let base = layout.base.isEmpty ? "" : "<BaseURL>\(filled(layout.base))</BaseURL>"
        let text = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" \(Self.attributes(ofMPD: Self.count, isLive: true))>
              <Location>\(filled(layout.location))</Location>\(base)
              <Period start="PT0S"><AdaptationSet mimeType="video/mp4">
                <SegmentTemplate media="\(filled(layout.template))$Number$.m4s" duration="1" startNumber="1"/>
                <Representation id="v" bandwidth="240000" height="360"/>
              </AdaptationSet></Period>
            </MPD>
            """
        for path in ["live/main.mpd", "session/42/main.mpd"] { try directory.write(text, to: path) }
        let run = try await play("/live/main.mpd")
        #expect(run.counts.playback.segments >= 3)
        func requests() -> [String] { b.requests().map(\.target) }
        try await waitUntil(deadlineSeconds: 60, "the access log") {
            requests().count { $0.hasSuffix(".m4s") } >= Int(run.counts.playback.segments)
        }
        let manifests = requests().filter { $0.hasSuffix(".mpd") }
        #expect(manifests.count { $0 == "/session/42/main.mpd" } >= 2)
        #expect(Set(manifests) == ["/live/main.mpd", "/session/42/main.mpd"])
        let first = try #require(requests().firstIndex(of: "/session/42/main.mpd"))
        let after = requests()[first...].filter { $0.hasSuffix(".m4s") }
        #expect(after.count >= 2)
        #expect(after.allSatisfy { $0.hasPrefix(layout.folder) }, "\(after)")
    }

    /// Viewers know the server only as what they tell its proxy.
    @Test(arguments: [false, true])
    func theProxyOfTheServerIsAsked(isLive: Bool) async throws {
        try write(
            isLive: isLive, steering: "http://steering.invalid/steer?s=1",
            attributes: "proxyServerURL=\"\(steering.url("/proxy"))\" queryBeforeStart=\"true\"")
        steering.route(
            "/proxy",
            inTurn: [
                Self.list(["alpha"], ",\"RELOAD-URI\":\"/again\""), Self.list(["beta"]),
            ])
        let run = try await play()
        #expect(run.counts.pathways.changes == 2)
        #expect(segments(a, "v").count >= 1 && segments(b, "v").count >= 1)
        let requests = steering.requests
        try #require(requests.count >= 3)
        #expect(
            run.outcome.breakdown.groups[.kind]?["steering"]?.requests == Int64(requests.count))
        #expect(
            requests[0].target
                == "/proxy?url=http%3A%2F%2Fsteering.invalid%2Fsteer%3Fs%3D1"
                + "&_DASH_pathway=%22beta%22")
        #expect(
            requests[1].target.hasPrefix(
                "/proxy?url=http%3A%2F%2Fsteering.invalid%2Fagain&_DASH_pathway=%22alpha"))
        #expect(
            requests[2].target.hasPrefix(
                "/proxy?url=http%3A%2F%2Fsteering.invalid%2Fagain&_DASH_pathway=%22"))
        // Segments of other locations may have been requested before the answer.
        #expect(requests[2].target.contains("beta"))
    }

    @Test(arguments: [false, true])
    func hostsOfLocationsAndProxiesNeedToBeAllowed(isProxy: Bool) async throws {
        let name = "http://localhost:\(steering.port)"
        try write(
            beta: isProxy ? "v/" : "\(name)/v/", steering: steering.url("/steer"),
            attributes: isProxy ? "proxyServerURL=\"\(name)/proxy\"" : "")
        do {
            _ = try await preflight(viewers, probe: FixedProbe())
            Issue.record("it is not rejected")
        } catch let failure as Failure {
            #expect(failure.message.contains("allow it with \"allow\": [\"localhost\"]"))
        }
        #expect(steering.requests.isEmpty)
    }
}
