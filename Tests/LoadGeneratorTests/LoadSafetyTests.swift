import Curl
import LoadModel
import Model
import TestSupport
import Testing
import Transfer

@testable import LoadGenerator

/// Where requests go, before a load and in it: nowhere that the scenario does not name or allow.
@Suite(.timeLimit(.minutes(1))) struct LoadSafetyTests {
    private let origin: FaultOrigin
    /// By another name of this machine.
    private let other: FaultOrigin

    init() throws {
        origin = try FaultOrigin()
        other = try FaultOrigin()
        other.route(
            "/v.m3u8", FaultOrigin.Response(text: "#EXTM3U\n#EXTINF:2,\n1.ts\n#EXT-X-ENDLIST\n"))
        other.serve("/1.ts", [1])
        origin.route(
            "/main.m3u8",
            FaultOrigin.Response(
                text: "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\n\(elsewhere)?signature=S3CRET\n"
            ))
    }

    private var elsewhere: String { "http://localhost:\(other.port)/v.m3u8" }

    private func scenario(_ url: String, _ kind: AssetKind) throws -> LoadScenario {
        var scenario = LoadScenario.closed(users: 1, seconds: 0.3)
        scenario.targets = [LoadTarget(name: "t", source: .url(url, kind))]
        scenario.http.headers = [try RequestHeader(name: "Authorization", value: "Bearer S3CRET")]
        return scenario
    }

    private func rejection(
        _ scenario: LoadScenario, lookup: any HostLookup = SystemHostLookup()
    ) async throws -> String {
        do {
            _ = try await preflight(scenario, lookup: lookup)
            Issue.record("it was not rejected")
            return ""
        } catch let failure as Failure {
            #expect(["input.target", "input.field"].contains(failure.code.rawValue))
            #expect(!failure.message.contains("S3CRET"))
            return failure.message
        }
    }

    @Test func aPlaylistOnAnotherHostIsNotAskedFor() async throws {
        let message = try await rejection(try scenario(origin.url("/main.m3u8"), .hls))
        #expect(message.contains("targets[0] (\(origin.url("/main.m3u8"))): names \(elsewhere)?…"))
        #expect(message.contains("allow it with \"allow\": [\"localhost\"]"))
        #expect(other.requests.isEmpty)
    }

    @Test(arguments: ["localhost", "127.0.0.0/8"])
    func oneThatIsAllowedIs(allow: String) async throws {
        var scenario = try scenario(origin.url("/main.m3u8"), .hls)
        scenario.allow = [allow]
        // As it would be on a machine without IPv6.
        let lookup = FixedLookup(
            hosts: ["localhost": ["127.0.0.1"], "127.0.0.1": ["127.0.0.1"]])
        _ = try await preflight(scenario, lookup: lookup)
        #expect(other.requests.map(\.path) == ["/v.m3u8", "/1.ts"])
        #expect(other.requests.allSatisfy { $0.headers["authorization"] == "Bearer S3CRET" })
    }

    /// Nothing else shows whether a host that only has segments answers.
    @Test func theFirstSegmentOfAnotherHostIsAskedFor() async throws {
        origin.route(
            "/direct.m3u8",
            FaultOrigin.Response(
                text: "#EXTM3U\n#EXTINF:2,\n1.ts\n"
                    + ["1", "2"].map { "#EXTINF:2,\nhttp://localhost:\(other.port)/\($0).ts\n" }
                    .joined() + "#EXT-X-ENDLIST\n"))
        var scenario = try scenario(origin.url("/direct.m3u8"), .hls)
        scenario.allow = ["localhost"]
        _ = try await preflight(scenario)
        #expect(other.requests.map(\.path) == ["/1.ts"])
        other.route("/1.ts", FaultOrigin.Response(403))
        let message = try await rejection(scenario)
        #expect(
            message.hasSuffix(
                "names http://localhost:\(other.port)/1.ts: origin.http.403: status 403"))
        #expect(origin.requests.map(\.path) == ["/direct.m3u8", "/direct.m3u8"])
    }

    @Test(arguments: [AssetKind.hls, .file])
    func aRedirectIsNotFollowedByRequests(kind: AssetKind) async throws {
        origin.route(
            "/r",
            FaultOrigin.Response(302, headers: [("Location", "\(elsewhere)?signature=S3CRET")]))
        let message = try await rejection(try scenario(origin.url("/r"), kind))
        #expect(message.contains("targets[0] (\(origin.url("/r"))): origin.redirected: "))
        #expect(
            message.contains(
                "a redirect to \(elsewhere)?…. Use the URL that the redirect leads to"),
            "\(message)")
        #expect(other.requests.isEmpty)
    }

    // MARK: Addresses

    /// The name is public when it is looked up, and leads here when it is asked.
    @Test(arguments: [AssetKind.hls, .file])
    func aNameThatLeadsElsewhereThanBeforeIsNotAsked(kind: AssetKind) async throws {
        let lookup = FixedLookup(hosts: ["127.0.0.1": ["93.184.216.34"]])
        let message = try await rejection(
            try scenario(origin.url("/main.m3u8"), kind), lookup: lookup)
        #expect(message.contains("origin.addressNotOfTarget"), "\(message)")
        #expect(message.contains("Check the host's DNS"), "\(message)")
        #expect(!message.contains("--allow-addresses"), "\(message)")
        #expect(origin.requests.isEmpty)
    }

    @Test func norIsItUnderLoad() async throws {
        let scenario = try scenario(origin.url("/a"), .file)
        let outcome = try await preflight(
            scenario, lookup: FixedLookup(hosts: ["127.0.0.1": ["93.184.216.34"]]),
            probe: FixedProbe())
        #expect(outcome.publicHosts.map(\.host) == ["127.0.0.1"])
        let run = try await EngineRun(outcome, scenario)
        #expect(run.counts.requests.succeeded == 0)
        #expect(run.total.errors.keys.map { $0 } == ["origin.addressNotOfTarget"])
        #expect(origin.requests.isEmpty)
    }

    /// Each host has its own kind of addresses, and one that a block admits stays in it.
    @Test func hostsAreJudgedByWhatTheyWere() async throws {
        let lookup = FixedLookup(
            hosts: [
                "edge.example": ["93.184.216.34"], "lab.example": ["10.0.0.1"],
                "both.example": ["10.0.0.2", "93.184.216.35"], "block.example": ["192.168.7.1"],
            ])
        let allowance = LoadAllowance(
            hosts: ["edge.example", "lab.example", "both.example"], entries: ["192.168.7.0/24"])
        let hosts = try LoadHosts(AddressPolicy(), allowance, lookup)
        let urls = lookup.hosts.keys.map { (url: "http://\($0)/a", label: $0) }
        try await hosts.admit(urls)
        let addresses = hosts.addresses
        func admits(_ host: String, _ address: String) throws -> Bool {
            addresses.admits(try #require(PeerAddress(address)), for: "https://\(host):8443/x")
        }
        #expect(try admits("edge.example", "93.184.216.99"))
        #expect(try !admits("edge.example", "10.0.0.1"))
        #expect(try admits("lab.example", "10.0.0.9"))
        #expect(try !admits("lab.example", "93.184.216.34"))
        #expect(try admits("both.example", "10.0.0.9") && admits("both.example", "93.184.216.3"))
        #expect(try admits("block.example", "192.168.7.200"))
        #expect(try !admits("block.example", "192.168.8.1"))
        #expect(try !admits("stranger.example", "93.184.216.34"))
        #expect(try !admits("both.example", "169.254.169.254"))
        #expect(hosts.publicHosts.map(\.host) == ["both.example", "edge.example"])
    }

    /// What a manifest names is not known where a cluster's test is asked for: what `allow` admits may be asked.
    @Test func publicHostsOfAClustersTestAreThoseThatMayBeAsked() async throws {
        var scenario = try scenario("http://lab.example/t.m3u8", .hls)
        scenario.allow = [
            "cdn.example", "*.wide.example", "inside.example", "10.0.0.0/8", "203.0.112.0/22",
        ]
        let lookup = FixedLookup(
            hosts: [
                "lab.example": ["10.0.0.1"], "cdn.example": ["93.184.216.34"],
                "inside.example": ["192.168.0.1"],
            ])
        let (found, closed) = await scenario.hosts(with: lookup)
        #expect(found.map(\.host) == ["*.wide.example", "203.0.112.0/22", "cdn.example"])
        #expect(closed == ["inside.example", "lab.example"])
        #expect(found.map(\.address) == ["any of these names", "addresses", "93.184.216.34"])
    }

    // MARK: What is kept

    @Test func whatWasMeasuredOfURLsIsWithoutTheirSecrets() async throws {
        origin.serve("/a", [1])
        let plan = LoadPlan(
            files: ["1", "2"].map {
                "http://user:S3CRET@127.0.0.1:\(origin.port)/a?token=S3CRET\($0)"
            })
        let run = try await EngineRun(plan, .closed(users: 1, seconds: 0.2))
        let urls = run.outcome.breakdown.urls
        #expect(urls.keys.map { $0 } == ["http://…@127.0.0.1:\(origin.port)/a?…"])
        #expect(urls.values.first?.requests == run.counts.requests.succeeded)
    }
}
