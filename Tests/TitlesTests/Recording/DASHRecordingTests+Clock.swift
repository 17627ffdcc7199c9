import Model
import Testing

@testable import Titles

/// Segments that become available by the clock.
extension DASHRecordingTests {
    private static func clocked(_ attributes: String, _ inner: String = "") -> String {
        mpd(period("duration=\"10\" media=\"$Number$.m4s\"") + inner, attributes)
    }

    /// The last segment of 5 seconds is taken 10 seconds after the end.
    @Test func theLastShorterSegmentIsTaken() throws {
        let text = Self.clocked("mediaPresentationDuration=\"PT45S\"")
        let first = try Self.read(text, at: 44)
        #expect(first.update.entries.map(\.sequence) == [1, 2, 3])
        let early = try Self.read(text, at: 54, after: first.update.cursor)
        #expect(early.update.entries.map(\.sequence) == [4])
        #expect(!early.update.cursor.hasEnded)
        let last = try Self.read(text, at: 56, after: early.update.cursor)
        #expect(last.update.entries.map(\.sequence) == [5])
        #expect(last.update.cursor.hasEnded)
    }

    @Test func aTitleOfOneShortSegmentIsRecorded() throws {
        let text = Self.clocked("mediaPresentationDuration=\"PT8S\"")
        let first = try Self.read(text, at: 9)
        #expect(first.update.entries.isEmpty && !first.update.cursor.hasEnded)
        let last = try Self.read(text, at: 18, after: first.update.cursor)
        #expect(last.update.entries.map(\.sequence) == [1])
        #expect(last.update.cursor.hasEnded)
    }

    /// What is available at the availabilityEndTime is taken without delay, and nothing after it.
    @Test(arguments: [60.0, 61, 95])
    func nothingIsHeldBackAtTheAvailabilityEnd(seconds: Double) throws {
        let text = Self.clocked("availabilityEndTime=\"1970-01-01T00:01:00Z\"")
        let before = try Self.read(text, at: 49)
        #expect(before.update.entries.map(\.sequence) == [1, 2, 3])
        let last = try Self.read(text, at: seconds, after: before.update.cursor)
        #expect(last.update.entries.map(\.sequence) == [4, 5, 6])
        #expect(last.update.cursor.hasEnded)
    }

    /// Segments are listed for at least half of what a window has beyond one of them.
    @Test(arguments: [(10, 60.0), (20, 65), (25, 67), (30, 70), (60, 70)])
    func aShortWindowIsRecorded(depth: Int, seconds: Double) throws {
        let text = Self.clocked("timeShiftBufferDepth=\"PT\(depth)S\"")
        let first = try Self.read(text, at: 55)
        let early = try Self.read(text, at: seconds - 0.1, after: first.update.cursor)
        #expect(!early.update.entries.map(\.sequence).contains(6))
        let next = try Self.read(text, at: seconds, after: early.update.cursor)
        #expect(next.update.entries.map(\.sequence) == [6])
        #expect(next.update.entries.map(\.missed) == [0])
        #expect(next.update.reloadSeconds == (depth < 20 ? 5 : 10))
    }

    /// A title whose clock was read before does without segments until it is read again.
    @Test func aClockThatFailsAddsNothing() throws {
        let text = Self.clocked(
            "mediaPresentationDuration=\"PT60S\"",
            "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:http-iso:2014\" value=\"/time\"/>")
        let first = try Self.read(text, at: 900, clock: "1970-01-01T00:00:31Z")
        #expect(first.update.entries.map(\.sequence) == [1, 2])
        let lost = try Self.read(text, at: 900, after: first.update.cursor)
        #expect(lost.update.entries.isEmpty && !lost.update.cursor.hasEnded)
        let wrong = try Self.read(text, at: 900, after: lost.update.cursor, clock: "noon")
        #expect(wrong.update.entries.isEmpty)
        #expect(wrong.update.cursor.mpd?.clockFailures == 2)
        let next = try Self.read(
            text, at: 900, after: wrong.update.cursor, clock: "1970-01-01T00:00:41Z")
        #expect(next.update.entries.map(\.sequence) == [3])
        #expect(next.update.cursor.mpd?.clockFailures == 0)
        var cursor = next.update.cursor
        for _ in 0..<10 {
            let pass = try Self.read(text, at: 52, after: cursor)
            #expect(pass.update.entries.isEmpty)
            cursor = pass.update.cursor
        }
        let without = try Self.read(text, at: 52, after: cursor)
        #expect(without.update.entries.map(\.sequence) == [4])
    }
}
