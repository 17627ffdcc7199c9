import Model
import Testing

@testable import Titles

/// Readings of one period that differ in more than their segments.
extension DASHRecordingTests {
    private static func numbered(
        _ base: String, _ times: String, media: String = "$Number$.m4s", from number: Int = 1,
        bandwidth: Int = 5
    ) -> String {
        mpd(
            "\(base)<Period id=\"p\" start=\"PT0S\"><AdaptationSet>"
                + "<SegmentTemplate media=\"\(media)\" startNumber=\"\(number)\">\(timeline(times))</SegmentTemplate>"
                + "<Representation id=\"v\" bandwidth=\"\(bandwidth)\"/></AdaptationSet></Period>")
    }

    /// The stored MPD has the first base, so that keys are made from it.
    @Test func keysAreOfTheFirstBase() throws {
        func text(_ bases: [String], _ times: String, _ number: Int) -> String {
            let elements = bases.map { "<BaseURL>\($0)</BaseURL>" }.joined()
            return Self.numbered(elements, times, from: number)
        }
        let one = "http://one/a/"
        let two = "http://two/b/"
        let first = try Self.read(text([one, two], "<S t=\"0\" d=\"2\"/>", 1))
        #expect(first.objects.map(\.key) == ["one/a/1.m4s"])
        let texts = (first.update.periods ?? []).flatMap(\.pieces).map(\.text).joined()
        #expect(texts.contains("one/a/</BaseURL>"), "\(texts)")
        let second = try Self.read(
            text([two, one], "<S t=\"0\" d=\"2\" r=\"1\"/>", 1), after: first.update.cursor)
        #expect(second.objects.map(\.key) == ["one/a/2.m4s"])
        #expect(second.objects.map(\.url) == ["http://two/b/2.m4s"])
        #expect(second.objects[0].mirrors == ["http://one/a/2.m4s"])
        // A session that a redirect names.
        let third = try Self.read(
            text(["c/"], "<S t=\"2\" d=\"2\" r=\"1\"/>", 2), after: second.update.cursor,
            from: "http://three/s/m.mpd")
        #expect(third.objects.map(\.key) == ["one/a/3.m4s"])
        #expect(third.objects.map(\.url) == ["http://three/s/c/3.m4s"])
        let back = try Self.read(
            text([one], "<S t=\"2\" d=\"2\" r=\"2\"/>", 2), after: third.update.cursor)
        #expect(back.objects.map(\.key) == ["one/a/4.m4s"])
    }

    @Test func keysAreOfTheFirstTemplate() throws {
        let first = try Self.read(
            Self.numbered(
                "", "<S t=\"0\" d=\"2\"/>", media: "$Bandwidth$/$Number$.m4s", bandwidth: 7))
        #expect(Self.names(first) == ["7/1.m4s"])
        let second = try Self.read(
            Self.numbered(
                "", "<S t=\"0\" d=\"2\" r=\"1\"/>", media: "$Bandwidth$/$Number$.m4s",
                bandwidth: 8),
            after: first.update.cursor)
        #expect(Self.names(second) == ["7/2.m4s"])
        #expect(second.objects.map(\.url) == ["http://h/d/8/2.m4s"])
        let third = try Self.read(
            Self.numbered(
                "", "<S t=\"0\" d=\"2\" r=\"2\"/>", media: "s/$RepresentationID$$Number$.mp4"),
            after: second.update.cursor)
        #expect(Self.names(third) == ["7/3.m4s"])
        #expect(third.objects.map(\.url) == ["http://h/d/s/v3.mp4"])
        // Without numbers, which have been its positions, it is not continued.
        let fourth = try Self.read(
            Self.numbered("", "<S t=\"0\" d=\"2\" r=\"3\"/>", media: "$Time$.m4s"),
            after: third.update.cursor)
        #expect(fourth.update.entries.isEmpty)
        let fifth = try Self.read(
            Self.numbered("", "<S t=\"8\" d=\"2\"/>", from: 5), after: fourth.update.cursor)
        #expect(Self.names(fifth) == ["7/5.m4s"])
        #expect(fifth.update.entries.map(\.missed) == [1])
    }

    /// Times are stored in the units with which the track began.
    @Test func unitsMayChange() throws {
        func text(_ units: String, _ times: String, start: String = "PT0S") -> String {
            Self.mpd(
                Self.period(
                    "\(units) media=\"$Time$.m4s\"", Self.timeline(times), start: start))
        }
        let first = try Self.read(
            text("timescale=\"10\" presentationTimeOffset=\"100\"", "<S t=\"100\" d=\"20\"/>"))
        #expect(first.update.entries.map(\.tags) == ["100 20"])
        let second = try Self.read(
            text(
                "timescale=\"90000\" presentationTimeOffset=\"0\"",
                "<S t=\"0\" d=\"180000\" r=\"2\"/>"), after: first.update.cursor)
        #expect(second.update.entries.map(\.tags) == ["120 20", "140 20"])
        #expect(second.update.entries.map(\.missed) == [0, 0])
        #expect(Self.names(second) == ["120.m4s", "140.m4s"])
        #expect(
            second.objects.map(\.url) == ["http://h/d/180000.m4s", "http://h/d/360000.m4s"])
        #expect(second.update.cursor.mpd?.end == 6_000_000_000)
        // Its period begins two seconds later: the same times are later, too.
        let third = try Self.read(
            text("timescale=\"3\"", "<S t=\"6\" d=\"7\" r=\"2\"/>", start: "PT2S"),
            after: second.update.cursor)
        #expect(third.update.entries.map(\.tags) == ["163 24", "187 23"])
        #expect(third.update.entries.map(\.seconds) == [7.0 / 3, 7.0 / 3])
    }

    /// The root of the first reading is stored, which may declare fewer.
    @Test func namespacesOfALaterRootAreKept() throws {
        let one = Self.period(
            "timescale=\"1\" media=\"$Time$\"", Self.timeline("<S t=\"0\" d=\"2\"/>"))
        let two =
            "<Period xmlns:own='urn:inner' start=\"PT2S\" id=\"q\"><AdaptationSet>"
            + "<ContentProtection schemeIdUri=\"u\"><cenc:pssh>AA==</cenc:pssh></ContentProtection>"
            + "<SegmentTemplate timescale=\"1\" media=\"q-$Time$\">"
            + Self.timeline("<S t=\"0\" d=\"2\"/>")
            + "</SegmentTemplate><Representation id=\"v\"/></AdaptationSet></Period>"
        let spaces =
            "xmlns=\"urn:mpeg:dash:schema:mpd:2011\" xmlns:cenc = 'urn:mpeg:cenc:2013' "
            + "xmlns:own=\"urn:outer\""
        let first = try Self.read(Self.mpd(one, "xmlns=\"urn:mpeg:dash:schema:mpd:2011\""))
        let texts = (first.update.periods ?? []).flatMap(\.pieces).map(\.text).joined()
        #expect(!texts.contains("xmlns"), "\(texts)")
        let next = try Self.read(Self.mpd(one + two, spaces), after: first.update.cursor)
        let period = try #require(next.update.periods?.first)
        #expect(
            period.pieces[0].text
                == "<Period xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
                + "xmlns:cenc = 'urn:mpeg:cenc:2013' xmlns:own='urn:inner' start=\"")
        #expect(next.update.cursor.mpd?.bytes ?? 0 > period.bytes)
    }

    /// A period without a gap begins where it is to begin, although the one before it ended early.
    @Test(arguments: [(true, 0, 0), (true, 4, 2), (false, 0, 2), (false, 4, 4)])
    func gapsAreCountedFromThePeriodsBegin(isListed: Bool, first: Int, missed: Int64) throws {
        let one = Self.period(
            "timescale=\"1\" media=\"$Time$\"", Self.timeline("<S t=\"0\" d=\"2\" r=\"4\"/>"))
        let two = Self.period(
            "timescale=\"1\" media=\"q-$Time$\"", Self.timeline("<S t=\"\(first)\" d=\"2\"/>"),
            start: "PT14S", id: "q")
        let begun = try Self.read(Self.mpd(one))
        let next = try Self.read(
            Self.mpd(isListed ? one + two : two), after: begun.update.cursor)
        #expect(next.update.entries.map(\.missed) == [missed])
    }

    /// A period is recorded with the tracks that it began with; the next one has all.
    @Test func aRepresentationThatJoinsIsNamed() throws {
        func text(_ ids: [String], _ count: Int, next: [String] = []) -> String {
            func period(_ id: String, _ start: String, _ ids: [String]) -> String {
                let all = ids.map { "<Representation id=\"\($0)\" height=\"\($0.count)\"/>" }
                return "<Period id=\"\(id)\" start=\"\(start)\">"
                    + "<AdaptationSet mimeType=\"video/mp4\">"
                    + "<SegmentTemplate timescale=\"1\" media=\"\(id)$RepresentationID$-$Time$\">"
                    + Self.timeline("<S t=\"0\" d=\"2\" r=\"\(count - 1)\"/>")
                    + "</SegmentTemplate>\(all.joined())</AdaptationSet></Period>"
            }
            return Self.mpd(
                period("p", "PT0S", ids) + (next.isEmpty ? "" : period("q", "PT60S", next)))
        }
        var tracks = TrackSelection()
        tracks.maximumHeight = 2
        func read(_ text: String, after cursor: RecordingCursor?) throws -> RecordingPass {
            try Self.read(text, after: cursor, tracks: tracks)
        }
        let first = try read(text(["v", "vvv"], 1), after: nil)
        #expect(first.update.joined == nil && Self.names(first) == ["pv-0"])
        let joined = try read(
            text(["v", "vvv", "w", "www"], 2), after: first.update.cursor)
        #expect(joined.update.joined == ["representation w of period p (1 lines)"])
        #expect(Self.names(joined) == ["pv-2"])
        let again = try read(
            text(["v", "w"], 3, next: ["v", "w", "www"]), after: joined.update.cursor)
        #expect(again.update.joined == nil)
        #expect(Set(Self.names(again)).isSuperset(of: ["qv-0", "qw-0"]))
    }

    /// What a period had from its start has not joined it, wherever it is listed.
    @Test(arguments: [true, false])
    func whatCannotBeRecordedHasNotJoined(isFirst: Bool) throws {
        func text(_ count: Int) -> String {
            let times = Self.timeline("<S t=\"0\" d=\"2\" r=\"\(count - 1)\"/>")
            let file =
                "<Representation id=\"f\"><BaseURL>f.mp4</BaseURL>"
                + "<SegmentBase indexRange=\"0-9\"/></Representation>"
            let segments =
                "<Representation id=\"s\"><SegmentTemplate timescale=\"1\" media=\"q-$Time$\">"
                + "\(times)</SegmentTemplate></Representation>"
            return Self.mpd(
                Self.period(
                    "timescale=\"1\" media=\"$Time$\"", Self.timeline("<S t=\"0\" d=\"2\"/>"))
                    + "<Period id=\"q\" start=\"PT2S\"><AdaptationSet mimeType=\"video/mp4\">"
                    + (isFirst ? file + segments : segments + file) + "</AdaptationSet></Period>")
        }
        let first = try Self.read(
            Self.mpd(
                Self.period(
                    "timescale=\"1\" media=\"$Time$\"", Self.timeline("<S t=\"0\" d=\"2\"/>"))))
        let begun = try Self.read(text(1), after: first.update.cursor)
        #expect(Self.names(begun) == ["q-0"] && begun.update.joined == nil)
        let next = try Self.read(text(2), after: begun.update.cursor)
        #expect(Self.names(next) == ["q-2"])
        #expect(next.update.joined == nil, "\(next.update.joined ?? [])")
    }

    /// Too many tracks end a recording that has begun, with what is listed.
    @Test func tooManyTracksEndIt() throws {
        func one(_ count: Int) -> String {
            Self.period(
                "timescale=\"1\" media=\"$Time$\"",
                Self.timeline("<S t=\"0\" d=\"2\" r=\"\(count - 1)\"/>"))
        }
        func many(_ count: Int) -> String {
            let all = (0..<count).map { "<Representation id=\"\($0)\"/>" }.joined()
            return "<Period id=\"q\" start=\"PT4S\"><AdaptationSet>"
                + "<SegmentTemplate timescale=\"1\" media=\"$RepresentationID$-$Time$\">"
                + Self.timeline("<S t=\"0\" d=\"2\"/>")
                + "</SegmentTemplate>\(all)</AdaptationSet></Period>"
        }
        let most = RecordingCursor.MPD.maxTracks
        let failure = #expect(throws: Failure.self) { try Self.read(Self.mpd(many(most + 1))) }
        #expect(failure?.code == .manifestTooMany)
        let first = try Self.read(Self.mpd(one(1)))
        let next = try Self.read(Self.mpd(one(2) + many(most)), after: first.update.cursor)
        #expect(Self.names(next) == ["2"])
        #expect(next.update.periods == nil)
        #expect(next.update.cursor.mpd?.isFull == true)
        // Those of the period that has left the MPD count no longer.
        let last = try Self.read(Self.mpd(many(most)), after: first.update.cursor)
        #expect(last.update.cursor.mpd?.isFull == false)
        #expect(last.update.periods?.first?.tracks.count == most)
    }
}
