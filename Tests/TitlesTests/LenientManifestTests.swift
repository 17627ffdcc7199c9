import Model
import TestSupport
import Testing

@testable import Titles
@testable import WebURL

/// An MPD that breaks a rule, but that players play.
struct LenientMPD: CustomTestStringConvertible, Sendable {
    let mpd: MPDCase
    /// A rule, its line, and the number of violations.
    let warnings: [String]
    /// The failure of a strict parse; empty if it lists nothing, nil if it lists the same.
    let rejection: String?

    var testDescription: String { mpd.name }

    /// Creates a presentation of 10 seconds.
    init(
        _ name: String, _ body: String, _ expected: [String], warns warnings: String...,
        strict rejection: String?, attributes: String? = nil
    ) {
        mpd = MPDCase(name, body, expected, attributes)
        self.warnings = warnings
        self.rejection = rejection
    }

    private static let numbers = "media='$RepresentationID$-$Number$' duration='5'"
    private static let isLate =
        "line 4: segment addressing comes after the elements that it applies to"
    private static let template = MPDCase.template
    private static let one = MPDCase.one

    static let order = [
        LenientMPD(
            "a template behind the representations of its set",
            MPDCase.set(
                MPDCase.representation("", id: "a")
                    + MPDCase.representation(template("startNumber='7'", ""), id: "b")
                    + template(numbers + " initialization='i'", "")),
            ["init i", "media a-1 5s", "media a-2 5s", "init i", "media b-7 5s", "media b-8 5s"],
            warns: "dash.order 4 ×1", strict: "segment addressing comes after"),
        LenientMPD(
            "a template behind the sets of its period",
            "<Period><AdaptationSet>" + template("timescale='2'", "")
                + MPDCase.representation("") + "</AdaptationSet>\n" + template(numbers, "")
                + "</Period>",
            ["media v-1 2.5s", "media v-2 2.5s", "media v-3 2.5s", "media v-4 2.5s"],
            warns: "dash.order 4 ×1", strict: isLate),
        LenientMPD(
            "a list behind the representation",
            MPDCase.set(
                MPDCase.representation("<BaseURL>f/</BaseURL>")
                    + "\n<SegmentList duration='5'><Initialization sourceURL='i'/>"
                    + "<SegmentURL media='1'/><SegmentURL media='2'/></SegmentList>"),
            ["init f/i", "media f/1 5s", "media f/2 5s"], warns: "dash.order 4 ×1",
            strict: isLate),
        LenientMPD(
            "the index of a file behind the representation",
            MPDCase.set(
                MPDCase.representation("<BaseURL>f.mp4</BaseURL>")
                    + "\n<SegmentBase indexRange='9-19'><Initialization range='0-8'/></SegmentBase>"
            ),
            ["init f.mp4 0+9", "index f.mp4 9+11", "media f.mp4 10s"], warns: "dash.order 4 ×1",
            strict: isLate),
        LenientMPD(
            "a template behind a representation that has a list",
            MPDCase.set(
                MPDCase.representation("<SegmentList><SegmentURL media='1'/></SegmentList>")
                    + "\n" + template(numbers, "")),
            ["media 1"], warns: "dash.order 4 ×1", strict: isLate),
    ]

    static let templates = [
        LenientMPD(
            "a number in an initialization template",
            one(template(numbers + " initialization='i-$Number$-$RepresentationID$'", "")),
            ["init i-$Number$-v", "media v-1 5s", "media v-2 5s"], warns: "dash.identifier 3 ×1",
            strict: "the initialization template names $Number$, which is not an identifier there"),
        LenientMPD(
            "identifiers that are none", one(template("media='a$Foo$Number$b$' duration='5'", "")),
            ["media a$Foo1b$ 5s", "media a$Foo2b$ 5s"], warns: "dash.identifier 3 ×1",
            strict: "the media template names $Foo$"),
        LenientMPD(
            "a dollar that nothing closes", one(template("media='a$Number' duration='10'", "")),
            ["media a$Number 10s"], warns: "dash.identifier 3 ×1", strict: "has an unclosed $"),
        LenientMPD(
            "widths as printf has them",
            one(
                template(
                    "media='$RepresentationID%05d$-$Number%014llu$-$Number%03i$-$Time%04x$-"
                        + "$Time%X$-$Time%o$' duration='5' presentationTimeOffset='250'", "")),
            [
                "media v-00000000000001-001-00fa-FA-372 5s",
                "media v-00000000000002-002-00ff-FF-377 5s",
            ], warns: "dash.width 3 ×1", strict: "which is not an identifier there"),
    ]

    static let times = [
        LenientMPD(
            "a period that starts when the presentation is over",
            "<Period start='PT10S'>" + inner(numbers) + "</Period>",
            ["media v-1 5s", "media v-2 5s"], warns: "dash.period 2 ×1", strict: ""),
        LenientMPD(
            "a period that starts later",
            "<Period start='PT1H'>" + inner(numbers) + "</Period>",
            ["media v-1 5s", "media v-2 5s"], warns: "dash.period 2 ×1",
            strict: "period 1 ends before it begins"),
        LenientMPD(
            "periods that start later",
            "<Period start='PT1H'>" + inner("media='a' duration='5'")
                + "</Period><Period start='PT1H5S'>" + inner(numbers) + "</Period>",
            ["media a 5s", "media v-1 5s"], warns: "dash.period 3 ×1",
            strict: "period 2 ends before it begins"),
        LenientMPD(
            "a duration of zero with a timeline",
            MPDCase.timeline("media='$Time$'", "d='5' r='1'"), ["media 0 5s", "media 5 5s"],
            warns: "dash.duration 1 ×1", strict: nil,
            attributes: "mediaPresentationDuration='PT0S'"),
        LenientMPD(
            "a period's duration of zero",
            "<Period duration='PT0S'>" + inner(numbers) + "</Period>",
            ["media v-1 5s", "media v-2 5s"], warns: "dash.duration 2 ×1", strict: ""),
    ]

    private static func inner(_ attributes: String) -> String {
        "<AdaptationSet>\(MPDCase.representation(template(attributes, "")))</AdaptationSet>"
    }

    static let values = [
        LenientMPD(
            "values that segments do not depend on",
            "<Period start='soon'><AdaptationSet width='wide'>"
                + MPDCase.representation("<BaseURL>f</BaseURL>") + "</AdaptationSet></Period>",
            ["media f"], warns: "dash.attribute 1 ×3",
            strict: "mediaPresentationDuration is 10s",
            attributes: "mediaPresentationDuration='10s'"),
        LenientMPD(
            "whole numbers with a point or white space",
            one(template("media='$Time$' timescale='2.0' duration=' 10 '", "")),
            ["media 0 5s", "media 10 5s"], warns: "dash.number 3 ×2",
            strict: "timescale is 2.0"),
        LenientMPD(
            "byte ranges that are none",
            one(
                "<BaseURL>f</BaseURL><SegmentBase indexRange='9-1'>"
                    + "<Initialization range='all'/></SegmentBase>"),
            ["init f", "media f 10s"], warns: "dash.range 3 ×2", strict: "indexRange is 9-1"),
        LenientMPD(
            "tracks that name the MPD itself",
            MPDCase.set(
                MPDCase.representation("", id: "a")
                    + MPDCase.representation("<BaseURL>../d/m.mpd</BaseURL>", id: "b")
                    + MPDCase.representation("<BaseURL>f</BaseURL>", id: "d")),
            ["media f 10s"], strict: "it names the manifest itself"),
        LenientMPD(
            "a BaseURL and a Location that name the MPD itself",
            "<BaseURL>m.mpd</BaseURL><Location>http://h/d/m.mpd</Location>"
                + one(template(numbers, "")),
            ["media v-1 5s", "media v-2 5s"], strict: nil),
        LenientMPD(
            "a prefix that nothing declares",
            "<Period xlink:actuate='onLoad'><cenc:Period/><foo:BaseURL>no/</foo:BaseURL>"
                + MPDCase.one(template(numbers, "")).dropFirst("<Period>".count),
            ["media v-1 5s", "media v-2 5s"], warns: "dash.prefix 2 ×3",
            strict: "Namespace prefix xlink for actuate on Period is not defined"),
    ]

    static let all = order + templates + times + values
}

@Suite struct LenientManifestTests {
    @Test(arguments: LenientMPD.all)
    func whatPlayersPlayIsReadWithAWarning(_ broken: LenientMPD) throws {
        let manifest = try broken.mpd.manifest()
        #expect(try MPDCase.lines(manifest) == broken.mpd.expected)
        #expect(LenientPlaylistTests.lines(manifest.warnings) == broken.warnings)
    }

    @Test(arguments: LenientMPD.all)
    func aStrictReadingRefusesIt(_ broken: LenientMPD) {
        let outcome = broken.mpd.outcome(.strict)
        guard let rejection = broken.rejection else {
            return #expect(outcome == broken.mpd.expected)
        }
        // Without a failure nothing is listed.
        guard !rejection.isEmpty else { return #expect(outcome.isEmpty) }
        #expect(outcome.first == "manifest.malformed")
        #expect(outcome.last?.contains(rejection) == true, "\(outcome)")
    }

    private static func parse(
        _ text: String, _ policy: ManifestPolicy = .lenient
    ) throws -> DASHManifest {
        try DASHManifest.parse(
            [UInt8](text.utf8), url: WebURL("http://h/d/m.mpd"), policy: policy)
    }

    @Test func linesAreThoseOfTheDocumentWithWhatStandsBeforeIt() throws {
        let text =
            "\n\n<?xml version='1.0'?>\n<MPD>\n<Period><AdaptationSet height='no'>"
            + "<Representation><BaseURL>f</BaseURL></Representation></AdaptationSet></Period></MPD>"
        let manifest = try Self.parse(text)
        #expect(
            LenientPlaylistTests.lines(manifest.warnings) == [
                "dash.declaration 1 ×1", "dash.attribute 5 ×1",
            ])
        #expect(try MPDCase.lines(manifest) == ["media f"])
        #expect(throws: Failure.self) { try Self.parse(text, .strict) }
        let failure = #expect(throws: Failure.self) {
            try Self.parse("\n\n<?xml version='1.0'?>\n<MPD>\n<Period>")
        }
        #expect(failure?.message.contains("line 5: it ends within") == true, "\(failure as Any)")
    }

    @Test func anMPDOfAnotherNamespaceIsRead() throws {
        let text =
            "<MPD xmlns='urn:mpeg:mpegB:schema:DASH:MPD:DIS2011'><Period><AdaptationSet>"
            + "<Representation><BaseURL>f</BaseURL></Representation></AdaptationSet></Period></MPD>"
        let manifest = try Self.parse(text)
        #expect(try MPDCase.lines(manifest) == ["media f"])
        #expect(LenientPlaylistTests.lines(manifest.warnings) == ["dash.namespace 1 ×1"])
        #expect(try MPDCase.lines(try Self.parse(text, .strict)) == [])
    }

    /// The contents of the remote part would be missing.
    @Test func aPartThatIsElsewhereIsRefusedWithoutItsNamespaceToo() {
        let failure = #expect(throws: Failure.self) {
            try Self.parse("<MPD><Period xlink:href='http://h/p.xml'/></MPD>")
        }
        #expect(failure?.code == "manifest.unsupported")
    }

    /// Ambiguous bytes are rejected under every policy.
    @Test(arguments: [
        (MPDCase.one(MPDCase.template("media='$Number$' duration='5'")), "its period's length"),
        (MPDCase.one(MPDCase.template("media='$Number%5d$' endNumber='2'")), "width"),
        (MPDCase.one(MPDCase.template("startNumber='-1'")), "startNumber is -1"),
        (MPDCase.one(MPDCase.template("timescale='2.5'")), "timescale is 2.5"),
        (MPDCase.one(""), "lists no segment"),
    ]) func whatIsOpenIsRefused(body: String, rejection: String) {
        let text = "<MPD mediaPresentationDuration='PT0S'>\(body)</MPD>"
        let failure = HLSResolverTests.failure("http://h/d/m.mpd", ["http://h/d/m.mpd": text])
        #expect(["manifest.malformed", "manifest.empty"].contains(failure?.code))
        #expect(failure?.message.contains(rejection) == true, "\(failure as Any)")
    }

    @Test func aTitleReportsTheTracksThatReferToTheManifest() throws {
        let tracks = MPDCase.set(
            MPDCase.representation("<BaseURL>m.mpd</BaseURL>", id: "a")
                + "\n" + MPDCase.representation("<BaseURL>f</BaseURL>", id: "b"))
        let text = "<MPD mediaPresentationDuration='PT10S'>\n\(tracks)</MPD>"
        var resolver = try TitleResolver(url: "http://h/d/m.mpd", kind: .dash)
        for request in resolver.next() {
            try resolver.receive(
                request, finalURL: request.url, body: [UInt8](text.utf8), sha256: "")
        }
        let segments = try resolver.segments()
        #expect(segments.map(\.url) == ["http://h/d/f", "http://h/d/m.mpd"])
        #expect(
            segments.warnings.first.map(\.text) == [
                "http://h/d/m.mpd line 2: the representation a of period 1 names the manifest "
                    + "itself; nothing more is fetched for it (dash.itself; ISO/IEC 23009-1, 5.3.9.1)"
            ])
        #expect(try resolver.listing().warnings == segments.warnings)
    }

    /// A rewritten MPD has the parsed segments, whatever the order of its parts.
    @Test func whatStandsLateIsRightAtTheEdge() throws {
        func title(_ template: String, _ base: String) -> String {
            "<MPD mediaPresentationDuration='PT10S'><Period><AdaptationSet>"
                + "<Representation id='v'/>\(template)\(base)</AdaptationSet></Period></MPD>"
        }
        let text = title(
            "<SegmentTemplate media='/x/$Number$' initialization='i-$Number$' duration='5'/>",
            "<BaseURL>http://c/y/</BaseURL>")
        let segments = try HLSResolverTests.resolve(
            "http://h/d/m.mpd", ["http://h/d/m.mpd": text])
        #expect(segments.map(\.key) == ["c/y/i-$Number$", "c/x/1", "c/x/2", "h/d/m.mpd"])
        #expect(
            segments.last?.content
                == title(
                    "<SegmentTemplate media='../x/$Number$' initialization='i-$Number$' duration='5'/>",
                    "<BaseURL>../../c/y/</BaseURL>"))
    }

    /// Half a million late elements are applied once.
    @Test(.timeLimit(.minutes(1))) func muchThatStandsLateIsReadInTime() throws {
        let text =
            "<MPD mediaPresentationDuration='PT10S'><Period><AdaptationSet>"
            + String(repeating: "<Representation/>", count: 20_000)
            + String(repeating: "<SegmentTemplate media='a'/>", count: 400_000)
            + "</AdaptationSet></Period></MPD>"
        let manifest = try Self.parse(text)
        #expect(LenientPlaylistTests.lines(manifest.warnings) == ["dash.order 1 ×400000"])
    }
}
