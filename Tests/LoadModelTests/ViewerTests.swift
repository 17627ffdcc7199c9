import Testing

@testable import LoadModel
@testable import Statistics

@Suite struct ViewerTests {
    @Test(
        "manifest, playlist and segments are requested in order, and playing starts with the second"
    )
    func startUp() {
        var run = ViewerRun(
            mediaTitle(segments: 4), settings { $0.startupSeconds = 4 }, plannedSeconds: 10)
        run.run { _, _ in .init(bytes: 100_000, seconds: 0.5) }
        #expect(run.objects == [0, 100, 101, 102, 103, 104])
        // Four requests of half a second come before the first frame.
        #expect(run.interval[.startup]?.maximum == 2_000_000)
        #expect(run.counts.playback.stalls == 0)
        #expect(run.counts.playback.lateSegments == 0)
        #expect(run.counts.playback.segments == 4)
        // Eight seconds are played from then on.
        #expect(run.endedAtSeconds == 20)
        #expect(abs(run.counts.playback.playedSeconds - 8) < 1e-9)
        #expect(run.interval[.viewerBitRate]?.maximum == 1_000)
        #expect(run.interval[.viewerRebuffering]?.maximum == 0)
        #expect(run.counts.viewers.ended == 1)
        #expect(run.counts.viewers.failed == 0)
    }

    @Test("segments that take longer than they play make a stall each, of a known length")
    func stalls() {
        var run = ViewerRun(mediaTitle(segments: 4), settings { $0.startupSeconds = 2 })
        run.run { object, _ in .init(bytes: 100_000, seconds: object <= 100 ? 0.25 : 3) }
        // Playing starts at 3.5 s; each of the three others comes 1 s after there was nothing left.
        #expect(run.interval[.startup]?.maximum == 3_500_000)
        #expect(run.counts.playback.stalls == 3)
        #expect(run.counts.playback.lateSegments == 3)
        #expect(abs(run.counts.playback.stalledSeconds - 3) < 1e-9)
        #expect(run.interval[.stall]?.total == 3)
        #expect(run.interval[.stall]?.minimum == 1_000_000)
        #expect(run.interval[.viewerStalls]?.maximum == 3)
        // 3 s of 11 s.
        #expect(run.interval[.viewerRebuffering]?.maximum == 272_727)
        #expect(abs((run.endedAtSeconds ?? 0) - 14.5) < 1e-9)
    }

    @Test(
        "after a stall playing resumes with as much as it starts with, and only the first is late")
    func rebuffering() {
        var run = ViewerRun(mediaTitle(segments: 6), settings { $0.startupSeconds = 4 })
        // The fifth takes 5 s: 4 s are in the buffer, so there is a second of nothing, and one for the sixth.
        run.run { object, _ in
            .init(bytes: 100_000, seconds: object <= 100 ? 0 : object == 105 ? 9 : 1)
        }
        // Two segments at 2 s; at 4 s four are there, of which 6 s are left; the fifth comes at 13 s, 3 s late.
        #expect(run.counts.playback.stalls == 1)
        #expect(run.counts.playback.lateSegments == 1)
        #expect(abs(run.counts.playback.stalledSeconds - 4) < 1e-9)
        #expect(run.interval[.stall]?.maximum == 4_000_000)
    }

    @Test("a segment that comes just when it is needed is neither late nor a stall")
    func justInTime() {
        var run = ViewerRun(
            mediaTitle(segments: 50, seconds: 0.1), settings { $0.startupSeconds = 0.1 })
        run.run { _, _ in .init(bytes: 100_000, seconds: 0.1) }
        #expect(run.counts.playback.stalls == 0)
        #expect(run.counts.playback.lateSegments == 0)
        #expect(run.counts.playback.stalledSeconds == 0)
    }

    @Test("nothing is requested while the buffer is full, and one segment at a time after that")
    func fullBuffer() {
        var run = ViewerRun(
            mediaTitle(segments: 10),
            settings {
                $0.startupSeconds = 2
                $0.bufferSeconds = 6
            })
        run.run { _, _ in .init(bytes: 100_000, seconds: 0) }
        let times = run.fetches.dropFirst(2).map(\.atSeconds)
        #expect(times == [0, 0, 0, 0, 2, 4, 6, 8, 10, 12])
        #expect(run.endedAtSeconds == 20)
    }
}

@Suite struct ViewerNeedTests {
    /// Keys 500 and 501, sections 510 and 511 of the pictures, 520 of the sound.
    private func title(rates: [Int64] = [1_000_000], audio: Bool = false) -> MediaTitle {
        func track(_ from: MediaTitle.Track, _ needs: [[Int32]]) -> MediaTitle.Track {
            var track = from
            track.segments = []
            for (segment, needs) in zip(from.segments, needs) {
                track.append(segment, needs: needs)
            }
            return track
        }
        let plain = mediaTitle(segments: 4, rates: rates, audio: audio)
        let video: [[Int32]] = [[500, 510], [500, 510], [500, 510, 501], [501, 511]]
        let sound: [[Int32]] = [[500, 520], [500, 520], [520, 501], [520, 501]]
        return MediaTitle(
            manifest: plain.manifest, video: plain.video.map { track($0, video) },
            audio: plain.audio.map { track($0, sound) })
    }

    @Test("a key and a section come before the first segment that needs them, and once")
    func once() {
        var run = ViewerRun(title(), settings { $0.startupSeconds = 2 })
        run.run { _, _ in .init(bytes: 16, seconds: 0.25) }
        #expect(run.objects == [0, 100, 500, 510, 101, 102, 501, 103, 511, 104])
        // Five requests of a quarter of a second come before the first frame; later ones are not waited for.
        #expect(run.interval[.startup]?.maximum == 1_250_000)
        #expect(run.counts.playback.segments == 4)
        #expect(run.counts.playback.stalls == 0)
        #expect(abs(run.counts.playback.playedSeconds - 8) < 1e-9)
    }

    @Test("a key that comes late keeps its segment back")
    func late() {
        var run = ViewerRun(title(), settings { $0.startupSeconds = 2 })
        // Playing starts at 0 s with 4 s to come; the key of what is next takes 5 s.
        run.run { object, _ in .init(bytes: 16, seconds: object == 501 ? 5 : 0) }
        #expect(run.interval[.stall]?.maximum == 1_000_000)
        #expect(run.counts.playback.stalls == 1)
        #expect(run.counts.playback.lateSegments == 1)
    }

    @Test("a key that does not come fails the viewer as a segment would")
    func missing() {
        var run = ViewerRun(title(), settings { $0.startupSeconds = 2 })
        run.run { object, _ in .init(bytes: 16, seconds: object == 501 ? nil : 0) }
        #expect(run.fetches.filter { $0.object == 501 }.count == 3)
        #expect(run.counts.viewers.failed == 1)
    }

    @Test("nothing that a later segment needs is requested while the buffer is full")
    func waits() {
        var run = ViewerRun(
            title(),
            settings {
                $0.startupSeconds = 2
                $0.bufferSeconds = 2
            })
        run.run { _, _ in .init(bytes: 16, seconds: 0) }
        let times = run.fetches.filter { $0.object > 500 && $0.object < 520 }
        #expect(times.map(\.object) == [510, 501, 511])
        #expect(times.map(\.atSeconds) == [0, 2, 4])
    }

    @Test("a key that sound and picture share comes once, when the first of them needs it")
    func shared() {
        var run = ViewerRun(title(audio: true), settings { $0.startupSeconds = 4 })
        run.run { _, _ in .init(bytes: 16, seconds: 0) }
        #expect(
            run.objects == [
                0, 100, 500, 510, 900, 520, 101, 901, 102, 902, 501, 103, 903, 511, 104, 904,
            ])
    }

    @Test("another rendition needs its own sections, and keys only that are not there")
    func switches() {
        var run = ViewerRun(
            title(rates: [1_000_000, 2_000_000]), settings { $0.startupSeconds = 2 })
        run.run { object, _ in .init(bytes: object < 500 ? 1_000_000 : 16, seconds: 0.1) }
        // Both have the same sections here, so the second requests only its playlist.
        #expect(run.objects == [0, 100, 500, 510, 101, 200, 202, 501, 203, 511, 204])
    }

    @Test("a title that loops is played again with what there is")
    func loops() {
        var run = ViewerRun(
            title(),
            settings {
                $0.watchSeconds = 16
                $0.loops = true
            })
        run.run { _, _ in .init(bytes: 16, seconds: 0) }
        #expect(
            run.objects == [0, 100, 500, 510, 101, 102, 501, 103, 511, 104, 101, 102, 103, 104])
    }

    @Test("a bit each, however many there are")
    func bits() {
        var fetched = FetchedNeeds()
        for number in [0, 63, 64, 1_000] {
            #expect(!fetched.contains(number))
            fetched.insert(number)
            #expect(fetched.contains(number))
        }
        #expect(!fetched.contains(1) && !fetched.contains(65) && !fetched.contains(1_001))
    }
}

@Suite struct ViewerRenditionTests {
    static let rates: [Int64] = [1_000_000, 2_000_000, 4_000_000]

    @Test(
        "the highest rendition that four fifths of the throughput carry is taken, its playlist once"
    )
    func goesUp() {
        var run = ViewerRun(
            mediaTitle(segments: 5, rates: Self.rates), settings { $0.startupSeconds = 2 })
        // 5.1 Mbit/s: 4.08 may be taken.
        run.run { object, _ in
            let bytes: Int64 = object > 300 ? 1_000_000 : object > 100 ? 250_000 : 1_000
            return .init(bytes: bytes, seconds: Double(bytes) * 8 / 5_100_000)
        }
        #expect(run.objects == [0, 100, 101, 300, 302, 303, 304, 305])
        #expect(run.counts.playback.switches == 1)
        #expect(run.interval[.viewerSwitches]?.maximum == 1)
        // Two seconds of 1 Mbit/s and eight of 4 Mbit/s.
        #expect(abs(run.counts.playback.playedBits - 34_000_000) < 1)
        #expect(run.interval[.viewerBitRate]?.maximum == 3_400)
    }

    @Test("a slow download takes the rendition down by the average that forgets sooner")
    func goesDown() {
        var run = ViewerRun(
            mediaTitle(segments: 4, rates: [1_000_000, 2_200_000, 4_000_000]),
            settings {
                $0.startupSeconds = 2
                $0.startBitsPerSecond = 5_000_000
            })
        // 8 Mbit/s for 1 s and 2 Mbit/s for 4 s: 2.53 Mbit/s with a half-life of 2 s, 2.89 with one of 5 s; four
        // fifths are 2.03 and 2.31.
        run.run { object, _ in
            switch object {
            case 301: .init(bytes: 1_000_000, seconds: 1)
            case 302: .init(bytes: 1_000_000, seconds: 4)
            default: .init(bytes: 1_000, seconds: 0)
            }
        }
        #expect(run.objects == [0, 300, 301, 302, 100, 103, 104])
        #expect(run.counts.playback.switches == 1)
    }

    @Test("the estimate is the lower of two averages with known half-lives, after 128 kB")
    func estimate() {
        var estimate = ThroughputEstimate()
        estimate.add(bytes: 100_000, tookSeconds: 1)
        #expect(estimate.bitsPerSecond == nil)
        estimate.add(bytes: 15_999, tookSeconds: 100)
        estimate.add(bytes: 100_000, tookSeconds: 1)
        #expect(abs((estimate.bitsPerSecond ?? 0) - 800_000) < 1)
        // A second of ten times as much: (0.8 (2^-0.2 - 2^-0.6) + 8 (1 - 2^-0.2)) / (1 - 2^-0.6), the slow one.
        estimate.add(bytes: 1_000_000, tookSeconds: 1)
        #expect(abs((estimate.bitsPerSecond ?? 0) - 3_539_300) < 10)
    }

    @Test("a fixed bit rate is kept at any throughput")
    func isFixed() {
        var run = ViewerRun(
            mediaTitle(segments: 5, rates: Self.rates),
            settings { $0.fixedBitsPerSecond = 3_999_999 })
        run.run { _, _ in .init(bytes: 1_000_000, seconds: 0.01) }
        #expect(run.objects == [0, 200, 201, 202, 203, 204, 205])
        #expect(run.counts.playback.switches == 0)
    }

    @Test("a rendition whose segments are cut elsewhere is joined where the buffer ends")
    func isCutElsewhere() {
        var tracks = mediaTitle(segments: 6, rates: [1_000_000, 4_000_000]).video
        // Three of 4 s in place of six of 2 s.
        tracks[1].segments = (0..<3).map { .init(object: 201 + $0, seconds: 4) }
        let title = MediaTitle(manifest: 0, video: tracks)
        var run = ViewerRun(title, settings { $0.startupSeconds = 2 })
        run.run { object, _ in .init(bytes: object > 100 ? 500_000 : 10, seconds: 0.5) }
        // After the first 2 s the segment from 0 to 4 s has what comes next.
        #expect(run.objects == [0, 100, 101, 200, 201, 202, 203])
        #expect(abs(run.counts.playback.playedSeconds - 12) < 1e-9)
    }

    @Test("with separate audio, the track with less in the buffer is requested")
    func audio() {
        var run = ViewerRun(
            mediaTitle(segments: 3, audio: true), settings { $0.startupSeconds = 4 })
        run.run { _, _ in .init(bytes: 1_000, seconds: 0.25) }
        #expect(run.objects == [0, 100, 900, 101, 901, 102, 902, 103, 903])
        // 4 s of both are there with the seventh object.
        #expect(run.interval[.startup]?.maximum == 1_750_000)
        #expect(abs(run.counts.playback.playedSeconds - 6) < 1e-9)
    }

    @Test("without a bit rate in the manifest, it is that of the bytes")
    func unknownBitRate() {
        var run = ViewerRun(mediaTitle(segments: 3, rates: [0]), settings { $0.startupSeconds = 2 })
        run.run { _, _ in .init(bytes: 65_536, seconds: 0.25) }
        #expect(run.interval[.viewerBitRate]?.maximum == 262)
    }
}
