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
        #expect(run.counts.playback.stalls == 0)
        // 101 s of the presentation have passed, and 95 less the delay: in segment 47.
        let segments = run.fetches(of: "/v0-")
        #expect(segments.first?.url == "http://live.example/v0-47.m4s")
        #expect(segments.map(\.url) == (47..<80).map { "http://live.example/v0-\($0).m4s" })
        for (index, segment) in segments.enumerated().dropFirst(3) {
            let available = 10.0 + Double(48 + index) * 2
            #expect(segment.atSeconds >= available - 1e-6)
            #expect(segment.atSeconds < available + 0.05, "\(segment)")
        }
        #expect(run.fetches(of: "init.mp4").count == 1)
        // Every ten seconds, and at the start.
        let loads = run.fetches(of: ".mpd").map(\.atSeconds)
        #expect(loads.map { Int($0) } == [111, 121, 131, 141, 151, 161])
        #expect(run.counts.live.playlistReloads == 5)
        let latency = try #require(run.interval[.liveLatency])
        #expect((latency.minimum ?? 0) > 6_900_000 && (latency.maximum ?? 0) < 7_200_000)
        #expect(run.counts.live.stalePlaylists == 0)
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
        #expect(run.counts.playback.stalls == 0)
        let segments = run.fetches(of: "/v0-")
        #expect(segments.first?.url == "http://live.example/v0-940.m4s")
        #expect(
            segments.map(\.url)
                == (0..<segments.count).map { "http://live.example/v0-\(940 + 20 * $0).m4s" })
        #expect(segments.count >= 31)
        #expect(run.counts.live.skips == 0)
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
        #expect(abs(run.counts.playback.playedSeconds - 38) < 1e-6)
        #expect(run.counts.playback.stalls == 0)
        #expect(run.endedAtSeconds ?? 0 > 148)
    }

    /// The origin's clock is 30 s ahead; players that use their own would request segments too late.
    @Test(arguments: [true, false]) func theClockOfTheManifestCounts(_ isDirect: Bool) throws {
        let template = """
            <SegmentTemplate media="$RepresentationID$-$Number$.m4s" initialization="init.mp4" \
            duration="2" startNumber="0"/>
            """
        var plan = livePlan(.dash)
        plan.targets[0].live?.clocks = [.direct(0)]
        if !isDirect {
            plan.objects.append(
                LoadPlan.Object(url: "http://live.example/time", role: .data, target: 0))
            plan.targets[0].live?.clocks = [.url(Int32(plan.objects.count - 1))]
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
        #expect(run.counts.playback.stalls == 0)
    }

    /// The first clock is an hour ahead: viewers that believe it request what does not exist yet.
    @Test(arguments: [true, false]) func aWrongClockIsRefused(_ hasAnother: Bool) throws {
        let template = """
            <SegmentTemplate media="$RepresentationID$-$Number$.m4s" initialization="init.mp4" \
            duration="2" startNumber="0"/>
            """
        var plan = livePlan(.dash)
        for name in hasAnother ? ["wrong", "right"] : ["wrong"] {
            plan.objects.append(
                LoadPlan.Object(url: "http://live.example/\(name)", role: .data, target: 0))
            plan.targets[0].live?.clocks.append(.url(Int32(plan.objects.count - 1)))
        }
        var warnings: [String] = []
        let objects = LiveObjects(plan) { _ in 0 }
        let title = LiveTitle(
            try #require(plan.targets[0].live), objects, startEpochSeconds: 0
        ) { warnings.append($0) }
        let run = try LiveRun(plan, from: 111, to: 131, sharing: title, objects: objects) {
            url, now in
            if url.hasSuffix("/wrong") { return LiveRun.Answer(body: "1970-01-01T01:01:51Z") }
            if url.hasSuffix("/right") { return LiveRun.Answer(body: "1970-01-01T00:02:21Z") }
            guard url.hasSuffix(".mpd") else { return LiveRun.Answer() }
            return LiveRun.Answer(body: Self.manifest(template))
        }
        #expect(run.fetches(of: "/wrong").count == 1)
        #expect(run.fetches(of: "/right").count == (hasAnother ? 1 : 0))
        // As with `theClockOfTheManifestCounts`, and 30 s earlier by this machine's clock.
        let first = hasAnother ? 62 : 47
        #expect(
            run.fetches(of: "/v0-").first?.url == "http://live.example/v0-\(first).m4s",
            "\(run.fetches.prefix(6))")
        #expect(warnings.count == 1)
        #expect(
            warnings.first?.hasPrefix(
                "the clock http://live.example/wrong says 1970-01-01T01:01:51Z, "
                    + "but this machine has 1970-01-01T00:01:51Z") == true, "\(warnings)")
    }

    /// Clocks are tried in the order of the MPD, whatever their scheme: one that fails or is wrong leaves its
    /// place to the next. The right ones are 30 s ahead.
    @Test(arguments: [
        (["right", "direct"], ["right"], 62), (["fails", "direct"], ["fails"], 62),
        (["wrong", "direct"], ["wrong"], 62), (["direct", "wrong"], [], 62),
        (["WRONG", "right"], ["right"], 62), (["WRONG", "wrong", "direct"], ["wrong"], 62),
        (["WRONG", "fails"], ["fails"], 47),
    ])
    func clocksAreTriedInTheirOrder(_ clocks: [String], asked: [String], first: Int) throws {
        let template = """
            <SegmentTemplate media="$RepresentationID$-$Number$.m4s" initialization="init.mp4" \
            duration="2" startNumber="0"/>
            """
        let right = "1970-01-01T00:02:21Z"
        let wrong = "1970-01-01T01:01:51Z"
        var plan = livePlan(.dash)
        var directs: [String] = []
        for name in clocks {
            if ["direct", "WRONG"].contains(name) {
                plan.targets[0].live?.clocks.append(.direct(directs.count))
                directs.append(name == "direct" ? right : wrong)
            } else {
                plan.objects.append(
                    LoadPlan.Object(url: "http://live.example/\(name)", role: .data, target: 0))
                plan.targets[0].live?.clocks.append(.url(Int32(plan.objects.count - 1)))
            }
        }
        let timings = directs.map {
            "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:direct:2014\" value=\"\($0)\"/>"
        }.joined()
        let run = try LiveRun(plan, from: 111, to: 119) { url, _ in
            switch url.split(separator: "/").last {
            case "right": LiveRun.Answer(body: right)
            case "wrong": LiveRun.Answer(body: wrong)
            case "fails": LiveRun.Answer(seconds: nil)
            case "live.mpd":
                LiveRun.Answer(
                    body: Self.manifest(template).replacing("<Period", with: timings + "<Period"))
            default: LiveRun.Answer()
            }
        }
        let names = ["right", "wrong", "fails"]
        let fetched = run.fetches.compactMap {
            $0.url.split(separator: "/").last.map { String($0) }
        }
        #expect(fetched.filter(names.contains) == asked)
        #expect(
            run.fetches(of: "/v0-").first?.url == "http://live.example/v0-\(first).m4s",
            "\(run.fetches.prefix(6))")
    }

    /// The machine is an hour behind, as the answer of the MPD before the load has shown.
    @Test(arguments: [3_600, nil]) func aClockMayAgreeWithTheOrigin(_ offset: Double?) throws {
        var plan = livePlan(.dash)
        plan.targets[0].live?.answerOffsetSeconds = offset
        let title = LiveTitle(
            try #require(plan.targets[0].live), LiveObjects(plan) { _ in 0 }, startEpochSeconds: 0)
        #expect(title.setClock(3_710, by: .direct(0), nil, atSeconds: 111) == (offset != nil))
        #expect(title.epoch(111) == (offset == nil ? 111 : 3_710))
    }

    /// Viewers do not use patches: the whole MPD is requested again, at its Location.
    @Test func aManifestThatOffersPatchesIsRequestedAsAWhole() throws {
        let run = try LiveRun(livePlan(.dash), from: 111, to: 151) { url, now in
            guard url.contains(".mpd") else { return LiveRun.Answer() }
            let first = Int(now - 10) / 2 - 30
            let manifest = Self.manifest(
                """
                <SegmentTemplate media="$RepresentationID$-$Time$.m4s" initialization="init.mp4" \
                timescale="10"><SegmentTimeline><S t="\(first * 20)" d="20" r="29"/>\
                </SegmentTimeline></SegmentTemplate>
                """, update: "PT2S")
            return LiveRun.Answer(
                body: manifest.replacing(
                    "type=\"dynamic\"",
                    with: "type=\"dynamic\" id=\"m\" publishTime=\"1970-01-01T00:01:50Z\""
                ).replacing(
                    "<Period",
                    with: "<Location>s.mpd</Location><PatchLocation ttl=\"4\">patch.mpp"
                        + "</PatchLocation><Period"))
        }
        #expect(run.counts.playback.stalls == 0 && run.counts.live.skips == 0)
        #expect(run.counts.live.stalePlaylists == 0)
        #expect(run.fetches(of: "patch").isEmpty)
        #expect(run.fetches(of: "s.mpd").count >= 18)
        #expect(run.fetches(of: "/v0-").count >= 20)
    }

    /// Each answer may name another one, as sessions do; without one its own URL counts again.
    @Test func theManifestIsRequestedAtItsLocation() throws {
        let template = """
            <SegmentTemplate media="$RepresentationID$-$Number$.m4s" initialization="init.mp4" \
            duration="2" startNumber="0"/>
            """
        let objects = LiveObjects(livePlan(.dash)) { _ in 0 }
        let title = LiveTitle(
            try #require(livePlan(.dash).targets[0].live), objects, startEpochSeconds: 0)
        var answers = 0
        let run = try LiveRun(
            livePlan(.dash), from: 111, to: 151, sharing: title, objects: objects
        ) { url, now in
            guard url.contains(".mpd") else { return LiveRun.Answer() }
            answers += 1
            let location = [
                "<Location>s.mpd?n=1</Location><Location>http://b/</Location>",
                "<Location> http://two.example/t.mpd?n=2 </Location>", "",
            ][min(answers - 1, 2)]
            return LiveRun.Answer(
                body: Self.manifest(template).replacing("<Period", with: location + "<Period"))
        }
        let manifests = run.fetches.map(\.url).filter { $0.contains(".mpd") }
        let own = try #require(manifests.first)
        #expect(
            manifests.prefix(4) == [
                own, "http://live.example/s.mpd?n=1", "http://two.example/t.mpd?n=2", own,
            ], "\(manifests)")
        #expect(run.counts.playback.stalls == 0)
    }
}
