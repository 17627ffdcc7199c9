import Model
import Statistics
import Testing

@testable import LoadModel

/// Classes of viewers and what they add to their requests.
@Suite struct ViewerMixTests {
    private static func traits(_ change: (inout ViewerClass) -> Void) -> ViewerTraits {
        var type = ViewerClass()
        change(&type)
        return ViewerTraits(type, random: SeededRandom(seed: 7))
    }

    @Test func classesAreDrawnByTheirWeights() {
        var slow = ViewerClass()
        slow.weight = 3
        slow.bitsPerSecond = 1_000
        var mix = ViewerMix([slow, ViewerClass()], data: ViewerData(), shard: .whole, seed: 1)
        let drawn = (0..<4_000).count { _ in mix.next().bitsPerSecond == 1_000 }
        #expect((2_900...3_100).contains(drawn), "\(drawn)")
    }

    @Test func shardsTakeDifferentRowsInTurn() {
        var rows: [Int32] = []
        for shard in 0..<2 {
            let data = ViewerData(rows: Array(repeating: .init(), count: 5), shards: 1)
            var mix = ViewerMix([], data: data, shard: LoadShard(index: shard, count: 2), seed: 1)
            rows += (0..<4).map { _ in mix.next().row }
        }
        #expect(rows == [0, 2, 4, 1, 1, 3, 0, 2])
    }

    @Test func aDevicePlaysNothingBeyondItsCaps() {
        var title = mediaTitle(segments: 30, rates: [500_000, 1_000_000, 4_000_000])
        var video = title.video
        for (index, height) in [360, 720, 1_080].enumerated() {
            video[index].height = Int64(height)
        }
        title = MediaTitle(manifest: 0, video: video)
        func rungs(_ traits: ViewerTraits) -> Set<Int> {
            var run = ViewerRun(title, settings { $0.bufferSeconds = 6 })
            run.viewer = Viewer(
                title: title, settings: run.viewer.settings, traits: traits, plannedSeconds: 0)
            run.run { _, _ in .init(bytes: 250_000, seconds: 0.01) }
            return Set(run.objects.filter { $0 >= 100 }.map { $0 / 100 - 1 })
        }
        #expect(rungs(ViewerTraits()).contains(2))
        #expect(!rungs(Self.traits { $0.maxHeight = 720 }).contains(2))
        #expect(rungs(Self.traits { $0.maxHeight = 720 }).contains(1))
        #expect(rungs(Self.traits { $0.maxBitsPerSecond = 600_000 }) == [0])
    }

    @Test func seeksDropTheBufferAndAreNoStalls() {
        let title = mediaTitle(segments: 100, seconds: 2)
        var run = ViewerRun(title, settings { $0.watchSeconds = 400 })
        run.viewer = Viewer(
            title: title, settings: run.viewer.settings,
            traits: Self.traits { $0.meanSeekSeconds = 20 }, plannedSeconds: 0)
        run.run { _, _ in .init(bytes: 250_000, seconds: 0.1) }
        // About a seek in twenty seconds of those played.
        let expected = run.counts.playback.playedSeconds / 20
        #expect(Double(run.counts.playback.seeks) > expected * 0.4 && run.counts.playback.seeks > 1)
        #expect(Double(run.counts.playback.seeks) < expected * 2 + 3)
        #expect(run.counts.playback.stalls == 0)
        #expect(run.counts.playback.stalledSeconds == 0)
        let waits = run.interval[.seek]
        #expect(waits?.total == run.counts.playback.seeks)
        // One segment of two seconds is what playback needs.
        #expect(waits?.maximum ?? 0 <= 101_000)
        #expect(run.objects.count > 0 && run.counts.viewers.failed == 0)
    }

    @Test func whoWaitsTooLongLeaves() {
        let title = mediaTitle(segments: 10)
        var viewer = Viewer(
            title: title, settings: ViewerSettings(),
            traits: Self.traits { $0.abandonStartupSeconds = 4 }, plannedSeconds: 10)
        _ = viewer.next(atSeconds: 10)
        let answers = [13.0, 14].map { viewer.abandons(atSeconds: $0) }
        #expect(answers == [false, true])
        var interval = LoadInterval(second: 0)
        viewer.finish(atSeconds: 14, isCutOff: false, into: &interval)
        #expect(interval.counts.viewers.abandoned == 1)
        #expect(interval.counts.viewers.notStarted == 1)
        #expect(interval.counts.viewers.failed == 0)
        #expect(interval[.startup]?.maximum == 4_000_000)
    }

    /// A segment of two seconds comes, and no other one: the stall begins at two seconds.
    @Test func whoStallsTooLongLeaves() {
        var viewer = Viewer(
            title: mediaTitle(segments: 10), settings: settings { $0.startupSeconds = 2 },
            traits: Self.traits { $0.abandonStallSeconds = 3 }, plannedSeconds: 0)
        var interval = LoadInterval(second: 0)
        // The manifest, the playlist and a segment.
        for _ in 0..<3 {
            _ = viewer.next(atSeconds: 0)
            viewer.received(bytes: 1_000, tookSeconds: 0.1, atSeconds: 0, into: &interval)
        }
        _ = viewer.next(atSeconds: 0)
        let answers = [1.9, 4.5, 5.5].map { viewer.abandons(atSeconds: $0) }
        #expect(answers == [false, false, true])
        viewer.finish(atSeconds: 5.5, isCutOff: false, into: &interval)
        #expect(interval.counts.viewers.abandoned == 1)
        #expect(interval.counts.viewers.notStarted == 0)
        #expect(interval.counts.viewers.failed == 0)
        #expect(interval.counts.playback.stalls == 1)
        #expect(abs(interval.counts.playback.stalledSeconds - 3.5) < 1e-9)
        #expect(abs(interval.counts.playback.playedSeconds - 2) < 1e-9)
    }

    @Test func watchedTimesAreExponential() {
        var type = ViewerClass()
        type.meanWatchSeconds = 100
        var mix = ViewerMix([type], data: ViewerData(), shard: .whole, seed: 3)
        let times = (0..<4_000).map { _ in mix.next().watchSeconds }
        #expect(abs(times.reduce(0, +) / 4_000 - 100) < 5)
    }

    // MARK: Data

    @Test func dataNamesQueriesAndHeaders() throws {
        let text = "query,Cookie,X-Id\r\n?a=1,\"s=\"\"x\"\",y\",7\n\n,,8\n"
        let data = try ViewerData(Array(text.utf8))
        #expect(data.rows.map(\.query) == ["a=1", ""])
        #expect(data.rows[0].headers.map(\.line) == ["Cookie: s=\"x\",y", "X-Id: 7"])
        #expect(data.rows[1].headers.map(\.line) == ["X-Id: 8"])
    }

    @Test(arguments: [
        ("query\n", "no row"), ("", "no row"), ("Host\nx\n", "line 1"),
        ("query,Cookie\na=1\n", "line 2: 1 cells"), ("query\na b\n", "line 2"),
        ("query\n\"a\n", "line 2: a quote"), ("query,Query\na,b\n", "line 1"),
        ("Cookie\na\u{1}b\n", "line 2"),
    ])
    func otherDataIsRefused(_ text: String, _ part: String) {
        let failure = #expect(throws: Failure.self) { _ = try ViewerData(Array(text.utf8)) }
        #expect(failure?.message.contains(part) == true, "\(failure?.message ?? "")")
    }
}
