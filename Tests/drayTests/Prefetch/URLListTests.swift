import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray prefetch` of lists at URLs, and of what is no list.
    @Suite(.timeLimit(.minutes(2))) struct URLListTests {
        /// An nginx with files and lists, and where its files are to lie.
        private struct Fixture {
            let home: EmbeddedHome
            let source: TemporaryDirectory
            let origin: NginxServer

            init(_ state: EmbeddedHome.State = .ofAnEarlierRun) async throws {
                home = try await EmbeddedHome(.current, state: state)
                source = try TemporaryDirectory("lists")
                for name in ["a", "b", "c"] { try source.write(name, to: "files/\(name).bin") }
                origin = try await NginxServer(root: source.path)
            }

            func url(_ path: String) -> String { "\(origin.url)/\(path)" }

            func sitemap(_ names: [String]) -> String {
                "<urlset>\n"
                    + names.map { "<url><loc>\(url("files/\($0).bin"))</loc></url>\n" }.joined()
                    + "</urlset>\n"
            }

            func index(_ paths: [String]) -> String {
                "<sitemapindex>\n"
                    + paths.map { "<sitemap><loc>\(url($0))</loc></sitemap>\n" }.joined()
                    + "</sitemapindex>\n"
            }

            func isStored(_ name: String) -> Bool {
                FileManager.default.fileExists(
                    atPath: "\(home.edge)/127.0.0.1:\(origin.port)/files/\(name).bin")
            }

            func count(of path: String) -> Int {
                origin.requests().count { $0.target == "/\(path)" }
            }
        }

        @Test func aSitemapIsOfferedAsAListAndReadWithItsFormat() async throws {
            let fixture = try await Fixture()
            try fixture.source.write(fixture.sitemap(["a", "b"]), to: "sitemap.xml")
            let url = fixture.url("sitemap.xml?token=s3cret")
            let offer = try fixture.home.prefetch(url)
            #expect(try await offer.wait() == .exited(0), "\(offer.errors)")
            #expect(
                offer.errors.contains(
                    "/sitemap.xml?… is a list (sitemap), and is fetched as one file; to fetch its "
                        + "entries, add --format sitemap"), "\(offer.errors)")
            #expect(!offer.errors.contains("s3cret"))
            #expect(!fixture.isStored("a"))

            let read = try fixture.home.prefetch(url, ["--format", "sitemap"])
            #expect(try await read.wait() == .exited(0), "\(read.errors)")
            #expect(fixture.isStored("a") && fixture.isStored("b"))
            #expect(try Report(fixture.home.report).total("assets") == 2)
            // What is no list is offered nothing.
            try fixture.source.write("{\"some\": \"data\"}\n", to: "data.json")
            let plain = try fixture.home.prefetch(fixture.url("data.json"))
            #expect(try await plain.wait() == .exited(0) && !plain.errors.contains("--format"))
        }

        @Test func anIndexOfSitemapsIsFollowedOnceEach() async throws {
            let fixture = try await Fixture()
            try fixture.source.write(
                fixture.index(["one.xml", "more.xml", "one.xml"]), to: "index.xml")
            // The inner index leads back to the outer one.
            try fixture.source.write(fixture.index(["index.xml", "two.xml.gz"]), to: "more.xml")
            try fixture.source.write(fixture.sitemap(["a"]), to: "one.xml")
            try fixture.source.write(fixture.sitemap(["b", "a"]), to: "two.xml")
            try await ChildProcess.run(["gzip", fixture.source.path("two.xml")])
            let read = try fixture.home.prefetch(fixture.url("index.xml"), ["--format", "sitemap"])
            #expect(try await read.wait() == .exited(0), "\(read.errors)")
            #expect(fixture.isStored("a") && fixture.isStored("b") && !fixture.isStored("c"))
            for name in ["index.xml", "more.xml", "one.xml", "two.xml.gz"] {
                #expect(fixture.count(of: name) == 1, "\(name)")
            }
            // The same from a file; without requests it is rejected.
            let file = fixture.home.path("index.xml")
            try fixture.index(["one.xml"]).write(toFile: file, atomically: false, encoding: .utf8)
            let local = try fixture.home.prefetch(file, ["--name", "local"])
            #expect(try await local.wait() == .exited(0), "\(local.errors)")
            #expect(try Report(fixture.home.report).total("assets") == 1)
            let check = try fixture.home.start(["catalog", "check", file])
            #expect(try await check.wait() == .exited(2))
            #expect(check.errors.contains("line 1: this is an index of sitemaps"))
            #expect(fixture.count(of: "one.xml") == 2)
        }

        @Test func whatIsWrongWithAListAtAURLNamesTheURLAndTheLine() async throws {
            let fixture = try await Fixture(.none)
            try fixture.source.write(
                fixture.index(["bad.xml"]), to: "index.xml")
            try fixture.source.write(
                "<urlset>\n<url><loc>ftp://h/x</loc></url></urlset>\n", to: "bad.xml")
            try fixture.source.write("\(fixture.url("files/a.bin"))\nnothing\n", to: "bad.txt")
            try fixture.source.write(fixture.index(["2.xml"]), to: "1.xml")
            try fixture.source.write(fixture.index(["3.xml"]), to: "2.xml")
            try fixture.source.write(fixture.index(["4.xml"]), to: "3.xml")
            try fixture.source.write(fixture.index(["5.xml"]), to: "4.xml")
            try fixture.source.write("#EXTM3U\n#EXTINF:4,\na.ts\n", to: "title.m3u8")
            try fixture.source.write("<MPD/>", to: "title.mpd")
            try fixture.source.write("<html><body>no</body></html>", to: "page.xml")
            for (path, format, message) in [
                ("index.xml", "sitemap", "/bad.xml: line 2: field loc: "),
                ("bad.txt", "urls", "/bad.txt: line 2, column 1: "),
                ("1.xml", "sitemap", "/4.xml: line 2: indexes of sitemaps are nested deeper"),
                ("missing.xml", "sitemap", "/missing.xml: status 404"),
                ("page.xml", "sitemap", "/page.xml: an HTML page"),
                ("title.mpd", "sitemap", "this is a DASH manifest (MPD), not a list"),
            ] {
                let read = try fixture.home.prefetch(fixture.url(path), ["--format", format])
                #expect(try await read.wait() == .exited(2), "\(read.errors)")
                #expect(read.errors.contains(message), "\(read.errors)")
            }
            let denied = try fixture.home.prefetch(
                fixture.url("index.xml"),
                ["--format", "sitemap", "--deny-addresses", "127.0.0.0/8"])
            #expect(try await denied.wait() == .exited(2))
            #expect(denied.errors.contains("--allow-addresses 127.0.0.1/32"), "\(denied.errors)")
            #expect(!fixture.isStored("a"))
            #expect(!FileManager.default.fileExists(atPath: fixture.home.path("own/state")))
        }

        @Test func aManifestGivenAsAListIsReportedAsOne() async throws {
            let home = try await EmbeddedHome(.current)
            for (name, text, what) in [
                ("a.m3u8", "#EXTM3U\n#EXTINF:4,\nhttp://h/a.ts\n", "an HLS playlist"),
                ("b.txt", "\n#EXT-X-VERSION:3\nhttp://h/a.ts\n", "an HLS playlist"),
                ("c.mpd", "<?xml version=\"1.0\"?>\n<MPD/>", "a DASH manifest (MPD)"),
            ] {
                let file = home.path(name)
                try text.write(toFile: file, atomically: false, encoding: .utf8)
                let read = try home.prefetch(file)
                #expect(try await read.wait() == .exited(2))
                #expect(
                    read.errors.contains("this is \(what), not a list of assets (input.manifest)"),
                    "\(read.errors)")
                #expect(read.errors.contains("`dray inspect`") && read.errors.contains(file))
            }
        }
    }
}
