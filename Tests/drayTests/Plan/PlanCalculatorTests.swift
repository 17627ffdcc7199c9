import Foundation
import TestSupport
import Testing

/// `dray plan queue` and `dray plan fit` as a user runs them.
@Suite(.timeLimit(.minutes(2))) struct PlanCalculatorTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("plan-calculators") }

    private func dray(_ words: [String]) async throws -> (Int32, String, String) {
        let process = try DrayProcess.start(["plan"] + words)
        guard case .exited(let code) = try await process.wait() else { return (-1, "", "") }
        return (code, process.output, process.errors)
    }

    private func object(_ words: [String]) async throws -> [String: Any] {
        let (code, output, errors) = try await dray(words + ["--json"])
        #expect(code == 0, "\(errors)")
        return try #require(
            JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
    }

    private func file(_ text: String) throws -> String {
        let path = directory.path("data.csv")
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    /// The fourteenth field of `/proc/PID/stat` (proc(5)), in hundredths; a command's start needs less.
    private static func processorSeconds(of pid: Int32) -> Double {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        return fields.count > 11 ? (Double(fields[11]) ?? 0) / 100 : 0
    }

    @Test(arguments: [SIGTERM, SIGINT]) func aSimulationThatTakesLongCanBeStopped(signal: Int32)
        async throws
    {
        let process = try DrayProcess.start([
            "plan", "--simulate", "--jobs", "20000000", "--users", "1e6",
        ])
        try await waitUntil(deadlineSeconds: 60, "the simulation") {
            Self.processorSeconds(of: process.pid) > 0.5
        }
        process.signal(signal)
        #expect(try await process.wait() == .signalled(signal))
    }

    @Test func waitsOfGivenServers() async throws {
        let answer = try await object([
            "queue", "--servers", "3", "--load", "2", "--service-time", "0.5", "--within", "0.5",
        ])
        #expect(
            Set(answer.keys) == [
                "erlangB", "probabilityOfWait", "meanQueueLength", "meanWaitSeconds",
                "serviceLevel", "utilisation", "waitSeconds", "method", "notes",
            ])
        #expect(
            answer["method"] as? String == "formula" && (answer["notes"] as? [Any])?.isEmpty == true
        )
        let waits = try #require(answer["waitSeconds"] as? [String: Double])
        #expect(Set(waits.keys) == ["p50", "p90", "p95", "p99", "p999"])
        #expect(abs(try #require(waits["p90"]) - 0.5 * log(4.0 / 9 / 0.1)) < 1e-9)
        func near(_ name: String, _ value: Double) throws {
            #expect(abs(try #require(answer[name] as? Double) - value) < 1e-9, "\(name)")
        }
        try near("erlangB", 4.0 / 19)
        try near("probabilityOfWait", 4.0 / 9)
        try near("meanQueueLength", 8.0 / 9)
        try near("meanWaitSeconds", 2.0 / 9)
        try near("serviceLevel", 1 - 4.0 / 9 * exp(-1.0))
        try near("utilisation", 2.0 / 3)
        let bursty = try await object([
            "queue", "--servers", "3", "--load", "2", "--arrival-cv2", "3", "--service-cv2", "2",
            "--correction", "allen-cunneen", "--method", "formula",
        ])
        #expect((bursty["notes"] as? [String])?.count == 2)
        #expect(abs(try #require(bursty["meanQueueLength"] as? Double) - 20.0 / 9) < 1e-9)
        // Kimura's is the default: more than half of M/M/c's wait for service that never varies.
        let fixed = try await object([
            "queue", "--servers", "3", "--load", "2", "--service-cv2", "0",
        ])
        let wait = try #require(fixed["meanWaitSeconds"] as? Double)
        #expect(wait > 2.0 / 9 && wait < 0.6 * 4 / 9)
        let (_, table, _) = try await dray(["queue", "--servers", "3", "--load", "2"])
        #expect(table.contains("Mean wait by Allen–Cunneen"))
    }

    /// H4/L2/100: of bursts at many servers the formula knows too little.
    @Test func beyondTheFormulasRangeTheQueueIsSimulated() async throws {
        let words = [
            "queue", "--servers", "20", "--load", "16", "--arrival-cv2", "4", "--service-cv2", "2",
            "--jobs", "100000",
        ]
        let answer = try await object(words)
        #expect(answer["method"] as? String == "simulation")
        let run = try #require(answer["simulation"] as? [String: Any])
        #expect(run["jobs"] as? Int == 100_000 && run["seed"] as? Int == 1)
        #expect(run["serviceShape"] as? String == "lognormal")
        #expect(run["meanWaitMarginSeconds"] as? Double ?? 0 > 0)
        let notes = try #require(answer["notes"] as? [String])
        #expect(
            notes.contains {
                $0.contains("an arrival CV² of 4 with a service CV² of 2 is outside the formulas' ")
            })
        #expect(notes.contains { $0.contains("Arrivals come in bursts") })
        let (code, table, errors) = try await dray(words)
        #expect(code == 0, "\(errors)")
        #expect(table.contains("Simulated, since") && table.contains("Margin of the mean wait"))
        #expect(table.contains("Mean wait by formula") && table.contains("p99.9 wait"))
        let forced = try await object(words + ["--method", "formula"])
        #expect(forced["method"] as? String == "formula" && forced["simulation"] == nil)
        let ample = ["queue", "--servers", "200", "--load", "2", "--arrival-cv2", "4"]
        let none = try await object(ample + ["--jobs", "1000"])
        let idle = try #require(none["simulation"] as? [String: Any])
        #expect(idle["jobs"] as? Int == 1_000 && idle["meanWaitMarginSeconds"] == nil)
        #expect((none["notes"] as? [String])?.contains("None of 900 jobs waited.") == true)
        let found = try await object([
            "queue", "--load", "16", "--arrival-cv2", "4", "--target-level", "0.9", "--within",
            "0.1", "--jobs", "50000",
        ])
        #expect(found["servers"] as? Int ?? 0 > 20)
    }

    @Test func theFewestServers() async throws {
        let answer = try await object([
            "queue", "--load", "10", "--service-time", "3", "--target-level", "0.8", "--within",
            "0.5",
        ])
        #expect(answer["servers"] as? Int == 13)
        #expect(try #require(answer["serviceLevel"] as? Double) >= 0.8)
    }

    @Test func aQueueThatNeverEnds() async throws {
        let answer = try await object(["queue", "--servers", "2", "--load", "3"])
        #expect(answer["meanWaitSeconds"] is NSNull && answer["meanQueueLength"] is NSNull)
        #expect(answer["probabilityOfWait"] as? Double == 1)
        let (code, output, _) = try await dray(["queue", "--servers", "2", "--load", "3"])
        #expect(code == 0)
        #expect(output.contains("the queue grows without limit"))
    }

    @Test func aFit() async throws {
        let path = try file(
            "N,X\n1,20\n4,78\n8,130\n12,170\n16,190\n20,200\n24,210\n28,230\n32,260\n48,280\n64,310\n"
        )
        let answer = try await object(["fit", path])
        #expect(abs(try #require(answer["alpha"] as? Double) - 0.0578) < 5e-5)
        #expect(answer["beta"] as? Double == 0)
        #expect(abs(try #require(answer["gamma"] as? Double) - 21.85) < 5e-3)
        #expect(answer["peakN"] is NSNull && answer["peakX"] is NSNull)
        let intervals = try #require(answer["intervals"] as? [String: Any])
        #expect((intervals["alpha"] as? [Double])?.count == 2)
        let (code, output, _) = try await dray(["fit", path])
        #expect(code == 0)
        #expect(output.contains("●") && output.contains("95 % interval"))
    }

    @Test func anAccessLog() async throws {
        func line(_ second: Int) -> String {
            "h - - [10/Oct/2026:13:55:\(second < 10 ? "0" : "")\(second) +0200] "
                + "\"GET /a HTTP/1.1\" 200 500 \"-\" \"-\" 0.500\n"
        }
        let path = try file((0..<120).map { line($0 / 2) }.joined() + "nonsense\n")
        let answer = try await object(["log", path])
        #expect(answer["requests"] as? Int == 120 && answer["unreadableLines"] as? Int == 1)
        #expect(answer["spanSeconds"] as? Int == 60)
        #expect(answer["meanRequestsPerSecond"] as? Double == 2)
        #expect(answer["meanConcurrency"] as? Double ?? 0 > 0.98)
        #expect((answer["requestsPerSecondByHour"] as? [Any])?[12] is NSNull)
        let (code, output, _) = try await dray(["log", path])
        #expect(code == 0)
        #expect(output.contains("Concurrent") && output.contains("█"))
        #expect(output.contains("in 1 min") && output.contains("not in the log"))
        let (bad, _, errors) = try await dray(["log", try file("nonsense\n")])
        #expect(bad == 2 && errors.contains("data.csv: the access log is 1 line, none"))
    }

    @Test(arguments: [
        (["queue", "--servers", "3"], "--load is missing"),
        (["queue", "--load", "2"], "--servers is missing"),
        (["queue", "--load", "2", "--target-level", "0.9"], "--within is missing"),
        (
            ["queue", "--load", "2", "--target-level", "0.9", "--servers", "3"],
            "cannot be combined"
        ),
        (["queue", "--load", "-1", "--servers", "3"], "--load is '-1'"),
        (["queue", "--load", "nan", "--servers", "3"], "--load is 'nan'"),
        (["queue", "--load", "inf", "--servers", "3"], "--load is 'inf'"),
        (["queue", "--load", "0x10", "--servers", "3"], "--load is '0x10'"),
        (["queue", "--load", "2", "--servers", "0"], "--servers is '0'"),
        (
            ["queue", "--load", "2", "--servers", "3", "--service-time", "0"],
            "--service-time is '0'"
        ),
        (
            ["queue", "--load", "2", "--servers", "3", "--arrival-cv2", "-1"],
            "--arrival-cv2 is '-1'"
        ),
        (["queue", "--load", "2", "--servers", "3", "--correction", "x"], "--correction is 'x'"),
        (
            ["queue", "--load", "2", "--target-level", "1", "--within", "1"],
            "--target-level is '1'"
        ),
        (
            ["queue", "--load", "50000", "--servers", "60000", "--method", "simulation"],
            "--load is 50,000 with --method simulation"
        ),
        (["fit"], "DATA.csv is missing"), (["fit", "missing.csv"], "missing.csv: No such file"),
    ])
    func badUsageIsNamed(words: [String], says: String) async throws {
        let (code, output, errors) = try await dray(words)
        #expect(code == 2)
        #expect(errors.contains(says), "\(errors)")
        #expect(output.isEmpty)
    }

    @Test(arguments: [
        ("N,X\n1,2\n2,three\n", "line 3, column X is 'three' (input.field)\nUse a number above 0"),
        ("N,X\n1,2\n2,3\n", "N is 2 different values"), ("", "the table is empty"),
    ])
    func badMeasurementsAreNamed(text: String, says: String) async throws {
        let (code, output, errors) = try await dray(["fit", try file(text)])
        #expect(code == 2)
        #expect(errors.contains("data.csv: \(says)"), "\(errors)")
        #expect(output.isEmpty)
    }
}
