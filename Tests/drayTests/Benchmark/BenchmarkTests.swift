import Foundation
import TestSupport
import Testing

/// `dray benchmark queue` on so little work that its figures mean nothing but can be checked.
@Suite(.timeLimit(.minutes(3))) struct BenchmarkTests {
    private let directory: TemporaryDirectory

    init() throws {
        // As a user's own, whom the server's user can pass through.
        directory = try TemporaryDirectory("benchmark")
    }

    private struct Report {
        let root: [String: Any]

        init(_ text: String) throws {
            root = try #require(
                JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }

        func number(_ key: String) throws -> Double {
            try #require((root[key] as? NSNumber)?.doubleValue, "\(key) in \(root)")
        }
    }

    /// Runs it in the test's own directory, in which nothing may be left.
    private func benchmark(_ arguments: [String]) async throws -> ChildProcess {
        let process = try DrayProcess.start(
            ["benchmark", "queue", "--directory", directory.path] + arguments)
        let ending = try await process.wait(deadlineSeconds: 120)
        #expect(ending == .exited(0), "\(process.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        return process
    }

    @Test(arguments: [[], ["--segments-per-title", "1", "--finished", "500"]])
    func theSidesAreMeasuredInTurns(arguments: [String]) async throws {
        let process = try await benchmark(
            ["--segments", "2000", "--rounds", "3", "--clients", "2", "--json"] + arguments)
        #expect(process.errors.contains("round 3 of 3"))
        let report = try Report(process.output)
        for key in [
            "submitPerSecond", "claimP50Milliseconds", "claimP99Milliseconds",
            "walBytesPerSegment", "coordinatorResidentBytes", "databaseConnections",
        ] {
            #expect(try report.number(key) > 0, "\(key)")
        }
        #expect(try report.number("claimP50Milliseconds") <= report.number("claimP99Milliseconds"))
        #expect(try report.number("deadRows") >= 0)
        let rounds = try #require(report.root["rounds"] as? [[String: NSNumber]])
        #expect(rounds.count == 3)
        // Each figure is the median of the rounds', the ratio as well.
        for key in ["ceilingPerSecond", "apiPerSecond"] {
            let middle = try #require(rounds.compactMap { $0[key]?.intValue }.sorted()[1])
            #expect(try Int(report.number(key)) == middle)
        }
        let ratios = try rounds.map { round in
            try #require(round["apiPerSecond"]).doubleValue
                / #require(round["ceilingPerSecond"]).doubleValue
        }
        #expect(try abs(report.number("ratio") - ratios.sorted()[1]) < 0.01)
    }

    @Test func claimsAmongManyAreComparedWithClaimsAmongFew() async throws {
        let process = try await benchmark([
            "--waiting", "20000", "--finished", "1000", "--rounds", "1", "--batch", "20", "--json",
        ])
        let report = try Report(process.output)
        #expect(try report.number("waiting") == 20_000)
        #expect(try report.number("claims") >= 50)
        let ratio =
            try report.number("claimP99Milliseconds") / report.number("fewClaimP99Milliseconds")
        #expect(try abs(report.number("ratio") / ratio - 1) < 0.1)
    }

    @Test func anIdleTransactionIsLeftOpenOnOneSide() async throws {
        let process = try await benchmark([
            "--idle-transaction", "--segments", "2000", "--rounds", "2", "--json",
        ])
        let report = try Report(process.output)
        let ratio =
            try report.number("withIdleTransactionPerSecond") / report.number("apiPerSecond")
        #expect(try abs(report.number("ratio") - ratio) < 0.01)
    }

    @Test func idleWorkersAreWokenAndCounted() async throws {
        let wakes = try Report(
            try await benchmark(["--wake-ups", "20", "--idle-workers", "3", "--json"]).output)
        #expect(
            try wakes.number("sinceAnswerP99Milliseconds") <= wakes.number("wakeUpP99Milliseconds"))
        #expect(try wakes.number("wakeUpP50Milliseconds") > 0)
        let idle = try Report(
            try await benchmark(["--idle-workers", "30", "--seconds", "5", "--json"]).output)
        #expect(try idle.number("idleWorkers") == 30)
        #expect(try idle.number("seconds") >= 5)
        #expect(try (1...20).contains(idle.number("databaseConnections")))
    }

    @Test func peopleGetATable() async throws {
        let process = try await benchmark(["--segments", "1000", "--rounds", "1"])
        for text in ["Ceiling/s", "median", "Submit", "Dead rows"] {
            #expect(process.output.contains(text))
        }
    }

    @Test(arguments: [
        (["--segments", "10"], "--segments is '10'"),
        (["--clients", "17"], "--clients is '17'"),
        (["--batch", "1001"], "--batch is '1001'"),
        (["--waiting", "10000", "--idle-transaction"], "cannot be combined"),
        (["--waiting", "10000", "--segments-per-title", "9"], "cannot be used with --waiting"),
        (["--segments", "1000", "--rounds", "1000"], "are too few"),
        (["--directory", "/proc"], "cannot create a directory in /proc"),
    ])
    func badUsageIsTwo(arguments: [String], message: String) async throws {
        let process = try DrayProcess.start(["benchmark", "queue"] + arguments)
        #expect(try await process.wait() == .exited(2), "\(process.errors)")
        #expect(process.errors.hasPrefix("dray: "))
        #expect(process.errors.contains(message), "\(process.errors)")
        #expect(process.output.isEmpty)
    }

    @Test func aSignalEndsItAndLeavesNothing() async throws {
        let process = try DrayProcess.start([
            "benchmark", "queue", "--directory", directory.path, "--segments", "100000",
        ])
        try await waitUntil(deadlineSeconds: 60, "the submission") {
            process.errors.contains("submitting")
        }
        process.signal(SIGINT)
        let ending = try await process.wait()
        #expect(ending == .exited(130), "\(process.errors)")
        #expect(process.output.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }
}
