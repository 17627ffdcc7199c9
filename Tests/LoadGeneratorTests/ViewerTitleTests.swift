import LoadGenerator
import LoadModel
import Model
import Statistics
import TestSupport
import Testing
import Transfer

/// Titles as a viewer requests them, starting with the manifest at the origin.
@Suite(.timeLimit(.minutes(1))) struct ViewerTitleTests {
    private let origin: FaultOrigin

    init() throws { origin = try FaultOrigin() }

    /// Plays a title to `viewers`, and returns their requests in order.
    private func play(
        _ kind: AssetKind, _ path: String, viewers: Int
    ) async throws -> (paths: [String], counts: LoadCounts, total: LoadInterval) {
        var scenario = LoadScenario.open(rate: Double(viewers), seconds: 1)
        scenario.stages.append(LoadStage(seconds: 1.5, from: 0, to: 0))
        scenario.targets = [LoadTarget(name: "t", source: .url(origin.url(path), kind))]
        var settings = ViewerSettings()
        settings.startupSeconds = 0.1
        scenario.user = .viewers(settings)
        let plan = try await preflight(scenario).plan
        let before = origin.requests.count
        let run = try await EngineRun(plan, scenario, threads: 1)
        return (origin.requests.dropFirst(before).map(\.path), run.counts, run.total)
    }

    private func serve(_ path: String, _ text: String) {
        origin.route(path, FaultOrigin.Response(text: text))
    }

    private static let rotating = """
        #EXTM3U
        #EXT-X-TARGETDURATION:1
        #EXT-X-KEY:METHOD=AES-128,URI="k1"
        #EXT-X-MAP:URI="NAME-a.mp4"
        #EXTINF:0.1,
        NAME-1.m4s
        #EXT-X-KEY:METHOD=AES-128,URI="k2"
        #EXTINF:0.1,
        NAME-2.m4s
        #EXT-X-DISCONTINUITY
        #EXT-X-MAP:URI="NAME-b.mp4"
        #EXTINF:0.1,
        NAME-3.m4s
        #EXT-X-KEY:METHOD=AES-128,URI="k1"
        #EXTINF:0.1,
        NAME-4.m4s
        #EXT-X-ENDLIST
        """

    @Test func aTitleOfRotatedKeysAndSeveralSectionsIsAskedForAsAPlayerWould() async throws {
        serve(
            "/t/main.m3u8",
            """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",DEFAULT=YES,URI="a.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=800000,CODECS="avc1.4d,mp4a.40.2",AUDIO="a"
            v.m3u8
            """)
        for name in ["v", "a"] {
            serve("/t/\(name).m3u8", Self.rotating.replacing("NAME", with: name))
            for part in ["a.mp4", "b.mp4", "1.m4s", "2.m4s", "3.m4s", "4.m4s"] {
                serve("/t/\(name)-\(part)", "media")
            }
        }
        for key in ["k1", "k2"] { serve("/t/\(key)", "0123456789abcdef") }
        let one = try await play(.hls, "/t/main.m3u8", viewers: 1)
        // Each key once, although sound and picture need both, and the first one again at the end.
        #expect(
            one.paths
                == [
                    "main.m3u8", "v.m3u8", "k1", "v-a.mp4", "a.m3u8", "a-a.mp4", "v-1.m4s",
                    "a-1.m4s", "k2", "v-2.m4s", "a-2.m4s", "v-b.mp4", "v-3.m4s", "a-b.mp4",
                    "a-3.m4s", "v-4.m4s", "a-4.m4s",
                ].map { "/t/\($0)" })
        #expect(one.counts.requests.succeeded == 17)
        #expect(one.counts.playback.segments == 8)
        #expect(one.counts.viewers.failed == 0)
        #expect(abs(one.counts.playback.playedSeconds - 0.4) < 1e-6)
        #expect(one.total[.startup]?.total == 1)

        let three = try await play(.hls, "/t/main.m3u8", viewers: 3)
        #expect(three.counts.requests.succeeded == 51)
        for path in Set(one.paths) {
            #expect(three.paths.count { $0 == path } == 3 * one.paths.count { $0 == path })
        }
    }

    /// An advertisement before an encrypted film: a viewer who leaves before the film requests no key.
    @Test func aKeyIsAskedForWhereSomethingIsEncrypted() async throws {
        serve(
            "/t/main.m3u8",
            """
            #EXTM3U
            #EXT-X-TARGETDURATION:1
            #EXT-X-KEY:METHOD=AES-128,URI="k1"
            #EXT-X-KEY:METHOD=NONE
            #EXTINF:0.1,
            ad.ts
            #EXT-X-KEY:METHOD=AES-128,URI="k2"
            #EXTINF:0.1,
            film.ts
            #EXT-X-KEY:METHOD=NONE
            #EXTINF:0.1,
            end.ts
            #EXT-X-ENDLIST
            """)
        for name in ["ad.ts", "film.ts", "end.ts", "k1", "k2"] { serve("/t/\(name)", "media") }
        let run = try await play(.hls, "/t/main.m3u8", viewers: 1)
        #expect(
            run.paths == ["main.m3u8", "ad.ts", "k2", "film.ts", "end.ts"].map { "/t/\($0)" })
        #expect(run.counts.viewers.failed == 0)
    }

    @Test func aTitleOfSeveralPeriodsIsAskedForWithTheSectionsOfEach() async throws {
        serve(
            "/t/main.mpd",
            """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static">
            <Period id="1" duration="PT0.2S"><BaseURL>p1/</BaseURL>
            <AdaptationSet contentType="video">
            <SegmentTemplate media="v$Number$" initialization="vi" duration="1" timescale="10"/>
            <Representation id="v" bandwidth="800000"/></AdaptationSet></Period>
            <Period id="2" duration="PT0.1S"><BaseURL>p2/</BaseURL>
            <AdaptationSet contentType="video">
            <SegmentTemplate media="v$Number$" initialization="vi" duration="1" timescale="10"/>
            <Representation id="v" bandwidth="800000"/></AdaptationSet></Period></MPD>
            """)
        for path in ["p1/vi", "p1/v1", "p1/v2", "p2/vi", "p2/v1"] { serve("/t/\(path)", "media") }
        let run = try await play(.dash, "/t/main.mpd", viewers: 1)
        #expect(
            run.paths
                == ["main.mpd", "p1/vi", "p1/v1", "p1/v2", "p2/vi", "p2/v1"].map { "/t/\($0)" })
        #expect(run.counts.playback.segments == 3)
        #expect(run.counts.viewers.failed == 0)
    }
}
