import Foundation
import TestSupport
import Testing

/// `dray benchmark transfer` on so little work that its figures mean nothing but can be checked.
@Suite(.timeLimit(.minutes(3))) struct TransferBenchmarkTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory("benchmark-transfer")
    }

    private func object(_ text: some StringProtocol) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func run(_ list: String, _ arguments: [String]) async throws -> [String: Any] {
        let process = try DrayProcess.start(
            ["benchmark", "transfer", list, "--to", directory.path("to"), "--json"] + arguments)
        let ending = try await process.wait(deadlineSeconds: 120)
        #expect(ending == .exited(0), "\(process.errors)")
        return try object(process.output)
    }

    @Test func theListIsFetchedSoManyTimesAndSampledBetween() async throws {
        let origin = try await FileOrigin(files: 20)
        let samples = directory.path("samples")
        let report = try await run(origin.list, ["--times", "3", "--samples", samples])
        #expect(report["objects"] as? Int == 60)
        #expect(report["failed"] as? Int == 0)
        #expect(origin.requests.count == 20)
        #expect(origin.requests.values.allSatisfy { $0 == 3 })
        let lines = try String(contentsOfFile: samples, encoding: .utf8).split(separator: "\n")
        let idle = try lines.map(object).filter { $0["isIdle"] as? Bool == true }
        #expect(idle.map { $0["ended"] as? Int } == [20, 40, 60])
        for name in ["residentBytes", "descriptors", "threads"] {
            #expect(idle.allSatisfy { $0[name] as? Int ?? 0 > 0 }, "\(name)")
        }
    }

    @Test func itEndsWhenItsTimeIsOver() async throws {
        let origin = try await FileOrigin(files: 5, requestsPerSecond: 20)
        let report = try await run(origin.list, ["--seconds", "2"])
        #expect(report["failed"] as? Int == 0)
        #expect(try #require(report["seconds"] as? Double) >= 2)
        // More than the list is long.
        #expect(try #require(report["objects"] as? Int) > 5)
    }

    @Test func timesAndSecondsDoNotGoTogether() async throws {
        let process = try DrayProcess.start([
            "benchmark", "transfer", "http://127.0.0.1:9/a", "--to", directory.path, "--times", "2",
            "--seconds", "1",
        ])
        #expect(try await process.wait() == .exited(2))
        #expect(process.errors.contains("--times and --seconds cannot be combined"))
    }
}
