import API
import Model
import TestSupport
import Testing

@testable import Coordinator

/// The cursor of one worker is calculated with by every other one.
@Suite struct RecordingValidationTests {
    private typealias Cursor = RecordingCursor.MPD

    private static var mpd: Cursor {
        var track = Cursor.Track(id: "v", number: 0, name: "n")
        track.base = "http://h/"
        track.media = "$Number$.m4s"
        track.next = 1 << 61
        track.timescale = 1 << 32
        var period = Cursor.Period(id: nil, start: .max, previousEnd: .max)
        period.tracks = [track]
        var mpd = Cursor()
        mpd.periods = [period]
        mpd.periodCount = 1
        mpd.trackCount = 1
        mpd.lastStart = .max
        mpd.end = .max
        mpd.names = ["n": 1 << 61]
        return mpd
    }

    private static func check(_ mpd: Cursor) throws {
        var cursor = RecordingCursor()
        cursor.mpd = mpd
        try Validation.check(
            RecordingUpdate(cursor: cursor, entries: [], reloadSeconds: 1), of: [])
    }

    @Test func extremesAreAccepted() throws {
        try Self.check(Self.mpd)
    }

    private static let wrong: [(field: String, change: @Sendable (inout Cursor) -> Void)] = [
        ("next", { $0.periods[0].tracks[0].next = .min }),
        ("next", { $0.periods[0].tracks[0].next = .max }),
        ("end", { $0.periods[0].tracks[0].end = -1 }),
        ("duration", { $0.periods[0].tracks[0].duration = .max }),
        ("timescale", { $0.periods[0].tracks[0].timescale = 0 }),
        ("timescale", { $0.periods[0].tracks[0].timescale = .max }),
        ("offset", { $0.periods[0].tracks[0].offset = .min }),
        ("bandwidth", { $0.periods[0].tracks[0].bandwidth = -1 }),
        ("number", { $0.periods[0].tracks[0].number = 1 }),
        ("base", { $0.periods[0].tracks[0].base = "file:///etc" }),
        (
            "media, in bytes",
            { $0.periods[0].tracks[0].media = String(repeating: "m", count: 20_000) }
        ),
        ("start", { $0.periods[0].start = .min }),
        ("previousEnd", { $0.periods[0].previousEnd = .min }),
        ("lastStart", { $0.lastStart = -1 }),
        ("mpd.end", { $0.end = -1 }),
        ("names", { $0.names["n"] = .max }),
        ("clockFailures", { $0.clockFailures = -1 }),
    ]

    /// Only recordings store byte ranges as files, whose length must be known.
    @Test(
        arguments: [
            (0, 800, true, true), (1 << 61, 1, true, true), (0, 800, false, false),
            (0, nil, true, false), (0, 0, true, false), (-1, 800, true, false),
            (.max, 800, true, false),
        ] as [(Int64, Int64?, Bool, Bool)])
    func byteRangesAreChecked(
        offset: Int64, bytes: Int64?, isRecording: Bool, isGood: Bool
    ) throws {
        var segment = ResolvedSegment(
            ordinal: 0, url: "http://h/a.ts", key: "h/a~b.ts", role: .media, bytes: bytes)
        segment.objectOffset = offset
        var batch = SegmentBatch(worker: "w", job: JobID(1), lease: "l", segments: [segment])
        if isRecording {
            var cursor = RecordingCursor()
            cursor.mpd = Self.mpd
            batch.recording = RecordingUpdate(cursor: cursor, entries: [], reloadSeconds: 1)
        }
        if isGood { return try Validation.check(batch) }
        let failure = #expect(throws: Failure.self) { try Validation.check(batch) }
        #expect(failure?.code == .inputField && failure?.message.contains("segments[0]") == true)
    }

    @Test func valuesThatWouldOverflowAreRefused() {
        for (field, change) in Self.wrong {
            var mpd = Self.mpd
            change(&mpd)
            let failure = #expect(throws: Failure.self) { try Self.check(mpd) }
            #expect(failure?.code == .inputField)
            #expect(failure?.message.contains("\(field):") == true, "\(field)")
        }
    }
}
