import Foundation
import TestSupport
import Testing

/// `dray plan` from exports, several logs and public figures.
@Suite(.timeLimit(.minutes(2))) struct PlanAnalyticsTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("plan-analytics") }

    private func plan(_ arguments: [String]) async throws -> (Int32, String, String) {
        let process = try DrayProcess.start(
            ["plan"] + arguments, workingDirectory: directory.path)
        guard case .exited(let code) = try await process.wait() else { return (-1, "", "") }
        return (code, process.output, process.errors)
    }

    private func input(_ output: String, _ path: String) throws -> Double? {
        let value = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
        let inputs = try #require(value?["inputs"] as? [[String: Any]])
        let input = inputs.first { $0["path"] as? String == path }
        return (input?["value"] as? [String: Double])?["likely"]
    }

    @Test func anExportIsAnInput() async throws {
        let rows = (0..<48).map { hour in
            "2026-10-\(10 + hour / 24)T\(hour % 24 < 10 ? "0" : "")\(hour % 24):00Z,"
                + "\(hour % 24 == 20 ? 360_000 : 36_000)"
        }
        try directory.write(
            Array(("Timestamp,Sum\n" + rows.joined(separator: "\n") + "\n").utf8), to: "cw.csv")
        let (code, output, errors) = try await plan([
            "--json", "--draws", "0", "--months", "0", "--from-analytics", "cw.csv",
            "--analytics-column", "requests=Sum",
        ])
        try #require(code == 0, "\(errors)")
        #expect(try input(output, "edge.peakRequestsPerSecond") == 100)
        #expect(try input(output, "edge.meanRequestsPerSecond") == 13.75)
        #expect(
            output.contains("--from-analytics cw.csv, 48 periods of 1 h"), "\(output.prefix(9))")
        let (bad, _, message) = try await plan(["--from-analytics", "cw.csv"])
        #expect(bad == 2 && message.contains("cw.csv: the header is Timestamp, Sum"), "\(message)")
    }

    /// Users by hour show the peak of a day only if there is a day.
    @Test func anExportWithoutAnInputIsRejected() async throws {
        func export(hours: Int) throws {
            let rows = (0..<hours).map { "20261110\($0 < 10 ? "0" : "")\($0),\(100 + $0)\n" }
            try directory.write(
                Array(("Date + hour (YYYYMMDDHH),Active users\n" + rows.joined()).utf8),
                to: "ga.csv")
        }
        try export(hours: 4)
        let (code, output, errors) = try await plan(["--draws", "0", "--from-analytics", "ga.csv"])
        #expect(code == 2 && output.isEmpty)
        #expect(
            errors.contains("ga.csv: no input follows from 4 periods of 1 h 00 min"), "\(errors)")
        #expect(errors.contains("not users at the same time") && errors.contains("a whole day"))
        try export(hours: 24)
        let (done, text, _) = try await plan(["--draws", "0", "--from-analytics", "ga.csv"])
        #expect(done == 0 && text.contains("From --from-analytics ga.csv: audience.peakToMean."))
    }

    @Test func logsOfSeveralServersAreAdded() async throws {
        func log(_ name: String, _ requests: Int) throws {
            let lines = (0..<requests).map { index in
                let minute = index % 60
                return
                    "h - - [10/Oct/2026:1\(index % 2):\(minute < 10 ? "0" : "")\(minute):00 +0000] "
                    + "\"GET /a HTTP/1.1\" 200 500\n"
            }
            try directory.write(Array(lines.joined().utf8), to: name)
        }
        try log("1.log", 600)
        try log("2.log", 1_800)
        let (code, output, errors) = try await plan(["log", "1.log", "--log", "2.log", "--json"])
        try #require(code == 0, "\(errors)")
        let all = try #require(
            JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
        #expect(all["requests"] as? Int == 2_400)
        let (planned, json, problem) = try await plan([
            "--json", "--draws", "0", "--months", "0", "--from-access-log", "1.log",
            "--from-access-log", "2.log",
        ])
        try #require(planned == 0, "\(problem)")
        #expect(
            try input(json, "edge.peakRequestsPerSecond") == all["peakRequestsPerSecond"] as? Double
        )
        let (shown, text, _) = try await plan([
            "--draws", "0", "--from-access-log", "1.log", "--from-access-log", "2.log",
        ])
        #expect(
            shown == 0 && text.contains("\nFrom --from-access-log 1.log and 2.log: "), "\(text)")
    }

    /// The first screen says what came from a log, and that the catalog did not.
    @Test func whatCameFromALogIsNamed() async throws {
        let lines = (0..<120).map { index in
            "h - - [10/Oct/2026:1\(index / 60):\(index % 60 < 10 ? "0" : "")\(index % 60):00 +0000] "
                + "\"GET /t/\(index % 60)/a.ts HTTP/1.1\" 200 500000\n"
        }
        try directory.write(Array(lines.joined().utf8), to: "a.log")
        let (code, output, errors) = try await plan(["--from-access-log", "a.log"])
        try #require(code == 0, "\(errors)")
        let text = output.split(separator: "\n").joined(separator: " ")
        #expect(text.contains("From --from-access-log a.log: "), "\(output)")
        #expect(text.contains("edge.peakRequestsPerSecond"))
        #expect(text.contains("The catalog is assumed, and storage and fill with it"))
        #expect(text.contains("monthly active users (calculated)"))
        #expect(text.contains("unchecked ones have a source"))
        let (done, known, _) = try await plan(["--from-access-log", "a.log", "--titles", "60"])
        #expect(done == 0 && !known.contains("The catalog is assumed"))
    }

    @Test func aPresetHasItsKindOfService() async throws {
        let (code, output, errors) = try await plan(["--preset", "hotstar-2019", "--draws", "0"])
        #expect(code == 0 && output.contains("events and channels"), "\(errors)")
        #expect(!output.contains("titles on demand"))
        let (set, vod, _) = try await plan([
            "--preset", "hotstar-2019", "--draws", "0", "--service", "vod",
        ])
        #expect(set == 0 && vod.contains("titles on demand"))
    }

    @Test func aPresetNamesItsSource() async throws {
        let (code, output, errors) = try await plan([
            "--preset", "steam-2020", "--draws", "0", "--months", "0", "--json",
        ])
        try #require(code == 0, "\(errors)")
        #expect(try input(output, "audience.peakConcurrentUsers") == 24_800_000)
        #expect(output.contains("https://www.pcgamer.com/"))
        let (bad, _, message) = try await plan(["--preset", "steam-2020", "--users", "5"])
        #expect(
            bad == 2
                && message.contains("--preset steam-2020 and audience.monthlyActiveUsers both"))
        let (no, _, other) = try await plan(["--preset", "x"])
        #expect(no == 2 && other.contains("--preset is 'x'"))
        let (mapped, _, third) = try await plan(["--analytics-column", "users=x"])
        #expect(mapped == 2 && third.contains("--analytics-column needs --from-analytics"))
    }
}
