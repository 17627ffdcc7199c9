import Client
import CommandLine
import Model
import Planner
import Statistics
import Text

/// The files of `--calibrate`: reports of runs, which are fitted together, and other measurements.
struct CalibrationFiles {
    /// A report has a few hundred bytes per file.
    static let maxReportBytes = 256 << 20
    /// A load test's result has one row per second.
    private static let maxMeasuredBytes = 64 << 20

    private let reports: [(path: String, run: RunCheck.Run)]
    let others: [(path: String, bytes: [UInt8])]

    /// Reads the files. Reports without connections get those of `scenario`, if they are given.
    init(_ paths: [String], _ scenario: Scenario) throws {
        var reports: [(path: String, run: RunCheck.Run)] = []
        var others: [(path: String, bytes: [UInt8])] = []
        for path in paths {
            let (bytes, _) = try SmallFile.read(path, maximumBytes: Self.maxReportBytes)
            guard let report = RunReport(json: bytes) else {
                guard bytes.count <= Self.maxMeasuredBytes else {
                    throw Failure(
                        .inputTooLarge,
                        "\(printable(path)): a measurement has at most \(Self.maxMeasuredBytes) "
                            + "bytes, given \(bytes.count)")
                }
                others.append((path, bytes))
                continue
            }
            var run = report.run()
            try PlanMeasurements.named(path) { () throws(PlannerError) in try run.check() }
            run.connections = run.connections ?? scenario.given[.connections]?.likely
            guard run.connections != nil else {
                throw Failure(
                    .inputField,
                    "\(printable(path)): totals.settings.connections is missing",
                    hint: "Use --set worker.connections=N, the connections of each worker of the "
                        + "run.")
            }
            reports.append((path, run))
        }
        self.reports = reports
        self.others = others
    }

    /// The fit to all reports; nil without any.
    var runs: Calibration? {
        get throws {
            guard let first = reports.first else { return nil }
            for (path, run) in reports.dropFirst() {
                _ = try PlanMeasurements.named(path) { () throws(PlannerError) in
                    try Calibration(runs: [run])
                }
            }
            return try PlanMeasurements.named(first.path) { () throws(PlannerError) in
                try Calibration(runs: reports.map(\.run))
            }
        }
    }

    var nameOfRuns: String {
        reports.count == 1 ? reports[0].path : "\(reports.count) reports"
    }

    /// Returns `values` without a worker's measured speed if reports were fitted: it would replace
    /// theirs, and holds for one number of connections only.
    func withoutSpeeds(_ values: [String: Measured]) -> [String: Measured] {
        guard !reports.isEmpty else { return values }
        let speeds = ["segmentsPerSecond", "serviceSeconds", "measuredBytes", "secondsPerGigabyte"]
        return values.filter { value in !speeds.contains { "worker.\($0)" == value.key } }
    }
}
