import Testing

@testable import LoadModel
@testable import Statistics

@Suite struct ViewerEndTests {
    @Test(
        "what is watched is fetched, and nothing beyond; a segment that reaches over is played in part"
    )
    func watchSeconds() {
        var run = ViewerRun(mediaTitle(segments: 20), settings { $0.watchSeconds = 7 })
        run.run { _, _ in .init(bytes: 1_000, seconds: 0) }
        #expect(run.objects == [0, 100, 101, 102, 103, 104])
        #expect(run.endedAtSeconds == 7)
        #expect(abs(run.counts.playback.playedSeconds - 7) < 1e-9)
    }

    @Test("a title that loops is played on without its playlist")
    func loops() {
        var run = ViewerRun(
            mediaTitle(segments: 2, audio: true),
            settings {
                $0.watchSeconds = 10
                $0.loops = true
            })
        run.run { _, _ in .init(bytes: 1_000, seconds: 0) }
        let pass = [101, 901, 102, 902]
        #expect(run.objects == [0, 100, 900] + pass + pass + [101, 901])
        #expect(run.endedAtSeconds == 10)
    }

    @Test(
        "one that is cut off in a stall has it counted with its length so far, and has not failed")
    func cutOff() {
        var run = ViewerRun(mediaTitle(segments: 10), settings { $0.startupSeconds = 2 })
        run.run(untilSeconds: 9) { object, _ in
            .init(bytes: 1_000, seconds: object == 103 ? 1_000 : 0.5)
        }
        // Starts at 1.5 s with 2 s, has 4 s at 2 s, nothing at 5.5 s.
        #expect(run.counts.playback.stalls == 1)
        #expect(run.interval[.stall]?.maximum == 3_500_000)
        #expect(abs(run.counts.playback.stalledSeconds - 3.5) < 1e-9)
        #expect(abs(run.counts.playback.playedSeconds - 4) < 1e-9)
        #expect(run.counts.viewers.ended == 1)
        #expect(run.counts.viewers.failed == 0)
    }

    @Test("a request that fails is made twice more, after 0.5 and 1 s, and then the viewer fails")
    func fails() {
        var run = ViewerRun(mediaTitle(segments: 10), settings { $0.startupSeconds = 2 })
        run.run { object, _ in .init(bytes: 1_000, seconds: object == 103 ? nil : 0.5) }
        let tries = run.fetches.filter { $0.object == 103 }.map(\.atSeconds)
        #expect(tries == [2, 2.5, 3.5])
        #expect(run.endedAtSeconds == 3.5)
        #expect(run.counts.viewers.failed == 1)
        // 1.5 to 3.5 s.
        #expect(abs(run.counts.playback.playedSeconds - 2) < 1e-9)
    }

    @Test("one that fails before it plays has no figures of playing")
    func failsAtOnce() {
        var run = ViewerRun(mediaTitle(segments: 10), settings { _ in })
        run.run { _, _ in .init(bytes: 0, seconds: nil) }
        #expect(run.objects == [0, 0, 0])
        #expect(run.counts.viewers.failed == 1)
        #expect(run.interval[.startup] == nil)
        #expect(run.interval[.viewerStalls] == nil)
        #expect(run.interval[.viewerRebuffering] == nil)
    }

    @Test("one that is cut off before it plays counts with its wait, if that is longer than usual")
    func neverStarts() {
        for (usual, waits) in [(0.0, 1), (2.9, 1), (3.1, 0)] {
            var interval = LoadInterval(second: 0)
            var viewer = Viewer(
                title: mediaTitle(segments: 10), settings: settings { _ in }, plannedSeconds: 4)
            _ = viewer.next(atSeconds: 4)
            viewer.finish(
                atSeconds: 7, isCutOff: true, usualStartupSeconds: usual, into: &interval)
            #expect(interval.counts.viewers.notStarted == 1)
            #expect(interval.counts.viewers.failed == 0)
            #expect(interval[.startup]?.count(within: 3_000_000) ?? 0 == Int64(waits))
        }
    }

    @Test("a try that works makes the failures before it forgotten")
    func recovers() {
        var failed: Set<Int> = []
        var run = ViewerRun(mediaTitle(segments: 4), settings { _ in })
        run.run { object, _ in .init(bytes: 10, seconds: failed.insert(object).inserted ? nil : 0) }
        #expect(run.counts.viewers.failed == 0)
        #expect(run.counts.playback.segments == 4)
    }

    @Test("a title without segments ends with its playlist")
    func empty() {
        var run = ViewerRun(mediaTitle(segments: 0), settings { $0.loops = true })
        run.run { _, _ in .init(bytes: 10, seconds: 0.5) }
        #expect(run.objects == [0, 100])
        #expect(run.endedAtSeconds == 1)
        #expect(run.interval[.startup] == nil)
    }

    @Test("reports once a second have the same result as one at the end")
    func accounts() {
        var whole = ViewerRun(mediaTitle(segments: 30), settings { $0.startupSeconds = 2 })
        var parts = whole
        let answer: (Int, Double) -> ViewerRun.Answer = { object, _ in
            .init(bytes: 40_000, seconds: object % 7 == 0 ? 9.5 : 0.75)
        }
        whole.run(answer)
        parts.accounts = true
        parts.run(answer)
        #expect(
            abs(whole.counts.playback.playedSeconds - parts.counts.playback.playedSeconds) < 1e-6)
        #expect(
            abs(whole.counts.playback.stalledSeconds - parts.counts.playback.stalledSeconds) < 1e-6)
        #expect(whole.counts.playback.stalls == parts.counts.playback.stalls)
        #expect(whole.counts.playback.stalls > 0)
    }
}

@Suite struct ViewerPropertyTests {
    @Test(
        "start-up, playing and stalls are all of the time, and nothing beyond what is watched is fetched",
        arguments: 0..<300)
    func properties(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let seconds = Double.random(in: 0.3...6, using: &random)
        let title = mediaTitle(
            segments: Int.random(in: 1...40, using: &random), seconds: seconds,
            rates: [500_000, 1_500_000, 6_000_000], audio: Bool.random(using: &random))
        let settings = settings {
            $0.startupSeconds = Double.random(in: 0.1...8, using: &random)
            $0.bufferSeconds = Double.random(in: 1...40, using: &random)
            $0.loops = Bool.random(using: &random)
            if $0.loops || Bool.random(using: &random) {
                $0.watchSeconds = Double.random(in: 0.5...120, using: &random)
            }
        }
        var run = ViewerRun(title, settings, plannedSeconds: Double(seed))
        run.run { _, _ in
            let bytes = Int64.random(in: 100...3_000_000, using: &random)
            let isFailure = Double.random(in: 0..<1, using: &random) < 0.02
            let rate = Double.random(in: 20_000...2_000_000, using: &random)
            return .init(bytes: bytes, seconds: isFailure ? nil : Double(bytes) / rate)
        }
        let counts = run.counts
        #expect(counts.viewers.ended == 1)
        #expect(counts.playback.playedSeconds >= 0 && counts.playback.stalledSeconds >= 0)
        if let startup = run.interval[.startup]?.maximum, let ended = run.endedAtSeconds {
            let sum =
                Double(startup) / 1_000_000 + counts.playback.playedSeconds
                + counts.playback.stalledSeconds
            #expect(abs(sum - (ended - Double(seed))) < 1e-3)
        }
        if let ratio = run.interval[.viewerRebuffering]?.maximum {
            #expect((0...1_000_000).contains(ratio))
        }
        let watched = settings.watchSeconds ?? .infinity
        #expect(counts.playback.playedSeconds <= watched + 1e-6)
        // A segment of each track may reach over what is watched.
        let tracks = title.audio == nil ? 1.0 : 2
        #expect(Double(counts.playback.segments) * seconds <= (watched + seconds) * tracks + 1e-6)
        #expect(counts.playback.lateSegments <= counts.playback.segments)
        if !run.viewer.hasFailed, settings.watchSeconds == nil {
            #expect(
                abs(counts.playback.playedSeconds - seconds * Double(title.video[0].segments.count))
                    < 1e-6)
        }
        if !run.viewer.hasFailed, let watch = settings.watchSeconds, settings.loops {
            #expect(abs(counts.playback.playedSeconds - watch) < 1e-6)
        }
    }
}
