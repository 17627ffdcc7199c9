import Model
import Statistics
import Testing

@testable import LoadModel

/// Viewers of dynamic MPDs against origins whose right answers are known.
@Suite struct LiveDASHTests {
    private static func manifest(_ addressing: String, update: String = "PT10S") -> String {
        """
        <?xml version="1.0"?>
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" profiles="urn:mpeg:dash:profile:isoff-live:2011"
          availabilityStartTime="1970-01-01T00:00:10Z" minimumUpdatePeriod="\(update)"
          timeShiftBufferDepth="PT60S" suggestedPresentationDelay="PT6S" minBufferTime="PT2S">
        <Period id="p" start="PT0S"><AdaptationSet mimeType="video/mp4" contentType="video">
        \(addressing)
        <Representation id="v0" bandwidth="1000000" width="640" height="360"/>
        </AdaptationSet></Period></MPD>
        """
    }

    @Test func segmentsAreRequestedWhenTheyAreAvailable() throws {
        let template = """
            <SegmentTemplate media="$RepresentationID$-$Number$.m4s" initialization="init.mp4" \
            duration="2" startNumber="0"/>
            """
        let run = try LiveRun(livePlan(.dash), from: 111, to: 171) { url, _ in
            LiveRun.Answer(body: url.hasSuffix(".mpd") ? Self.manifest(template) : "")
        }
        #expect(run.counts.stalls == 0)
        // 101 s of the presentation have passed, and 95 less the delay: in segment 47.
        let segments = run.fetches(of: "/v0-")
        #expect(segments.first?.url == "http://live.example/v0-47.m4s")
        #expect(segments.map(\.url) == (47..<80).map { "http://live.example/v0-\($0).m4s" })
        for (place, segment) in segments.enumerated().dropFirst(3) {
            let available = 10.0 + Double(48 + place) * 2
            #expect(segment.atSeconds >= available - 1e-6)
            #expect(segment.atSeconds < available + 0.05, "\(segment)")
        }
        #expect(run.fetches(of: "init.mp4").count == 1)
        // Every ten seconds, and at the start.
        let loads = run.fetches(of: ".mpd").map(\.atSeconds)
        #expect(loads.map { Int($0) } == [111, 121, 131, 141, 151, 161])
        #expect(run.counts.playlistReloads == 5)
        let latency = try #require(run.interval[.liveLatency])
        #expect((latency.minimum ?? 0) > 6_900_000 && (latency.maximum ?? 0) < 7_200_000)
        #expect(run.counts.stalePlaylists == 0)
    }

    @Test func segmentsOfATimelineComeWithAnotherManifest() throws {
        let run = try LiveRun(livePlan(.dash), from: 111, to: 171) { url, now in
            guard url.hasSuffix(".mpd") else { return LiveRun.Answer() }
            let last = Int(now - 10) / 2 - 1
            let first = last - 29
            return LiveRun.Answer(
                body: Self.manifest(
                    """
                    <SegmentTemplate media="$RepresentationID$-$Time$.m4s" initialization="init.mp4" \
                    timescale="10"><SegmentTimeline><S t="\(first * 20)" d="20" r="29"/>\
                    </SegmentTimeline></SegmentTemplate>
                    """, update: "PT2S"))
        }
        #expect(run.counts.stalls == 0)
        let segments = run.fetches(of: "/v0-")
        #expect(segments.first?.url == "http://live.example/v0-940.m4s")
        #expect(
            segments.map(\.url)
                == (0..<segments.count).map { "http://live.example/v0-\(940 + 20 * $0).m4s" })
        #expect(segments.count >= 31)
        #expect(run.counts.liveSkips == 0)
        #expect((run.interval[.liveLatency]?.maximum ?? 0) < 7_200_000)
    }

    @Test func aManifestThatTurnsStaticEndsItsViewers() throws {
        let template = """
            <SegmentTemplate media="$RepresentationID$-$Number$.m4s" initialization="init.mp4" \
            duration="2" startNumber="0"/>
            """
        let run = try LiveRun(livePlan(.dash), from: 111, to: 500) { url, now in
            guard url.hasSuffix(".mpd") else { return LiveRun.Answer() }
            let live = Self.manifest(template)
            guard now > 140 else { return LiveRun.Answer(body: live) }
            return LiveRun.Answer(
                body: live.replacing("type=\"dynamic\"", with: "type=\"static\"")
                    .replacing("minimumUpdatePeriod=\"PT10S\"", with: "")
                    .replacing("timeShiftBufferDepth", with: "mediaPresentationDuration")
                    .replacing("PT60S", with: "PT132S"))
        }
        // 132 s of the presentation, from 94 on.
        #expect(abs(run.counts.playedSeconds - 38) < 1e-6)
        #expect(run.counts.stalls == 0)
        #expect(run.endedAtSeconds ?? 0 > 148)
    }

    /// The origin's clock is 30 s ahead; players that use their own would request segments too late.
    @Test(arguments: [true, false]) func theClockOfTheManifestCounts(_ isDirect: Bool) throws {
        let template = """
            <SegmentTemplate media="$RepresentationID$-$Number$.m4s" initialization="init.mp4" \
            duration="2" startNumber="0"/>
            """
        var plan = livePlan(.dash)
        if !isDirect {
            plan.objects.append(
                LoadPlan.Object(url: "http://live.example/time", role: .data, target: 0))
            plan.targets[0].live?.clock = Int32(plan.objects.count - 1)
        }
        func text(_ now: Double) -> String {
            let seconds = Int(now) + 30
            return "1970-01-01T00:0\(seconds / 60):\(seconds % 60 + 100)Z".replacing(
                ":1", with: ":")
        }
        let run = try LiveRun(plan, from: 111, to: 131) { url, now in
            if url.hasSuffix("/time") { return LiveRun.Answer(body: " \(text(now))\n") }
            guard url.hasSuffix(".mpd") else { return LiveRun.Answer() }
            let scheme = isDirect ? "direct" : "http-xsdate"
            let value = isDirect ? text(now) : "http://live.example/time"
            return LiveRun.Answer(
                body: Self.manifest(template).replacing(
                    "<Period",
                    with: "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:\(scheme):2014\" "
                        + "value=\"\(value)\"/><Period"))
        }
        #expect(run.fetches(of: "/time").count == (isDirect ? 0 : 1))
        // 131 s of the presentation have passed by that clock, and 125 less the delay.
        #expect(run.fetches(of: "/v0-").first?.url == "http://live.example/v0-62.m4s")
        #expect(run.counts.stalls == 0)
    }
}
