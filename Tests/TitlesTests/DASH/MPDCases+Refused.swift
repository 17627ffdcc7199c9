import TestSupport

extension MPDCase {
    private static let many = String(repeating: "<BaseURL>a/</BaseURL>", count: 50)

    /// Rejected MPDs with the failure's code and a part of its message.
    static let refused = [
        MPDCase(
            "live", one("<BaseURL>a</BaseURL>"), "manifest.live", "dynamic",
            attributes: "type='dynamic'"),
        MPDCase(
            "xlink", "<Period xmlns:x='http://www.w3.org/1999/xlink' x:href='http://h/p.xml'/>",
            "manifest.unsupported", "m.mpd line 2: a remote part"),
        MPDCase(
            "xlink of a list",
            one("<SegmentList xmlns:x='http://www.w3.org/1999/xlink' x:href='http://h/p.xml'/>"),
            "manifest.unsupported", "xlink"),
        MPDCase(
            "XInclude",
            "<i:include xmlns:i='http://www.w3.org/2001/XInclude' href='file:///etc/passwd'/>",
            "manifest.unsupported", "XInclude"),
        MPDCase(
            "URL parameters",
            set(
                "<EssentialProperty schemeIdUri='urn:mpeg:dash:urlparam:2014'><u:UrlQueryInfo "
                    + "xmlns:u='urn:mpeg:dash:schema:urlparam:2014' queryTemplate='$querypart$'/>"
                    + "</EssentialProperty>"), "manifest.unsupported", "UrlQueryInfo"),
        MPDCase(
            "an imported MPD", "<Period><ImportedMPD>a.mpd</ImportedMPD></Period>",
            "manifest.unsupported", "ImportedMPD"),
        MPDCase(
            "patterns",
            one(
                template(
                    "media='$Time$'",
                    "<SegmentTimeline><Pattern id='1'><P d='5'/></Pattern></SegmentTimeline>")),
            "manifest.unsupported", "patterns"),
        MPDCase(
            "entities",
            document: "<!DOCTYPE MPD [<!ENTITY a 'b'><!ENTITY c '&a;&a;'>]><MPD>&c;</MPD>",
            "manifest.malformed", "document type declaration"),
        MPDCase(
            "an entity from outside",
            document: "<!DOCTYPE MPD [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><MPD>&a;</MPD>",
            "manifest.malformed", "document type declaration"),
        MPDCase(
            "a NUL byte", document: "<MPD>\n<Period>\0</Period></MPD>", "manifest.malformed",
            "line 2: it has a NUL byte"),
        MPDCase(
            "cut short", document: "<MPD>\n<Period>", "manifest.malformed",
            "line 2: it ends within an element, as if cut short"),
        MPDCase("no MPD", document: "<rss/>", "manifest.malformed", "rss"),
        MPDCase("nothing", document: " \n", "manifest.empty", "empty"),
        MPDCase("a page", document: "<!doctype html><p>404<br>", "manifest.html", "HTML"),
        MPDCase(
            "a file URI", "<BaseURL>file:///etc/</BaseURL>" + one(template("media='passwd'")),
            "manifest.uriRefused", "given file:///etc/"),
        MPDCase(
            "a data URI",
            one(template("media='$Number$' initialization='data:video/mp4;base64,AA'")),
            "manifest.uriRefused", "the representation v of period 1: the URI must start with http"),
        MPDCase(
            "a password", one("<BaseURL>http://a:b@c/</BaseURL>"), "manifest.uriRefused",
            "user name"),
        MPDCase(
            "10^9 segments of a duration",
            one(template("media='$Number$' duration='1' timescale='100000000'")),
            "manifest.tooMany", "the representation v of period 1"),
        MPDCase(
            "10^9 segments of a repeat", timeline("media='$Time$'", "d='1' r='1000000000'"),
            "manifest.tooMany", "2000000 segments"),
        MPDCase(
            "10^18 times 10^18", timeline("media='$Time$'", "d='999999999999999999' r='99'"),
            "manifest.tooMany", "counted"),
        MPDCase(
            "10^18 numbers",
            one(template("media='$Number$' endNumber='999999999999999999'")), "manifest.tooMany",
            "counted"),
        MPDCase(
            "many sequences", timeline("media='$Time$'", "d='1' r='1000' k='10000'"),
            "manifest.tooMany", "2000000 segments"),
        MPDCase(
            "a sequence of many", timeline("media='$Time$'", "d='1' k='10001'"),
            "manifest.malformed", "k is 10001"),
        MPDCase("50 BaseURLs", many + one(""), "manifest.tooMany", "BaseURL"),
        MPDCase(
            "a BaseURL in a BaseURL",
            String(repeating: "<BaseURL>", count: 50) + String(repeating: "</BaseURL>", count: 50),
            "manifest.malformed", "a BaseURL has an element"),
        MPDCase(
            "deep nesting",
            String(repeating: "<a>", count: 100) + String(repeating: "</a>", count: 100),
            "manifest.malformed", "nested"),
        MPDCase(
            "an empty template", one(template("")), "manifest.malformed", "has no media"),
        MPDCase(
            "an unknown identifier", one(template("media='$Foo$'")), "manifest.malformed",
            "$Foo$"),
        MPDCase(
            "a number where there is none",
            one(template("media='$Number$' initialization='$Number$'")), "manifest.malformed",
            "initialization template"),
        MPDCase(
            "an open dollar", one(template("media='a$Number'")), "manifest.malformed", "unclosed $"),
        MPDCase(
            "a width of 10^9", one(template("media='$Number%0999999999d$'")),
            "manifest.malformed", "width"),
        MPDCase(
            "an id that is long for its uses",
            set(
                "<Representation id='\(String(repeating: "a", count: 8_000))'>"
                    + template("media='$RepresentationID$$RepresentationID$'")
                    + "</Representation>"), "manifest.malformed", "8192 bytes"),
        MPDCase(
            "repeats up to nowhere", timeline("media='$Time$'", "d='1' r='-1'"),
            "manifest.malformed", "the period's end", attributes: ""),
        MPDCase(
            "repeats up to an entry without a time",
            timeline("media='$Time$'", "d='1' r='-1'", "d='1'"), "manifest.malformed",
            "no later time"),
        MPDCase(
            "repeats up to an earlier entry",
            timeline("media='$Time$'", "t='5' d='1' r='-1'", "t='5' d='1'"), "manifest.malformed",
            "no later time"),
        MPDCase(
            "a period that nothing ends", one(template("media='$Number$' duration='1'")),
            "manifest.malformed", "its period's length", attributes: ""),
        MPDCase(
            "a period that nothing begins", "<Period id='a'/><Period id='b'/>",
            "manifest.malformed", "the period b has no start"),
        MPDCase(
            "a period that ends before it begins", "<Period start='PT11S'/>",
            "manifest.malformed", "before it begins"),
        MPDCase(
            "an S without a duration", timeline("media='$Time$'", "t='1'"), "manifest.malformed",
            "an S has no duration"),
        MPDCase(
            "a duration of 0", timeline("media='$Time$'", "d='0'"), "manifest.malformed",
            "line 3: d is 0; 1 or more is allowed"),
        MPDCase(
            "a timescale of 0", one(template("timescale='0'")), "manifest.malformed", "timescale"),
        MPDCase(
            "a negative number", one(template("startNumber='-1'")), "manifest.malformed",
            "startNumber is -1"),
        MPDCase(
            "a number of 30 digits",
            one(template("duration='\(String(repeating: "9", count: 30))'")),
            "manifest.malformed", "18 digits"),
        MPDCase(
            "a range that is none", one("<SegmentBase indexRange='9-1'/>"), "manifest.malformed",
            "byte range"),
        MPDCase(
            "a duration that is none", "", "manifest.malformed", "mediaPresentationDuration is 10s",
            attributes: "mediaPresentationDuration='10s'"),
        MPDCase(
            "a duration of 10^12 years", "", "manifest.malformed", "285 years",
            attributes: "mediaPresentationDuration='P1000000000000Y'"),
        MPDCase(
            "addressing after what it is for",
            set(representation("") + template("media='$Number$'")), "manifest.malformed",
            "segment addressing comes after"),
        MPDCase(
            "a list of nothing", one("<SegmentList duration='1'/>"), "manifest.empty",
            "lists no segment"),
        MPDCase(
            "itself", one(""), "manifest.malformed",
            "the representation v of period 1: it names the manifest itself"),
        MPDCase(
            "itself by another way", one(template("media='../d/m.mpd'")), "manifest.malformed",
            "itself"),
        MPDCase(
            "a URL that is too long",
            one("<BaseURL>\(String(repeating: "a", count: 9_000))</BaseURL>"),
            "manifest.malformed", "8192 bytes"),
    ]
}
