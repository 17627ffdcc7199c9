import Titles

extension MPDCase {
    /// SegmentBase and SegmentList (5.3.9.2, 5.3.9.3).
    static let ranges = [
        MPDCase("a file", one("<BaseURL>a.mp4</BaseURL>"), "media a.mp4 10s"),
        MPDCase(
            "a file with its index",
            one(
                "<BaseURL>a.mp4</BaseURL><SegmentBase indexRange='820-2015' timescale='90000'>"
                    + "<Initialization range='0-819'/></SegmentBase>"),
            "init a.mp4 0+820", "index a.mp4 820+1196", "media a.mp4 10s"),
        MPDCase(
            "an index and an initialization of their own",
            one(
                "<BaseURL>a.mp4</BaseURL><SegmentBase><Initialization sourceURL='i.mp4'/>"
                    + "<RepresentationIndex sourceURL='a.sidx'/></SegmentBase>"),
            "init i.mp4", "index a.sidx", "media a.mp4 10s"),
        MPDCase(
            "a SegmentBase for a whole set",
            set(
                "<SegmentBase indexRange='10-19'/>" + representation("<BaseURL>v</BaseURL>")
                    + representation("<BaseURL>w</BaseURL><SegmentBase indexRange='20-29'/>")),
            "index v 10+10", "media v 10s", "index w 20+10", "media w 10s"),
        MPDCase(
            "a list",
            one(
                "<SegmentList duration='15' timescale='3'><Initialization sourceURL='i'/>"
                    + "<SegmentURL media='a'/><SegmentURL media='b'/></SegmentList>"),
            "init i", "media a 5s", "media b 5s"),
        MPDCase(
            "byte ranges of one file",
            one(
                "<BaseURL>a.mp4</BaseURL><SegmentList duration='5'><Initialization range='0-9'/>"
                    + "<SegmentURL mediaRange='10-19'/><SegmentURL mediaRange='20-'/></SegmentList>"
            ),
            "init a.mp4 0+10", "media a.mp4 10+10 5s", "media a.mp4 20+ 5s"),
        MPDCase(
            "a list's indexes",
            one(
                "<BaseURL>f</BaseURL><SegmentList><SegmentURL media='a' index='x' indexRange='0-9'/>"
                    + "<SegmentURL media='b' indexRange='5-9'/>"
                    + "<SegmentURL mediaRange='10-19' indexRange='10-12'/>"
                    + "<SegmentURL mediaRange='20-29' indexRange='0-9'/></SegmentList>"),
            "index x 0+10", "media a", "media b", "media f 10+10", "index f 0+10", "media f 20+10"),
        MPDCase(
            "a list with a timeline",
            one(
                "<SegmentList timescale='2'><SegmentTimeline><S d='8'/><S d='6' r='1'/>"
                    + "</SegmentTimeline><SegmentURL media='a'/><SegmentURL media='b'/>"
                    + "<SegmentURL media='c'/></SegmentList>"),
            "media a 4s", "media b 3s", "media c 3s"),
        MPDCase(
            "an initialization of the period's list",
            "<Period><SegmentList><Initialization sourceURL='i'/></SegmentList><AdaptationSet>"
                + representation(
                    "<SegmentList duration='10'><SegmentURL media='a'/></SegmentList>")
                + "</AdaptationSet></Period>",
            "init i", "media a 10s"),
        MPDCase(
            "a list in place of the one above",
            set(
                "<SegmentList duration='5'><SegmentURL media='a'/><SegmentURL media='b'/>"
                    + "</SegmentList>" + representation("")
                    + representation("<SegmentList><SegmentURL media='c'/></SegmentList>")),
            "media a 5s", "media b 5s", "media c 5s"),
    ]

    /// Inheritance of levels, bases of URLs, starts of periods (5.3.2, 5.3.9.1, 5.6).
    static let levels = [
        MPDCase(
            "a template of three levels",
            "<Period><SegmentTemplate timescale='2' initialization='i'/><AdaptationSet>"
                + template("duration='10'") + representation(template("media='$Number$'"))
                + representation(template("media='w$Number$' initialization='j'"))
                + "</AdaptationSet></Period>",
            "init i", "media 1 5s", "media 2 5s", "init j", "media w1 5s", "media w2 5s"),
        MPDCase(
            "another kind of addressing inherits nothing",
            "<Period><SegmentTemplate media='$Number$' duration='1' initialization='i'/>"
                + "<AdaptationSet>" + representation("<BaseURL>a</BaseURL><SegmentBase/>")
                + "</AdaptationSet></Period>",
            "media a 10s"),
        MPDCase(
            "BaseURLs of four levels",
            "<BaseURL>a/</BaseURL><Period><BaseURL>b/</BaseURL><AdaptationSet><BaseURL>c/</BaseURL>"
                + representation("<BaseURL>d/</BaseURL>" + template("media='$Number$'"))
                + representation(template("media='/$Number$'", ""))
                + "</AdaptationSet></Period>",
            "media a/b/c/d/1", "media http://h/1"),
        MPDCase(
            "BaseURLs of other places",
            "<BaseURL>http://one.example/x</BaseURL><Period><AdaptationSet><BaseURL>y/z</BaseURL>"
                + representation(template("media='$Number$.m4s?a=$Bandwidth$'"))
                + representation(
                    "<BaseURL>https://two.example/</BaseURL>" + template("media='../$Number$'"))
                + representation("<BaseURL>//three.example/w</BaseURL>")
                + "</AdaptationSet></Period>",
            "media http://one.example/y/1.m4s?a=1000", "media https://two.example/1",
            "media http://three.example/w 10s"),
        MPDCase(
            "of several BaseURLs the first",
            "<BaseURL>\n  a/\n</BaseURL><BaseURL serviceLocation='b'>http://b.example/</BaseURL>"
                + one("<BaseURL>1</BaseURL><BaseURL>2</BaseURL>"),
            "media a/1 10s"),
        MPDCase(
            "a BaseURL with entities and CDATA",
            one("<BaseURL>a?b=1&amp;c=&#x32;<![CDATA[&d]]></BaseURL>"),
            "media a?b=1&c=2&d 10s"),
        MPDCase(
            "periods one after another",
            period("a", "duration='PT4S'") + period("b", "duration='PT5S'") + period("c"),
            "media a1 4s", "media b1 4s", "media b2 4s", "media c1 4s"),
        MPDCase(
            "a period ends where the next one starts",
            period("a", "duration='PT10S'") + period("b", "start='PT3S'"),
            "media a1 4s", "media b1 4s", "media b2 4s"),
        MPDCase(
            "a period of its own duration",
            period("a", "duration='PT3S'"), "media a1 4s", attributes: ""),
        MPDCase(
            "a period of no length",
            period("a", "duration='PT0S'") + period("b", "duration='PT4S'"),
            "media b1 4s"),
        MPDCase(
            "long durations", period("a"), "media a1 4s", "media a2 4s",
            attributes: "mediaPresentationDuration=\"P0Y0M0DT0H0M8.000S\""),
        MPDCase(
            "a period that is declared to be nothing",
            "<Period xmlns:x='http://www.w3.org/1999/xlink' "
                + "x:href='urn:mpeg:dash:resolve-to-zero:2013'/>" + period("a", "duration='PT1S'"),
            "media a1 4s"),
        MPDCase(
            "what is in no namespace of the standard is ignored",
            "<x:Period xmlns:x='urn:x'><x:AdaptationSet/></x:Period><ProgramInformation>"
                + "<Title>t</Title></ProgramInformation>"
                + one(
                    "<ContentProtection schemeIdUri='urn:mpeg:dash:mp4protection:2011' value='cenc'>"
                        + "<c:pssh xmlns:c='urn:mpeg:cenc:2013'>AAAA</c:pssh></ContentProtection>"
                        + "<BaseURL>a</BaseURL><SubRepresentation level='1'/>"),
            "media a 10s"),
    ]

    private static func period(_ name: String, _ attributes: String = "") -> String {
        "<Period \(attributes)><AdaptationSet>"
            + representation(template("media='\(name)$Number$' duration='4'"))
            + "</AdaptationSet></Period>"
    }

    private static let file = representation("<BaseURL>a</BaseURL>")

    /// Kinds of tracks, and forms of documents.
    static let forms = [
        MPDCase(
            "roles",
            sets(
                (file, "mimeType='audio/mp4'"),
                (file, "contentType='text' mimeType='application/mp4'"),
                (file, "mimeType='text/vtt'"), (file, "mimeType='application/ttml+xml'"),
                (file, "mimeType='application/mp4' codecs='stpp.ttml.im1t'"),
                (file, "mimeType='image/jpeg'"), (file, "contentType='image'"), (file, "")),
            "media a 10s", "subtitles a 10s", "subtitles a 10s", "subtitles a 10s",
            "subtitles a 10s", "image a 10s", "image a 10s", "media a 10s"),
        MPDCase(
            "thumbnails and trick modes",
            sets(
                (
                    template("media='$Number$.jpg' duration='10'")
                        + "<Representation id='t' bandwidth='1'><EssentialProperty "
                        + "schemeIdUri='http://dashif.org/guidelines/thumbnail_tile' value='5x4'/>"
                        + "</Representation>", "mimeType='image/jpeg'"
                ),
                (
                    "<EssentialProperty schemeIdUri='http://dashif.org/guidelines/trickmode' "
                        + "value='1'/>"
                        + representation(template("media='i$Number$' duration='10'")),
                    "mimeType='video/mp4'"
                )),
            "image 1.jpg 10s", "media i1 10s"),
        MPDCase(
            "an old namespace",
            document: "<MPD xmlns='urn:mpeg:DASH:schema:MPD:2011'><Period><AdaptationSet>"
                + "<Representation><BaseURL>a</BaseURL></Representation></AdaptationSet></Period></MPD>",
            "media a"),
        MPDCase(
            "a prefix",
            document: "\u{FEFF}<?xml version='1.0' encoding='utf-8'?>\r\n<!-- x --><d:MPD "
                + "xmlns:d='urn:mpeg:dash:schema:mpd:2011'><d:Period><d:AdaptationSet>"
                + "<d:Representation><d:BaseURL>a</d:BaseURL></d:Representation></d:AdaptationSet>"
                + "</d:Period></d:MPD>",
            "media a"),
        MPDCase(
            "no namespace",
            document: "<MPD><Period><AdaptationSet><Representation id='ü'><SegmentTemplate "
                + "media='$RepresentationID$'/></Representation></AdaptationSet></Period></MPD>",
            "media %C3%BC"),
    ]

    /// Snapshots of live titles, 100 seconds after their start.
    static let snapshots = [
        MPDCase(
            "numbers up to now",
            one(template("media='$Number$' duration='30'")), "media 1 30s", "media 2 30s",
            "media 3 30s", attributes: began, live: .snapshot(atSeconds: 100)),
        MPDCase(
            "numbers of the window",
            one(template("media='$Number$' duration='30' startNumber='7'")), "media 8 30s",
            "media 9 30s", attributes: began + " timeShiftBufferDepth='PT1M'",
            live: .snapshot(atSeconds: 100)),
        MPDCase(
            "a timeline as it is",
            timeline("media='$Time$'", "t='1000' d='30'", "d='40'"), "media 1000 30s",
            "media 1030 40s", attributes: began, live: .snapshot(atSeconds: 100)),
        MPDCase(
            "a timeline that continues", timeline("media='$Time$'", "t='0' d='40' r='-1'"),
            "media 0 40s", "media 40 40s", attributes: began, live: .snapshot(atSeconds: 100)),
        MPDCase(
            "a period that is still to come",
            "<Period start='PT0S'><AdaptationSet><Representation>"
                + template("media='a$Number$' duration='50'")
                + "</Representation></AdaptationSet></Period><Period start='PT5M'><AdaptationSet>"
                + "<Representation>" + template("media='b$Number$' duration='50'")
                + "</Representation></AdaptationSet></Period>", "media a1 50s", "media a2 50s",
            attributes: began, live: .snapshot(atSeconds: 100)),
        MPDCase(
            "a time zone", one(template("media='$Number$' duration='50'")), "media 1 50s",
            attributes: "type='dynamic' availabilityStartTime='1970-01-01T01:00:30.5+01:00'",
            live: .snapshot(atSeconds: 100)),
    ]

    private static let began = "type='dynamic' availabilityStartTime='1970-01-01T00:00:00Z'"
}
