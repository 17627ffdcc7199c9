import Model
import Testing
import WebURL

@testable import Titles

/// What each reading of a live MPD adds to a recording.
@Suite struct DASHRecordingTests {
    static let url = "http://h/d/m.mpd"

    /// Reads an MPD at a time in seconds since its availability start.
    ///
    /// - Parameter clock: the answer of its clock; nil if it cannot be read.
    static func read(
        _ text: String, at seconds: Double = 1_000, answeredAt answered: Double? = nil,
        after cursor: RecordingCursor? = nil, from finalURL: String? = nil, clock: String? = nil,
        clocks: [String: String] = [:], paused: Set<String> = [], tracks: TrackSelection? = nil
    ) throws -> RecordingPass {
        var options = TitleOptions()
        options.records = true
        if let tracks { options.tracks = tracks }
        var resolver = try TitleResolver(
            url: url, kind: .dash, options: options, following: cursor, snapshotSeconds: seconds,
            pausedClocks: paused)
        while !resolver.isComplete {
            for request in resolver.next() {
                if request.isOptional {
                    let time = clocks[request.url] ?? clock
                    resolver.receiveOptional(request, time.map { Array($0.utf8) })
                } else {
                    try resolver.receive(
                        request, finalURL: finalURL ?? request.url, body: Array(text.utf8),
                        sha256: "", answeredSeconds: answered)
                }
            }
        }
        return try #require(try resolver.recordingPass(after: cursor))
    }

    static func mpd(_ inner: String, _ attributes: String = "", type: String = "dynamic")
        -> String
    {
        "<MPD type=\"\(type)\" availabilityStartTime=\"1970-01-01T00:00:00Z\" \(attributes)>"
            + "\(inner)</MPD>"
    }

    /// A period with one representation.
    static func period(
        _ template: String, _ inner: String = "", start: String = "PT0S", id: String = "p",
        track: String = "v"
    ) -> String {
        "<Period id=\"\(id)\" start=\"\(start)\"><AdaptationSet mimeType=\"video/mp4\">"
            + "<SegmentTemplate \(template)>\(inner)</SegmentTemplate>"
            + "<Representation id=\"\(track)\"/></AdaptationSet></Period>"
    }

    static func timeline(_ entries: String) -> String {
        "<SegmentTimeline>\(entries)</SegmentTimeline>"
    }

    static func names(_ pass: RecordingPass) -> [String] {
        pass.objects.map { String($0.key.dropFirst("h/d/".count)) }
    }

    @Test func onlyNewTimesAreAdded() throws {
        func text(_ entries: String) -> String {
            Self.mpd(
                Self.period(
                    "timescale=\"10\" media=\"$Time$.m4s\" initialization=\"i.mp4\"",
                    Self.timeline(entries)),
                "minimumUpdatePeriod=\"PT3S\"")
        }
        let first = try Self.read(text("<S t=\"100\" d=\"40\" r=\"1\"/><S d=\"20\"/>"))
        #expect(Self.names(first) == ["i.mp4", "100.m4s", "140.m4s", "180.m4s"])
        #expect(first.update.entries.map(\.sequence) == [100, 140, 180])
        #expect(first.update.entries.map(\.tags) == ["100 40", "140 40", "180 20"])
        #expect(first.update.entries.map(\.seconds) == [4, 4, 2])
        #expect(first.update.reloadSeconds == 3)
        let cursor = first.update.cursor
        let same = try Self.read(text("<S t=\"140\" d=\"40\"/><S d=\"20\"/>"), after: cursor)
        #expect(same.update.entries.isEmpty && same.objects.isEmpty)
        #expect(same.update.root == nil && same.update.periods == nil)
        // A time that is rounded in another way is the same segment.
        let next = try Self.read(
            text("<S t=\"139\" d=\"41\"/><S t=\"180\" d=\"20\" r=\"1\"/>"), after: cursor)
        #expect(next.update.entries.map(\.sequence) == [200])
        #expect(next.update.entries[0].missed == 0)
        let jump = try Self.read(text("<S t=\"280\" d=\"20\"/>"), after: next.update.cursor)
        #expect(jump.update.entries.map(\.sequence) == [280])
        #expect(jump.update.entries[0].missed == 3)
        #expect(!jump.update.cursor.hasEnded)
        let older = try Self.read(text("<S t=\"100\" d=\"40\"/>"), after: jump.update.cursor)
        #expect(older.update.entries.isEmpty)
    }

    @Test func numbersOfATimelineAreKnown() throws {
        func text(_ first: Int, _ count: Int, type: String = "dynamic") -> String {
            Self.mpd(
                Self.period(
                    "timescale=\"1\" media=\"$RepresentationID$-$Number%03d$.m4s\" startNumber=\"\(first)\"",
                    Self.timeline("<S t=\"\(first * 2)\" d=\"2\" r=\"\(count - 1)\"/>")),
                type: type)
        }
        let first = try Self.read(text(7, 2))
        #expect(Self.names(first) == ["v-007.m4s", "v-008.m4s"])
        #expect(first.update.entries.map(\.sequence) == [7, 8])
        // Without a minimumUpdatePeriod at the interval of segments.
        #expect(first.update.reloadSeconds == 2)
        let next = try Self.read(text(12, 3), after: first.update.cursor)
        #expect(next.update.entries.map(\.sequence) == [12, 13, 14])
        #expect(next.update.entries.map(\.missed) == [3, 0, 0])
        let end = try Self.read(text(13, 3, type: "static"), after: next.update.cursor)
        #expect(end.update.entries.map(\.sequence) == [15])
        #expect(end.update.cursor.hasEnded)
    }

    @Test func anOpenTimelineGoesOnWithTheClock() throws {
        let text = Self.mpd(
            Self.period(
                "timescale=\"10\" media=\"$Time$.m4s\"",
                Self.timeline("<S t=\"0\" d=\"20\"/><S d=\"40\" r=\"-1\"/>")))
        let first = try Self.read(text, at: 15)
        #expect(first.update.entries.map(\.sequence) == [0, 20, 60])
        let next = try Self.read(text, at: 19, after: first.update.cursor)
        #expect(next.update.entries.map(\.sequence) == [100])
    }

    /// Numbers go on, or begin again: then the same names are other files.
    @Test func aPeriodBeginsLater() throws {
        func second(_ number: Int) -> String {
            Self.period(
                "timescale=\"1\" media=\"$RepresentationID$-$Number$.m4s\" startNumber=\"\(number)\" "
                    + "initialization=\"i.mp4\"",
                Self.timeline("<S t=\"0\" d=\"2\" r=\"1\"/>"), start: "PT14S", id: "q")
        }
        let one = Self.period(
            "timescale=\"1\" media=\"$RepresentationID$-$Number$.m4s\" startNumber=\"5\" "
                + "initialization=\"i.mp4\"", Self.timeline("<S t=\"10\" d=\"2\" r=\"1\"/>"))
        let first = try Self.read(Self.mpd(one))
        #expect(Self.names(first) == ["i.mp4", "v-5.m4s", "v-6.m4s"])
        #expect(first.update.periods?.map(\.number) == [0])
        let announced = Self.period(
            "timescale=\"1\" media=\"$Number$.m4s\"", Self.timeline(""), start: "PT14S", id: "q")
        let waiting = try Self.read(Self.mpd(one + announced), after: first.update.cursor)
        #expect(waiting.update.entries.isEmpty && waiting.update.periods == nil)
        let goesOn = try Self.read(Self.mpd(one + second(7)), after: waiting.update.cursor)
        #expect(Self.names(goesOn) == ["i~p2.mp4", "v-7.m4s", "v-8.m4s"])
        #expect(goesOn.update.entries.map(\.playlist) == [1, 1])
        #expect(goesOn.update.entries.map(\.missed) == [0, 0])
        #expect(goesOn.update.periods?.map(\.number) == [1])
        let again = try Self.read(Self.mpd(second(1)), after: waiting.update.cursor)
        #expect(Self.names(again) == ["i~p2.mp4", "v-1~t1.m4s", "v-2~t1.m4s"])
        let texts = (again.update.periods ?? []).flatMap(\.pieces).map(\.text).joined()
        #expect(texts.contains("media=\"v-$Number$~t1.m4s\""), "\(texts)")
        #expect(texts.contains("initialization=\"i~p2.mp4\""))
        // The first period has left the MPD; an older copy does not begin it again.
        #expect(again.update.cursor.mpd?.periods.map(\.id) == ["q"])
        let older = try Self.read(Self.mpd(one), after: again.update.cursor)
        #expect(older.update.entries.isEmpty && older.update.periods == nil)
        #expect(older.update.cursor.mpd?.periods.map(\.id) == ["q"])
        // The end of the first period has not been seen.
        let late = Self.period(
            "timescale=\"1\" media=\"w-$Number$.m4s\"", Self.timeline("<S t=\"0\" d=\"2\"/>"),
            start: "PT20S", id: "r")
        let gap = try Self.read(Self.mpd(late), after: first.update.cursor)
        #expect(gap.update.entries.map(\.missed) == [3])
    }

    @Test func theMPDIsCutWhereValuesAreMissing() throws {
        let text = Self.mpd(
            "<Location>http://h/d/session/m.mpd</Location><BaseURL>cdn/</BaseURL>"
                + "<Period id=\"p\" start=\"PT1M\" duration=\"PT1H\"><EventStream schemeIdUri=\"u\"/>"
                + "<AdaptationSet contentType=\"video\"><SegmentTemplate duration=\"2\" "
                + "media=\"$RepresentationID$/$Number$.m4s\" initialization=\"/all/i.mp4\"/>"
                + "<Representation id=\"a\" height=\"360\"/><Representation id=\"b\" height=\"1080\"/>"
                + "</AdaptationSet></Period>", "minimumUpdatePeriod=\"PT2S\" id=\"x\"")
        var tracks = TrackSelection()
        tracks.maximumHeight = 500
        let pass = try Self.read(text, at: 67, tracks: tracks)
        #expect(
            pass.objects.map(\.key) == ["h/all/i.mp4", "h/d/cdn/a/1.m4s", "h/d/cdn/a/2.m4s"])
        let root = try #require(pass.update.root)
        #expect(
            root == [
                RecordedPiece(
                    text: "<MPD type=\"static\" mediaPresentationDuration=\"", value: .duration),
                RecordedPiece(text: "\"   id=\"x\">", value: .periods),
                RecordedPiece(text: "</MPD>"),
            ])
        let period = try #require(pass.update.periods?.first)
        #expect(period.start == 60_000_000_000 && period.tracks.map(\.isNumbered) == [true])
        #expect(
            period.pieces == [
                RecordedPiece(text: "<Period id=\"p\" start=\"", value: .start),
                RecordedPiece(text: "\" ><BaseURL>cdn/</BaseURL>"),
                RecordedPiece(text: "<AdaptationSet contentType=\"video\">", set: 0),
                RecordedPiece(
                    text: "<Representation id=\"a\" height=\"360\"><SegmentTemplate "
                        + "timescale=\"1\" presentationTimeOffset=\"", set: 0, track: 0,
                    value: .offset),
                RecordedPiece(
                    text: "\" initialization=\"../../all/i.mp4\" "
                        + "media=\"$RepresentationID$/$Number$.m4s\" startNumber=\"", set: 0,
                    track: 0, value: .number),
                RecordedPiece(text: "\"><SegmentTimeline>", set: 0, track: 0, value: .timeline),
                RecordedPiece(
                    text: "</SegmentTimeline></SegmentTemplate></Representation>", set: 0, track: 0),
                RecordedPiece(text: "</AdaptationSet>", set: 0),
                RecordedPiece(text: "</Period>"),
            ])
    }

    /// References resolve against it; keys are those of the title's URL.
    @Test func theLocationIsReloaded() throws {
        let text = Self.mpd(
            "<Location>session/1/m.mpd</Location>"
                + Self.period(
                    "timescale=\"1\" media=\"$Time$.m4s\"", Self.timeline("<S t=\"4\" d=\"2\"/>")))
        let first = try Self.read(text)
        #expect(first.update.cursor.mpd?.location == "http://h/d/session/1/m.mpd")
        var options = TitleOptions()
        options.records = true
        var resolver = try TitleResolver(
            url: Self.url, kind: .dash, options: options, following: first.update.cursor,
            snapshotSeconds: 1_000)
        #expect(resolver.next().map(\.url) == ["http://h/d/session/1/m.mpd"])
        let next = try Self.read(
            Self.mpd(
                Self.period(
                    "timescale=\"1\" media=\"$Time$.m4s\"", Self.timeline("<S t=\"6\" d=\"2\"/>"))),
            after: first.update.cursor, from: "http://h/d/session/1/m.mpd")
        #expect(next.objects.map(\.url) == ["http://h/d/session/1/6.m4s"])
        #expect(next.objects.map(\.key) == ["h/d/6.m4s"])
        #expect(next.update.cursor.mpd?.location == nil)
    }

    @Test func aPassIsBounded() throws {
        let text = Self.mpd(
            "<Period><AdaptationSet><SegmentTemplate timescale=\"1\" media=\"$RepresentationID$$Time$\">"
                + Self.timeline("<S t=\"0\" d=\"2\" r=\"1999\"/>")
                + "</SegmentTemplate><Representation id=\"a\"/><Representation id=\"b\"/>"
                + "</AdaptationSet></Period>")
        var cursor: RecordingCursor?
        var found: [Int: [Int64]] = [:]
        var passes = 0
        repeat {
            let pass = try Self.read(text, after: cursor)
            #expect(pass.update.entries.count <= RecordingPass.maxEntries)
            for entry in pass.update.entries {
                found[entry.playlist, default: []].append(entry.sequence)
            }
            cursor = pass.update.cursor
            passes += 1
            #expect((pass.update.reloadSeconds == 0) == (passes < 3))
            #expect((pass.update.behindSeconds > 0) == (passes < 3))
        } while passes < 3
        let all = (0..<2_000).map { Int64($0 * 2) }
        #expect(found == [0: all, 1: all])
        #expect(cursor?.entries == 4_000)
    }

    @Test func aLiveMPDEndsWithItsPresentation() throws {
        let text = Self.mpd(
            Self.period("duration=\"10\" media=\"$Number$.m4s\""),
            "mediaPresentationDuration=\"PT45S\"")
        let first = try Self.read(text, at: 44)
        #expect(first.update.entries.map(\.sequence) == [1, 2, 3])
        let late = try Self.read(text, at: 50, after: first.update.cursor)
        #expect(!late.update.cursor.hasEnded)
        let last = try Self.read(text, at: 61, after: late.update.cursor)
        #expect(
            (late.update.entries + last.update.entries).map(\.sequence) == [4, 5])
        #expect(last.update.cursor.hasEnded)
        let gone = try Self.read(
            Self.mpd(
                Self.period("duration=\"10\" media=\"$Number$.m4s\""),
                "availabilityEndTime=\"1970-01-01T00:01:00Z\""), at: 61)
        #expect(gone.update.cursor.hasEnded)
    }

    @Test func aTitleWithoutSegmentsIsReloaded() throws {
        let text = Self.mpd(Self.period("duration=\"10\" media=\"$Number$.m4s\""))
        let early = try Self.read(text, at: 5)
        #expect(early.update.entries.isEmpty && early.update.root != nil)
        #expect(early.update.cursor.mpd?.periodCount == 0)
        let first = try Self.read(text, at: 21, after: early.update.cursor)
        #expect(first.update.entries.map(\.sequence) == [1])
        #expect(first.update.root == nil && first.update.periods?.count == 1)
    }

    @Test(arguments: [
        ("<SegmentList duration=\"2\"><SegmentURL media=\"1\"/></SegmentList>", "SegmentList"),
        ("<SegmentBase indexRange=\"0-9\"/>", "one file"),
        ("<SegmentTemplate media=\"$Number$\"/>", "neither"),
        ("<SegmentTemplate media=\"all\" duration=\"2\"/>", "one URL"),
        (
            "<SegmentTemplate media=\"$Time$\"><SegmentTimeline><S d=\"4\" k=\"2\"/>"
                + "</SegmentTimeline></SegmentTemplate>", "S@k"
        ),
        (
            "<SegmentTemplate media=\"$Number$\" duration=\"2\"><Initialization range=\"0-9\"/>"
                + "</SegmentTemplate>", "byte range"
        ),
    ])
    func whatCannotBeRecordedIsRefused(addressing: String, reason: String) throws {
        let text = Self.mpd(
            "<Period id=\"p\"><AdaptationSet>\(addressing)<Representation id=\"v\"/></AdaptationSet>"
                + "</Period>")
        let failure = #expect(throws: Failure.self) { try Self.read(text) }
        #expect(failure?.code == .manifestUnsupported)
        #expect(failure?.message.contains(reason) == true, "\(failure?.message ?? "")")
    }

    @Test func remotePartsAreRefused() {
        let text = Self.mpd(
            "<Period xmlns:xlink=\"http://www.w3.org/1999/xlink\" xlink:href=\"http://h/p\"/>")
        let failure = #expect(throws: Failure.self) { try Self.read(text) }
        #expect(failure?.code == .manifestUnsupported)
    }

    @Test func laterPeriodsThatCannotBeRecordedAreLeftOut() throws {
        let one = Self.period(
            "timescale=\"1\" media=\"$Time$\"", Self.timeline("<S t=\"0\" d=\"2\"/>"))
        let first = try Self.read(Self.mpd(one))
        let ads =
            "<Period id=\"ad\" start=\"PT2S\"><AdaptationSet><SegmentBase/>"
            + "<Representation id=\"v\"><BaseURL>ad.mp4</BaseURL></Representation></AdaptationSet>"
            + "</Period>"
        let two = Self.period(
            "timescale=\"1\" media=\"two-$Time$\"", Self.timeline("<S t=\"0\" d=\"2\"/>"),
            start: "PT6S", id: "q")
        let next = try Self.read(Self.mpd(one + ads + two), after: first.update.cursor)
        #expect(Self.names(next) == ["two-0"])
        // Segments of two seconds between 2 and 6.
        #expect(next.update.entries.map(\.missed) == [2])
    }

    /// Patches are an offer: the whole MPD is read again, also when the time for a patch is over, and
    /// the stored one offers none.
    @Test(arguments: ["", "<Location>http://h/s/m.mpd</Location>"])
    func anMPDThatOffersPatchesIsReadAsAWhole(location: String) throws {
        func text(_ count: Int) -> String {
            Self.mpd(
                location + "<PatchLocation ttl=\"4\">p/patch.mpp?from=1</PatchLocation>"
                    + Self.period(
                        "timescale=\"1\" media=\"$Time$.m4s\"",
                        Self.timeline("<S t=\"0\" d=\"2\" r=\"\(count - 1)\"/>")),
                "id=\"m\" publishTime=\"1970-01-01T00:00:06Z\" minimumUpdatePeriod=\"PT2S\"")
        }
        let first = try Self.read(text(3), at: 7)
        #expect(first.update.entries.map(\.sequence) == [0, 2, 4])
        let root = (first.update.root ?? []).map(\.text).joined()
        #expect(root.contains("<MPD") && !root.contains("PatchLocation"), "\(root)")
        let cursor = first.update.cursor
        #expect(cursor.mpd?.location == (location.isEmpty ? nil : "http://h/s/m.mpd"))
        // Ten minutes after the publishTime.
        let next = try Self.read(text(5), at: 606, after: cursor)
        #expect(next.update.entries.map(\.sequence) == [6, 8])
        #expect(next.update.entries.map(\.missed) == [0, 0])
    }

    @Test func aTitleThatHasEndedIsNoRecording() throws {
        var options = TitleOptions()
        options.records = true
        var resolver = try TitleResolver(
            url: Self.url, kind: .dash, options: options, snapshotSeconds: 1_000)
        let text = Self.mpd(
            Self.period(
                "timescale=\"1\" media=\"$Time$\"", Self.timeline("<S t=\"0\" d=\"2\"/>")),
            type: "static")
        for request in resolver.next() {
            try resolver.receive(
                request, finalURL: request.url, body: Array(text.utf8), sha256: "")
        }
        #expect(try resolver.recordingPass(after: nil) == nil)
        #expect(try resolver.segments().count == 2)
    }
}
