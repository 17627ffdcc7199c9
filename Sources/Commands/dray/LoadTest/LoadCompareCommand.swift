import Client
import CommandLine
import LoadModel
import LoadReport
import Model
import Text

/// `dray loadtest compare`: compares the reports of two load tests.
enum LoadCompareCommand {
    static let command = Command(
        "compare", summary: "Compare the JSON reports of two load tests.",
        discussion: """
            Shows by how much each figure of B differs from that of A, with an interval of \
            confidence from a bootstrap over the seconds of both tests. A figure is worse if its \
            whole interval is beyond the tolerance.

            Exit codes: 0 nothing is worse, 2 a report cannot be read or is too short, 99 a \
            figure of B is worse.
            """,
        operands: [
            CommandOperand("A", .files, help: "A report of dray loadtest --json."),
            CommandOperand("B", .files, help: "The report to compare with it."),
        ],
        options: [
            CommandOption(
                "tolerance", .text(placeholder: "PERCENT"),
                help: "How much worse times and rates may be. Default: 5%."),
            CommandOption(
                "share-tolerance", .text(placeholder: "PERCENT"),
                help: "How much higher the share of errors, stalls or late segments may be, in "
                    + "points. Default: 0.1%."),
            CommandOption(
                "confidence", .text(placeholder: "PERCENT"),
                help: "Confidence of the intervals, 50% to 99.9%. Default: 95%."),
            CommandOption("json", .flag, help: "Print the comparison as JSON."),
        ]
    ) { arguments in
        do {
            return try run(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        var limits = LoadComparison.Limits()
        if let share = try share("tolerance", arguments, 0...10) { limits.tolerance = share }
        if let share = try share("share-tolerance", arguments, 0...1) {
            limits.shareTolerance = share
        }
        if let share = try share("confidence", arguments, 0.5...0.999) {
            limits.confidence = share
        }
        let files = try arguments.operands.map(read)
        let comparison = LoadComparison(files[0], files[1], limits)
        Console.write(arguments.flag("json") ? try comparison.json() : comparison.text)
        return comparison.isWorse ? .thresholdBroken : .success
    }

    private static func read(_ path: String) throws -> LoadReportFile {
        let (bytes, _) = try SmallFile.read(path, maximumBytes: LoadReportFile.maxBytes)
        return try LoadReportFile(bytes, label: path == "-" ? "stdin" : printable(path))
    }

    /// Parses `5%`.
    private static func share(
        _ option: String, _ arguments: Arguments, _ range: ClosedRange<Double>
    ) throws -> Double? {
        guard let text = arguments.text(option) else { return nil }
        let allowed =
            "\(LoadText.percent(range.lowerBound)) to \(LoadText.percent(range.upperBound))"
        guard let (number, unit) = LoadText.number(text[...]), unit == "%" else {
            throw LoadTestOptions.rejection(option, text, allowed)
        }
        let share = LoadText.product(number, 0.01)
        guard range.contains(share) else {
            throw LoadTestOptions.rejection(option, text, allowed)
        }
        return share
    }
}
