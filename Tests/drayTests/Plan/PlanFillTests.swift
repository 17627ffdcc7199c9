import Foundation
import Statistics
import TestSupport
import Testing

/// `dray plan fill` as a user runs it.
@Suite(.timeLimit(.minutes(3))) struct PlanFillTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("plan-fill") }

    private func dray(_ words: [String]) async throws -> (code: Int32, out: String, err: String) {
        let process = try DrayProcess.start(words)
        guard case .exited(let code) = try await process.wait() else { return (-1, "", "") }
        return (code, process.output, process.errors)
    }

    private func fill(_ words: [String]) async throws -> [String: Any] {
        let (code, out, err) = try await dray(["plan", "fill"] + words + ["--json"])
        #expect(code == 0, "\(err)")
        return try #require(
            JSONSerialization.jsonObject(with: Data(out.utf8)) as? [String: Any])
    }

    private func file(_ name: String, _ text: String) throws -> String {
        let path = directory.path(name)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    /// A day's requests of an edge: a title's playlists and segments, and files, the first ones most
    /// often.
    private static func log(day: Int, seed: UInt64) -> String {
        var random = SeededRandom(seed: seed)
        return (0..<400).map { index in
            let title = Int(40 * random.uniform() * random.uniform())
            let path =
                index.isMultiple(of: 2)
                ? "o.example/f/\(title).mp4"
                : "o.example/t/\(title)/\(index % 4 == 1 ? "master.m3u8" : "v/\(index % 3).ts")"
            let bytes = index % 4 == 1 ? 500 : 1_000_000
            return "h - - [\(day < 10 ? "0" : "")\(day)/Oct/2026:12:00:00 +0000] "
                + "\"GET /\(path) HTTP/1.1\" 200 \(bytes) \"-\" \"-\"\n"
        }.joined()
    }

    @Test func aPlanFromLogsIsWrittenAndChecked() async throws {
        let log = try file("access.log", (1...6).map { Self.log(day: $0, seed: 4) }.joined())
        let out = directory.path("plan")
        let answer = try await fill([
            "--site", "edge-1=20MB", "--log", log, "--out", out, "--window", "6h", "--bandwidth",
            "8kbit/s",
        ])
        let site = try #require((answer["sites"] as? [[String: Any]])?.first)
        #expect(site["basis"] as? String == "logs" && site["testedFills"] as? Int == 3)
        #expect(site["bytes"] as? Double ?? 1e9 <= 20e6)
        // 8 kbit/s for six hours are 21.6 MB.
        #expect((site["nights"] as? [Any])?.count == 1)
        let ratio = try #require(site["byteHitRatio"] as? [String: Double])
        // Each day has the same requests, so the range is narrow.
        #expect(try #require(ratio["high"]) - #require(ratio["low"]) < 0.05)

        // What the origin sends: misses, and what the fill fetches, which is little if nothing changes.
        func bytes(_ name: String) throws -> Double { try #require(site[name] as? Double) }
        let (wanted, fetched) = (try bytes("wantedBytes"), try bytes("fillBytes"))
        #expect(abs(wanted - 300_050_000) < 1 && fetched < 5_000_000)
        let missed = (1 - (try #require(ratio["likely"]))) * wanted
        #expect(abs(try bytes("originBytes") - missed - fetched) < 1_000)
        let saved = try bytes("savedBytes")
        #expect(abs(saved - (wanted - (try bytes("originBytes")))) < 1 && saved > 0)
        let (shown, summary, _) = try await dray([
            "plan", "fill", "--site", "edge-1=20MB", "--log", log,
        ])
        #expect(shown == 0 && summary.contains("Saved at the origin"), "\(summary)")

        let list = "\(out)/edge-1.ndjson"
        let lines = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == site["titles"] as? Int)
        #expect(lines.contains { $0.contains("\"url\":\"https://o.example/t/0/master.m3u8\"") })
        let (code, text, _) = try await dray(["catalog", "check", list])
        #expect(code == 0 && text.contains("assets       \(lines.count)"), "\(text)")

        // The next day is the same.
        let next = try file("next.log", Self.log(day: 7, seed: 4))
        let check = try await fill(["--plan", out, "--check", next])
        let checked = try #require((check["sites"] as? [[String: Any]])?.first)
        let figure = try #require(checked["byteHitRatio"] as? [String: Any])
        #expect(abs(try #require(figure["errorPoints"] as? Double)) < 2)
        let (ok, table, _) = try await dray([
            "plan", "fill", "--plan", out, "--check", "edge-1=\(next)",
        ])
        #expect(
            ok == 0 && table.contains(/Most missed +Requests +Bytes/)
                && table.contains("in the range"))
        #expect(table.contains("predicted − log") && table.contains(" points"))
    }

    /// Titles that were missed have the names of LIST; without it a file is named, not its folder.
    @Test func missedTitlesAreNamed() async throws {
        func requests(_ day: Int) -> String {
            [
                ("f/a.mp4", 9_000), ("f/b.mp4", 700), ("t/c/v/1.ts", 500), ("t/c/v/2.ts", 300),
                ("t/c/master.m3u8", 10),
            ]
            .map { path, bytes in
                "h - - [0\(day)/Oct/2026:12:00:00 +0000] \"GET /o.example/\(path) HTTP/1.1\" "
                    + "200 \(bytes)\n"
            }.joined()
        }
        let list = try file(
            "list.ndjson",
            #"{"url":"https://o.example/f/a.mp4","name":"A","bytes":9000}"# + "\n"
                + #"{"url":"https://o.example/f/b.mp4","name":"B","bytes":700}"# + "\n"
                + #"{"url":"https://o.example/t/c/master.m3u8","name":"C","kind":"hls"}"#
                + "\n")
        let out = directory.path("plan")
        // A alone fits.
        _ = try await fill([
            list, "--site", "s=9.1kB", "--log", try file("1.log", requests(1)), "--out", out,
        ])
        let next = try file("2.log", requests(2))
        func missed(_ words: [String]) async throws -> [String] {
            let check = try await fill(words + ["--plan", out, "--check", next])
            let site = try #require((check["sites"] as? [[String: Any]])?.first)
            return try #require(site["mostMissed"] as? [[String: Any]]).compactMap {
                $0["title"] as? String
            }
        }
        #expect(try await missed([list]) == ["C", "B"])
        #expect(
            try await missed([]) == ["o.example/t/c/master.m3u8", "o.example/f/b.mp4"])
    }

    /// A line of a CDN's log, whose paths are below an origin's URL.
    private static func line(_ path: String, day: Int) -> String {
        "h - - [0\(day)/Oct/2026:12:00:00 +0000] \"GET \(path) HTTP/1.1\" 200 1000 \"-\" \"-\"\n"
    }

    /// The check reads logs as the plan did; options replace that.
    @Test func aPlanKeepsHowItsLogsAreRead() async throws {
        let paths = ["/vod/t0/master.m3u8", "/vod/t0/1.ts", "/vod/t1/master.m3u8"]
        let log = try file("cdn.log", paths.map { Self.line("/media\($0)", day: 1) }.joined())
        let out = directory.path("plan")
        _ = try await fill([
            "--site", "s=1GB", "--log", log, "--origin", "http://o.example:8080/x/",
            "--prefix", "/media", "--out", out,
        ])
        let plan = try String(contentsOfFile: "\(out)/plan.json", encoding: .utf8)
        #expect(plan.contains("\"origin\" : \"http://o.example:8080/x/\""))
        #expect(plan.contains("\"prefix\" : \"/media\""))
        let list = try String(contentsOfFile: "\(out)/s.ndjson", encoding: .utf8)
        #expect(list.contains("\"url\":\"http://o.example:8080/x/vod/t0/master.m3u8\""))
        let next = try file("next.log", paths.map { Self.line("/media\($0)", day: 2) }.joined())
        func ratio(_ words: [String]) async throws -> Double? {
            let check = try await fill(["--plan", out, "--check"] + words)
            let site = try #require((check["sites"] as? [[String: Any]])?.first)
            return (site["hitRatio"] as? [String: Any])?["measured"] as? Double
        }
        #expect(try await ratio([next]) == 1)
        // The log of an edge.
        let edge = try file(
            "edge.log", paths.map { Self.line("/o.example:8080/x\($0)", day: 2) }.joined())
        #expect(try await ratio([edge, "--prefix", "/"]) == 1)
        let (code, _, err) = try await dray([
            "plan", "fill", "--plan", out, "--check", next, "--prefix", "/",
        ])
        #expect(code == 2 && err.contains("no request of s is of a title of its plan"), "\(err)")
        #expect(err.contains("Use --origin URL"))
    }

    /// Paths that begin with no host would make URLs of no host.
    @Test func pathsWithoutAHostAreRefused() async throws {
        let log = try file(
            "access.log",
            Self.line("/vod/t0/master.m3u8", day: 1) + Self.line("/vod/t0/1.ts", day: 1))
        let out = directory.path("refused")
        let words = ["plan", "fill", "--site", "s=1GB", "--log", log]
        let (code, _, err) = try await dray(words + ["--out", out])
        #expect(code == 2 && err.contains("'vod/t0/master.m3u8'"), "\(err)")
        #expect(err.contains("--origin URL") && err.contains("--prefix PATH"))
        let list = try file("other.txt", "https://o.example/t0/master.m3u8\n")
        let (other, _, message) = try await dray(words + [list])
        #expect(other == 2 && message.contains("none of the 2 requests"), "\(message)")
    }

    /// Lines of a proxy, whose requests are whole URLs, of other methods, or of before --since.
    @Test(
        arguments: [
            ("GET http://o.example/a.mp4", [], "GET of a file below /: 1 other line, 0 lines"),
            ("GET /o.example/a.mp4", ["--prefix", "/m/"], "GET of a file below /m/: 1 other"),
            ("POST /o.example/a.mp4", [], "Use --origin URL for logs of the origin or a CDN"),
            (
                "GET /o.example/a.mp4", ["--since", "2026-12-01T00:00Z"],
                "below / since --since: 1 other line, 0 lines of an unknown format"
            ),
        ] as [(String, [String], String)])
    func logsWithoutARequestAreNamed(
        request: String, words: [String], says: String
    ) async throws {
        let log = try file(
            "a.log",
            "h - - [01/Oct/2026:12:00:00 +0000] \"\(request) HTTP/1.1\" 200 5 \"-\" \"-\"\n")
        let list = try file("list.txt", "https://o.example/a.mp4\n")
        for titles in [[], [list, "--title-size", "5kB"]] {
            let (code, out, err) = try await dray(
                ["plan", "fill"] + titles + ["--log", log, "--site", "s=1MB"] + words)
            #expect(code == 2 && out.isEmpty)
            #expect(err.contains(says), "\(err)")
        }
    }

    @Test func sitesHaveLogsOfTheirOwnOrShareThem() async throws {
        func line(_ name: String) -> String {
            "h - - [01/Oct/2026:12:00:00 +0000] \"GET /o.example/\(name) HTTP/1.1\" 200 1000\n"
        }
        let (one, two) = (try file("1.log", line("a.mp4")), try file("2.log", line("b.mp4")))
        let answer = try await fill([
            "--site", "one=1kB", "--site", "two=1.1kB", "--site", "three=1.1kB", "--log",
            "one=\(one)", "--log", two,
        ])
        let sites = try #require(answer["sites"] as? [[String: Any]])
        func first(_ index: Int) -> String? {
            (sites[index]["first"] as? [[String: Any]])?.first?["name"] as? String
        }
        // The size of an answer is known to seven digits, rounded up: it does not fit into 1 kB.
        #expect(first(0) == nil && first(1) == "o.example/b.mp4" && first(2) == "o.example/b.mp4")
        #expect(sites[0]["basis"] as? String == "shortLogs")
    }

    @Test func aListKeepsWhatItSays() async throws {
        let entry =
            #"{"url":"https://o.example/a.mp4","name":"A","kind":"file","bytes":1000,"md5":"# + "\""
            + String(repeating: "a", count: 32) + "\""
            + #","sidecars":[{"url":"https://o.example/a.jpg","required":false}],"#
            + #""expiresAt":"2031-01-01T00:00:00Z","keepFor":"36h","maxSites":2,"#
            + #""maxFetches":{"count":3,"period":"30d"},"title":"T"}"#
        let list = try file("list.ndjson", entry + "\n")
        let titles = try file(
            "titles.csv", "url,views\nhttps://o.example/a.mp4,10\nhttps://o.example/b.mp4,90\n")
        let out = directory.path("kept")
        let answer = try await fill([
            list, "--titles", titles, "--site", "s=2kB", "--out", out,
        ])
        let site = try #require((answer["sites"] as? [[String: Any]])?.first)
        #expect(site["titlesWithoutSize"] as? Int == 1)
        let written = try String(contentsOfFile: "\(out)/s.ndjson", encoding: .utf8)
        func parsed(_ text: String) throws -> NSDictionary {
            try #require(
                JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
        }
        #expect(try parsed(written) == parsed(entry))
    }

    @Test func numbersAloneMakeAPlan() async throws {
        let words = [
            "plan", "fill", "--zipf", "0.7:0.8:1", "--count", "1000", "--title-size", "2GB",
            "--site", "s=200GB", "--window", "6h", "--bandwidth", "100Mbit/s",
        ]
        let (code, text, err) = try await dray(words)
        #expect(code == 0, "\(err)")
        #expect(text.contains("Windows until it is full") && text.contains("new titles will lower"))
        let (done, none, _) = try await dray([
            "plan", "fill", "--zipf", "1", "--count", "5", "--title-size", "1MB", "--site", "s=1kB",
        ])
        #expect(done == 0 && none.contains("No wanted title fits into the storage"), "\(none)")
        // Requests per day are not known.
        #expect(!text.contains("Saved at the origin"))
        // In the units of --site.
        #expect(text.contains("200 GB of 200 GB"), "\(text)")
        #expect(text.contains("Hit ratio, by bytes") && text.contains(" to "))
    }

    @Test(arguments: [
        ([], "--site is missing"), (["--site", "a"], "--site is 'a'"),
        (["--site", "../x=1GB"], "--site is '../x=1GB'"),
        (["--site", "a=1GB", "--site", "a=2GB"], "--site a is given twice"),
        (["--site", "a=1GB"], "there are no titles to plan"),
        (["--site", "a=1GB", "--zipf", "x"], "--zipf is 'x'"),
        (["--site", "a=1GB", "--window", "6h"], "--window needs --bandwidth"),
        (["--site", "a=1GB", "--count", "5"], "--count needs --zipf and --title-size"),
        (
            [
                "--site", "a=1GB", "--count", "5", "--zipf", "1", "--title-size", "1MB", "--out",
                "/tmp/none",
            ], "--count and --out cannot be combined"
        ),
        (["--site", "a=1GB", "--log", "-"], "stdin can be read only once"),
        (["--site", "a=1GB", "--log", "missing"], "missing: No such file"),
        (["--check", "x"], "--check needs --plan"), (["--plan", "x"], "--plan needs --check"),
        (["--plan", "missing", "--check", "x"], "missing/plan.json: No such file"),
        (["--plan", "x", "--check", "x", "--log", "x"], "--check and --log cannot be combined"),
    ])
    func badUsageIsNamed(words: [String], says: String) async throws {
        let (code, out, err) = try await dray(["plan", "fill"] + words)
        #expect(code == 2)
        #expect(err.contains(says), "\(err)")
        #expect(out.isEmpty)
    }

    @Test(arguments: [
        ("url,weight\nhttps://o/a,x\n", "line 2, column weight is 'x' (input.field)\nUse a number"),
        (
            "name,weight\nx,1\n",
            "the header is name, weight (input.field)\nName a column for the URL"
        ),
        ("url,weight\nftp://o/a,1\n", "line 2, column URL is invalid"),
        ("url,bytes\nhttps://o/a,1.500\n", "line 2, column size is '1.500'"),
        ("url,bytes\nhttps://o/a,5\n", "nothing shows which titles are popular"),
        ("url,weight\nhttps://o/a,5\n", "no title has a size"),
    ])
    func badTitlesAreNamed(text: String, says: String) async throws {
        let path = try file("titles.csv", text)
        let (code, _, err) = try await dray([
            "plan", "fill", "--site", "a=1GB", "--titles", path,
        ])
        #expect(code == 2)
        #expect(err.contains(says), "\(err)")
    }
}
