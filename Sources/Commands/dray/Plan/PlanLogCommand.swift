import Client
import CommandLine
import FoundationEssentials
import ListSources
import Model
import Planner
import Rendering
import Statistics

/// `dray plan log`: summarizes the load in an access log.
enum PlanLogCommand {
    static let command = Command(
        "log", summary: "Summarize an access log: rates, concurrency, sizes.",
        discussion: """
            LOG is an nginx or Apache log in the common or combined format, or a standard \
            CloudFront log; gzip is allowed. It is read as a stream of any length.

            The request time is read after the user agent: a named value (rt=0.123), or the last \
            number. A number with a decimal point is in seconds ($request_time); one without is \
            in microseconds (%D) or seconds (%T), whichever fits most lines.
            """,
        operands: [CommandOperand("LOG", .files, help: "A file, or - for standard input.")],
        options: [
            CommandOption(
                "log", .file(placeholder: "FILE"), repeatable: true,
                help: "Another log of the same load, such as that of another server. Repeatable."),
            CommandOption("json", .flag, help: "Print JSON."),
        ], action: run)

    @Sendable private static func run(_ arguments: Arguments) async -> ExitCode {
        do {
            let summary = try summary(
                ofLogs: arguments.operands + arguments.texts("log"))
            Console.write(
                arguments.flag("json") ? try PlanText.json(LogAnswer(summary)) : text(summary))
            return .success
        } catch {
            return Console.fail(error)
        }
    }

    /// Summarizes the access logs at `paths` (`-` for stdin) as one. Throws `input.unreadable`,
    /// `input.malformed` and `input.field`.
    static func summary(ofLogs paths: [String]) throws(Failure) -> AccessLogSummary {
        var log = AccessLog()
        for path in paths {
            // Its failure has the name already.
            let file = try ListFile(path)
            try named(path) { () throws(Failure) in
                let input = ListInput(file, copies: false)
                while let piece = try input.next() {
                    try inFailure { () throws(PlannerError) in try log.read(piece) }
                }
                try inFailure { () throws(PlannerError) in try log.endLog() }
            }
        }
        return try named(paths.joined(separator: ", ")) { () throws(Failure) in
            try inFailure { () throws(PlannerError) in try log.finish() }
        }
    }

    private static func inFailure<Value>(
        _ body: () throws(PlannerError) -> Value
    ) throws(Failure) -> Value {
        do throws(PlannerError) {
            return try body()
        } catch {
            throw Failure(error)
        }
    }

    private static func named<Value>(
        _ path: String, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        do throws(Failure) {
            return try body()
        } catch {
            throw error.inFile(path)
        }
    }

    // MARK: Text

    private static func text(_ log: AccessLogSummary) -> String {
        var rows = [
            [
                "Requests", HumanFormat.count(log.requests),
                "in \(HumanFormat.duration(seconds: Double(log.spanSeconds)))",
            ],
            ["Unreadable lines", HumanFormat.count(log.unreadableLines), ""],
            [
                "Requests/s", PlanText.number(log.meanRequestsPerSecond),
                "peak minute \(PlanText.number(log.peakRequestsPerSecond))",
            ],
            [
                "Bandwidth", Quantity.bandwidth(log.meanBytesPerSecond * 8),
                "peak minute \(Quantity.bandwidth(log.peakBytesPerSecond * 8))",
            ],
            [
                "Size", Quantity.bytes(log.bytes.mean),
                "p50 \(Quantity.bytes(log.bytes.quantile(0.5))), p95 "
                    + "\(Quantity.bytes(log.bytes.quantile(0.95))), CV² "
                    + PlanText.number(log.bytes.cv2),
            ],
        ]
        if let mean = log.meanConcurrency, let peak = log.peakConcurrency {
            rows.append([
                "Time", PlanText.seconds(log.seconds.mean),
                "p50 \(PlanText.seconds(log.seconds.quantile(0.5))), p95 "
                    + "\(PlanText.seconds(log.seconds.quantile(0.95))), CV² "
                    + PlanText.number(log.seconds.cv2),
            ])
            rows.append([
                "Concurrent", PlanText.number(mean), "peak minute \(PlanText.number(peak))",
            ])
        }
        if let dispersion = log.arrivalDispersion {
            rows.append(["Arrivals' CV²", PlanText.number(dispersion), "1 for Poisson"])
        }
        if let ratio = log.hitRatio {
            rows.append(["From the cache", HumanFormat.fixed(ratio * 100, places: 2) + " %", ""])
        }
        return TextLayout.table(
            headings: ["", "Mean", ""], alignments: [.left, .right, .left], rows: rows)
            + "\n" + hours(log.requestsPerSecondByHour)
    }

    private static func hours(_ rates: [Double?]) -> String {
        let most = max(rates.compactMap(\.self).max() ?? 0, 1e-12)
        return "Requests/s by hour of the day\n"
            + TextLayout.table(
                headings: ["Hour", "Mean", ""], alignments: [.right, .right, .left],
                rows: rates.enumerated().map { hour, rate in
                    guard let rate else { return ["\(hour)", "–", "not in the log"] }
                    return [
                        "\(hour)", PlanText.number(rate),
                        String(
                            repeating: "█",
                            count: max(0, Int(saturating: min(rate / most * 50, 50).rounded()))),
                    ]
                })
    }
}

/// The summary as JSON; null for values that the log lacks.
private struct LogAnswer: Encodable {
    struct Spread: Encodable {
        let mean, cv2, p50, p95, p99, maximum: Double

        init(_ histogram: WaitHistogram) {
            mean = histogram.mean
            cv2 = histogram.cv2
            p50 = histogram.quantile(0.5)
            p95 = histogram.quantile(0.95)
            p99 = histogram.quantile(0.99)
            maximum = histogram.maximum
        }
    }

    let requests: Int
    let unreadableLines: Int
    let firstSecond: Int
    let lastSecond: Int
    let spanSeconds: Int
    let meanRequestsPerSecond: Double
    let peakRequestsPerSecond: Double
    let meanBytesPerSecond: Double
    let peakBytesPerSecond: Double
    let meanConcurrency: Double?
    let peakConcurrency: Double?
    let bytes: Spread
    let seconds: Spread?
    let requestsPerSecondByHour: [Double?]
    let arrivalCV2: Double?
    let hitRatio: Double?

    init(_ log: AccessLogSummary) {
        requests = log.requests
        unreadableLines = log.unreadableLines
        firstSecond = log.firstSecond
        lastSecond = log.lastSecond
        spanSeconds = log.spanSeconds
        meanRequestsPerSecond = log.meanRequestsPerSecond
        peakRequestsPerSecond = log.peakRequestsPerSecond
        meanBytesPerSecond = log.meanBytesPerSecond
        peakBytesPerSecond = log.peakBytesPerSecond
        meanConcurrency = log.meanConcurrency
        peakConcurrency = log.peakConcurrency
        bytes = Spread(log.bytes)
        seconds = log.seconds.count > 0 ? Spread(log.seconds) : nil
        requestsPerSecondByHour = log.requestsPerSecondByHour
        arrivalCV2 = log.arrivalDispersion
        hitRatio = log.hitRatio
    }
}
