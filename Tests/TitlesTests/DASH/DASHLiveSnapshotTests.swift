import Model
import TestSupport
import Testing

@testable import Titles
@testable import WebURL

/// A captured live MPD becomes a static one with the same segments.
@Suite struct DASHLiveSnapshotTests {
    private static let url = "http://h/d/m.mpd"

    private static func live(_ inner: String, _ attributes: String = "") -> String {
        "<MPD type=\"dynamic\" availabilityStartTime=\"1970-01-01T00:00:00Z\" \(attributes)>\(inner)</MPD>"
    }

    /// Returns the stored MPD of a title that is resolved 100 seconds after it began.
    private static func edge(
        _ text: String, encoded: ([UInt8]) -> [UInt8] = { $0 }
    ) throws -> (text: String, listing: ManifestListing) {
        var options = TitleOptions()
        options.takesSnapshots = true
        var resolver = try TitleResolver(
            url: url, kind: .dash, options: options, snapshotSeconds: 100)
        for request in resolver.next() {
            try resolver.receive(
                request, finalURL: url, body: encoded([UInt8](text.utf8)), sha256: "")
        }
        let stored = try #require(try resolver.segments().last)
        return (try #require(stored.content), try resolver.listing())
    }

    private static func listed(
        _ text: String, live: LiveManifests = .refused
    ) throws -> [String] {
        try MPDCase.lines(
            try DASHManifest.parse([UInt8](text.utf8), url: try WebURL(url), live: live))
    }

    @Test(arguments: MPDCase.snapshots)
    func itListsTheSame(_ test: MPDCase) throws {
        let (text, listing) = try Self.edge(test.text)
        #expect(listing.isLive)
        #expect(!text.contains("dynamic") && !text.contains("availabilityStartTime"))
        #expect(try Self.listed(text) == test.expected)
    }

    @Test func aWindowOfNumbersBeginsThePresentation() throws {
        let (text, _) = try Self.edge(
            Self.live(
                "<Location>http://h/d/m.mpd</Location><Period id='p' start='PT10S'>"
                    + "<EventStream schemeIdUri='urn:x' timescale='10'><Event presentationTime='700'/>"
                    + "</EventStream><AdaptationSet><SegmentTemplate timescale='100' duration='1000' "
                    + "startNumber='5' presentationTimeOffset='7' media='$RepresentationID$/$Number%03d$'/>"
                    + "<Representation id='v'/><Representation id='w'><BaseURL>w/</BaseURL>"
                    + "<SegmentTemplate initialization='i&amp;'/></Representation></AdaptationSet></Period>"
                    + "<UTCTiming schemeIdUri='urn:mpeg:dash:utc:http-iso:2014' value='http://t/'/>",
                "timeShiftBufferDepth='PT25S'  minimumUpdatePeriod = 'PT2S' id='m'"))
        // 90 seconds of the period are over: its segments 0 to 8, those of the last 25 seconds 6 to
        // 8.
        let timeline = "<SegmentTimeline><S t=\"6007\" d=\"1000\" r=\"2\"/></SegmentTimeline>"
        let start = "timescale=\"100\" presentationTimeOffset=\"6007\" media=\"$RepresentationID$/"
        #expect(
            text == "<MPD type=\"static\" mediaPresentationDuration=\"PT30S\"     id='m'>"
                + "<Period id='p' start='PT0S'><EventStream presentationTimeOffset=\"600\" "
                + "schemeIdUri='urn:x' timescale='10'><Event presentationTime='700'/></EventStream>"
                + "<AdaptationSet><Representation id='v'><SegmentTemplate \(start)$Number%03d$\" "
                + "startNumber=\"11\">\(timeline)</SegmentTemplate></Representation>"
                + "<Representation id='w'><BaseURL>w/</BaseURL><SegmentTemplate \(start)$Number%03d$\" "
                + "initialization=\"i&amp;\" startNumber=\"11\">\(timeline)</SegmentTemplate>"
                + "</Representation></AdaptationSet></Period></MPD>")
    }

    /// Audio and video are cut at one moment, although their segments begin at different times.
    @Test func tracksKeepTheirTime() throws {
        func track(_ id: String, _ timescale: Int, _ entries: String) -> String {
            "<AdaptationSet><Representation id='\(id)'><SegmentTemplate timescale='\(timescale)' "
                + "media='\(id)$Time$' presentationTimeOffset='\(timescale)'><SegmentTimeline>\(entries)"
                + "</SegmentTimeline></SegmentTemplate></Representation></AdaptationSet>"
        }
        let text = Self.live(
            "<Period>" + track("v", 90_000, "<S t='5400000' d='180000' r='-1'/>")
                + track("a", 48_000, "<S t='2884000' d='95232' r='1'/><S d='96000'/>") + "</Period>"
        )
        let (edge, listing) = try Self.edge(text)
        #expect(edge.contains("presentationTimeOffset=\"5400000\" media=\"v$Time$\"><SegmentT"))
        #expect(edge.contains("<S t=\"5400000\" d=\"180000\" r=\"19\"/>"))
        #expect(edge.contains("presentationTimeOffset=\"2880000\" media=\"a$Time$\"><SegmentT"))
        #expect(edge.contains("mediaPresentationDuration=\"PT40S\""))
        #expect(try Self.listed(edge) == Self.listed(text, live: .snapshot(atSeconds: 100)))
        #expect(listing.segments.count == 23)
    }

    /// A timeline has the times of a list's segments, in order.
    @Test func listsWithATimelineKeepTheirTime() throws {
        func urls(_ count: Int) -> String {
            (1...count).map { "<SegmentURL media='\($0)'/>" }.joined()
        }
        let text = Self.live(
            "<Period><AdaptationSet><SegmentList timescale='10' presentationTimeOffset='5'>"
                + "<SegmentTimeline><S t='605' d='20'/><S d='40' r='-1'/></SegmentTimeline>\(urls(3))"
                + "</SegmentList><Representation id='a'/><Representation id='b'/></AdaptationSet>"
                + "<AdaptationSet><Representation id='c'><SegmentList timescale='1000'>"
                + "<SegmentTimeline><S t='61000' d='3000' r='1'/></SegmentTimeline>\(urls(3))"
                + "</SegmentList></Representation></AdaptationSet></Period>")
        let (edge, listing) = try Self.edge(text)
        #expect(try Self.listed(edge) == Self.listed(text, live: .snapshot(atSeconds: 100)))
        #expect(listing.segments.count == 3)
        // Two tracks share the list, whose first segment begins the title; the third one begins a
        // second later.
        #expect(edge.ranges(of: "presentationTimeOffset='605'").count == 1)
        #expect(edge.contains("<SegmentList presentationTimeOffset=\"60000\" timescale='1000'>"))
        #expect(edge.contains("<S t='605' d='20'/><S d='40' r='-1'/>"))
        #expect(edge.contains("mediaPresentationDuration=\"PT10S\""), "\(edge)")
        let alone = try Self.edge(
            Self.live(
                "<Period><AdaptationSet><Representation><SegmentList><SegmentTimeline><S d='1'/>"
                    + "</SegmentTimeline><SegmentURL media='a'/></SegmentList></Representation>"
                    + "</AdaptationSet></Period>"))
        #expect(alone.text.contains("mediaPresentationDuration=\"PT1S\""))
    }

    /// A day of a live title with eight bit rates would not fit otherwise.
    @Test func whatASetSharesStandsThereOnce() throws {
        func timeline(_ entry: String) -> String {
            "<SegmentTemplate media='$RepresentationID$/$Time$'><SegmentTimeline>\(entry)"
                + "</SegmentTimeline></SegmentTemplate>"
        }
        let text = Self.live(
            "<Period><AdaptationSet>" + timeline("<S t='9' d='4' r='2'/>")
                + "<Representation id='gone'>" + timeline("") + "</Representation>"
                + "<Representation id='a'/><!-- --><Representation id='b'/></AdaptationSet>"
                + "<AdaptationSet>" + timeline("<S t='9' d='4'/>") + "<Representation id='c'/>"
                + "<Representation id='d'><BaseURL>d</BaseURL><SegmentBase/></Representation>"
                + "</AdaptationSet></Period>", "mediaPresentationDuration='PT90S'")
        let (edge, _) = try Self.edge(text)
        let template =
            "<SegmentTemplate timescale=\"1\" presentationTimeOffset=\"0\" "
            + "media=\"$RepresentationID$/$Time$\"><SegmentTimeline><S t=\"9\" d=\"4\""
        let end = "/></SegmentTimeline></SegmentTemplate>"
        #expect(
            edge.contains(
                "<AdaptationSet>\(template) r=\"2\"\(end)<Representation id='a'/><!-- -->"
                    + "<Representation id='b'/></AdaptationSet><AdaptationSet><Representation id='c'>"
                    + "\(template)\(end)</Representation><Representation id='d'>"), "\(edge)")
    }

    @Test func whatHasNothingGoes() throws {
        func period(_ id: String, _ start: Int, _ media: String) -> String {
            "<Period start='PT\(start)S' duration='PT40S'><AdaptationSet><SegmentTemplate "
                + "duration='10' media='\(media)'/><Representation id='\(id)'/></AdaptationSet>"
                + "<AdaptationSet lang='de'><Representation><SegmentTemplate media='x$Number$'>"
                + "<SegmentTimeline/></SegmentTemplate></Representation></AdaptationSet></Period>"
        }
        let (text, _) = try Self.edge(
            Self.live(
                period("a", 0, "a$Number$") + period("b", 40, "b$Number$")
                    + period("c", 80, "c$Number$") + period("d", 120, "d$Number$"),
                "timeShiftBufferDepth='PT30S' mediaPresentationDuration='PT160S'"))
        #expect(
            try Self.listed(text)
                == ["media b4 10s", "media c1 10s", "media c2 10s"])
        #expect(text.ranges(of: "<Period ").count == 2 && !text.contains("lang"))
        #expect(text.contains("<Period start='PT0S'") && text.contains("<Period start='PT10S'"))
        #expect(text.contains("mediaPresentationDuration=\"PT30S\""))
    }

    @Test func wideTextBecomesUTF8() throws {
        let text = Self.live(
            "<Period><AdaptationSet><Representation><SegmentTemplate duration='50' "
                + "media='ü$Number$'/></Representation></AdaptationSet></Period>")
        let document = "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n\(text)"
        let (edge, _) = try Self.edge(text) { _ in
            [0xFF, 0xFE] + document.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        }
        #expect(edge.hasPrefix("\n<MPD type=\"static\""))
        #expect(try Self.listed(edge) == ["media %C3%BC1 50s", "media %C3%BC2 50s"])
    }

    @Test(
        arguments: [
            (
                "<AdaptationSet><Representation><SegmentTemplate duration='200' media='$Number$'/>",
                "manifest.empty"
            ),
            ("<AdaptationSet><Representation><BaseURL>a</BaseURL>", "manifest.unsupported"),
            (
                "<AdaptationSet><Representation><SegmentTemplate media='$Time$'><SegmentTimeline>"
                    + "<S t='999999999999999999' d='1'/></SegmentTimeline></SegmentTemplate>",
                "manifest.unsupported"
            ),
        ] as [(String, FailureCode)])
    func whatCannotBeTaken(inner: String, code: FailureCode) {
        let failure = #expect(throws: Failure.self) {
            try Self.edge(
                Self.live("<Period>\(inner)</Representation></AdaptationSet></Period>"))
        }
        #expect(failure?.code == code)
    }

    /// Segments become available by the origin's clock.
    @Test func theOriginsClockIsUsed() throws {
        var options = TitleOptions()
        options.takesSnapshots = true
        var resolver = try TitleResolver(
            url: Self.url, kind: .dash, options: options, snapshotSeconds: 1_000)
        let text = Self.live(
            "<Period><AdaptationSet><Representation><SegmentTemplate duration='10' "
                + "media='$Number$'/></Representation></AdaptationSet></Period>")
        for request in resolver.next() {
            try resolver.receive(
                request, finalURL: Self.url, body: [UInt8](text.utf8), sha256: "",
                answeredSeconds: 35)
        }
        #expect(try resolver.segments().count == 4)
    }

    /// A title that has not begun reports its start.
    @Test func oneWithoutSegmentsSaysSo() throws {
        var options = TitleOptions()
        options.takesSnapshots = true
        var resolver = try TitleResolver(
            url: Self.url, kind: .dash, options: options, snapshotSeconds: 1_000)
        let text =
            "<MPD type='dynamic' availabilityStartTime='1970-01-01T00:20:00Z'><Period><AdaptationSet>"
            + "<Representation id='v'><SegmentTemplate duration='10' media='$Number$' "
            + "initialization='i'/></Representation></AdaptationSet></Period></MPD>"
        for request in resolver.next() {
            try resolver.receive(
                request, finalURL: Self.url, body: [UInt8](text.utf8), sha256: "")
        }
        for failure in [
            #expect(throws: Failure.self) { try resolver.segments() },
            #expect(throws: Failure.self) { try resolver.listing() },
        ] {
            #expect(failure?.code == "manifest.empty")
            #expect(
                failure?.message.hasSuffix("the live title has no segment yet: it starts in 200 s")
                    == true, "\(failure as Any)")
        }
    }
}
