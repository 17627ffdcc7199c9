import Lists
import Model
import TestSupport
import Testing
import Titles

/// Golden lists of each form: what they are taken for, and what they come to.
@Suite("Forms of lists") struct ListFormatTests {
    static let sha256 = String(repeating: "0a", count: 32)
    static let md5 = "d41d8cd98f00b204e9800998ecf8427e"

    struct Golden: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let format: ListFormat
        let list: String
        /// `name kind url`, then what else there is: `bytes=`, `sha256=`, digests, `mirror=`.
        let assets: [String]

        init(_ description: String, _ format: ListFormat, _ list: String, _ assets: [String]) {
            testDescription = description
            self.format = format
            self.list = list
            self.assets = assets
        }
    }

    static func shown(_ asset: AssetSubmission) -> String {
        var words = [asset.name, asset.kind.rawValue, asset.url]
        if let bytes = asset.bytes { words.append("bytes=\(bytes)") }
        if let sha256 = asset.sha256 { words.append("sha256=\(sha256)") }
        if let digests = asset.digests { words.append(digests) }
        words += (asset.mirrors ?? []).map { "mirror=\($0)" }
        return words.joined(separator: " ")
    }

    static let goldens = [
        Golden(
            "a URL with commas", .urls, "http://h/w_1,h_2/a.jpg\nhttp://h/b.jpg\n",
            ["h/w_1,h_2/a.jpg file http://h/w_1,h_2/a.jpg", "h/b.jpg file http://h/b.jpg"]),
        Golden(
            "NDJSON", .ndjson,
            """
            {"name": "One", "url": "http://h/1.mpd"}

              {"url": "http://h/2", "bytes": 7, "sha-256": 1}
            """.replacing("\"sha-256\": 1", with: "\"sha256\": \"\(sha256)\"") + "\n\"http://h/3\"",
            [
                "One dash http://h/1.mpd", "h/2 file http://h/2 bytes=7 sha256=\(sha256)",
                "h/3 file http://h/3",
            ]),
        Golden(
            "JSON on one line", .json, #"{"name": "url", "assets": ["http://h/1"]}"#,
            ["h/1 file http://h/1"]),
        Golden(
            "CSV with a header", .csv,
            "Name,URL,Title,size,SHA-256,mirrors\r\n"
                + "\"a, \"\"b\"\"\",http://h/1.m3u8,x,12,\(sha256),\r\n"
                + ",http://h/2.m3u8,\"two\nlines\",,,\r\n"
                + "c,http://h/3,,,,http://m/3 http://n/3",
            [
                "a, \"b\" file http://h/1.m3u8 bytes=12 sha256=\(sha256)",
                "h/2.m3u8 hls http://h/2.m3u8",
                "c file http://h/3 mirror=http://m/3 mirror=http://n/3",
            ]),
        Golden(
            "CSV with one column", .csv, "url\nhttp://h/a,b\n".replacing(",", with: ""),
            [
                "h/ab file http://h/ab"
            ]),
        Golden(
            "rclone's CSV", .csv, "http://h/get?id=1,one.mp4\nhttp://h/x/2,two.mp4\n",
            ["one.mp4 file http://h/get?id=1", "two.mp4 file http://h/x/2"]),
        Golden(
            "rclone's CSV in quotes", .csv, "http://h/1,\"dir/one, two.mp4\"\n",
            ["dir/one, two.mp4 file http://h/1"]),
        Golden(
            "GSTS", .gsts,
            "TsvHttpData-1.0\nhttp://h/1\t12\t1B2M2Y8AsgTpgAmY7PhCfg==\nhttp://h/2\t0\n"
                + "http://h/3.m3u8\r\nhttp://h/4\t0\t1B2M2Y8AsgTpgAmY7PhCfg==\n",
            [
                "h/1 file http://h/1 bytes=12 md5=\(md5)", "h/2 file http://h/2",
                "h/3.m3u8 hls http://h/3.m3u8", "h/4 file http://h/4 md5=\(md5)",
            ]),
        Golden(
            "aria2", .aria2,
            "# comment\nhttp://h/1\thttp://m/1\tftp://n/1\n  out=one.bin\n  split=5\n"
                + "  checksum=sha-256=\(sha256)\nhttp://h/2.m3u8\n dir=/srv/x\nhttp://h/d/3?a=1\n"
                + "\tout=3\n\tdir=d/\nhttp://h/4\n  http://h/5\n",
            [
                "one.bin file http://h/1 sha256=\(sha256) mirror=http://m/1",
                "/srv/x/2.m3u8 hls http://h/2.m3u8", "d/3 file http://h/d/3?a=1",
                "h/4 file http://h/4", "h/5 file http://h/5",
            ]),
        Golden(
            "Metalink", .metalink,
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <metalink xmlns="urn:ietf:params:xml:ns:metalink">
              <published>2026-01-01T00:00:00Z</published>
              <file name="dir/one.bin">
                <size> 14 </size>
                <hash type="sha-256">\(sha256)</hash>
                <hash type="md5">\(md5)</hash>
                <hash type="sha-384">00</hash>
                <pieces length="4" type="sha-1"><hash>zz</hash></pieces>
                <url location="de" priority="2">http://m/1?a=1&amp;b=2</url>
                <url>http://n/1</url>
                <url priority="1"><![CDATA[http://h/1]]></url>
                <url priority="1">ftp://h/1</url>
                <metaurl mediatype="torrent">http://h/1.torrent</metaurl>
              </file>
              <file name="two"><url>http://h/2.m3u8</url></file>
            </metalink>
            """,
            [
                "dir/one.bin file http://h/1 bytes=14 sha256=\(sha256) md5=\(md5) "
                    + "mirror=http://m/1?a=1&b=2 mirror=http://n/1",
                "two file http://h/2.m3u8",
            ]),
        Golden(
            "a sitemap", .sitemap,
            """
            <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
                xmlns:i="http://www.google.com/schemas/sitemap-image/1.1"
                xmlns:v="http://www.google.com/schemas/sitemap-video/1.1">
              <url><loc>
                http://h/page.html </loc><lastmod>2026-01-01</lastmod>
                <i:image><i:loc>http://h/1.jpg</i:loc><i:caption>http://h/no</i:caption></i:image>
                <v:video><v:thumbnail_loc>http://h/2.jpg</v:thumbnail_loc>
                  <v:title>x</v:title><v:content_loc>http://h/3.m3u8</v:content_loc>
                  <v:player_loc>http://h/no</v:player_loc></v:video>
              </url>
              <url><loc>http://h/b</loc></url>
            </urlset>
            """,
            [
                "h/page.html file http://h/page.html", "h/1.jpg file http://h/1.jpg",
                "h/2.jpg file http://h/2.jpg", "h/3.m3u8 hls http://h/3.m3u8",
                "h/b file http://h/b",
            ]),
    ]

    @Test("each is told by its content and read, however it arrives", arguments: goldens)
    func golden(golden: Golden) throws {
        for (piece, mark) in [(1, ""), (7, "\u{FEFF}"), (1 << 20, "\u{FEFF}")] {
            let (assets, reader) = try ListReaderTests.read(
                [UInt8]((mark + golden.list).utf8), piece: piece)
            #expect(reader.format == golden.format)
            #expect(assets.map(Self.shown) == golden.assets)
            #expect(reader.counts.assets == golden.assets.count)
        }
        // CRLF in its place.
        let crlf = golden.list.replacing("\r\n", with: "\n").replacing("\n", with: "\r\n")
        let assets = try ListReaderTests.read(crlf)
        #expect(assets.map { Self.shown($0).replacing("\r\n", with: "\n") } == golden.assets)
        // And the form that is asked for.
        var reader = ListReader(format: golden.format)
        let forced = try reader.feed([UInt8](golden.list.utf8)) + reader.finish()
        #expect(forced.map(Self.shown) == golden.assets)
    }

    @Test("what is ignored is told once")
    func notices() throws {
        let notices = { (list: String) throws in
            try ListReaderTests.read([UInt8](list.utf8)).reader.notices.map {
                "\($0.line): \($0.message)"
            }
        }
        #expect(
            try notices("http://h/1\n split=1\n gid=2\nhttp://h/2\n split=3\n")
                == ["2: the option split is ignored", "3: the option gid is ignored"])
        #expect(
            try notices("url,title\nhttp://h/1,x\n") == ["1: the column title is ignored"])
        let nine = (1...9).map { "http://m/\($0)" }.joined(separator: "\t")
        #expect(try notices(nine) == ["1: mirrors beyond 7 are ignored"])
        let urls = (1...9).map { "<url>http://m/\($0)</url>" }.joined()
        #expect(
            try notices(
                "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>\n<file name='a'>"
                    + "<hash type='crc64'>1</hash>\(urls)</file></metalink>")
                == [
                    "2: hashes of type crc64 are not checked",
                    "2: URLs of a file beyond 8 are ignored",
                ])
    }

    // MARK: What is wrong with a list

    private static let metalink = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>\n"

    @Test(
        "what is wrong is named with its line and field",
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
            ("\"http://h/1\",a,b\n", "input.field", "line 1: no column is named url"),
            ("TsvHttpData-2.0\nhttp://h/1\n", "input.malformed", "line 1, column 1: given \"Tsv"),
            (
                "TsvHttpData-1.0\nhttp://h/1\tx\n", "input.field",
                "line 2: field length: given \"x\""
            ),
            (
                "TsvHttpData-1.0\nhttp://h/1\t1\t\(md5)\n", "input.field",
                "line 2: field MD5: given \"\(md5)\", allowed 16 bytes in base64"
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

    @Test("manifests are no lists, unless their lines are to be read as URLs")
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

    @Test("an index hands out its sitemaps, and documents make up one list")
    func indexes() throws {
        var reader = ListReader(format: .sitemap, followsIndexes: true)
        let index =
            "<sitemapindex>\n<sitemap><loc>http://h/1.xml</loc><lastmod>x</lastmod></sitemap>\n"
            + "<sitemap/>\n<sitemap><loc> http://h/2 </loc></sitemap></sitemapindex>"
        reader.document = "first"
        #expect(try reader.feed([UInt8](index.utf8)).isEmpty)
        #expect(try reader.finishDocument().isEmpty)
        let sitemaps = reader.takeSitemaps()
        #expect(sitemaps.map(\.url) == ["http://h/1.xml", "http://h/2"])
        #expect(sitemaps.map(\.line) == [2, 4])
        #expect(reader.takeSitemaps().isEmpty)
        #expect(reader.notices.map(\.document) == ["first"] && reader.notices.map(\.line) == [3])
        var assets: [AssetSubmission] = []
        for text in [
            "<urlset><url><loc>http://h/a</loc></url></urlset>", "", "http://h/b\nhttp://h/a",
        ] {
            if !text.isEmpty { assets += try reader.feed([UInt8](text.utf8)) }
            assets += try reader.finishDocument()
        }
        assets += try reader.finish()
        #expect(assets.map(\.url) == ["http://h/a", "http://h/b", "http://h/a"])
        #expect(reader.counts.assets == 2 && reader.counts.repeats == 1)
        var wrong = ListReader(followsIndexes: true)
        #expect(throws: Failure.self) {
            try wrong.feed(
                [UInt8]("<sitemapindex><sitemap><loc>file:///x</loc></sitemap></sitemapindex>".utf8)
            )
        }
    }

    @Test("sitemaps that indexes name are bounded")
    func manySitemaps() {
        var reader = ListReader(followsIndexes: true)
        let one = "<sitemap><loc>http://h/1</loc></sitemap>\n"
        let list = "<sitemapindex>" + String(repeating: one, count: ListReader.sitemaps + 1)
        do throws(Failure) {
            _ = try reader.feed([UInt8](list.utf8))
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.code == "input.tooLarge")
            #expect(error.message.hasPrefix("line \(ListReader.sitemaps + 1): "))
        }
    }

    @Test(
        "a list is recognised by its start, and what names no asset is not",
        arguments: [
            ("<urlset><url><loc>http://h/a</loc></url><url><lo", false, ListFormat.sitemap),
            ("<sitemapindex><sitemap><loc>http://h/a</loc></sitemap>", false, .sitemap),
            ("http://h/a\nhttp://h/b\nhttp://h", false, .urls), ("http://h/a", true, .urls),
            ("http://h/a\thttp://i/a\nhttp://h/b\n", true, .aria2),
            ("url,name\nhttp://h/a,b\nhttp://h/b,c", false, .csv),
            ("[\"http://h/a\", \"http", false, .json),
            ("{\"url\": \"http://h/a\"}\n", true, .ndjson),
            ("<rss/>", true, nil), ("{\"a\": 1}", true, nil), ("some text\n", true, nil),
            ("#EXTM3U\n#EXTINF:4,\nhttp://h/a.ts\n", true, nil), ("", true, nil),
            ("see\nhttp://h/a\n", true, nil), ("[1, 2]", true, nil), ("\u{0}\u{1}", true, nil),
        ] as [(String, Bool, ListFormat?)])
    func recognised(start: String, isWhole: Bool, format: ListFormat?) {
        #expect(ListFormat(start: [UInt8](start.utf8), isWhole: isWhole) == format)
    }

    @Test(
        "what is no manifest is named",
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

    @Test("XML that is no list has no form, and entries that name nothing are told of")
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

    @Test("a list of another form than was asked for is refused", arguments: ListFormat.allCases)
    func otherForm(format: ListFormat) throws {
        for golden in Self.goldens {
            var reader = ListReader(format: format)
            let isRead =
                (try? reader.feed([UInt8](golden.list.utf8)) + reader.finish())
                .map { $0.map(Self.shown) == golden.assets } ?? false
            // A plain list is aria2's as well.
            let isOwn = golden.format == format || golden.format == .urls && format == .aria2
            #expect(isRead == isOwn, "\(golden.testDescription)")
        }
    }
}
