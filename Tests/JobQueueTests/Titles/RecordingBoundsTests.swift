import Model
import TestSupport
import Testing

@testable import JobQueue

/// What ends a recording.
@Suite struct RecordingBoundsTests {
    private static let failure = Failure(FailureCode("origin.http.404"), "gone")

    private static func ended() -> RecordingCursor {
        var cursor = RecordingCursor()
        var playlist = RecordingCursor.Playlist(
            url: "http://a.test/1.m3u8", named: nil, key: "1.m3u8", rendition: 0)
        playlist.hasEnded = true
        cursor.playlists = [playlist]
        return cursor
    }

    private static func full() -> RecordingCursor {
        var cursor = RecordingCursor()
        cursor.mpd = RecordingCursor.MPD()
        cursor.mpd?.isFull = true
        return cursor
    }

    @Test func theTitleTheTimeAndTheLengthEndIt() {
        #expect(RecordingBounds().end(after: nil, at: Self.cursor) == nil)
        #expect(
            RecordingBounds(isUntil: true, isFull: true).end(after: nil, at: Self.ended()) == .ended
        )
        #expect(
            RecordingBounds(isUntil: true, isFull: true).end(after: nil, at: Self.cursor) == .until)
        #expect(RecordingBounds(isFull: true).end(after: nil, at: Self.cursor) == .full)
        #expect(RecordingBounds().end(after: nil, at: Self.full()) == .full)
    }

    /// A reload that failed counts with those before it.
    @Test func reloadsInARowThatBringNothingEndIt() {
        let most = RecordingBounds.maxUnchanged
        let last = RecordingBounds(unchanged: most - 1)
        #expect(last.end(after: nil, at: Self.cursor) == nil)
        #expect(last.end(after: Self.failure, at: Self.cursor) == .gone)
        #expect(RecordingBounds(unchanged: most).end(after: nil, at: Self.cursor) == .unchanged)
        #expect(RecordingBounds(unchanged: 3).end(after: Self.failure, at: Self.cursor) == nil)
    }

    /// The cursor of a title that has not ended.
    private static let cursor: RecordingCursor = {
        var cursor = ended()
        cursor.playlists[0].hasEnded = false
        return cursor
    }()
}
