import Model
import Testing

@testable import Titles

/// Segments that become available by the clock.
extension DASHRecordingTests {
    private static func clocked(_ attributes: String, _ inner: String = "") -> String {
        mpd(period("duration=\"10\" media=\"$Number$.m4s\"") + inner, attributes)
    }

    /// A segment is taken one duration after it has become available.
    @Test func theClockAddsSegments() throws {
        let text = Self.mpd(
            Self.period("duration=\"10\" media=\"$Number$.m4s\" startNumber=\"1\""),
            "timeShiftBufferDepth=\"PT30S\" minimumUpdatePeriod=\"PT500S\"")
        let first = try Self.read(text, at: 65)
        // Of segments 1 to 6, those of the last 30 seconds, but the newest one.
        #expect(first.update.entries.map(\.sequence) == [4, 5])
        #expect(first.update.reloadSeconds == 10)
        let next = try Self.read(text, at: 70, after: first.update.cursor)
        #expect(next.update.entries.map(\.sequence) == [6])
        let late = try Self.read(text, at: 125, after: next.update.cursor)
        #expect(late.update.entries.map(\.sequence) == [10, 11])
        #expect(late.update.entries.map(\.missed) == [3, 0])
    }

    @Test func theClockOfTheMPDCounts() throws {
        func text(_ scheme: String, _ value: String) -> String {
            Self.mpd(
                Self.period("duration=\"10\" media=\"$Number$.m4s\"")
                    + "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:\(scheme):2014\" value=\"\(value)\"/>"
            )
        }
        let direct = try Self.read(text("direct", "1970-01-01T00:00:31Z"), at: 200)
        #expect(direct.update.entries.map(\.sequence) == [1, 2])
        let asked = try Self.read(
            text("http-iso", "/time"), at: 200, clock: "1970-01-01T00:00:41Z\n")
        #expect(asked.update.entries.map(\.sequence) == [1, 2, 3])
        let unread = try Self.read(text("http-iso", "/time"), at: 25)
        #expect(unread.update.entries.map(\.sequence) == [1])
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
        let first = try Self.read(text, at: 300, clock: "1970-01-01T00:00:31Z")
        #expect(first.update.entries.map(\.sequence) == [1, 2])
        let lost = try Self.read(text, at: 300, after: first.update.cursor)
        #expect(lost.update.entries.isEmpty && !lost.update.cursor.hasEnded)
        let wrong = try Self.read(text, at: 300, after: lost.update.cursor, clock: "noon")
        #expect(wrong.update.entries.isEmpty)
        #expect(wrong.update.cursor.mpd?.clockFailures == 2)
        let next = try Self.read(
            text, at: 300, after: wrong.update.cursor, clock: "1970-01-01T00:00:41Z")
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

    private static func timing(_ scheme: String, _ value: String) -> String {
        "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:\(scheme):2014\" value=\"\(value)\"/>"
    }

    /// A clock that is an hour ahead would make gaps of all segments of that hour.
    @Test func aWrongClockIsRefused() throws {
        let text = Self.clocked("", Self.timing("http-iso", "/time"))
        let pass = try Self.read(text, at: 31, answeredAt: 41, clock: "1970-01-01T01:00:31Z")
        #expect(pass.update.entries.map(\.sequence) == [1, 2, 3])
        let warning = try #require(pass.warnings.first.first)
        #expect(pass.warnings.count == 1 && warning.rule == "dash.clock")
        #expect(
            warning.message.hasPrefix(
                "the clock http://h/time says 1970-01-01T01:00:31Z, "
                    + "but the MPD was answered at 1970-01-01T00:00:41Z; "), "\(warning)")
        // Of a later reading too; none of its segments follow, as from a clock that fails.
        let good = try Self.read(text, at: 31, clock: "1970-01-01T00:00:31Z")
        #expect(good.warnings.isEmpty && good.update.entries.count == 2)
        let later = try Self.read(
            text, at: 61, after: good.update.cursor, clock: "1970-01-01T01:00:31Z")
        #expect(later.update.entries.isEmpty && later.update.cursor.mpd?.clockFailures == 1)
        #expect(
            later.warnings.first.first?.message.contains("this machine has 1970-01-01T00:01:01Z")
                == true)
    }

    /// An asset keeps the first warnings of a reading.
    @Test func aWrongClockIsTheFirstWarning() throws {
        let text = Self.mpd(
            Self.period("duration=\" 10\" media=\"$Number$.m4s\"")
                + Self.timing("direct", "1971-01-01T00:00:31Z"))
        let pass = try Self.read(text, at: 31)
        #expect(pass.warnings.first.map(\.rule) == ["dash.clock", "dash.number"])
    }

    /// The origin, this machine or the MPD: each of them may be the one that is wrong.
    @Test(
        arguments: [
            (5_000, nil, "", false), (5_000, 20, "", true), (20, 5_000, "", true),
            (5_000, 4_000, "", false), (5_000, 4_000, "publishTime=\"1970-01-01T00:05:00Z\"", true),
            (5_000, nil, "publishTime=\"1970-01-01T01:00:00Z\"", false), (331, nil, "", true),
            (332, nil, "", false),
        ] as [(Double, Double?, String, Bool)])
    func aClockIsBelievedThatAgreesWithOne(
        machine: Double, answered: Double?, published: String, isBelieved: Bool
    ) throws {
        let text = Self.clocked(published, Self.timing("direct", "1970-01-01T00:00:31Z"))
        let pass = try Self.read(text, at: machine, answeredAt: answered)
        #expect(pass.warnings.isEmpty == isBelieved)
        #expect((pass.update.entries.map(\.sequence) == [1, 2]) == isBelieved)
    }

    @Test func theNextClockIsUsed() throws {
        let text = Self.clocked(
            "",
            Self.timing("direct", "1971-01-01T00:00:31Z") + Self.timing("http-iso", "/one")
                + Self.timing("ntp", "h") + Self.timing("http-xsdate", "/two")
                + Self.timing("http-iso", "/three"))
        let pass = try Self.read(
            text, at: 31,
            clocks: [
                "http://h/one": "1970-01-01T09:00:00Z", "http://h/two": "1970-01-01T00:00:52Z",
                "http://h/three": "1970-01-01T00:00:22Z",
            ])
        #expect(pass.update.entries.map(\.sequence) == [1, 2, 3, 4])
        #expect(pass.warnings.count == 2, "\(pass.warnings)")
        let without = try Self.read(text, at: 31)
        #expect(without.update.entries.map(\.sequence) == [1, 2])
        #expect(without.update.cursor.mpd?.clockFailures == nil)
    }

    /// A clock that failed before is not waited for, unless no segments would follow without it.
    @Test func aPausedClockIsTheLast() throws {
        let one = Self.clocked("", Self.timing("http-iso", "/one"))
        let both = Self.clocked(
            "", Self.timing("http-iso", "/one") + Self.timing("http-iso", "/two"))
        let times = [
            "http://h/one": "1970-01-01T00:00:52Z", "http://h/two": "1970-01-01T00:00:41Z",
        ]
        let paused: Set = ["http://h/one"]
        func numbers(_ text: String, after cursor: RecordingCursor? = nil) throws -> [Int64] {
            try Self.read(text, at: 31, after: cursor, clocks: times, paused: paused)
                .update.entries.map(\.sequence)
        }
        #expect(try numbers(both) == [1, 2, 3])
        #expect(try numbers(one) == [1, 2])
        // It was read before: without it there would be no segments.
        var read = try Self.read(one, at: 31, clock: "1970-01-01T00:00:31Z").update.cursor
        #expect(try numbers(one, after: read) == [3, 4])
        read.mpd?.clockFailures = 10
        #expect(try numbers(one, after: read) == [])
    }

    /// The preferred one is asked alone; one that does not answer is waited for together with the
    /// others. A clock in the MPD that is believed ends the search.
    @Test func theOtherClocksAreAskedAtOnce() throws {
        let text = Self.clocked(
            "",
            Self.timing("direct", "1971-01-01T00:00:31Z") + Self.timing("http-iso", "/one")
                + Self.timing("http-iso", "/two") + Self.timing("http-xsdate", "/three")
                + Self.timing("direct", "1970-01-01T00:00:31Z") + Self.timing("http-iso", "/four"))
        var options = TitleOptions()
        options.records = true
        func rounds(_ times: [String: String]) throws -> ([[String]], RecordingPass?) {
            var resolver = try TitleResolver(
                url: Self.url, kind: .dash, options: options, snapshotSeconds: 31)
            let first = try #require(resolver.next().first)
            try resolver.receive(
                first, finalURL: first.url, body: Array(text.utf8), sha256: "")
            var rounds: [[String]] = []
            while !resolver.isComplete {
                let requests = resolver.next()
                rounds.append(requests.map { String($0.url.dropFirst("http://h/".count)) })
                for request in requests.reversed() {
                    resolver.receiveOptional(request, times[request.url].map { Array($0.utf8) })
                    if resolver.isComplete { break }
                    if request != requests.first { #expect(resolver.next().isEmpty) }
                }
            }
            return (rounds, try resolver.recordingPass(after: nil))
        }
        let (one, _) = try rounds(["http://h/one": "1970-01-01T00:00:31Z"])
        #expect(one == [["one"]])
        let all = [["one"], ["two", "three"]]
        let (two, pass) = try rounds([
            "http://h/two": "1970-01-01T00:00:52Z", "http://h/three": "1970-01-01T00:00:22Z",
        ])
        #expect(two == all)
        #expect(pass?.update.entries.map(\.sequence) == [1, 2, 3, 4])
        let (none, direct) = try rounds([:])
        #expect(none == all)
        #expect(direct?.update.entries.map(\.sequence) == [1, 2])
        #expect(direct?.warnings.count == 1)
    }
}
