import Foundation
import TestSupport
import Testing

/// What `dray loadtest` rejects before it sends anything, and what it makes of its options.
@Suite(.timeLimit(.minutes(2))) struct LoadTestUsageTests {
    private let directory: TemporaryDirectory
    private let origin: FaultOrigin

    init() throws {
        directory = try TemporaryDirectory("loadtest")
        origin = try FaultOrigin()
        origin.serve("/a", [UInt8](repeating: 7, count: 1_000))
        origin.route(
            "/t.m3u8",
            FaultOrigin.Response(
                text: "#EXTM3U\n#EXTINF:1,\n1.ts\n#EXTINF:1,\n2.ts\n#EXT-X-ENDLIST\n"))
        for name in ["1", "2"] { origin.serve("/\(name).ts", [UInt8](repeating: 1, count: 100)) }
        origin.route(
            "/page.m3u8",
            FaultOrigin.Response(
                200, headers: [("Content-Type", "text/html")], body: Array("<html></html>".utf8)))
    }

    private func run(
        _ arguments: [String]
    ) async throws -> (ending: ChildProcess.Ending, output: String, errors: String) {
        let process = try DrayProcess.start(["loadtest"] + arguments)
        return (try await process.wait(), process.output, process.errors)
    }

    private var file: String { origin.url("/a") }

    @Test(arguments: [
        (
            #"{"targets": ["URL"], "arrivals": {"rate": 5, "secs": 1}}"#,
            "field arrivals.secs: is not known here"
        ),
        (#"{"arrivals": {"rate": 5, "seconds": 1}}"#, "field targets: is missing"),
        (#"{}"#, "field targets: is missing"),
        (
            #"{"targets": ["URL"], "arrivals": {"users": 1.5, "seconds": 1}}"#,
            "field arrivals.users: given 1.5, allowed a whole number"
        ),
        (
            #"{"targets": ["URL"], "arrivals": {"users": 0.4, "seconds": 1}}"#,
            "field arrivals.users: given 0.4"
        ),
        (
            #"{"targets": ["URL"], "arrivals": {"stages": [{"users": 2, "from": 0.5, "seconds": 1}]}}"#,
            "field arrivals.stages[0].from: given 0.5, allowed a whole number of users"
        ),
        (
            #"{"targets": ["URL"], "http": {"caFile": "none.pem"}, "arrivals": {"rate": 5, "seconds": 1}}"#,
            "none.pem: No such file"
        ),
        (
            #"{"targets": ["URL"], "http": {"caFile": "s.json"}, "arrivals": {"rate": 5, "seconds": 1}}"#,
            "s.json: no PEM certificate"
        ),
        (
            #"{"targets": ["URL/not"], "arrivals": {"rate": 5, "seconds": 1}}"#,
            "origin.http.404: status 404"
        ),
        (
            #"{"targets": ["URL"], "arrivals": {"rate": -5, "seconds": 1}}"#,
            "field arrivals.rate: given -5"
        ),
        (#"{"targets": ["URL"]}"#, "field arrivals: is missing"),
        (#"{"arrivals": {"rate": 5, "seconds": 1}}"#, "Add --target URL"),
        (
            #"{"targets": ["URL"], "warmUpSeconds": 3, "arrivals": {"rate": 5, "seconds": 3}}"#,
            "--warm-up overrides the scenario"
        ),
        (
            #"{"targets": ["URL"], "viewers": {"bufferSeconds": 1}, "arrivals": {"rate": 5, "seconds": 1}}"#,
            "field viewers.bufferSeconds: a buffer of 1 s is less than the 2 s"
        ),
        (#"{"targets": ["PAGE"], "arrivals": {"rate": 5, "seconds": 1}}"#, "targets[0] ("),
        (
            #"{"targets": ["URL", "http://127.0.0.1:1/a"], "arrivals": {"rate": 5, "seconds": 1}}"#,
            "targets[1] (http://127.0.0.1:1/a): origin.connect"
        ),
        (
            #"{"targets": ["URL", {"list": "none.csv"}], "arrivals": {"rate": 5, "seconds": 1}}"#,
            "none.csv"
        ),
        (
            #"{"targets": ["URL"], "bodies": "check", "arrivals": {"rate": 5, "seconds": 1}}"#,
            "field bodies"
        ),
    ])
    func aBadScenarioIsRefusedBeforeAnythingIsSent(text: String, message: String) async throws {
        let text = text.replacing("URL", with: file).replacing(
            "PAGE", with: origin.url("/page.m3u8"))
        let path = try directory.write(text, to: "s.json")
        let answer = try await run([path])
        #expect(answer.ending == .exited(2), "\(answer.errors)")
        #expect(answer.errors.contains(message), "\(answer.errors)")
        #expect(answer.output.isEmpty)
        // It was requested at most once, to check that it exists.
        #expect(origin.count("/a") <= 1)
    }

    @Test(arguments: [
        (["--rate", "5", "--users", "5"], "--rate and --users cannot be combined"),
        (["--rate", "-5"], "--rate: given '-5'"),
        (["--rate", "0"], "--rate: given '0'"),
        (["--rate", "5", "--duration", "5"], "--duration: given '5'"),
        (["--rate", "1m:5,x"], "--rate: given '1m:5,x'"),
        (["--users", "2000000"], "--users: given '2000000'"),
        (["--poisson"], "--poisson needs --rate"),
        (["--watch", "5s"], "--watch needs viewers"),
        (["--viewers"], "field targets[0]: is a file"),
        (["--rate", "5", "--think", "1s"], "--think: given with a rate"),
        (["--threshold", "p99(total) < 5"], "--threshold: given '5'"),
        (
            ["--viewers", "--buffer", "1s", "--startup", "5s"],
            "--buffer: a buffer of 1 s is less than the 5 s"
        ),
        (["--viewers", "--startup", "40s"], "--startup: a buffer of 30 s is less than the 40 s"),
        (["--check-digests"], "--check-digests has nothing to check"),
        (["--users", "20", "--concurrency", "5"], "--concurrency: given 5"),
        (["--ca-file", "none.pem"], "--ca-file: none.pem: No such file"),
        (["--header", "foo"], "--header: write a header as 'Name: value'"),
        (["--abort"], "--abort needs --threshold"),
        (["--duration", "2s", "--warm-up", "2s"], "--warm-up: given 2"),
        (["--duration", "0s"], "Allowed: 1ms to 7d"),
        (["--timeout", "0s"], "Allowed: 1ms to 1h"),
        (["--users", "0x10"], "--users: given '0x10'"),
        (["--users", "1.5"], "--users: given '1.5'"),
        (["--users", "10s:1.5"], "--users: given '10s:1.5'"),
        (["--http", "3"], "--http is '3'"),
        (["--allow", "x y"], "--allow: given 'x y'"),
        (["--html", "/nowhere/x.html"], "/nowhere/x.html"),
    ])
    func whatDoesNotGoTogetherIsRefused(options: [String], message: String) async throws {
        let answer = try await run([file] + options)
        #expect(answer.ending == .exited(2), "\(answer.errors)")
        #expect(answer.errors.contains(message), "\(answer.errors)")
        #expect(origin.requests.isEmpty)
    }

    /// A file that is no scenario is reported with a hint.
    @Test(arguments: [
        ("http://127.0.0.1:1/a\n", "it is not a scenario", "as --list "),
        ("#EXTM3U\n", "it is not a scenario", "as --list "),
        ("", "it is not a scenario", "as --list "),
        (#"["http://127.0.0.1:1/a"]"#, "it is not a scenario", "as --list "),
        (#"{"assets": ["http://127.0.0.1:1/a"]}"#, "field assets: is of a list", "--list FILE"),
    ])
    func aListIsNoScenario(text: String, message: String, hint: String) async throws {
        let path = try directory.write(text, to: "list.txt")
        let answer = try await run([path])
        #expect(answer.ending == .exited(2), "\(answer.errors)")
        #expect(
            answer.errors.contains("\(path): ") && answer.errors.contains(message)
                && answer.errors.contains(hint), "\(answer.errors)")
    }

    @Test func aURLHasAScheme() async throws {
        for target in ["127.0.0.1:1/a", "edge.example/main.m3u8"] {
            let answer = try await run([target])
            #expect(answer.ending == .exited(2))
            #expect(
                answer.errors.hasPrefix("dray: \(target): No such file")
                    && answer.errors.contains("starts with http://, https:// or s3://"),
                "\(answer.errors)")
        }
    }

    @Test func allowedSchemesAreNamed() async throws {
        for words in [["ftp://h/x"], [file, "--target", "ftp://h/x"]] {
            let answer = try await run(words)
            #expect(answer.ending == .exited(2))
            #expect(
                answer.errors.contains(
                    "must start with http://, https:// or s3://, given ftp://h/x"),
                "\(answer.errors)")
            #expect(answer.errors.contains("s3://bucket/key?endpoint=URL"), "\(answer.errors)")
        }
    }

    /// Only viewers follow the playlists of a live title.
    @Test func aLiveTitleIsPlayedByViewers() async throws {
        origin.route("/live.m3u8", FaultOrigin.Response(text: "#EXTM3U\n#EXTINF:1,\n1.ts\n"))
        let answer = try await run([origin.url("/live.m3u8"), "--plain", "--duration", "1s"])
        #expect(answer.ending == .exited(2))
        #expect(answer.errors.contains("manifest.live"), "\(answer.errors)")
        #expect(answer.errors.contains("\nLet viewers play a live title: omit --plain."))
    }

    /// A test that is to send so much needs no duration, and one that has its own is as long as that.
    @Test func aCapEndsTheTest() async throws {
        let answer = try await run([file, "--users", "3", "--requests", "25", "--quiet"])
        #expect(answer.ending == .exited(0), "\(answer.errors)")
        // Once more before the load.
        #expect(origin.count("/a") == 26)
    }

    @Test func optionsGoBeforeTheScenario() async throws {
        let path = try directory.write(
            """
            {"targets": ["\(file)"], "arrivals": {"users": 1, "seconds": 3600},
             "http": {"headers": {"X-One": "1", "X-Two": "2"}}}
            """, to: "s.json")
        let answer = try await run(
            [path, "--rate", "20", "--duration", "1s", "--header", "x-two: 3", "--quiet"])
        #expect(answer.ending == .exited(0), "\(answer.errors)")
        #expect(origin.count("/a") == 21)
        for request in origin.requests {
            #expect(request.headers["x-one"] == "1" && request.headers["x-two"] == "3")
        }
    }

    @Test func aTitleIsPlayedToItsEnd() async throws {
        let answer = try await run(
            [
                origin.url("/t.m3u8"), "--rate", "4", "--duration", "1s", "--quiet", "--threshold",
                "failed_viewers <= 0%", "--threshold", "p99(startup) < 30s",
            ])
        #expect(answer.ending == .exited(0), "\(answer.errors)\(answer.output)")
        // Once more for the plan.
        #expect(origin.count("/t.m3u8") == 5)
        #expect(origin.count("/1.ts") == 4)
    }

    @Test func aTitleThatIsATargetIsPlayed() async throws {
        let answer = try await run(
            [
                "--target", origin.url("/t.m3u8"), "--rate", "4", "--duration", "1s", "--quiet",
                "--threshold", "failed_viewers <= 0%",
            ])
        #expect(answer.ending == .exited(0), "\(answer.errors)\(answer.output)")
        #expect(origin.count("/1.ts") == 4)
    }

    @Test func kindIsNotOfAScenariosFile() async throws {
        let path = try directory.write(
            #"{"targets": ["\#(file)"], "arrivals": {"users": 1, "seconds": 1}}"#, to: "s.json")
        let answer = try await run([path, "--kind", "hls"])
        #expect(answer.ending == .exited(2))
        #expect(answer.errors.contains("--kind is for URLs of the command line"))
    }

    /// A scenario names its files from where it lies itself, and an editor its schema.
    @Test func listsLieBesideTheScenario() async throws {
        _ = try directory.write("\(file)\n", to: "folder/lists/l.txt")
        let path = try directory.write(
            """
            {"$schema": "../load-scenario.schema.json", "targets": [{"list": "lists/l.txt"}],
             "arrivals": {"users": 1, "seconds": 60}, "caps": {"requests": 2}}
            """, to: "folder/s.json")
        let answer = try await run([path, "--quiet"])
        #expect(answer.ending == .exited(0), "\(answer.errors)")
        #expect(origin.count("/a") == 3)
    }

    @Test func aThresholdThatBreaksIsTheExitCode() async throws {
        let answer = try await run(
            [
                origin.url("/missing"), "--may-fail", "--rate", "20", "--duration", "1s", "--quiet",
                "--threshold",
                "error_rate < 1%",
            ])
        #expect(answer.ending == .exited(99), "\(answer.errors)")
    }

    /// Bodies are compared with the digests of a list.
    @Test func digestsOfAListAreChecked() async throws {
        let list = try directory.write(
            """
            [{"url": "\(file)", "sha256": "\(String(repeating: "0", count: 64))"}]
            """, to: "list.json")
        let answer = try await run(
            [
                "--list", list, "--check-digests", "--users", "1", "--requests", "3", "--quiet",
                "--threshold", "error_rate >= 100%",
            ])
        #expect(answer.ending == .exited(0), "\(answer.errors)\(answer.output)")
        #expect(answer.output.contains("integrity.digestMismatch"), "\(answer.output)")
        #expect(origin.count("/a") == 4)
    }
}
