import Model
import Statistics
import Testing

@testable import LoadModel

/// Viewers of live HLS against origins whose right answers are known.
@Suite struct LiveViewerTests {
    /// A packager: segments of 4 s, each listed at its end, the last six of them.
    struct Packager {
        var seconds = 4
        var window = 6
        var prefix = "v0"
        var hasDates = true
        var lastNumber = Int.max
        var partsPerSegment = 0
        var gap = -1

        /// The number of whole segments at a time.
        func count(_ now: Double) -> Int {
            min(Int(now + 1e-9) / seconds, lastNumber == .max ? .max : lastNumber + 1)
        }

        /// - Parameter skips: true for a delta update, which leaves out all but three segments.
        func playlist(_ now: Double, skips: Bool = false) -> String {
            let count = count(now)
            var lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:\(seconds)"]
            let first = max(count - window, 0)
            lines.append("#EXT-X-MEDIA-SEQUENCE:\(first)")
            let part = Double(seconds) / Double(max(partsPerSegment, 1))
            if partsPerSegment > 0 {
                lines.append("#EXT-X-PART-INF:PART-TARGET=\(part)")
                lines.append(
                    "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=24,"
                        + "PART-HOLD-BACK=\(3 * part)")
            }
            let start = skips ? max(count - 3, first) : first
            if skips { lines.append("#EXT-X-SKIP:SKIPPED-SEGMENTS=\(start - first)") }
            for number in start..<count {
                if hasDates, number == first {
                    let at = number * seconds
                    lines.append(
                        "#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:"
                            + "\(Self.two(at / 60)):\(Self.two(at % 60)).000Z")
                }
                if partsPerSegment > 0, number >= count - 2 {
                    for index in 0..<partsPerSegment {
                        lines.append(self.part(number, index, part))
                    }
                }
                if number == gap { lines.append("#EXT-X-GAP") }
                lines += ["#EXTINF:\(seconds).0,", "\(prefix)-\(number).ts"]
            }
            if partsPerSegment > 0 {
                let open = Int((now - Double(count * seconds)) / part + 1e-9)
                for index in 0..<min(open, partsPerSegment) {
                    lines.append(self.part(count, index, part))
                }
            }
            if lastNumber != .max, count == lastNumber + 1 { lines.append("#EXT-X-ENDLIST") }
            return lines.joined(separator: "\n") + "\n"
        }

        private func part(_ number: Int, _ index: Int, _ seconds: Double) -> String {
            "#EXT-X-PART:DURATION=\(seconds),URI=\"\(prefix)-\(number).\(index).ts\""
                + (index % 2 == 0 ? ",INDEPENDENT=YES" : "")
        }

        private static func two(_ number: Int) -> String {
            number < 10 ? "0\(number)" : "\(number)"
        }

        /// Answers a playlist, of a blocking reload once it lists the position.
        func answer(_ url: String, _ now: Double) -> LiveRun.Answer {
            guard let query = url.split(separator: "?").dropFirst().first else {
                return LiveRun.Answer(body: playlist(now))
            }
            var numbers: [String: Int] = [:]
            for item in query.split(separator: "&") {
                let pair = item.split(separator: "=")
                numbers[String(pair[0])] = Int(pair[1])
            }
            let part = Double(seconds) / Double(max(partsPerSegment, 1))
            let wanted =
                Double((numbers["_HLS_msn"] ?? 0) * seconds)
                + Double((numbers["_HLS_part"] ?? partsPerSegment - 1) + 1) * part
            let at = max(now + 0.01, wanted)
            return LiveRun.Answer(
                body: playlist(at, skips: query.contains("_HLS_skip=YES")), seconds: at - now)
        }
    }

    private static func quick(_ url: String, _ packager: Packager, _ now: Double) -> LiveRun.Answer
    {
        url.contains(".m3u8") && !url.contains("master")
            ? packager.answer(url, now) : LiveRun.Answer()
    }

    @Test func itStartsThreeTargetDurationsFromTheEdgeAndStaysThere() throws {
        let packager = Packager()
        // The list ends at 100: the segment from 88 on is three target durations from it.
        let run = try LiveRun(livePlan(.hls), from: 101, to: 161) {
            Self.quick($0, packager, $1)
        }
        #expect(
            run.fetches.first { $0.url.hasSuffix(".ts") }?.url == "http://live.example/v0-22.ts")
        #expect(run.counts.playback.stalls == 0)
        #expect(run.counts.live.skips == 0)
        #expect(run.counts.live.stalePlaylists == 0)
        // Its playhead was at 88 when it began at about 101.04, and nothing changes that.
        let latency = try #require(run.interval[.liveLatency])
        #expect(abs(Double(latency.minimum ?? 0) / 1e6 - 13.04) < 0.02)
        #expect(abs(Double(latency.maximum ?? 0) / 1e6 - 13.04) < 0.02)
        #expect(run.interval[.viewerDrift]?.maximum ?? 0 < 1_000)
        // Each of the segments since, once, up to those listed at the last reload, and none before
        // it was listed.
        let segments = run.fetches(of: ".ts")
        #expect(segments.map(\.url) == (22..<39).map { "http://live.example/v0-\($0).ts" })
        for (index, segment) in segments.enumerated() {
            #expect(segment.atSeconds >= Double((23 + index) * 4))
        }
        // One target duration after each request that brought something new, a half after others.
        let reloads = run.fetches(of: "v0.m3u8").map(\.atSeconds)
        let pauses = zip(reloads.dropFirst(), reloads).map { $0 - $1 }
        #expect(pauses.allSatisfy { $0 > 1.99 && $0 < 4.1 })
        #expect(run.counts.live.playlistReloads == Int64(reloads.count) - 1)
    }

    @Test func withoutDatesLatencyCountsFromWhenTheSegmentsWereListed() throws {
        var packager = Packager()
        packager.hasDates = false
        let run = try LiveRun(livePlan(.hls), from: 101, to: 161) { Self.quick($0, packager, $1) }
        let latency = try #require(run.interval[.liveLatency])
        // At least the hold-back, and less than the truth by a reload at most.
        #expect((latency.minimum ?? 0) > 11_990_000)
        #expect((latency.maximum ?? 0) < 13_060_000)
    }

    @Test func aPlaylistThatStopsIsStaleAndStallsItsViewers() throws {
        let packager = Packager()
        let run = try LiveRun(livePlan(.hls), from: 101, to: 181) { url, now in
            Self.quick(url, packager, min(now, 120.5))
        }
        #expect(run.counts.playback.stalls == 1)
        // From 126 on, 1.5 targets after the last new segment; every two seconds.
        #expect(
            (26...28).contains(run.counts.live.stalePlaylists), "\(run.counts.live.stalePlaylists)")
        // The last segment, up to 120, was played at 133; it has waited since.
        #expect(abs(run.counts.playback.stalledSeconds - (181 - 133.04)) < 0.1)
        #expect(run.interval[.viewerDrift]?.maximum ?? 0 > 40_000_000)
    }

    @Test func whoFallsBehindTheWindowContinuesAtTheEdge() throws {
        let packager = Packager(window: 4)
        let run = try LiveRun(livePlan(.hls), from: 101, to: 301) { url, now in
            var answer = Self.quick(url, packager, now)
            // One segment takes longer than the window is.
            if url.hasSuffix("v0-30.ts") { answer.seconds = 40 }
            return answer
        }
        #expect(run.counts.live.skips == 1)
        #expect(run.counts.playback.stalls == 1)
        #expect(run.counts.viewers.failed == 0)
        // Segments that left the window were not requested.
        #expect(run.fetches(of: "v0-31.ts").isEmpty)
        // It is at the edge again: no farther than before by more than a segment.
        #expect(run.interval[.viewerDrift]?.maximum ?? .max < 4_000_000)
    }

    @Test func itEndsWithItsTitle() throws {
        var packager = Packager()
        packager.lastNumber = 29
        let run = try LiveRun(livePlan(.hls), from: 101, to: 1_000) { Self.quick($0, packager, $1) }
        // 30 segments end at 120; the playhead was 13 s behind.
        #expect(abs(run.counts.playback.playedSeconds - 32) < 1e-6)
        #expect(abs((run.endedAtSeconds ?? 0) - 133.04) < 0.1)
        #expect(run.counts.playback.stalls == 0)
        #expect(run.counts.viewers.failed == 0)
    }

    @Test func withPartsItIsAPartHoldBackFromTheEdge() throws {
        var packager = Packager()
        packager.partsPerSegment = 4
        let run = try LiveRun(livePlan(.hls), from: 101, to: 161) {
            Self.quick($0, packager, $1)
        }
        #expect(run.counts.playback.stalls == 0)
        // The edge is at 101, so three parts of 1 s before are at 98; the last independent part is
        // there: parts 0 and 2 of a segment are.
        #expect(
            run.fetches.first { $0.url.hasSuffix(".ts") }?.url == "http://live.example/v0-24.2.ts")
        let latency = try #require(run.interval[.liveLatency])
        #expect((latency.maximum ?? 0) < 3_200_000, "\(latency.maximum ?? 0)")
        #expect((latency.minimum ?? 0) > 2_900_000)
        // Each reload waits at the origin for the next part.
        let reloads = run.fetches(of: "_HLS_msn")
        #expect(reloads.count > 50)
        #expect(
            reloads.first?.url
                == "http://live.example/v0.m3u8?_HLS_msn=25&_HLS_part=1&_HLS_skip=YES")
        #expect(run.counts.live.stalePlaylists == 0)
        // Parts within a hundredth of a second of their end.
        for part in run.fetches(of: ".ts").dropFirst(4) {
            let names = part.url.split(separator: "-")[1].split(separator: ".")
            let end = (Double(names[0]) ?? 0) * 4 + (Double(names[1]) ?? 0) + 1
            #expect(part.atSeconds >= end - 1e-6 && part.atSeconds < end + 0.05, "\(part)")
        }
    }

    @Test func separateAudioHasRequestsOfItsOwn() throws {
        let packager = Packager()
        var audio = Packager()
        audio.prefix = "a"
        let run = try LiveRun(livePlan(.hls, audio: true), from: 101, to: 161) { url, now in
            if url.hasSuffix("a.m3u8") { return Self.quick(url, audio, now) }
            var answer = Self.quick(url, packager, now)
            if url.contains("v0-") { answer.seconds = 2 }
            return answer
        }
        #expect(run.counts.playback.stalls == 0)
        #expect(
            run.fetches(of: "/a-").map(\.url) == (22..<39).map { "http://live.example/a-\($0).ts" })
        // Audio is requested while a video segment is under way.
        let video = run.fetches(of: "/v0-")
        #expect(
            run.fetches(of: "/a-").contains { sound in
                video.contains {
                    $0.atSeconds < sound.atSeconds && sound.endSeconds < $0.endSeconds
                }
            })
    }

    @Test func viewersOfOneLoopShareItsObjects() throws {
        let packager = Packager()
        let plan = livePlan(.hls)
        let objects = LiveObjects(plan) { _ in 0 }
        let source = try #require(plan.targets[0].live)
        let title = LiveTitle(source, objects, startEpochSeconds: 0)
        for _ in 0..<3 {
            _ = try LiveRun(plan, from: 101, to: 141, sharing: title, objects: objects) {
                Self.quick($0, packager, $1)
            }
        }
        // Segments 19 to 33 and no copies: the objects follow those of the plan.
        #expect(title.video[0].first == 19)
        #expect(title.video[0].end == 34)
        let places = title.video[0].segments.map(\.object)
        #expect(places == (0..<15).map { Int32(plan.objects.count) + $0 })
    }

    @Test func aGapPassesWithoutARequest() throws {
        var packager = Packager()
        packager.gap = 26
        let run = try LiveRun(livePlan(.hls), from: 101, to: 161) { Self.quick($0, packager, $1) }
        #expect(run.fetches(of: "v0-26.ts").isEmpty)
        #expect(run.fetches(of: ".ts").count == 16)
        #expect(run.counts.playback.stalls == 0)
        #expect(run.counts.live.skips == 0)
    }

    @Test func aFasterRenditionContinuesAtTheSameSegment() throws {
        let run = try LiveRun(livePlan(.hls, rates: [1_000_000, 4_000_000]), from: 101, to: 161) {
            url, now in
            var packager = Packager()
            packager.prefix = url.contains("v1") ? "v1" : "v0"
            var answer = Self.quick(url, packager, now)
            if url.hasSuffix(".ts") { answer.bytes = 500_000 }
            return answer
        }
        #expect(run.counts.playback.switches == 1)
        #expect(run.counts.playback.stalls == 0)
        let numbers = run.fetches(of: ".ts").compactMap {
            Int($0.url.split(separator: "-")[1].prefix { $0.isNumber })
        }
        #expect(numbers == Array(22..<39))
        #expect(run.fetches(of: "/v1-").count > 10)
    }

    @Test func anOlderAnswerTakesNothingBack() throws {
        let packager = Packager()
        var count = 0
        let run = try LiveRun(livePlan(.hls), from: 101, to: 161) { url, now in
            guard url.hasSuffix("v0.m3u8") else { return LiveRun.Answer() }
            count += 1
            // Every third answer is of a cache that is eight seconds behind.
            return packager.answer(url, count.isMultiple(of: 3) ? now - 8 : now)
        }
        let segments = run.fetches(of: ".ts").map(\.url)
        #expect(Set(segments).count == segments.count)
        #expect(run.counts.playback.stalls == 0)
        #expect(run.counts.live.skips == 0)
    }

    @Test func anUnreadablePlaylistFailsItsRequest() throws {
        let run = { (body: String) throws in
            try LiveRun(livePlan(.hls), from: 101, to: 110) { url, _ in
                LiveRun.Answer(body: url.hasSuffix("v0.m3u8") ? body : "")
            }
        }
        #expect(throws: Failure.self) { try run("<html>busy</html>") }
        #expect(throws: Failure.self) { try run("#EXTM3U\n#EXT-X-TARGETDURATION:4\n") }
    }

    /// The window of a loop is bounded, however long a title runs.
    @Test func aLongTitleKeepsAWindow() throws {
        var packager = Packager()
        packager.hasDates = false
        let plan = livePlan(.hls)
        let objects = LiveObjects(plan) { _ in 0 }
        let source = try #require(plan.targets[0].live)
        let title = LiveTitle(source, objects, startEpochSeconds: 0)
        _ = try LiveRun(plan, from: 101, to: 12_101, sharing: title, objects: objects) {
            Self.quick($0, packager, $1)
        }
        #expect(title.video[0].segments.count <= 2 * LiveTrack.maxSegments)
        #expect(title.video[0].end == 3_024)
        // Objects of segments that left are gone.
        #expect(objects[plan.objects.count] == nil)
    }

    @Test func variablesComeFromTheMultivariantPlaylist() throws {
        var packager = Packager()
        packager.prefix = "{$base}v0"
        var plan = livePlan(.hls)
        plan.targets[0].live?.variables = ["base": "cdn/"]
        let run = try LiveRun(plan, from: 101, to: 111) { url, now in
            var answer = Self.quick(url, packager, now)
            answer.body = answer.body.replacing(
                "#EXTM3U\n", with: "#EXTM3U\n#EXT-X-DEFINE:IMPORT=\"base\"\n")
            return answer
        }
        #expect(run.fetches.contains { $0.url == "http://live.example/cdn/v0-22.ts" })
    }
}
