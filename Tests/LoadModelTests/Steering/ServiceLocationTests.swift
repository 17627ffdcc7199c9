import Model
import Testing
import Titles

@testable import LoadModel

/// Service locations of BaseURLs at every level of an MPD (ISO/IEC 23009-1, 5.6).
@Suite struct ServiceLocationTests {
    private static let template = "<SegmentTemplate media=\"$Number$.m4s\" duration=\"2\"/>"

    private static func mpd(_ text: String) -> String {
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" "
            + "mediaPresentationDuration=\"PT4S\">\(text)</MPD>"
    }

    private static func plan(_ mpd: String) throws -> LoadPlan {
        var resolver = try TitleResolver(url: "http://o/t/m.mpd", kind: .dash)
        for request in resolver.next() {
            try resolver.receive(
                request, finalURL: request.url, body: Array(mpd.utf8), sha256: "")
        }
        var builder = LoadPlanBuilder(playsTitles: true)
        try builder.add(
            manifest: "http://o/t/m.mpd", tracks: try resolver.tracks(), name: "t", weight: 1,
            steering: try resolver.steering())
        return builder.plan
    }

    /// A viewer of a plan's title, steered by a list.
    private struct Steered {
        let plan: LoadPlan
        var client: SteeringClient

        init(_ plan: LoadPlan, list: [String] = []) throws {
            self.plan = plan
            client = SteeringClient(try #require(plan.targets[0].steering))
            guard !list.isEmpty else { return }
            client.begin(atSeconds: 0)
            _ = client.next(nil, atSeconds: 0)
            let names = list.map { "\"\($0)\"" }.joined(separator: ",")
            try client.received(
                Array("{\"VERSION\":1,\"TTL\":9,\"PATHWAY-PRIORITY\":[\(names)]}".utf8),
                at: "http://s/", atSeconds: 0)
            _ = client.choose(atSeconds: 0)
        }

        /// Where the first segment of a track goes.
        mutating func segment(_ track: MediaTitle.Track?, _ position: Int = 0) throws -> [String?] {
            let index = try #require(track).segments[position].object
            let found = client.destination(
                of: plan.objects[Int(index)], at: index, ManifestMoves())
            return [found.url, found.pathway]
        }

        var video: [String?] {
            mutating get throws { try segment(plan.targets[0].title?.video.first) }
        }
        var audio: [String?] {
            mutating get throws { try segment(plan.targets[0].title?.audio) }
        }

        /// Takes a failure of a track's first segment.
        mutating func fails(_ track: MediaTitle.Track?) throws -> Bool {
            let index = try #require(track).segments[0].object
            return client.pathwayFailed(of: plan.objects[Int(index)], atSeconds: 0).movesObject
        }
    }

    private static let levels = mpd(
        """
        <BaseURL serviceLocation="a">http://a/x/</BaseURL>
        <BaseURL serviceLocation="b">http://b/y/</BaseURL>
        <ContentSteering>http://s/</ContentSteering>
        <Period><BaseURL>p/</BaseURL>
        <AdaptationSet mimeType="video/mp4">
          <BaseURL serviceLocation="c">v/</BaseURL><BaseURL serviceLocation="d">w/</BaseURL>
          \(template)<Representation id="v" bandwidth="2"/></AdaptationSet>
        <AdaptationSet mimeType="audio/mp4">
          <BaseURL serviceLocation="e">http://e/</BaseURL>
          \(template)<Representation id="s" bandwidth="1"/></AdaptationSet>
        </Period>
        """)

    @Test(arguments: [
        ([String](), "http://a/x/p/v/", "a"), (["a", "c"], "http://a/x/p/v/", "a"),
        (["b"], "http://b/y/p/v/", "b"), (["d"], "http://a/x/p/w/", "a"),
        (["d", "b", "a", "c"], "http://b/y/p/w/", "b"),
        // A level with none of the list stays with its own.
        (["e", "z"], "http://a/x/p/v/", "a"),
    ])
    func alternativesMultiplyByLevel(_ list: [String], _ base: String, _ name: String) throws {
        var viewer = try Steered(try Self.plan(Self.levels), list: list)
        #expect(try viewer.video == ["\(base)1.m4s", name])
        #expect(try viewer.audio == ["http://e/1.m4s", "e"])
    }

    @Test func aFailedLocationIsLeftWhereThereIsAnother() throws {
        var viewer = try Steered(try Self.plan(Self.levels))
        let title = viewer.plan.targets[0].title
        #expect(try viewer.fails(title?.audio) == false)
        #expect(try viewer.fails(title?.video.first) == true)
        #expect(try viewer.video == ["http://b/y/p/v/1.m4s", "b"])
        #expect(try viewer.fails(title?.video.first) == false)
    }

    @Test func theServerIsToldAllLocationsInUse() throws {
        var viewer = try Steered(try Self.plan(Self.levels), list: ["b", "d"])
        #expect(try viewer.audio == ["http://e/1.m4s", "e"])
        #expect(
            viewer.client.next(nil, atSeconds: 9)
                == .request("http://s/?_DASH_pathway=%22b%2Cd%2Ce%22"))
    }

    @Test func allHostsAreKnownBeforeTheLoad() throws {
        let steering = try Self.plan(Self.levels).targets[0].steering
        #expect(Set(steering?.bases ?? []) == ["http://a/x/", "http://b/y/", "http://e/"])
        #expect(steering?.groups == [["a", "b"], ["c", "d"], ["e"]])
    }

    @Test func periodsHaveTheirOwn() throws {
        func period(_ urls: String) -> String {
            """
            <Period duration="PT2S">\(urls)<AdaptationSet mimeType="video/mp4">
            \(Self.template)<Representation id="v" bandwidth="2"/></AdaptationSet></Period>
            """
        }
        func url(_ name: String, _ url: String) -> String {
            "<BaseURL serviceLocation=\"\(name)\">\(url)</BaseURL>"
        }
        let plan = try Self.plan(
            Self.mpd(
                "<ContentSteering defaultServiceLocation=\"c b\">http://s/</ContentSteering>"
                    + period(url("a", "http://a/") + url("b", "http://b/"))
                    + period(url("b", "http://b/2/") + url("c", "c/"))
                    + period("<BaseURL>http://free/</BaseURL>")))
        let track = plan.targets[0].title?.video.first
        var viewer = try Steered(plan)
        #expect(try viewer.segment(track, 0) == ["http://b/1.m4s", "b"])
        #expect(try viewer.segment(track, 1) == ["http://o/t/c/1.m4s", "c"])
        #expect(try viewer.segment(track, 2) == ["http://free/1.m4s", nil])
        viewer = try Steered(plan, list: ["a", "b"])
        #expect(try viewer.segment(track, 0) == ["http://a/1.m4s", "a"])
        #expect(try viewer.segment(track, 1) == ["http://b/2/1.m4s", "b"])
    }

    @Test func filesOfRepresentationsMayHaveOtherNames() throws {
        let plan = try Self.plan(
            Self.mpd(
                """
                <ContentSteering>http://s/</ContentSteering>
                <Period><AdaptationSet mimeType="video/mp4"><Representation id="v" bandwidth="2">
                <BaseURL serviceLocation="a">http://a/v.mp4</BaseURL>
                <BaseURL serviceLocation="b">http://b/x/other.mp4?q=1</BaseURL>
                </Representation></AdaptationSet></Period>
                """))
        var viewer = try Steered(plan, list: ["b", "a"])
        #expect(try viewer.video == ["http://b/x/other.mp4?q=1", "b"])
    }

    @Test func tracksThatArePlayedDecide() throws {
        let plan = try Self.plan(
            Self.mpd(
                """
                <ContentSteering>http://s/</ContentSteering>
                <Period><AdaptationSet mimeType="video/mp4">
                \(Self.template)<Representation id="v" bandwidth="2"/></AdaptationSet>
                <AdaptationSet mimeType="text/vtt"><Representation id="t" bandwidth="2">
                <BaseURL serviceLocation="a">http://a/t.vtt</BaseURL></Representation>
                </AdaptationSet></Period>
                """))
        #expect(plan.targets[0].steering == nil)
    }

    @Test func aLiveTitleMayGetOtherLocations() throws {
        var viewer = try Steered(try Self.plan(Self.levels), list: ["y", "b"])
        var segment = LoadPlan.Object(url: "http://x/9.m4s", role: .media, target: 0)
        segment.manifest = 0
        segment.locations = BaseURLLevels(
            [
                [
                    .init(location: "x", reference: "http://x/", isAbsolute: true),
                    .init(location: "y", reference: "http://y/", isAbsolute: true),
                ]
            ], base: "http://x/")
        func destination() -> [String?] {
            let found = viewer.client.destination(of: segment, at: 1, ManifestMoves())
            return [found.url, found.pathway]
        }
        #expect(destination() == ["http://y/9.m4s", "y"])
        #expect(viewer.client.pathwayFailed(of: segment, atSeconds: 0).movesObject == false)
        viewer = try Steered(try Self.plan(Self.levels))
        #expect(destination() == ["http://x/9.m4s", "x"])
        // Without a list in the manifest's order.
        #expect(viewer.client.pathwayFailed(of: segment, atSeconds: 0).movesObject == true)
        #expect(destination() == ["http://y/9.m4s", "y"])
    }
}
