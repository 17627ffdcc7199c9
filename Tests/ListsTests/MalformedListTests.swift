import Lists
import Model
import TestSupport
import Testing
import Titles

@Suite("Malformed lists") struct MalformedListTests {
    private static let metalink = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>\n"

    @Test(
        "mistakes are reported with their line and field",
        arguments: [
            (
                "{\"url\": \"http://h/1\"}\n{\"url\": 7}\n", "input.field",
                "line 2, column 9: field url:"
            ),
            ("{\"url\": \"http://h/1\"}\n{\"url\": \"\n", "input.malformed", "line 2, column 9"),
            ("{\"url\": \"http://h/1\"}\n7\n", "input.field", "line 2, column 1: field (the line)"),
            (
                "url,md5\nhttp://h/1,00\n", "input.field",
                "line 2: field md5: given \"00\", allowed 32"
            ),
            ("url,name\nhttp://h/1\n", "input.malformed", "line 2: given 1 fields, allowed 2"),
            ("url,name\n,x\n", "input.field", "line 2: field url: is missing"),
            ("url,url\n", "input.field", "line 1: field url: given \"url\", allowed one column"),
            ("url,kind\nhttp://h/1,movie\n", "input.field", "line 2: field kind: given \"movie\""),
            (
                "url,kind,bytes\nhttp://h/1,hls,3\n", "input.field",
                "line 2: field kind: a length, a digest or mirrors are given too"
            ),
            ("url,bytes\nhttp://h/1,-3\n", "input.field", "line 2: field bytes: given \"-3\""),
            (
                "url,bytes\nhttp://h/1,99999999999999999999\n", "input.field",
                "line 2: field bytes: given"
            ),
            ("url,name\n\"http://h/1,x\n", "input.malformed", "line 2: a quote is not closed"),
            (
                "url,name\n\nhttp://h/1,\"x\ny\"z\n", "input.malformed",
                "line 4, column 3: expected a comma"
            ),
            ("url,name\nhttp://h/1,x\"y\"\n", "input.malformed", "line 2, column 13: a quote"),
            (
                "url,mirrors\nhttp://h/1,ftp://h/1\n", "input.url",
                "line 2: field mirrors: must start"
            ),
            (
                "\"http://h/1\",a,b\n", "input.field",
                "line 1: this looks like CSV, and no column is named url"
            ),
            (
                "link,size\nhttp://h/1,3\n", "input.field",
                "line 1: this looks like CSV, and no column is named url"
            ),
            ("TsvHttpData-2.0\nhttp://h/1\n", "input.malformed", "line 1, column 1: given \"Tsv"),
            (
                "TsvHttpData-1.0\nhttp://h/1\tx\n", "input.field",
                "line 2: field length: given \"x\""
            ),
            (
                "TsvHttpData-1.0\nhttp://h/1\t1\t\(ListFormatTests.md5)\n", "input.field",
                "line 2: field MD5: given \"\(ListFormatTests.md5)\", allowed 16 bytes in base64"
            ),
            (
                "TsvHttpData-1.0\nhttp://h/1\t1\t1B2M2Y8AsgTpgAmY7PhCfg==\tx\n", "input.malformed",
                "line 2: more than 3 fields"
            ),
            ("TsvHttpData-1.0\n\tx\n", "input.url", "line 2: field URL:"),
            (
                "http://h/1\n  checksum=sha-256=00\n", "input.field",
                "line 2: field checksum: given \"sha-256=00\", allowed 64 hex digits"
            ),
            (
                "http://h/1\n  checksum=adler32=00000000\n", "input.field",
                "line 2: field checksum: given \"adler32=00000000\", allowed TYPE=DIGEST"
            ),
            (
                "http://h/1\n  header=Authorization: Bearer secret\n", "input.field",
                "line 2: field header: requests are the same for all of an origin"
            ),
            ("  out=x\nhttp://h/1\n", "input.malformed", "line 1: the option out comes before"),
            ("http://h/1\n\tout=\n", "input.field", "line 2: field out: given \"\""),
            (
                "http://h/1\thttp://u:secret@h/2\n", "input.url",
                "line 1, column 19: the URL must not"
            ),
            ("ftp://h/1\tmagnet:?x\n", "input.url", "line 1, column 1"),
            (
                "http://h/1\n out=x\nhttp://h/2\n out=x\n", "input.duplicate",
                "line 3: field name: repeats the name of line 1"
            ),
            (metalink + "<file name='a'><url>http://h/1</url>", "input.malformed", "line 2"),
            (
                metalink + "<file name='../a'><url>http://h/1</url></file></metalink>",
                "input.field", "line 2: field name: given \"../a\""
            ),
            (
                metalink + "<file name='/a'><url>http://h/1</url></file></metalink>",
                "input.field", "line 2: field name: given \"/a\""
            ),
            (
                metalink + "<file><url>http://h/1</url></file></metalink>", "input.field",
                "line 2: field name: given \"\""
            ),
            (
                metalink + "<file name='a'/></metalink>", "input.field",
                "line 2: field url: is missing"
            ),
            (
                metalink + "<file name='a'><url>ftp://h/1</url></file></metalink>", "input.url",
                "line 2: field url: none is http or https"
            ),
            (
                metalink + "<file name='a'>\n<url priority='0'>http://h/1</url></file></metalink>",
                "input.field", "line 3: field priority: given \"0\""
            ),
            (
                metalink + "<file name='a'><size>1e3</size></file></metalink>", "input.field",
                "line 2: field size: given \"1e3\""
            ),
            (
                metalink + "<file name='a'><hash type='md5'>zz</hash></file></metalink>",
                "input.field", "line 2: field hash of type md5: given \"zz\", allowed 32 hex"
            ),
            (
                "<metalink version='3.0' xmlns='http://www.metalinker.org/'/>", "input.malformed",
                "line 1: a Metalink of the namespace \"http://www.metalinker.org/\", allowed"
            ),
            (
                "<urlset>\n<url><loc>http://h/a</loc></url>\n<url>", "input.malformed",
                "line 3: it ends within an element"
            ),
            ("<urlset>\n<url><lo", "input.malformed", "line 2: it ends within an element"),
            ("<urlset/>\n<urlset/>", "input.malformed", "line 2: Extra content"),
            ("<sitemapindex/>", "input.malformed", "line 1: this is an index of sitemaps"),
            ("<html><a href='x'/></html>", "input.malformed", "line 1: this is HTML"),
            (
                "<urlset>\n<url><loc>file:///etc/passwd</loc></url></urlset>", "input.url",
                "line 2: field loc: must start"
            ),
            (
                "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>&x;</loc>"
                    + "</url></urlset>", "input.malformed",
                "line 1: this is HTML, or unsupported XML"
            ),
            ("<urlset></urlset>", "input.empty", "line 1, column 1"),
            ("TsvHttpData-1.0\n", "input.empty", "line 1, column 1"),
            ("url,name\n", "input.empty", "line 1, column 1"),
        ] as [(String, FailureCode, String)])
    func bad(list: String, code: FailureCode, message: String) {
        for piece in [3, 1 << 16] {
            let failure = ListReaderTests.failure(list, piece: piece)
            #expect(failure?.code == code, "\(failure?.message ?? "")")
            #expect(failure?.message.hasPrefix(message) == true, "\(failure?.message ?? "")")
            #expect(failure?.message.contains("secret") != true)
        }
    }

    @Test("manifests are no lists, unless their lines are read as URLs")
    func manifests() throws {
        let playlist = "#EXTM3U\n#EXTINF:4,\nhttp://h/a.ts\n"
        for (list, message) in [
            (playlist, "line 1: this is an HLS playlist, not a list of assets"),
            (
                "\u{FEFF}\n #EXTINF:4,\na.ts",
                "line 1: this is an HLS playlist, not a list of assets"
            ),
            (
                "<?xml version='1.0'?>\n<MPD/>",
                "line 2: this is a DASH manifest (MPD), not a list of assets"
            ),
        ] {
            for piece in [1, 5, 1 << 16] {
                let failure = ListReaderTests.failure(list, piece: piece)
                #expect(failure?.code == "input.manifest")
                #expect(failure?.message == message)
            }
        }
        #expect(try ListReaderTests.read("#EXT is a comment\nhttp://h/a.ts").count == 1)
        var reader = ListReader(format: .urls)
        var assets = try reader.feed([UInt8](playlist.utf8))
        assets += try reader.finish()
        #expect(assets.map(\.url) == ["http://h/a.ts"])
    }

    @Test(
        "files that are no manifest are named",
        arguments: [
            ("\u{0}\u{0}\u{0}\u{18}ftypisom\u{0}\u{0}\u{0}\u{0}", "an MP4 file"),
            ("WEBVTT\n", "subtitles (WebVTT)"), ("ID3\u{4}", "an audio file"),
            ("<urlset><url><loc>http://h/a</loc></url></urlset>", "a list of assets (sitemap)"),
            ("some text", "a text file"), ("\u{0}\u{1}\u{2}\u{3}\u{4}", "a binary file"),
            ("#EXTM3U\n", nil), ("# a comment\n#EXTINF:4,\na.ts", nil), ("<MPD/>", nil),
            ("<html/>", nil), ("", nil),
        ] as [(String, String?)])
    func plainFiles(start: String, name: String?) {
        #expect(ManifestForm.plainFile([UInt8](start.utf8), isWhole: true) == name)
    }

    @Test("XML that is no list has no format, and empty entries are reported")
    func nameless() throws {
        for list in ["<sitemapindex/>", "<rss/>", "<!doctype html><p>"] {
            var reader = ListReader()
            #expect(throws: Failure.self) {
                _ = try reader.feed([UInt8](list.utf8))
                _ = try reader.finish()
            }
            #expect(reader.format == nil)
        }
        let (assets, reader) = try ListReaderTests.read(
            [UInt8](
                "<urlset><url><loc>http://h/a</loc></url>\n<url/>\n<url><lastmod/></url></urlset>"
                    .utf8
            ), piece: 5)
        #expect(assets.count == 1)
        #expect(reader.notices.map(\.line) == [2, 3])
        #expect(reader.notices.first?.message == "a url without a loc is skipped")
    }
}
