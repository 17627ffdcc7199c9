import Lists
import Model
import TestSupport
import Testing
import Titles

/// Golden lists of each format: the detected format, and the assets.
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

    @Test("each is detected by its content and read, however it arrives", arguments: goldens)
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
        // And in the requested format.
        var reader = ListReader(format: golden.format)
        let forced = try reader.feed([UInt8](golden.list.utf8)) + reader.finish()
        #expect(forced.map(Self.shown) == golden.assets)
    }

    @Test("a sitemap says when a page was changed, before or after its URL")
    func lastModifications() throws {
        func url(_ text: String) -> String { "<url>\(text)</url>" }
        func loc(_ name: String) -> String { "<loc>http://h/\(name)</loc>" }
        func changed(_ time: String) -> String { "<lastmod> \(time) </lastmod>" }
        let list = [
            loc("a") + changed("2026-11-22"), changed("2026-11-22T18:00:30.5+01:00") + loc("b"),
            loc("c"), loc("d") + changed("45d"), loc("e") + changed("yesterday"),
            loc("f") + changed("2026-02-30"),
        ].map(url).joined()
        for piece in [1, 1 << 20] {
            let assets = try ListReaderTests.read(
                [UInt8]("<urlset>\(list)</urlset>".utf8), piece: piece
            ).assets
            #expect(
                assets.map(\.modified) == [1_795_305_600, 1_795_366_830, nil, nil, nil, nil])
        }
    }

    @Test("ignored options are reported once")
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
        #expect(
            try notices("url,sha\nhttp://h/1,x\n")
                == ["1: the column sha is ignored; did you mean sha256?"])
        #expect(
            try notices("url,SHA-265\nhttp://h/1,x\n")
                == ["1: the column SHA-265 is ignored; did you mean sha256?"])
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

    @Test(
        "a list is recognised by its start, and a file without assets is not",
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
        "a list in another format than the requested one is rejected",
        arguments: ListFormat.allCases)
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
