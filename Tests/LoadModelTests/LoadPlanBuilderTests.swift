import Model
import TestSupport
import Testing
import Titles

@testable import LoadModel

/// What becomes of a title's manifests.
@Suite struct LoadPlanBuilderTests {
    /// Reads a title of manifests that are given by URL.
    private func tracks(
        _ kind: AssetKind, _ manifests: [String: String]
    ) throws -> [TitleTrack] {
        var resolver = try TitleResolver(
            url: "http://o/t/main", kind: kind, readsIndexes: true)
        while !resolver.isComplete {
            for request in resolver.next() {
                let text = try #require(manifests[request.url], "\(request.url)")
                try resolver.receive(
                    request, finalURL: request.url, body: Array(text.utf8), sha256: "")
            }
        }
        return try resolver.tracks()
    }

    private func plan(
        _ kind: AssetKind, _ manifests: [String: String], plays: Bool = true
    ) throws -> LoadPlan {
        var builder = LoadPlanBuilder(playsTitles: plays)
        try builder.add(
            manifest: "http://o/t/main", tracks: try tracks(kind, manifests), name: "t", weight: 2)
        return builder.plan
    }

    private func urls(_ plan: LoadPlan, _ places: [Int32]) -> [String] {
        places.map { place in
            let object = plan.objects[Int(place)]
            let name = object.url.replacing("http://o/t/", with: "")
            guard let range = object.range else { return name }
            return "\(name)@\(range.offset)+\(range.length.map { "\($0)" } ?? "")"
        }
    }

    /// What each segment of a track needs.
    private func needs(_ plan: LoadPlan, _ track: MediaTitle.Track) -> [[String]] {
        track.segments.map { urls(plan, Array(track.needs(ofPart: $0.part))) }
    }

    /// The plan of a playlist of segments, and its one track.
    private func media(_ text: String) throws -> (plan: LoadPlan, track: MediaTitle.Track) {
        let plan = try plan(.hls, ["http://o/t/main": text])
        return (plan, try #require(plan.targets.first?.title?.video.first))
    }

    private static let main = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",LANGUAGE="de",URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="b",NAME="fr",LANGUAGE="fr",DEFAULT=YES,URI="fr.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="en",LANGUAGE="en",URI="s.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=3000000,RESOLUTION=1280x720,CODECS="avc1.64,mp4a.40.2",AUDIO="a"
        hd.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,CODECS="avc1.4d,mp4a.40.2",AUDIO="a"
        sd.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=640x360,CODECS="hvc1.1,mp4a.40.2",AUDIO="a"
        hevc.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS="mp4a.40.2",AUDIO="a"
        en.m3u8
        #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=100000,CODECS="avc1.64",URI="i.m3u8"
        """

    private static func media(_ name: String) -> String {
        """
        #EXTM3U
        #EXT-X-KEY:METHOD=AES-128,URI="key"
        #EXT-X-MAP:URI="\(name).mp4",BYTERANGE="100@0"
        #EXTINF:4,
        #EXT-X-BYTERANGE:1000@100
        \(name).mp4
        #EXT-X-KEY:METHOD=AES-128,URI="key2"
        #EXTINF:2.5,
        \(name)-2.mp4
        #EXT-X-ENDLIST
        """
    }

    private static var hls: [String: String] {
        var manifests = ["http://o/t/main": main]
        for name in ["de", "en", "fr", "s", "hd", "sd", "hevc", "i"] {
            manifests["http://o/t/\(name).m3u8"] = media(name)
        }
        return manifests
    }

    @Test func anHLSTitleIsItsLadderWithTheDefaultSound() throws {
        let plan = try plan(.hls, Self.hls)
        let title = try #require(plan.targets.first?.title)
        #expect(urls(plan, [title.manifest]) == ["main"])
        #expect(title.video.map(\.bitsPerSecond) == [800_000, 3_000_000])
        #expect(title.video.map(\.name) == ["video 360p 800 kbit/s", "video 720p 3000 kbit/s"])
        // The key is needed by each of them, although the title has it once.
        #expect(urls(plan, title.video[0].setup) == ["sd.m3u8"])
        #expect(
            needs(plan, title.video[0]) == [
                ["key", "sd.mp4@0+100"], ["key", "sd.mp4@0+100", "key2"],
            ])
        #expect(urls(plan, title.video[1].setup) == ["hd.m3u8"])
        #expect(needs(plan, title.video[1]).first == ["key", "hd.mp4@0+100"])
        #expect(
            urls(plan, title.video[1].segments.map(\.object)) == ["hd.mp4@100+1000", "hd-2.mp4"])
        #expect(title.video[1].segments.map(\.seconds) == [4, 2.5])
        #expect(title.audio?.name == "audio en 64 kbit/s")
        #expect(urls(plan, title.audio?.setup ?? []) == ["en.m3u8"])
        #expect(try needs(plan, #require(title.audio)).first == ["key", "en.mp4@0+100"])
        #expect(plan.targets[0].objects == 0..<plan.objects.count)
        #expect(plan.targets[0].weight == 2)
        #expect(plan.objects.allSatisfy { $0.target == 0 })
        #expect(plan.objects[Int(title.video[1].segments[0].object)].rendition == 1)
        // Each object once, and no unplayed one.
        let all = urls(plan, plan.objects.indices.map { Int32($0) })
        #expect(Set(all).count == all.count)
        #expect(!all.contains { $0.hasPrefix("fr") || $0.hasPrefix("s.") || $0.hasPrefix("hevc") })
        #expect(!all.contains { $0.hasPrefix("i.") })
    }

    @Test func aSinglePlaylistIsATitleOfOneRendition() throws {
        let plan = try plan(.hls, ["http://o/t/main": Self.media("v")])
        let title = try #require(plan.targets.first?.title)
        #expect(title.video.count == 1)
        #expect(title.audio == nil)
        #expect(title.video[0].bitsPerSecond == 0)
        #expect(title.video[0].setup.isEmpty)
        #expect(
            needs(plan, title.video[0]) == [
                ["key", "v.mp4@0+100"], ["key", "v.mp4@0+100", "key2"],
            ])
        #expect(plan.objects.map(\.role) == [.playlist, .key, .`init`, .media, .key, .media])
    }

    /// Requests alone measure segments, and what these need.
    @Test func withoutViewersNoPlaylistIsAskedFor() throws {
        let plan = try plan(.hls, Self.hls, plays: false)
        #expect(plan.targets[0].objects == 0..<plan.objects.count && plan.targets[0].title == nil)
        #expect(!plan.objects.isEmpty && !plan.objects.contains { $0.role == .playlist })
        #expect(plan.objects.contains { $0.role == .key })
    }

    /// A key counts for the sections and segments after it until the next one, a section until the next one.
    @Test func eachSegmentNeedsTheSectionAndTheKeyThatAreInForce() throws {
        let text = """
            #EXTM3U
            #EXT-X-MAP:URI="clear.mp4"
            #EXTINF:2,
            1.m4s
            #EXT-X-KEY:METHOD=AES-128,URI="k1"
            #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://drm",KEYFORMAT="com.apple.streamingkeydelivery"
            #EXT-X-MAP:URI="film.mp4"
            #EXTINF:2,
            2.m4s
            #EXT-X-KEY:METHOD=AES-128,URI="k1"
            #EXTINF:2,
            3.m4s
            #EXT-X-KEY:METHOD=AES-128,URI="k2"
            #EXTINF:2,
            4.m4s
            #EXT-X-MAP:URI="clear.mp4"
            #EXTINF:2,
            5.m4s
            #EXT-X-ENDLIST
            """
        let (plan, track) = try media(text)
        #expect(
            needs(plan, track) == [
                ["clear.mp4"], ["k1", "film.mp4"], ["k1", "film.mp4"], ["k1", "film.mp4", "k2"],
                ["k2", "clear.mp4"],
            ])
        // Said once more is nothing new.
        #expect(track.parts.count == 4)
    }

    /// METHOD=NONE ends a key, but not that of a section which was named before it.
    @Test func whatIsNotEncryptedNeedsNoKey() throws {
        let text = """
            #EXTM3U
            #EXT-X-KEY:METHOD=AES-128,URI="k1"
            #EXT-X-KEY:METHOD=NONE
            #EXT-X-MAP:URI="clear.mp4"
            #EXTINF:2,
            1.m4s
            #EXT-X-KEY:METHOD=AES-128,URI="k2"
            #EXT-X-MAP:URI="film.mp4"
            #EXTINF:2,
            2.m4s
            #EXT-X-KEY:METHOD=NONE
            #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://drm",KEYFORMAT="com.apple.streamingkeydelivery"
            #EXTINF:2,
            3.m4s
            #EXT-X-MAP:URI="clear.mp4"
            #EXTINF:2,
            4.m4s
            #EXT-X-KEY:METHOD=AES-128,URI="k1"
            #EXTINF:2,
            5.m4s
            #EXT-X-ENDLIST
            """
        let (plan, track) = try media(text)
        #expect(
            needs(plan, track) == [
                ["clear.mp4"], ["k2", "film.mp4"], ["k2", "film.mp4"], ["clear.mp4"],
                ["clear.mp4", "k1"],
            ])
    }

    /// Sections without segments are none of a player's, however many.
    @Test func sectionsWithoutSegmentsAreBounded() throws {
        var text = "#EXTM3U\n"
        for index in 0..<20_000 { text += "#EXT-X-MAP:URI=\"\(index).mp4\"\n" }
        text += "#EXTINF:2,\n1.m4s\n#EXT-X-ENDLIST\n"
        let (plan, track) = try media(text)
        #expect(needs(plan, track)[0].count == 8)
        #expect(needs(plan, track)[0].last == "19999.mp4")
    }

    /// A segment that is listed twice is played twice.
    @Test func whatIsListedAgainIsPlayedAgain() throws {
        let text = "#EXTM3U\n#EXTINF:2,\na.ts\n#EXTINF:2,\nb.ts\n#EXTINF:2,\na.ts\n#EXT-X-ENDLIST"
        let plan = try plan(.hls, ["http://o/t/main": text])
        let title = try #require(plan.targets.first?.title)
        #expect(urls(plan, title.video[0].segments.map(\.object)) == ["a.ts", "b.ts", "a.ts"])
        #expect(plan.objects.count == 3)
    }

    private static let mpd = """
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static">
        <Period id="1" duration="PT8S"><BaseURL>p1/</BaseURL>
        <AdaptationSet contentType="audio" lang="de">
        <SegmentTemplate media="a$Number$" initialization="ai" duration="4"/>
        <Representation id="de" bandwidth="64000"/></AdaptationSet>
        <AdaptationSet contentType="audio" lang="en">
        <SegmentTemplate media="e$Number$" initialization="ei" duration="4"/>
        <Representation id="en" bandwidth="64000"/></AdaptationSet>
        <AdaptationSet contentType="video">
        <SegmentTemplate media="$RepresentationID$-$Number$" initialization="$RepresentationID$-i"
        duration="4"/>
        <Representation id="hd" bandwidth="3000000" height="720"/>
        <Representation id="sd" bandwidth="800000" height="360"/></AdaptationSet></Period>
        <Period id="2" duration="PT4S"><BaseURL>p2/</BaseURL>
        <AdaptationSet contentType="video">
        <SegmentTemplate media="$RepresentationID$-$Number$" initialization="$RepresentationID$-i"
        duration="4"/>
        <Representation id="ad" bandwidth="1000000" height="360"/></AdaptationSet></Period></MPD>
        """

    @Test func aDASHTitleIsItsPeriodsOneAfterAnother() throws {
        let plan = try plan(.dash, ["http://o/t/main": Self.mpd])
        let title = try #require(plan.targets.first?.title)
        #expect(title.video.map(\.bitsPerSecond) == [800_000, 3_000_000])
        #expect(
            needs(plan, title.video[0]) == [["p1/sd-i"], ["p1/sd-i"], ["p2/ad-i"]])
        #expect(
            urls(plan, title.video[0].segments.map(\.object)) == ["p1/sd-1", "p1/sd-2", "p2/ad-1"])
        #expect(
            urls(plan, title.video[1].segments.map(\.object)) == ["p1/hd-1", "p1/hd-2", "p2/ad-1"])
        #expect(title.audio?.name == "audio de 64 kbit/s")
        #expect(urls(plan, title.audio?.segments.map(\.object) ?? []) == ["p1/a1", "p1/a2"])
    }

    @Test func soundAloneIsPlayedAsATitle() throws {
        let text = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period duration="PT4S">
            <AdaptationSet contentType="audio" lang="de">
            <SegmentTemplate media="$RepresentationID$-$Number$" duration="4"/>
            <Representation id="high" bandwidth="128000"/><Representation id="low" bandwidth="64000"/>
            </AdaptationSet></Period></MPD>
            """
        let title = try #require(try plan(.dash, ["http://o/t/main": text]).targets.first?.title)
        #expect(title.video.map(\.bitsPerSecond) == [64_000, 128_000])
        #expect(title.audio == nil)
    }

    /// Without a duration it cannot be played, but its objects can be requested.
    @Test func aTitleWithoutDurationsIsForRequestsAlone() throws {
        let text = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period>
            <AdaptationSet contentType="video"><Representation id="a" bandwidth="128000">
            <BaseURL>a.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>
            """
        let error = #expect(throws: Failure.self) {
            try self.plan(.dash, ["http://o/t/main": text])
        }
        #expect(error?.code == "input.target")
        #expect(error?.message.contains("no segment durations") == true)
        let plan = try self.plan(.dash, ["http://o/t/main": text], plays: false)
        #expect(plan.targets[0].title == nil)
        #expect(plan.objects.map(\.url) == ["http://o/t/a.mp4"])
    }

    @Test func renditionsOfSeveralTitlesAreTalliedTogether() throws {
        var builder = LoadPlanBuilder(playsTitles: true)
        let tracks = try tracks(.hls, Self.hls)
        for name in ["a", "b"] {
            try builder.add(manifest: "http://o/t/main", tracks: tracks, name: name, weight: 1)
        }
        #expect(builder.plan.renditions.count == 3)
        #expect(builder.plan.targets.map(\.objects.count) == [15, 15])
        #expect(builder.plan.objects[15].target == 1)
    }
}
