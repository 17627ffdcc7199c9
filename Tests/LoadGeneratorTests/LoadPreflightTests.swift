import LoadGenerator
import LoadModel
import Model
import Synchronization
import TestSupport
import Testing
import Transfer

/// A resolver with the addresses of a test.
struct FixedLookup: HostLookup {
    var hosts: [String: [String]]

    func addresses(of host: String) async -> Result<[String], Failure> {
        guard let addresses = hosts[host] else {
            return .failure(Failure("origin.dns", "\(host): no such host"))
        }
        return .success(addresses)
    }
}

/// For invalid hosts: every request succeeds.
struct FixedProbe: LoadProbe {
    func ask(
        _ objects: [LoadPlan.Object], _ http: LoadHTTP, _ addresses: LoadAddresses
    ) async -> [LoadProbeAnswer] {
        objects.map { _ in .good }
    }
}

/// A preflight from here.
func preflight(
    _ scenario: LoadScenario, lookup: any HostLookup = SystemHostLookup(),
    probe: any LoadProbe = CurlLoadProbe(), policy: AddressPolicy = AddressPolicy(),
    lists: [String: [AssetSubmission]] = [:],
    refusedBy prefix: (AddressOption) -> String = { _ in "" }
) async throws -> LoadPreflight.Outcome {
    var options = LoadPreflight.transferOptions(scenario.http, policy)
    options.connections = 64
    let engine = try TransferEngine(options: options)
    defer { engine.shutdown() }
    var means = LoadPreflight.Means(engine: engine) { path throws(Failure) in
        guard let list = lists[path] else { throw Failure("input.unreadable", path) }
        return list
    }
    means.lookup = lookup
    means.probe = probe
    return try await LoadPreflight(scenario, means, addressPolicy: policy, nowSeconds: 0)
        .run(refusedBy: prefix)
}

/// A resolver that cancels its waiting task at the first request.
private final class EndedLookup: HostLookup {
    private let state = Mutex((count: 0, end: (@Sendable () -> Void)?.none))

    var count: Int { state.withLock { $0.count } }

    func addresses(of host: String) async -> Result<[String], Failure> {
        let end = state.withLock { state -> (@Sendable () -> Void)? in
            state.count += 1
            defer { state.end = nil }
            return state.end
        }
        end?()
        return .success(["127.0.0.1"])
    }

    func whenAsked(_ end: @escaping @Sendable () -> Void) { state.withLock { $0.end = end } }
}

@Suite(.timeLimit(.minutes(1))) struct LoadPreflightTests {
    private let origin: FaultOrigin

    init() throws { origin = try FaultOrigin() }

    private func run(
        _ scenario: LoadScenario, lookup: FixedLookup? = nil,
        policy: AddressPolicy = AddressPolicy(), lists: [String: [AssetSubmission]] = [:]
    ) async throws -> LoadPreflight.Outcome {
        guard let lookup else {
            return try await preflight(scenario, policy: policy, lists: lists)
        }
        return try await preflight(
            scenario, lookup: lookup, probe: FixedProbe(), policy: policy, lists: lists)
    }

    private func scenario(
        _ targets: [(String, AssetKind)], viewers: Bool = false
    ) -> LoadScenario {
        var scenario = LoadScenario()
        scenario.targets = targets.map { LoadTarget(name: $0.0, source: .url($0.0, $0.1)) }
        scenario.stages = [LoadStage(seconds: 1, from: 1, to: 1)]
        if viewers { scenario.user = .viewers(ViewerSettings()) }
        return scenario
    }

    private func rejection(
        _ scenario: LoadScenario, lookup: FixedLookup? = nil,
        policy: AddressPolicy = AddressPolicy()
    ) async throws -> String {
        do {
            _ = try await run(scenario, lookup: lookup, policy: policy)
            Issue.record("it was not rejected")
            return ""
        } catch let failure as Failure {
            #expect(["input.target", "input.field"].contains(failure.code.rawValue))
            return failure.message
        }
    }

    private func serve(_ path: String, _ text: String) {
        origin.route(path, FaultOrigin.Response(text: text))
    }

    private static let media = "#EXTM3U\n#EXTINF:2,\n1.ts\n#EXTINF:2,\n2.ts\n#EXT-X-ENDLIST\n"

    private func serveTitle(_ folder: String) {
        serve(
            "\(folder)/main.m3u8",
            """
            #EXTM3U
            #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360
            low/v.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=2000000,RESOLUTION=1280x720
            high/v.m3u8
            """)
        for name in ["low", "high"] { serve("\(folder)/\(name)/v.m3u8", Self.media) }
    }

    // MARK: Plans

    @Test func manifestsAreReadAndNoSegment() async throws {
        serveTitle("/t")
        let outcome = try await run(scenario([(origin.url("/t/main.m3u8"), .hls)], viewers: true))
        let title = try #require(outcome.plan.targets.first?.title)
        #expect(title.video.map(\.bitsPerSecond) == [800_000, 2_000_000])
        #expect(
            outcome.plan.objects.map(\.url).contains(origin.url("/t/high/2.ts")))
        #expect(origin.requests.count == 3)
        #expect(outcome.publicHosts.isEmpty)
    }

    @Test func aHeaderOfTheScenarioIsSentForManifestsToo() async throws {
        serveTitle("/t")
        var scenario = scenario([(origin.url("/t/main.m3u8"), .hls)])
        scenario.http.headers = [try RequestHeader(name: "X-Token", value: "7")]
        _ = try await run(scenario)
        #expect(origin.requests.allSatisfy { $0.headers["x-token"] == "7" })
    }

    @Test func weightsAndDigestsOfFilesAreKept() async throws {
        for name in ["/a", "/b"] { origin.serve(name, [1]) }
        var scenario = scenario([(origin.url("/a"), .file), (origin.url("/b"), .file)])
        scenario.targets[1].weight = 3
        scenario.targets[1].sha256 = "00"
        scenario.bodies = .checked
        let plan = try await run(scenario).plan
        #expect(plan.targets.map(\.weight) == [1, 3])
        #expect(plan.objects.map(\.sha256) == [nil, "00"])
    }

    /// Titles of a list are read many at once; their order is the list's, and a list's weight is shared.
    @Test func aListOfManyTitlesIsRead() async throws {
        var list: [AssetSubmission] = []
        for number in 0..<200 {
            serveTitle("/\(number)")
            list.append(
                AssetSubmission(
                    name: "title \(number)", url: origin.url("/\(number)/main.m3u8"), kind: .hls,
                    key: "k"))
        }
        list.append(
            AssetSubmission(
                name: "file", url: origin.url("/f"), kind: .file, key: "f", sha256: "ab"))
        var scenario = scenario([(origin.url("/0/main.m3u8"), .hls)])
        scenario.targets.append(LoadTarget(name: "l", source: .list("l.json")))
        scenario.targets[1].weight = 402
        let plan = try await run(scenario, lists: ["l.json": list]).plan
        #expect(plan.targets.map(\.name).dropFirst() == list.map(\.name)[...])
        #expect(plan.targets.map(\.weight)[1...].allSatisfy { $0 == 2 })
        #expect(plan.objects.last?.sha256 == "ab")
        for (index, target) in plan.targets.enumerated() {
            #expect(plan.objects[target.objects].allSatisfy { Int($0.target) == index })
        }
        #expect(origin.requests.count == 201 * 3)
    }

    @Test func titlesOnARealServerAreRead() async throws {
        let directory = try TemporaryDirectory("preflight")
        _ = try directory.write(
            """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT8S"><Period>
            <AdaptationSet contentType="video"><SegmentTemplate media="$Number$.m4s"
            initialization="i.mp4" duration="4"/><Representation id="v" bandwidth="800000"/>
            </AdaptationSet></Period></MPD>
            """, to: "m.mpd")
        let nginx = try await NginxServer(root: directory.path)
        let plan = try await run(scenario([(nginx.url + "/m.mpd", .dash)], viewers: true)).plan
        #expect(
            plan.objects.map(\.url)
                == ["m.mpd", "i.mp4", "1.m4s", "2.m4s"].map { "\(nginx.url)/\($0)" })
    }

    // MARK: Rejections

    @Test func whatIsNoTitleIsNamed() async throws {
        let page = "<!DOCTYPE html><html><body>Sign in</body></html>"
        origin.route(
            "/page.m3u8",
            FaultOrigin.Response(
                200, headers: [("Content-Type", "text/html")], body: Array(page.utf8)))
        serve("/plain.m3u8", page)
        serve("/broken.m3u8", "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128\n#EXTINF:2,\na.ts\n")
        serve("/live.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\na.ts\n")
        serve("/empty.mpd", "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"></MPD>")
        for (path, code) in [
            ("/page.m3u8", "manifest.html"), ("/plain.m3u8", "html"),
            ("/broken.m3u8", "manifest.malformed"),
            ("/live.m3u8", "manifest.live"), ("/missing.m3u8", "origin.http.404"),
            ("/empty.mpd", "lists no segment"),
        ] {
            serveTitle("/t")
            let message = try await rejection(
                scenario([(origin.url("/t/main.m3u8"), .hls), (origin.url(path), .hls)]))
            #expect(message.hasPrefix("targets[1] (\(origin.url(path))): "), "\(message)")
            #expect(message.lowercased().contains(code), "\(message)")
        }
        #expect(!origin.requests.contains { $0.path.hasSuffix(".ts") })
    }

    @Test func viewersPlayNoFiles() async throws {
        let list = [AssetSubmission(name: "f", url: origin.url("/f"), kind: .file, key: "f")]
        var scenario = scenario([], viewers: true)
        scenario.targets = [LoadTarget(name: "l", source: .list("l.json"))]
        do {
            _ = try await run(scenario, lists: ["l.json": list])
            Issue.record("it was not rejected")
        } catch let failure as Failure {
            #expect(
                failure.message
                    == "targets[0] (l.json: f) is a file: viewers play titles, hls or dash")
        }
    }

    @Test func whatIsNotThereIsNamed() async throws {
        // Nothing listens there.
        let port = 1
        let message = try await rejection(scenario([("http://127.0.0.1:\(port)/a", .file)]))
        #expect(message.contains("targets[0] (http://127.0.0.1:\(port)/a): origin.connect"))
        let title = try await rejection(scenario([("http://127.0.0.1:\(port)/a.mpd", .dash)]))
        #expect(title.contains("targets[0] (http://127.0.0.1:\(port)/a.mpd): origin.connect"))
        let name = try await rejection(
            scenario([("http://nowhere.example/a", .file)]), lookup: FixedLookup(hosts: [:]))
        #expect(
            name
                == "targets[0] (http://nowhere.example/a): origin.dns: nowhere.example: no such host"
        )
    }

    @Test func checkingWantsDigests() async throws {
        var scenario = scenario([(origin.url("/a"), .file)])
        scenario.bodies = .checked
        #expect(try await rejection(scenario).contains("field bodies: given \"check\""))
    }

    // MARK: Where requests may go

    private func serveElsewhere() {
        serve(
            "/e.m3u8",
            "#EXTM3U\n#EXTINF:2,\n\(origin.url("/1.ts"))\n#EXTINF:2,\nhttp://cdn.example/2.ts\n"
                + "#EXT-X-ENDLIST\n")
    }

    private let elsewhere = FixedLookup(
        hosts: ["127.0.0.1": ["127.0.0.1"], "cdn.example": ["10.2.3.4", "10.2.3.5"]])

    @Test func anotherHostIsRefused() async throws {
        serveElsewhere()
        let message = try await rejection(
            scenario([(origin.url("/e.m3u8"), .hls)]), lookup: elsewhere)
        #expect(message.hasPrefix("targets[0]"))
        #expect(message.contains("names http://cdn.example/2.ts: the host is not that of a target"))
        for allow in ["ocdn.example", "*.cdn.example", "10.2.3.4/32", "10.3.0.0/16"] {
            var scenario = scenario([(origin.url("/e.m3u8"), .hls)])
            scenario.allow = [allow]
            let message = try await rejection(scenario, lookup: elsewhere)
            #expect(message.contains("the host is not that of a target"), "\(allow)")
        }
    }

    @Test(arguments: ["cdn.example", "*.example", "10.2.0.0/16"])
    func anotherHostMayBeAllowed(allow: String) async throws {
        serveElsewhere()
        var scenario = scenario([(origin.url("/e.m3u8"), .hls)])
        scenario.allow = [allow]
        let plan = try await run(scenario, lookup: elsewhere).plan
        #expect(plan.objects.map(\.url).contains("http://cdn.example/2.ts"))
    }

    @Test func aBlockThatIsNoneIsNamed() async throws {
        var scenario = scenario([(origin.url("/a"), .file)])
        scenario.allow = ["10.1.2.3/8"]
        #expect(
            try await rejection(scenario).contains(
                "field allow: '10.1.2.3/8' has bits after its prefix"))
    }

    /// The requester saw none, and none was reported.
    @Test func aHostThatIsToBePrivateIsRefusedAtAPublicAddress() async throws {
        var scenario = scenario([(origin.url("/a"), .file)])
        scenario.targets.append(
            LoadTarget(name: "b", source: .url("http://Edge.example/b", .file)))
        scenario.privateHosts = ["edge.example", "127.0.0.1"]
        var lookup = FixedLookup(
            hosts: ["127.0.0.1": ["127.0.0.1"], "edge.example": ["10.1.1.1", "10.1.1.2"]])
        _ = try await run(scenario, lookup: lookup)
        lookup.hosts["edge.example"] = ["10.1.1.1", "93.184.216.34"]
        let message = try await rejection(scenario, lookup: lookup)
        #expect(message.hasPrefix("targets[1]"))
        #expect(message.contains("edge.example is 93.184.216.34 here, a public address"))
        scenario.privateHosts = ["127.0.0.1"]
        _ = try await run(scenario, lookup: lookup)
    }

    @Test func anAddressThatIsNeverConnectedToIsRefused() async throws {
        let metadata = FixedLookup(hosts: ["meta.example": ["169.254.169.254"]])
        let message = try await rejection(
            scenario([("http://meta.example/a", .file)]), lookup: metadata)
        #expect(message.contains("meta.example is 169.254.169.254, which is link-local"))
        #expect(!message.contains("--allow-addresses"), "\(message)")
    }

    @Test(arguments: [
        ("10.1.1.1", "--allow-addresses"), ("93.184.216.34", "--deny-addresses"),
        ("169.254.169.254", nil),
    ])
    func theOptionThatRefusesAnAddressIsKnown(address: String, option: String?) async throws {
        do {
            _ = try await preflight(
                scenario([("http://lab.example/a", .file)]),
                lookup: FixedLookup(hosts: ["lab.example": [address]]),
                policy: AddressPolicy(
                    denied: try ["10.0.0.0/8", "93.184.216.34/32"].map { try AddressBlock($0) })
            ) { "\($0.rawValue): " }
            Issue.record("it was admitted")
        } catch let failure as Failure {
            #expect(failure.code == "input.target")
            #expect(failure.message.hasPrefix((option.map { "\($0): " } ?? "") + "targets[0]"))
        }
    }

    /// No longer prefix can allow one that is denied by itself.
    @Test func anAddressThatIsDeniedByItselfNamesTheBlock() async throws {
        let lookup = FixedLookup(hosts: ["lab.example": ["10.1.1.1"]])
        let message = try await rejection(
            scenario([("http://lab.example/a", .file)]), lookup: lookup,
            policy: AddressPolicy(denied: [try AddressBlock("10.1.1.1/32")]))
        #expect(message.hasSuffix("10.1.1.1, which is in --deny-addresses as 10.1.1.1/32"))
        #expect(!message.contains("--allow-addresses"), "\(message)")
    }

    /// Each lookup may take a resolver's time.
    @Test func oneThatIsCancelledLooksNoMoreHostsUp() async throws {
        let lookup = EndedLookup()
        let scenario = scenario((0..<100).map { ("http://h\($0).test/a", .file) })
        let (starts, start) = AsyncStream.makeStream(of: Void.self)
        let running = Task {
            for await _ in starts { break }
            return try await preflight(scenario, lookup: lookup, probe: FixedProbe())
        }
        lookup.whenAsked { running.cancel() }
        start.yield()
        await #expect {
            _ = try await running.value
        } throws: {
            ($0 as? Failure)?.code == "worker.cancelled"
        }
        #expect(lookup.count == 16)
    }
}
