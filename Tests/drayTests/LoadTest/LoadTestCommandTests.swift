import Foundation
import TestSupport
import Testing

/// `dray loadtest` as people run it, against a real nginx.
@Suite(.timeLimit(.minutes(2))) struct LoadTestCommandTests {
    private let directory: TemporaryDirectory
    private let origin: NginxServer

    init() async throws {
        directory = try TemporaryDirectory("loadtest")
        try FileManager.default.createDirectory(
            atPath: directory.path("www"), withIntermediateDirectories: true)
        try directory.write([UInt8](repeating: 7, count: 20_000), to: "www/file")
        for index in 0..<4 {
            try directory.write([UInt8](repeating: 1, count: 30_000), to: "www/\(index).ts")
        }
        let segments = (0..<4).map { "#EXTINF:0.5,\n\($0).ts" }.joined(separator: "\n")
        try directory.write(
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-PLAYLIST-TYPE:VOD\n\(segments)\n#EXT-X-ENDLIST\n",
            to: "www/title.m3u8")
        try directory.write(
            "<!doctype html><html><body>not a playlist</body></html>", to: "www/page.m3u8")
        origin = try await NginxServer(root: directory.path("www"))
    }

    private func write(_ name: String, _ text: String) throws {
        try directory.write(Array(text.utf8), to: name)
    }

    private func dray(_ arguments: [String]) async throws -> (
        ending: ChildProcess.Ending, output: String, errors: String
    ) {
        let process = try DrayProcess.start(
            ["loadtest"] + arguments, environment: ["LANG": "C.UTF-8"],
            workingDirectory: directory.path)
        let ending = try await process.wait()
        return (ending, process.output, process.errors)
    }

    private func json(_ text: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(value as? [String: Any])
    }

    private func counts(_ result: [String: Any]) throws -> [String: Any] {
        try #require(result["counts"] as? [String: Any])
    }

    @Test func itCountsWhatTheServerServed() async throws {
        let answer = try await dray([
            "\(origin.url)/file", "--users", "3", "--requests", "200", "--json", "--quiet",
            "--html", "page.html", "--csv", "series.csv", "--hdr-log", "log.hlog", "--prometheus",
            "metrics.prom",
        ])
        try #require(answer.ending == .exited(0), "\(answer.errors)")
        let result = try json(answer.output)
        #expect(result["ending"] as? String == "capped")
        #expect(try counts(result)["succeeded"] as? Int == 200)
        #expect(try counts(result)["bytes"] as? Int == 200 * 20_000)
        try await waitUntil(deadlineSeconds: 60, "nginx's log") {
            origin.requests().count { $0.target == "/file" } >= 201
        }
        // Once more to see whether it is there.
        #expect(origin.requests().count { $0.target == "/file" } == 201)
        for file in ["page.html", "series.csv", "log.hlog", "metrics.prom"] {
            #expect(!(try directory.read(file)).isEmpty, "\(file)")
        }
    }

    /// The CPUs that it may use, not its threads, are what it is at the limit of, and what a plan takes.
    @Test func threadsBeyondTheCPUsAreNoCores() async throws {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let cpu = try #require(status.firstMatch(of: /Cpus_allowed_list:\s*([0-9]+)/)?.1)
        func run(_ options: [String]) async throws -> [String: Any] {
            let process = try ChildProcess(
                ["taskset", "-c", String(cpu), try DrayProcess.binary(), "loadtest"]
                    + ["\(origin.url)/file", "-d", "1s", "--json", "--quiet"] + options)
            try #require(try await process.wait() == .exited(0), "\(process.errors)")
            return try json(process.output)
        }
        let one = try #require(
            try await run(["-c", "16", "--threads", "4"])["generator"] as? [String: Any])
        #expect(one["cores"] as? Double == 1)
        let share = try #require(one["cpuShare"] as? Double)
        #expect(share > 0.05 && share < 1.1)
        let scale = try await run(["-c", "4", "--scale", "1,2"])
        #expect((scale["generator"] as? [String: Any])?["cores"] as? Double == 1)
        let runs = try #require(scale["calibration"] as? [[String: Any]])
        #expect(runs.map { $0["workers"] as? Double } == [1])
        #expect(
            (scale["warnings"] as? [String])?.contains {
                $0.hasPrefix("Steps of 2 workers had 1 core together")
            } == true)
    }

    /// Stages run for a first part of their duration.
    @Test func stagesAreCutShortByDuration() async throws {
        let answer = try await dray([
            "\(origin.url)/file", "--rate", "1s:20,1h:20", "-d", "2s", "--json", "--quiet",
        ])
        try #require(answer.ending == .exited(0), "\(answer.errors)")
        #expect(try json(answer.output)["measuredSeconds"] as? Double == 2)
    }

    @Test func viewersPlayATitle() async throws {
        let answer = try await dray([
            "\(origin.url)/title.m3u8", "--users", "2", "--watch", "2s", "--duration", "4s",
            "--startup", "0.5s", "--json", "--quiet", "-t", "failed_viewers <= 0%", "-t",
            "p99(startup) < 60s",
        ])
        try #require(answer.ending == .exited(0), "\(answer.errors)\(answer.output)")
        let counts = try counts(try json(answer.output))
        #expect(counts["viewersStarted"] as? Int ?? 0 >= 2)
        #expect(counts["viewersFailed"] as? Int == 0)
        #expect(counts["segments"] as? Int ?? 0 >= 8)
    }

    @Test func aThresholdThatDoesNotHoldIsAnExitCode() async throws {
        let answer = try await dray([
            "\(origin.url)/file", "--users", "1", "--requests", "20", "--quiet", "-t",
            "throughput > 900Gbit/s", "-t", "error_rate <= 0%",
        ])
        #expect(answer.ending == .exited(99))
        #expect(answer.output.contains("✗ throughput > 900Gbit/s"))
        #expect(answer.output.contains("✓ error_rate <= 0%"))
    }

    @Test func oneThatIsToEndItDoes() async throws {
        let answer = try await dray([
            "\(origin.url)/nothing", "--may-fail", "--users", "1", "--duration", "600s", "--think",
            "10ms",
            "--quiet", "-t", "error_rate < 1%", "--abort", "--json",
        ])
        #expect(answer.ending == .exited(99))
        #expect(try json(answer.output)["ending"] as? String == "aborted")
    }

    @Test func aFileThatCannotBeWrittenKeepsNothingElseFromTheReport() async throws {
        let answer = try await dray([
            "\(origin.url)/file", "--users", "1", "--requests", "20", "--quiet", "--json", "--html",
            "/dev/full", "--csv", "series.csv", "--hdr-log", "log.hlog",
        ])
        #expect(answer.ending == .exited(2))
        #expect(answer.errors.contains("/dev/full: "))
        #expect(try counts(try json(answer.output))["succeeded"] as? Int == 20)
        for file in ["series.csv", "log.hlog"] { #expect(!(try directory.read(file)).isEmpty) }
        let broken = try await dray([
            "\(origin.url)/file", "--users", "1", "--requests", "20", "--quiet", "--html",
            "/dev/full", "-t", "throughput > 900Gbit/s",
        ])
        #expect(broken.ending == .exited(99) && broken.output.contains("✗ throughput"))
    }

    @Test func interruptedItReportsWhatItHas() async throws {
        let process = try DrayProcess.start(
            [
                "loadtest", "\(origin.url)/file", "--users", "2", "--duration", "600s", "--quiet",
                "--json",
            ],
            workingDirectory: directory.path)
        try await waitUntil(deadlineSeconds: 30, "requests") { origin.requests().count > 10 }
        process.signal(SIGINT)
        #expect(try await process.wait() == .exited(130))
        let result = try json(process.output)
        #expect(result["ending"] as? String == "interrupted")
        #expect(try counts(result)["succeeded"] as? Int ?? 0 > 0)
    }

    @Test func aListsFilesAreCheckedAgainstItsDigests() async throws {
        try write(
            "list.json",
            """
            {"name": "l", "assets": [{"name": "f", "kind": "file", "url": "\(origin.url)/file",
             "sha256": "\(String(repeating: "0", count: 64))"}]}
            """)
        let answer = try await dray([
            "--list", "list.json", "--users", "1", "--requests", "3", "--check-digests", "--json",
            "--quiet",
        ])
        // All of them failed.
        try #require(answer.ending == .exited(99), "\(answer.errors)")
        let errors = try json(answer.output)["errors"] as? [[String: Any]]
        #expect(errors?.first?["code"] as? String == "integrity.digestMismatch")
        #expect(errors?.first?["count"] as? Int == 3)
    }

    @Test func aTitleOverTLSIsPlayedWithItsAuthority() async throws {
        let certificate = try await TestCertificate(in: directory, "server")
        let secure = try await NginxServer(
            root: directory.path("www"), encryption: .init(certificate, offersHTTP2: true))
        let arguments = [
            "\(secure.url)/title.m3u8", "--users", "1", "--watch", "1s", "--requests", "3",
            "--startup", "0.5s", "--json", "--quiet",
        ]
        // Its manifest is not read from a server with an untrusted certificate.
        let refused = try await dray(arguments)
        #expect(refused.ending == .exited(2))
        #expect(refused.errors.contains("origin.tls"), "\(refused.errors)")
        let missing = try await dray(arguments + ["--ca-file", "no.pem"])
        #expect(missing.ending == .exited(2))
        #expect(missing.errors.contains("no.pem: No such file"), "\(missing.errors)")
        #expect(secure.requests().isEmpty)

        let answer = try await dray(arguments + ["--ca-file", "server.pem"])
        try #require(answer.ending == .exited(0), "\(answer.errors)")
        #expect(try counts(try json(answer.output))["succeeded"] as? Int == 3)
        // The manifest was read once before.
        try await waitUntil(deadlineSeconds: 60, "nginx's log") { secure.requests().count >= 4 }
        #expect(secure.requests().suffix(3).allSatisfy { $0.version == "HTTP/2.0" })
    }

    /// Each step sends fewer requests than are to be late before a machine counts as busy.
    @Test func theMostThatHoldsIsSearchedFor() async throws {
        let answer = try await dray([
            "\(origin.url)/file", "--users", "2", "--think", "1500ms", "--search", "--step", "2s",
            "--max-load", "4", "-t", "error_rate < 1%", "--quiet", "--json",
        ])
        try #require(answer.ending == .exited(0), "\(answer.errors)")
        #expect(answer.output.contains("\"highest\" : 4"))
    }

    @Test func aSearchKeepsItsCaps() async throws {
        let answer = try await dray([
            "\(origin.url)/file", "--rate", "10", "--search", "--step", "2s", "-n", "50", "-t",
            "error_rate < 1%", "--quiet", "--json",
        ])
        let ladder = try #require(try json(answer.output)["ladder"] as? [String: Any])
        #expect(ladder["isCapped"] as? Bool == true, "\(answer.errors)")
        // One more asks whether the target answers, before the load.
        #expect(origin.requests().count { $0.target == "/file" } <= 51)
    }

    /// Its first answer never comes.
    @Test func stoppedBeforeItBeganItHasNothingToSay() async throws {
        let gate = Gate()
        defer { gate.open() }
        let slow = try FaultOrigin()
        slow.route("/t.m3u8", FaultOrigin.Response(text: "#EXTM3U\n").held(at: gate))
        let process = try DrayProcess.start(
            ["loadtest", slow.url("/t.m3u8")], workingDirectory: directory.path)
        try await waitUntil(deadlineSeconds: 30, "the manifest's request") {
            slow.count("/t.m3u8") > 0 || gate.waiting > 0
        }
        process.signal(SIGINT)
        #expect(try await process.wait() == .exited(130))
        #expect(!process.errors.contains("warning") && process.output.isEmpty, "\(process.errors)")
    }

    @Test func theReadyScenariosAreRead() async throws {
        let folder = SourceTree.root.appending(path: "loadtest/scenarios")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count == 4)
        for name in names {
            // What ends it before it begins: nothing of the scenario is at fault.
            let answer = try await dray([
                folder.appendingPathComponent(name).path, "--target", "http://127.0.0.1:1/a.m3u8",
            ])
            #expect(answer.ending == .exited(2))
            #expect(answer.errors.contains("origin.connect"), "\(name): \(answer.errors)")
        }
    }

    @Test func mistakesAreReportedBeforeAnyRequest() async throws {
        let url = "\(origin.url)/file"
        let cases: [([String], String)] = [
            ([], "TARGET is missing"),
            ([url, "--rate", "-1"], "--rate: given '-1'"),
            ([url, "--rate", "nan"], "--rate: given 'nan'"),
            ([url, "--rate", "1", "--users", "1"], "--rate and --users cannot be combined"),
            ([url, "--poisson"], "--poisson needs --rate"),
            ([url, "--viewers"], "viewers play them"),
            ([url, "--watch", "3s"], "--watch needs viewers"),
            ([url, "--duration", "0s"], "--duration: given '0s'"),
            ([url, "-t", "p99(nothing) < 3ms"], "--threshold: given 'p99(nothing)'"),
            ([url, "--search", "--may-fail"], "--search with --may-fail needs --threshold"),
            ([url, "--abort"], "--abort needs --threshold"),
            ([url, "--scale", "1,1"], "--scale: given '1,1'"),
            ([url, "--html", "no/such/place.html"], "no/such/place.html: No such file"),
            ([url, "--html", "x", "--csv", "./x"], "--html and --csv are one file"),
            ([url, "--csv", "-"], "--csv: given '-'"),
            (
                [url, "--rate", "200", "--search", "--max-load", "50", "-t", "error_rate < 1%"],
                "--max-load: given '50'"
            ),
            (
                [url, "--rate", "200", "--search", "-d", "3s", "-t", "error_rate < 1%"],
                "--duration: given '3s'"
            ),
            (
                [url, "--rate", "200", "--search", "-d", "3s", "--step", "4s"],
                "--step: given '4s'"
            ),
            ([url, "--rate", "5", "--search", "--step", "1.9s"], "Allowed: 2s to 1h."),
            (["\(origin.url)/page.m3u8"], "an HTML page"),
            (["http://127.0.0.1:1/file"], "origin.connect"),
            (["missing.json"], "missing.json: No such file"),
        ]
        for (arguments, message) in cases {
            let answer = try await dray(arguments)
            #expect(answer.ending == .exited(2), "\(arguments)")
            #expect(answer.errors.contains(message), "\(arguments): \(answer.errors)")
        }
        #expect(origin.requests().allSatisfy { $0.target == "/page.m3u8" })
    }
}
