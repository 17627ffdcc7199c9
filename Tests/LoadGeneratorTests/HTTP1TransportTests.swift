import Curl
import LoadModel
import Model
import Statistics
import TestSupport
import Testing
import Transfer

@testable import LoadGenerator

/// What goes without libcurl, and where to.
@Suite(.timeLimit(.minutes(1))) struct HTTP1TransportTests {
    @Test(arguments: [
        ("http://edge.example", "edge.example", 80, "edge.example"),
        ("http://edge.example:80/a", "edge.example", 80, "edge.example"),
        (
            "http://edge-1.example:8080/a/b.ts?c=d/../e&f=%20", "edge-1.example", 8_080,
            "edge-1.example:8080"
        ),
        ("http://192.0.2.1:81?x", "192.0.2.1", 81, "192.0.2.1:81"),
        ("http://[2001:db8::1]/", "2001:db8::1", 80, "[2001:db8::1]"),
        ("http://[2001:db8::1]:8080/", "2001:db8::1", 8_080, "[2001:db8::1]:8080"),
    ])
    func plainURLsAreAskedForWithoutLibcurl(
        url: String, host: String, port: UInt16, authority: String
    ) throws {
        let origin = try #require(HTTP1Routes.origin(of: url))
        #expect(origin.host == host)
        #expect(origin.port == port)
        #expect(origin.authority == authority)
    }

    @Test(arguments: [
        "https://edge.example/", "HTTP://edge.example/", "http:/edge.example/", "http://",
        "http://user@edge.example/", "http://Edge.example/", "http://édge.example/",
        "http://edge.example:0/", "http://edge.example:65536/", "http://edge.example:/",
        "http://edge.example:8o/", "http://2130706433/", "http://0x7f.1/", "http://127.1/",
        "http://a.localhost/", "http://a.onion/", "http://[::1", "http://[fe80::1%25eth0]/",
        "http://[::1]x/", "http://edge.example/a b", "http://edge.example/a#b",
        "http://edge.example/a/../b", "http://edge.example/.", "http://edge.example/é",
        "http://edge.example/\r\nX: y", "http://edge.example\\@other.example/",
        "http://edge.example/" + String(repeating: "a", count: 70_000),
    ])
    func othersAreLeftToLibcurl(url: String) {
        #expect(HTTP1Routes.origin(of: url) == nil)
    }

    @Test func aPlanOfBothHasEachAskedForItsOwnWay() {
        let plan = LoadPlan(files: ["http://a/1", "https://a/2", "http://a/3", "http://b/4"])
        let routes = HTTP1Routes(plan, LoadHTTP())
        #expect((0..<4).map { routes.origin(ofObject: $0) } == [0, nil, 0, 1])
        #expect(routes.leavesSome)
        #expect(!HTTP1Routes(LoadPlan(files: ["http://a/1"]), LoadHTTP()).leavesSome)
        var http = LoadHTTP()
        http.version = .http2
        #expect(HTTP1Routes(plan, http).origin(ofObject: 0) == nil)
    }

    // MARK: Addresses

    private static func run(
        _ url: String, addresses: [String: [String]], _ rules: LoadAddresses = LoadAddresses(),
        timeoutSeconds: Double = 10
    ) async throws -> EngineRun {
        var scenario = LoadScenario.closed(users: 2, seconds: 30)
        scenario.caps.requests = 6
        scenario.http.connectTimeoutSeconds = timeoutSeconds
        return try await EngineRun(
            LoadPlan(files: [url]), scenario, threads: 1,
            adjust: {
                $0.lookup = FixedLookup(hosts: addresses)
                $0.addresses = rules
            })
    }

    @Test func eachAddressOfAHostIsTriedInItsOrder() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", [1, 2, 3])
        let url = "http://edge.test:\(origin.port)/a"
        // Nothing listens at the first two.
        let run = try await Self.run(
            url, addresses: ["edge.test": ["::1", "127.0.0.2", "127.0.0.1"]])
        #expect(run.total.errors == [:])
        #expect(run.counts.requests.succeeded == 6)
        #expect(run.counts.requests.connections == 2)
        #expect(origin.requests.first?.headers["host"] == "edge.test:\(origin.port)")

        let none = try await Self.run(url, addresses: ["edge.test": ["::1", "127.0.0.2"]])
        #expect(none.total.errors == ["origin.connect": 6])
    }

    @Test func aSilentAddressLeavesTimeForTheNext() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", [1, 2, 3])
        // The first is a port of the same number on another address, which takes no connections.
        let full = try FullListener(address: 2, port: origin.port)
        let run = try await Self.run(
            "http://edge.test:\(origin.port)/a",
            addresses: ["edge.test": ["127.0.0.2", "127.0.0.1"]], timeoutSeconds: 4)
        #expect(run.total.errors == [:])
        #expect(run.counts.requests.succeeded == 6)
        #expect((run.total[.connect]?.minimum ?? 0) >= 1_000_000)
        _ = full
    }

    @Test func aHostWithoutAddressesIsNotFound() async throws {
        let run = try await Self.run("http://edge.test/", addresses: [:])
        #expect(run.total.errors == ["origin.dns": 6])
        #expect(run.counts.requests.connections == 0)
    }

    /// Each connection's address is judged, and not the host's name.
    @Test func anAddressThatIsNotAdmittedIsNotAsked() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", [1, 2, 3])
        let url = "http://edge.test:\(origin.port)/a"
        let rules = LoadAddresses(
            AddressPolicy(), rules: ["edge.test": LoadAddresses.Rule(hasPublic: true)])
        let run = try await Self.run(url, addresses: ["edge.test": ["127.0.0.1"]], rules)
        #expect(run.total.errors == ["origin.addressNotOfTarget": 6])
        #expect(origin.acceptedConnections == 0)
    }
}
