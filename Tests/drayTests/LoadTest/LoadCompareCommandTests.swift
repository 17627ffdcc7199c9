import Foundation
import TestSupport
import Testing

/// Results that are compared, by people and by CI: `dray loadtest compare` and `--junit`.
@Suite(.timeLimit(.minutes(2))) struct LoadCompareCommandTests {
    private let directory: TemporaryDirectory
    private let origin: NginxServer

    init() async throws {
        directory = try TemporaryDirectory("compare")
        for folder in ["fast", "slow"] {
            try directory.write([UInt8](repeating: 7, count: 30_000), to: "www/\(folder)/file")
        }
        // nginx sends the bytes of the first second at once: the rest takes half a second.
        origin = try await NginxServer(
            root: directory.path("www"),
            configuration: "location /slow/ { limit_rate 20k; }")
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

    /// Starts a test of nine seconds, which writes a report for CI.
    private func start(_ name: String, _ threshold: String) throws -> ChildProcess {
        try DrayProcess.start(
            [
                "loadtest", "\(origin.url)/\(name)/file", "--rate", "40", "-d", "9s", "--quiet",
                "--json", "--junit", "\(name).xml", "-t", threshold,
            ], workingDirectory: directory.path)
    }

    @Test func twoTestsAreComparedAndCIReadsTheirThresholds() async throws {
        let fast = try start("fast", "p99(total){kind=file} < 20s")
        let slow = try start("slow", "p50(total) < 100ms")
        #expect(try await fast.wait() == .exited(0), "\(fast.errors)")
        #expect(try await slow.wait() == .exited(99), "\(slow.errors)")
        try directory.write(fast.output, to: "fast.json")
        try directory.write(slow.output, to: "slow.json")
        let (passed, failed) = (
            String(decoding: try directory.read("fast.xml"), as: UTF8.self),
            String(decoding: try directory.read("slow.xml"), as: UTF8.self)
        )
        // The test itself, the threshold, and the default bound on errors.
        #expect(passed.contains("tests=\"3\" failures=\"0\" errors=\"0\""), "\(passed)")
        #expect(passed.contains("name=\"p99(total){kind=file} &lt; 20s\""), "\(passed)")
        #expect(failed.contains("tests=\"3\" failures=\"1\" errors=\"0\""), "\(failed)")
        #expect(failed.contains("<failure message=\"measured "), "\(failed)")

        let worse = try await dray(["compare", "fast.json", "slow.json"])
        #expect(worse.ending == .exited(99), "\(worse.errors)")
        #expect(worse.output.contains("B is worse by more than 5 %"), "\(worse.output)")
        #expect(worse.output.contains("p50(total)"), "\(worse.output)")
        let better = try await dray(["compare", "slow.json", "fast.json", "--json"])
        #expect(better.ending == .exited(0), "\(better.errors)")
        let object = try #require(
            JSONSerialization.jsonObject(with: Data(better.output.utf8)) as? [String: Any])
        let figures = try #require(object["figures"] as? [[String: Any]])
        let median = try #require(figures.first { $0["figure"] as? String == "p50(total)" })
        #expect(median["verdict"] as? String == "better")
        let same = try await dray(["compare", "fast.json", "fast.json"])
        #expect(same.ending == .exited(0), "\(same.output)")
    }

    @Test(arguments: [
        (["missing.json", "a.json"], "missing.json: No such file"),
        (["a.json", "a.json"], "a.json: "),
        (["a.json", "a.json", "--tolerance", "5"], "--tolerance: given '5'"),
        (["a.json", "a.json", "--confidence", "99.91%"], "--confidence: given '99.91%'"),
        // The highest that is allowed: the reports are read.
        (["a.json", "a.json", "--confidence", "99.9%"], "a.json: "),
        (["a.json"], "B is missing"),
    ])
    func whatCannotBeComparedIsNamed(arguments: [String], says: String) async throws {
        try directory.write("{}", to: "a.json")
        let answer = try await dray(["compare"] + arguments)
        #expect(answer.ending == .exited(2))
        #expect(answer.errors.contains(says), "\(answer.errors)")
        #expect(answer.output.isEmpty)
    }
}
