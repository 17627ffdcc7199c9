import API
import Client
import CommandLine
import CoordinatorClient
import FoundationEssentials
import Model
import Planner
import Rendering
import Statistics
import Text

/// Options of `dray plan` that read measurements or compare a plan with a run.
enum PlanMeasurements {
    static let options = [
        CommandOption(
            "calibrate", .file(placeholder: "FILE"), repeatable: true,
            help: "Take worker and database speed from reports of `dray prefetch --report`, JSON "
                + "of `dray benchmark` or `dray loadtest`, pool runs, or a CSV file of N and X. "
                + "Repeatable."),
        CommandOption(
            "from-access-log", .file(placeholder: "FILE"), repeatable: true,
            help: "Take requests, sizes and hit ratio from an access log of nginx, Apache or "
                + "CloudFront, - for stdin. Several logs, such as those of several servers, are "
                + "added."),
        CommandOption(
            "from-cluster", .text(placeholder: "URL"),
            help: "Take worker speed from a cluster's history; needs DRAY_TOKEN or "
                + "DRAY_TOKEN_FILE."),
        CommandOption(
            "check", .file(placeholder: "RUN"),
            help: "Compare the plan with a run: the file that `dray prefetch --report` wrote."),
        CommandOption(
            "check-workers", .integer(placeholder: "N", range: 1...100_000),
            help: "Number of workers of that run. Default: from the run, or 1."),
    ]

    /// Notes on measurements, a sentence each.
    struct Notes {
        var all: [String] = []
        /// Those on how far the measurements can be relied on.
        var calibration: [String] = []
        /// Measurements that a plan should not rest on.
        var doubts: [String] = []

        mutating func add(calibration notes: [String]) {
            calibration += notes
            all += notes
        }
    }

    /// Applies measurements to a scenario: they override defaults, but not given inputs.
    static func apply(
        _ arguments: Arguments, to scenario: inout Scenario
    ) async throws -> Notes {
        var (notes, calibrations): (Notes, [Calibration]) = (Notes(), [])
        notes.all += try PlanSearches.apply(arguments, to: &scenario)
        let calibrated = try calibrate(arguments, to: &scenario, &calibrations)
        notes.add(calibration: calibrations.flatMap(\.notes))
        notes.doubts = calibrations.compactMap(\.doubt)
        notes.all += calibrated
        notes.all += try await applyLoads(arguments, to: &scenario)
        let values = ScenarioValues(scenario)
        notes.add(calibration: calibrations.flatMap { $0.sizeNotes(values) })
        notes.add(calibration: try PlanSearches.notes(arguments, values))
        return notes
    }

    /// Applies `--calibrate`; returns notes on unused values.
    private static func calibrate(
        _ arguments: Arguments, to scenario: inout Scenario, _ calibrations: inout [Calibration]
    ) throws -> [String] {
        var notes: [String] = []
        func cpuPerSegment() -> Double { ScenarioValues(scenario)[.cpuPerSegment] }
        let files = try CalibrationFiles(arguments.texts("calibrate"), scenario)
        if let runs = try files.runs {
            calibrations.append(runs)
            notes += take(runs.values, "--calibrate \(files.nameOfRuns)", into: &scenario)
        }
        for (path, bytes) in files.others {
            let calibration = try named(path) { () throws(PlannerError) in
                try Calibration.read(
                    String(decoding: bytes, as: UTF8.self),
                    cpuMicrosecondsPerSegment: cpuPerSegment())
            }
            calibrations.append(calibration)
            let values = files.withoutSpeeds(calibration.values)
            notes += take(values, "--calibrate \(path)", into: &scenario)
        }
        return notes
    }

    /// Applies logs, exports, presets and a cluster's history; returns notes on them.
    private static func applyLoads(
        _ arguments: Arguments, to scenario: inout Scenario
    ) async throws -> [String] {
        var notes: [String] = []
        func cpuPerSegment() -> Double { ScenarioValues(scenario)[.cpuPerSegment] }
        let logs = arguments.texts("from-access-log")
        if !logs.isEmpty {
            // A comma would end the source of the first screen.
            let path = logs.joined(separator: " and ")
            let summary = try PlanLogCommand.summary(ofLogs: logs)
            scenario.hourlyRequests = summary.hourlyRequests
            let ratio = scenario.peakOverMean
            let values = try named(path) { () throws(PlannerError) in
                try summary.values(peakToMean: ratio)
            }
            notes += take(values, "--from-access-log \(path)", into: &scenario) { input, measured in
                let span = HumanFormat.duration(seconds: Double(summary.spanSeconds))
                let reckoned =
                    input == .meanRequests && !summary.holdsADay
                    ? ": less than a day, so the mean is its peak over audience.peakToMean" : ""
                return "\(HumanFormat.count(measured.count, "request")) in \(span)\(reckoned)"
            }
        }
        for (path, summary) in try PlanAnalytics.summaries(arguments) {
            if scenario.hourlyRequests == nil { scenario.hourlyRequests = summary.hourlyRequests }
            guard !summary.values.isEmpty else {
                throw PlanAnalytics.withoutInput(path, summary)
            }
            notes += summary.notes
            notes += take(summary.values, "--from-analytics \(path)", into: &scenario) {
                _, measured in
                "\(HumanFormat.count(measured.count, "period")) of "
                    + HumanFormat.duration(seconds: Double(summary.periodSeconds))
            }
        }
        notes += try PlanAnalytics.applyPreset(arguments, to: &scenario)
        if let url = arguments.text("from-cluster") {
            let client = try CoordinatorClient(
                endpoints: url, token: Secrets.token, tls: ClientSettings.coordinatorTLS())
            defer { client.shutdown() }
            let status = try await client.clusterStatus(retrySeconds: ClusterCall.retrySeconds)
            let work = try await client.workersHistory(
                seconds: WorkersHistory.keptSeconds, retrySeconds: ClusterCall.retrySeconds)
            let limits = try await client.origins(retrySeconds: ClusterCall.retrySeconds).origins
            let history = try named(url) { () throws(PlannerError) in
                try ClusterHistory(
                    status, work, limits: limits.map(\.limits),
                    cpuMicrosecondsPerSegment: cpuPerSegment())
            }
            guard !history.values.isEmpty else {
                throw UsageError(
                    "\(printable(redacted(url: url))) has no usable history: "
                        + history.notes.joined(separator: " "),
                    hint: "Omit --from-cluster, or fetch something with its workers first.")
            }
            notes += history.notes
            notes += take(history.values, "--from-cluster \(redacted(url: url))", into: &scenario)
        }
        return notes
    }

    /// Applies measured values that were neither given nor measured before. `basis` describes what
    /// a value is based on. Returns a note on values that an earlier measurement already has.
    static func take(
        _ values: [String: Measured], _ origin: String, into scenario: inout Scenario,
        basis: (ScenarioInput, Measured) -> String = {
            "of \($1.count), \($1.interval == nil ? "no interval" : "95 % interval")"
        }
    ) -> [String] {
        // The size of these segments differs from that of the given speed's measurement.
        let isSpeedGiven =
            scenario.given[.segmentsPerSecond] != nil || scenario.given[.serviceSeconds] != nil
        let origin = printable(String(origin.prefix(200)))
        let measuredBefore = Set(scenario.measured.keys.map(\.row.path))
        let unused = values.keys.filter(measuredBefore.contains).sorted()
        for (path, measured) in values {
            guard let input = ScenarioInput.named(path), scenario.given[input] == nil else {
                continue
            }
            let measured = input.row.isWhole ? measured.whole : measured
            if isSpeedGiven, [.measuredBytes, .secondsPerGigabyte].contains(input) { continue }
            let allowed = input.row.allowed
            func within(_ value: Double) -> Double {
                min(max(value, allowed.lowerBound), allowed.upperBound)
            }
            scenario.given[input] = Estimate(
                low: within(measured.low), likely: within(measured.likely),
                high: within(measured.high))
            scenario.measured[input] = measured
            scenario.origins[input] = "\(origin), \(basis(input, measured))"
        }
        guard !unused.isEmpty else { return [] }
        return [
            "Not used from \(origin), since an earlier measurement has them: "
                + "\(unused.joined(separator: ", "))."
        ]
    }

    static func named<Value>(
        _ path: String, _ body: () throws(PlannerError) -> Value
    ) throws(Failure) -> Value {
        do throws(PlannerError) {
            return try body()
        } catch {
            throw Failure(error).inFile(path)
        }
    }

    // MARK: A run

    /// Compares the plan with a run; nil without `--check`.
    static func check(
        _ arguments: Arguments, _ scenario: Scenario
    ) throws -> RunCheck? {
        guard let path = arguments.text("check") else {
            guard arguments.integer("check-workers") == nil else {
                throw UsageError("--check-workers needs --check", hint: "Use both, or neither.")
            }
            return nil
        }
        let report = try NamedFile.read(path, maximumBytes: CalibrationFiles.maxReportBytes) {
            bytes throws(Failure) in
            guard let report = RunReport(json: bytes) else {
                throw Failure(
                    .inputMalformed,
                    "no report of a run, which has totals: {segments, fetchedBytes, seconds, "
                        + "retries}",
                    hint: "Use the file that `dray prefetch --report FILE` wrote.")
            }
            return report
        }
        return try RunCheck(
            ScenarioValues(scenario), report.run(workers: arguments.integer("check-workers")))
    }
}
