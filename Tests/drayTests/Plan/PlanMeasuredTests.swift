import Foundation
import Model
import TestSupport
import Testing

/// `dray plan` from measurements, and held against a run.
@Suite(.timeLimit(.minutes(2))) struct PlanMeasuredTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("plan-measured") }

    private func plan(_ arguments: [String]) async throws -> [String: Any] {
        let process = try DrayProcess.start(
            ["plan", "--json", "--draws", "0", "--months", "0"] + arguments,
            workingDirectory: directory.path)
        try #require(try await process.wait() == .exited(0), "\(process.errors)")
        let value = try JSONSerialization.jsonObject(with: Data(process.output.utf8))
        return try #require(value as? [String: Any])
    }

    private func refused(_ arguments: [String]) async throws -> String {
        let process = try DrayProcess.start(
            ["plan"] + arguments, workingDirectory: directory.path)
        #expect(try await process.wait() == .exited(2))
        return process.errors
    }

    private func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory.path)/\(name)"))
        return name
    }

    private func input(_ plan: [String: Any], _ path: String) throws -> [String: Any] {
        let inputs = try #require(plan["inputs"] as? [[String: Any]])
        return try #require(inputs.first { $0["path"] as? String == path })
    }

    private func likely(_ plan: [String: Any], _ path: String) throws -> Double? {
        (try input(plan, path)["value"] as? [String: Double])?["likely"]
    }

    /// A run of some seconds: its workers' reports calibrate a plan and are compared with it.
    @Test func aClusterIsLearnedFromAndItsRunChecked() async throws {
        let origin = try await FileOrigin(files: 400)
        let cluster = try await ProcessCluster(
            coordinators: 1, workers: 2, connections: 8, leaseSeconds: 30)
        let empty = try await refused(["--from-cluster", cluster.urls])
        #expect(
            empty.contains("no usable history") && empty.contains("Omit --from-cluster"))
        let report = "\(directory.path)/report.json"
        let run = try cluster.start([
            "prefetch", origin.list, "--to", "\(directory.path)/edge", "--report",
            report,
        ])
        try #require(try await run.wait() == .exited(0), "\(run.errors)")
        var plan: [String: Any] = [:]
        // The last heartbeat with what was done comes a moment after the end.
        try await waitUntil(deadlineSeconds: 60, "what both workers have done") {
            plan = try await self.plan([
                "--from-cluster", cluster.urls, "--check", report, "--check-workers", "2", "--set",
                "worker.contention=0",
            ])
            let source = try self.input(plan, "worker.serviceSeconds")["source"] as? String
            return source?.contains("of 400") == true
        }
        let source = try #require(try input(plan, "worker.serviceSeconds")["source"] as? String)
        #expect(source.hasPrefix("--from-cluster http://127.0.0.1:"))
        #expect(try #require(try likely(plan, "worker.serviceSeconds")) > 0)
        #expect(try #require(try likely(plan, "worker.serviceCV2")) >= 0)
        #expect(try likely(plan, "worker.connections") == 8)
        #expect(try #require(try likely(plan, "worker.cpuSecondsPerGigabyte")) > 0)
        // Unavailable inputs are reported.
        let notes = try #require(plan["notes"] as? [String])
        #expect(notes.contains { $0.contains("From the cluster") }, "\(notes)")
        let check = try #require(plan["check"] as? [String: Any])
        let figures = try #require(check["rows"] as? [[String: Any]]).map {
            $0["figure"] as? String ?? ""
        }
        for figure in [
            "time", "segments per second", "bandwidth", "retries", "assets failed",
            "p50 until stored", "p99 until stored",
        ] { #expect(figures.contains(figure), "\(figures)") }
        try await reportCalibrates(report, origin)
    }

    /// The report has its settings, and calibrates what it is compared with.
    private func reportCalibrates(_ report: String, _ origin: FileOrigin) async throws {
        let json = try JSONSerialization.jsonObject(
            with: Data(contentsOf: URL(fileURLWithPath: report)))
        let totals = try #require((json as? [String: Any])?["totals"] as? [String: Any])
        let settings = try #require(totals["settings"] as? [String: Any])
        #expect(settings["connections"] as? Int == 8)
        let origins = try #require(settings["origins"] as? [[String: Any]])
        #expect(origins.count == 1 && origins[0]["requestsPerSecond"] == nil)
        let plan = try await self.plan([
            "--calibrate", report, "--calibrate", report, "--check", report,
        ])
        #expect(try likely(plan, "worker.connections") == 8)
        let notes = try #require(plan["notes"] as? [String])
        #expect(notes.contains { $0.hasPrefix("Not determined by 2 runs: ") }, "\(notes)")
        let rows = try #require(
            (plan["check"] as? [String: Any])?["rows"] as? [[String: Any]])
        let time = try #require(rows.first { $0["figure"] as? String == "time" })
        #expect(abs(try #require(time["error"] as? Double)) < 0.2, "\(time)")
        // The settings of another run are needed too.
        let old = try write(
            "old.json",
            #"{"totals": {"segments": 9, "fetchedBytes": 9, "seconds": 1, "retries": 0}}"#)
        #expect(try await refused(["--calibrate", old]).contains("totals.settings.connections"))
        _ = try await self.plan(["--calibrate", old, "--set", "worker.connections=4"])
    }

    @Test func anAccessLogGivesRequestsAndSizes() async throws {
        func lines(_ hours: Int) -> String {
            (0..<hours * 3_600).map { second in
                func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
                return "10.0.0.1 - - [21/Nov/2026:\(two(second / 3_600)):\(two(second / 60 % 60)):"
                    + "\(two(second % 60)) +0000] \"GET /a.m4s HTTP/1.1\" 200 5000 \"-\" \"-\"\n"
            }.joined()
        }
        let log = try write("access.log", lines(24))
        let plan = try await self.plan(["--from-access-log", log])
        #expect(try likely(plan, "edge.bytesPerRequest") == 5_000)
        let rate = try #require(try likely(plan, "edge.meanRequestsPerSecond"))
        #expect(abs(rate - 1) < 1e-9)
        let source = try #require(
            try input(plan, "edge.meanRequestsPerSecond")["source"] as? String)
        #expect(source == "--from-access-log access.log, 86,400 requests in 1 d 00 h")
        // Two hours are no day.
        let part = try await self.plan(["--from-access-log", try write("part.log", lines(2))])
        #expect(try likely(part, "edge.meanRequestsPerSecond") == 0.4)
        #expect(try likely(part, "edge.peakRequestsPerSecond") == 1)
        let little = try write("little.log", String(lines(1).prefix(20_000)))
        #expect(
            try await refused(["--from-access-log", little]).contains("little.log: the access"))
        // What is given stays.
        let given = try await self.plan([
            "--from-access-log", log, "--set", "edge.bytesPerRequest=7",
        ])
        #expect(try likely(given, "edge.bytesPerRequest") == 7)
    }

    @Test func measurementsCalibrate() async throws {
        let table = try write("pool.csv", "N,X\n1,100\n2,195\n4,370\n8,670\n16,1100\n")
        let plan = try await self.plan(["--calibrate", table])
        let speed = try #require(try likely(plan, "worker.segmentsPerSecond"))
        #expect((95...105).contains(speed))
        #expect(try #require(try likely(plan, "worker.contention")) > 0)
        #expect(try input(plan, "worker.contention")["isAssumed"] as? Bool == false)
        // The second source of an input is ignored, and that is reported.
        let second = try write("second.csv", "N,X\n1,500\n")
        let both = try await self.plan(["--calibrate", table, "--calibrate", second])
        #expect(try likely(both, "worker.segmentsPerSecond") == speed)
        let notes = try #require(both["notes"] as? [String])
        #expect(
            notes.contains {
                $0.contains("Not used from --calibrate second.csv")
                    && $0.hasSuffix("has them: worker.segmentsPerSecond.")
            }, "\(notes)")
    }

    /// Searches of load tests are limits of an origin, and the speed of an edge.
    @Test func searchesGiveTheLimitsOfServers() async throws {
        let search = try write(
            "search.json",
            """
            {"figures": {"requestsPerSecond": 900, "bitsPerSecond": 1.8e9}, "calibration": [],
             "noCalibration": "its load was limited by thresholds",
             "ladder": {"kind": "search", "highest": 900, "lowestBroken": 950,
                        "isConclusive": true}}
            """)
        let plan = try await self.plan([
            "--origin-from", search, "--edge-from", search, "--edge-from-cores", "2",
        ])
        #expect(try likely(plan, "origin.requestsPerSecond") == 900)
        #expect(try likely(plan, "origin.megabitsPerSecond") == 1_800)
        let speed = try input(plan, "edge.requestsPerCoreSecond")
        #expect(
            speed["source"] as? String == "--edge-from search.json, the highest load that passed")
        let notes = try #require(plan["calibrationNotes"] as? [String])
        #expect(notes.contains { $0.hasPrefix("The origin answered 900 requests of 250 kB") })
        // What is given stays.
        let given = try await self.plan([
            "--origin-from", search, "--origin-requests", "50",
        ])
        #expect(try likely(given, "origin.requestsPerSecond") == 50)
        #expect(try await refused(["--edge-from", search]).contains("--edge-from-cores N"))
        #expect(
            try await refused(["--edge-from-cores", "2"]).contains("needs --edge-from"))
        #expect(try await refused(["--calibrate", search]).contains("--origin-from FILE"))
    }

    @Test func whatIsNoMeasurementIsRefused() async throws {
        let text = try write("text.txt", "nothing of use\n")
        #expect(try await refused(["--calibrate", text]).contains("text.txt"))
        #expect(try await refused(["--from-access-log", text]).contains("text.txt"))
        #expect(try await refused(["--check", text]).contains("no report of a run"))
        let empty = try write(
            "report.json",
            #"{"totals": {"segments": 0, "fetchedBytes": 0, "seconds": 1, "retries": 0}}"#)
        // Both name what is wrong first, not the connections that are missing as well.
        for option in ["--check", "--calibrate"] {
            let errors = try await refused([option, empty])
            #expect(
                errors.contains("totals.segments is 0") && errors.contains("fetched something"),
                "\(errors)")
        }
        #expect(
            try await refused(["--check-workers", "3"]).contains("--check-workers needs --check"))
        #expect(try await refused(["--from-cluster", "ftp://host"]).contains("http"))
    }
}
