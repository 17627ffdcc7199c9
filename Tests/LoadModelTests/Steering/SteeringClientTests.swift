import Model
import Testing
import Titles

@testable import LoadModel

/// The choice of a pathway by hand-made steering manifests (RFC 8216bis, section 7).
@Suite struct SteeringClientTests {
    private static let server = "http://s/steer?session=1"

    private static func client(
        _ form: SteeringSource.Form = .hls, _ names: [String] = ["a", "b", "c"],
        server: String? = server, _ change: (inout SteeringSource) -> Void = { _ in }
    ) -> SteeringClient {
        var source = SteeringSource(
            form: form, pathways: names.map { SteeringSource.Pathway(name: $0) })
        source.serverURL = server
        change(&source)
        return SteeringClient(source)
    }

    private static func manifest(
        _ names: [String], ttl: Double = 300, _ more: String = ""
    ) -> [UInt8] {
        let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
        return Array(
            "{\"VERSION\": 1, \"TTL\": \(ttl), \"PATHWAY-PRIORITY\": [\(list)]\(more)}".utf8)
    }

    @Test func aRequestNamesPathwayAndThroughput() throws {
        var client = Self.client()
        #expect(client.next(nil, atSeconds: 0) == .none)
        client.begin(atSeconds: 1)
        #expect(
            client.next(nil, atSeconds: 1)
                == .request("http://s/steer?session=1&_HLS_pathway=%22a%22"))
        #expect(client.next(nil, atSeconds: 1) == .none)
        try client.received(
            Self.manifest(["b", "a"], ttl: 10, ", \"RELOAD-URI\": \"/again\""),
            at: "http://t/x/steer", atSeconds: 2)
        #expect(client.choose(atSeconds: 2) == true)
        #expect(client.current.name == "b")
        #expect(client.choose(atSeconds: 3) == false)
        #expect(client.next(nil, atSeconds: 11.9) == .wait(untilSeconds: 12))
        #expect(
            client.next(1_234_567.4, atSeconds: 12)
                == .request("http://t/again?_HLS_pathway=%22b%22&_HLS_throughput=1234567"))
    }

    /// What a proxy passes on is the server's: also the next URL.
    @Test func aProxyIsAskedForTheServer() throws {
        var client = Self.client(.dash) { $0.proxyURL = "http://proxy/p?k=1" }
        client.begin(atSeconds: 0)
        #expect(
            client.next(8, atSeconds: 0)
                == .request(
                    "http://proxy/p?k=1&url=http%3A%2F%2Fs%2Fsteer%3Fsession%3D1"
                        + "&_DASH_pathway=%22a%22&_DASH_throughput=8"))
        try client.received(
            Self.manifest(["a"], ttl: 1, ", \"RELOAD-URI\": \"again\""),
            at: "http://elsewhere/x", atSeconds: 0)
        #expect(
            client.next(nil, atSeconds: 1)
                == .request(
                    "http://proxy/p?k=1&url=http%3A%2F%2Fs%2Fagain&_DASH_pathway=%22a%22"))
    }

    @Test func serviceLocationsInUseAreNamed() throws {
        var client = Self.client(.dash) { $0.asksBeforeStart = true }
        #expect(client.holdsStart)
        client.begin(atSeconds: 0)
        #expect(
            client.next(5, atSeconds: 0)
                == .request(
                    "http://s/steer?session=1&_DASH_pathway=%22a%22&_DASH_throughput=5"))
        try client.received(Self.manifest(["c"], ttl: 1), at: Self.server, atSeconds: 0)
        #expect(!client.holdsStart)
        #expect(client.choose(atSeconds: 0) == true)
        #expect(
            client.next(nil, atSeconds: 1)
                == .request("http://s/steer?session=1&_DASH_pathway=%22c%22"))
        // Nothing was requested since.
        try client.received(Self.manifest(["c"], ttl: 1), at: Self.server, atSeconds: 1)
        #expect(
            client.next(nil, atSeconds: 2)
                == .request("http://s/steer?session=1&_DASH_pathway=%22c%22"))
    }

    @Test func aPathwayThatFailedIsAvoidedForItsPenalty() throws {
        var client = Self.client(server: nil)
        client.begin(atSeconds: 0)
        #expect(client.next(nil, atSeconds: 0) == .none)
        #expect(client.pathwayFailed(of: Self.segment, atSeconds: 10).movesObject == true)
        #expect(client.current.name == "b")
        #expect(client.pathwayFailed(of: Self.segment, atSeconds: 20).movesObject == true)
        #expect(client.current.name == "c")
        // All are penalized: it stays.
        #expect(client.pathwayFailed(of: Self.segment, atSeconds: 30).movesObject == false)
        #expect(client.current.name == "c")
        #expect(client.choose(atSeconds: 10 + SteeringClient.penaltySeconds - 0.1) == false)
        #expect(client.choose(atSeconds: 10 + SteeringClient.penaltySeconds) == true)
        #expect(client.current.name == "a")
    }

    @Test func goneEndsSteeringAndKeepsTheList() throws {
        var client = Self.client()
        client.begin(atSeconds: 0)
        _ = client.next(nil, atSeconds: 0)
        try client.received(Self.manifest(["c", "b"], ttl: 5), at: Self.server, atSeconds: 0)
        _ = client.choose(atSeconds: 0)
        _ = client.next(nil, atSeconds: 5)
        client.failed(status: 410, retryAfterSeconds: nil, atSeconds: 5)
        #expect(client.next(nil, atSeconds: 1e6) == .none)
        #expect(client.pathwayFailed(of: Self.segment, atSeconds: 6).movesObject == true)
        #expect(client.current.name == "b")
    }

    @Test(arguments: [
        (429, 7.0, 7.0), (429, nil, 300.0), (429, 0.0, 1.0), (503, 7.0, 300.0), (404, nil, 300.0),
        (0, nil, 300.0),
    ])
    func otherFailuresAreRepeated(_ status: Int, _ retryAfter: Double?, _ wait: Double) {
        var client = Self.client()
        client.begin(atSeconds: 0)
        _ = client.next(nil, atSeconds: 0)
        client.failed(status: status, retryAfterSeconds: retryAfter, atSeconds: 1)
        #expect(client.next(nil, atSeconds: 1) == .wait(untilSeconds: 1 + wait))
    }

    @Test(arguments: [(0.0, 1.0), (-5, 1), (1e12, 86_400), (17.5, 17.5)])
    func theTTLHasBounds(_ given: Double, _ used: Double) throws {
        var client = Self.client()
        client.begin(atSeconds: 0)
        _ = client.next(nil, atSeconds: 0)
        try client.received(Self.manifest(["a"], ttl: given), at: Self.server, atSeconds: 0)
        #expect(client.next(nil, atSeconds: 0) == .wait(untilSeconds: used))
    }

    private static let segment = object("http://h/1.ts", .media, listedBy: 0)

    // MARK: URLs

    private static func object(
        _ url: String, _ role: SegmentRole, listedBy manifest: Int32
    ) -> LoadPlan.Object {
        var object = LoadPlan.Object(url: url, role: role, target: 0)
        object.manifest = manifest
        return object
    }

    @Test func aCloneHasItsOwnURLs() throws {
        var client = Self.client(.hls, ["a"]) { source in
            source.stableIDs = [
                1: SteeringSource.StableID(text: "v1", isRendition: false),
                2: SteeringSource.StableID(text: "v2", isRendition: false),
                3: SteeringSource.StableID(text: "v1", isRendition: true),
            ]
        }
        client.begin(atSeconds: 0)
        _ = client.next(nil, atSeconds: 0)
        try client.received(
            Self.manifest(
                ["y"],
                """
                , "PATHWAY-CLONES": [
                    {"BASE-ID": "a", "ID": "x", "URI-REPLACEMENT": {"HOST": "x.example:81",
                     "PARAMS": {"t": "1 2", "b": "new"},
                     "PER-VARIANT-URIS": {"v2": "https://other/v.m3u8"}}},
                    {"BASE-ID": "x", "ID": "y", "URI-REPLACEMENT": {"PARAMS": {"z": "9"}}},
                    {"BASE-ID": "none", "ID": "w", "URI-REPLACEMENT": {}},
                    {"BASE-ID": "x", "ID": "a", "URI-REPLACEMENT": {"HOST": "evil"}}]
                """), at: Self.server, atSeconds: 0)
        #expect(client.choose(atSeconds: 0) == true)
        #expect(client.current.name == "y" && client.current.origin == 0)
        func url(_ url: String, _ role: SegmentRole, _ index: Int32) -> String {
            let object = Self.object(url, role, listedBy: 0)
            let destination = client.destination(of: object, at: index, ManifestMoves())
            #expect(destination.pathway == "y")
            return destination.url
        }
        #expect(
            url("http://h/1.m3u8?a=1&b=old", .playlist, 1)
                == "http://x.example:81/1.m3u8?a=1&b=new&t=1%202&z=9")
        #expect(
            url("http://h/2.m3u8", .playlist, 2) == "https://other/v.m3u8?b=new&t=1%202&z=9")
        #expect(
            url("http://h/3.m3u8", .playlist, 3)
                == "http://x.example:81/3.m3u8?b=new&t=1%202&z=9")
        // What a playlist lists follows the playlist.
        #expect(url("http://h/1.ts", .media, 9) == "http://h/1.ts")
    }

    @Test func serviceLocationsHaveTheirBases() throws {
        var client = Self.client(.dash, ["a", "b"])
        var plan = LoadPlan()
        plan.objects = [
            LoadPlan.Object(url: "http://one/m.mpd", role: .playlist, target: 0)
        ]
        var moves = ManifestMoves()
        var segment = Self.object("http://one/x/s/1.m4s", .media, listedBy: 0)
        segment.locations = BaseURLLevels(
            [
                [.init(reference: "http://one/m.mpd", isAbsolute: true)],
                [
                    .init(location: "a", reference: "x/", isAbsolute: false),
                    .init(location: "b", reference: "http://two/", isAbsolute: true),
                ],
            ], base: "http://one/x/")
        func destination(of object: LoadPlan.Object) -> [String?] {
            let found = client.destination(of: object, at: 5, moves)
            return [found.url, found.pathway]
        }
        #expect(destination(of: segment) == ["http://one/x/s/1.m4s", "a"])
        // The first one is relative to the MPD, which a redirect moves.
        moves.received(0, at: "http://three/m.mpd", in: plan)
        #expect(destination(of: segment) == ["http://three/x/s/1.m4s", "a"])
        #expect(client.pathwayFailed(of: segment, atSeconds: 0).movesObject == true)
        #expect(destination(of: segment) == ["http://two/s/1.m4s", "b"])
        client.begin(atSeconds: 0)
        _ = client.next(nil, atSeconds: 0)
        try client.received(
            Self.manifest(
                ["c"],
                """
                , "PATHWAY-CLONES": [{"BASE-ID": "b", "ID": "c", "URI-REPLACEMENT":
                    {"HOST": "four", "PARAMS": {"q": "1"}}}]
                """), at: Self.server, atSeconds: 0)
        #expect(client.choose(atSeconds: 0) == true)
        #expect(destination(of: segment) == ["http://four/s/1.m4s?q=1", "c"])
        #expect(destination(of: plan.objects[0]) == ["http://one/m.mpd", nil])
    }

    /// The MPD's own URLs, and segments whose host is a location's, do not follow the last answer.
    @Test func locationsAreSteered() throws {
        var client = Self.client(.dash, ["a", "b"])
        var plan = LoadPlan()
        plan.objects = [LoadPlan.Object(url: "http://one/m.mpd", role: .playlist, target: 0)]
        let choices: [BaseURLLevels.Choice] = [
            .init(location: "a", reference: "http://one/m.mpd", isAbsolute: true),
            .init(location: "b", reference: "http://two/x/m.mpd", isAbsolute: true),
        ]
        var reload = plan.objects[0]
        reload.locations = BaseURLLevels([choices], base: "http://one/m.mpd")
        var segment = Self.object("http://one/s/1.m4s", .media, listedBy: 0)
        segment.locations = BaseURLLevels(
            [
                [
                    .init(location: "a", reference: "http://one/s/", isAbsolute: true),
                    .init(location: "b", reference: "http://two/s/", isAbsolute: true),
                ]
            ], base: "http://one/s/")
        var moves = ManifestMoves()
        func destination(of object: LoadPlan.Object) -> [String?] {
            let found = client.destination(of: object, at: 0, moves)
            return [found.url, found.pathway]
        }
        #expect(destination(of: reload) == ["http://one/m.mpd", "a"])
        #expect(client.pathway(of: reload) == "a")
        #expect(client.pathwayFailed(of: reload, atSeconds: 0).movesObject == true)
        #expect(destination(of: reload) == ["http://two/x/m.mpd", "b"])
        moves.received(0, at: "http://two/x/m.mpd", in: plan)
        #expect(destination(of: segment) == ["http://two/s/1.m4s", "b"])
        // Back again: the MPD is the old one until it is requested from there.
        #expect(client.choose(atSeconds: 500) == true)
        #expect(destination(of: segment) == ["http://one/s/1.m4s", "a"])
        #expect(destination(of: reload) == ["http://one/m.mpd", "a"])
    }

    // MARK: Hostile manifests

    @Test(arguments: [
        ("", "manifest.malformed"), ("[]", "manifest.malformed"),
        ("{\"VERSION\": 1}", "manifest.malformed"),
        ("{\"VERSION\": 2, \"PATHWAY-PRIORITY\": [\"b\"]}", "manifest.unsupported"),
        ("{\"PATHWAY-PRIORITY\": [\"b\"]}", "manifest.unsupported"),
        ("{\"VERSION\": 1, \"PATHWAY-PRIORITY\": []}", "manifest.malformed"),
        ("{\"VERSION\": 1, \"PATHWAY-PRIORITY\": [1]}", "manifest.malformed"),
        ("{\"VERSION\": 1, \"PATHWAY-PRIORITY\": [\"b\\\"\"]}", "manifest.malformed"),
        ("{\"VERSION\": 1, \"PATHWAY-PRIORITY\": [\"b\"], \"TTL\": \"x\"}", "manifest.malformed"),
        (
            "{\"VERSION\": 1, \"PATHWAY-PRIORITY\": [\"b\"], \"RELOAD-URI\": \"ftp://x/\"}",
            "manifest.malformed"
        ),
        (
            "{\"VERSION\": 1, \"PATHWAY-PRIORITY\": [\"b\"], \"PATHWAY-CLONES\": [{\"ID\": \"x\"}]}",
            "manifest.malformed"
        ),
        (
            "{\"VERSION\": 1, \"PATHWAY-PRIORITY\": [\"b\"], \"PATHWAY-CLONES\": [{\"ID\": \"x\", "
                + "\"BASE-ID\": \"a\", \"URI-REPLACEMENT\": {\"HOST\": \"u:p@evil/\"}}]}",
            "manifest.malformed"
        ),
        (
            "{\"VERSION\": 1, \"PATHWAY-PRIORITY\": ["
                + (0...50).map { "\"p\($0)\"" }.joined(separator: ",") + "]}", "manifest.tooMany"
        ),
        (
            "{\"VERSION\": 1, \"PATHWAY-PRIORITY\": [\"b\"], \"PATHWAY-CLONES\": ["
                + (0..<48).map { "{\"ID\": \"p\($0)\", \"BASE-ID\": \"a\"}" }
                .joined(separator: ",") + "]}", "manifest.tooMany"
        ),
        (String(repeating: " ", count: 70_000), "manifest.tooLarge"),
        (String(repeating: "[", count: 60_000), "manifest.malformed"),
    ])
    func aBadManifestChangesNothing(_ text: String, _ code: String) {
        var client = Self.client()
        client.begin(atSeconds: 0)
        _ = client.next(nil, atSeconds: 0)
        do throws(Failure) {
            try client.received(Array(text.utf8), at: Self.server, atSeconds: 0)
            Issue.record("it is taken")
        } catch {
            #expect(error.code.rawValue == code, "\(error.message)")
        }
        #expect(client.choose(atSeconds: 0) == false)
        #expect(client.current.name == "a")
        #expect(client.next(nil, atSeconds: 0) == .wait(untilSeconds: 300))
    }
}
