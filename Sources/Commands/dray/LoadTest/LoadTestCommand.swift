import Client
import CommandLine
import Foundation
import LoadModel
import LoadReport
import Model
import Rendering
import Services
import Synchronization
import Text
import Transfer
import WebURL

/// `dray loadtest`: measures the capacity of an origin, an edge or a pool.
enum LoadTestCommand {
    static let command = Command(
        "loadtest",
        summary: "Load-test an origin or an edge with viewers or requests.",
        discussion: """
            TARGET is a URL or a scenario file (docs/load-scenarios.md), - for stdin; options \
            override the file. An object of a bucket is s3://bucket/key?endpoint=URL&region=NAME, \
            signed with the credentials of this process. An HLS or DASH title is played by viewers, each with a playhead, \
            a buffer and rendition switching. A file, or a title with --plain, is requested \
            repeatedly.

            With --rate, requests arrive on schedule, however long earlier ones take. With \
            --users, each user waits for its answer. Latency counts from the time a request was \
            due.

            Dray contacts only hosts that the targets or --allow name. It starts nothing beyond \
            --duration, --requests and --bytes; current requests may then use their --timeout. \
            Ctrl-C stops at once and prints the report.

            Exit codes: 0 done, 2 bad usage, a target that cannot be requested (no load is sent) or \
            a report file that cannot be written, 3 the test failed or lost a worker, 99 a \
            threshold failed, 130 interrupted.
            """,
        subcommands: [LoadCompareCommand.command, LoadRateCommand.command],
        operands: [
            CommandOperand(
                "TARGET", .files, required: false,
                help: "An http, https or s3 URL, a scenario file, or - for stdin.")
        ],
        options: LoadTestOptions.load + ReplayLog.options + LoadTestOptions.targets
            + LoadTestOptions.viewers + LoadTestOptions.requests + LoadTestOptions.goals
            + backendOptions
            + modes + outputs
            + [TransferOptions.allowAddresses, TransferOptions.denyAddresses]
    ) { arguments in
        do {
            try LogOutput.configure(
                environment: ClientSettings.environment, defaultLevel: .warning)
            return try await run(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static let modes = [
        CommandOption(
            "threads", .integer(placeholder: "N", range: 1...256),
            help: "Number of sending threads. Default: one per core, within the CPU quota."),
        CommandOption(
            "search", .flag,
            help:
                "Raise the rate or the users until a threshold fails, the target falls behind, or "
                + "more users bring no more throughput, and find the highest load that passes. It "
                + "begins at --rate or --users."
        ),
        CommandOption(
            "step", .text(placeholder: "TIME"),
            help:
                "With --search: duration of each load, 2s or more, and more than twice the longest "
                + "answer. Default: 10s."),
        CommandOption(
            "max-load", .number(placeholder: "N", range: 1...1_000_000),
            help: "With --search: maximum rate or users. Default: 1000000."),
        CommandOption(
            "scale", .text(placeholder: "LIST"),
            help:
                "Run with 1,2,4,8 workers (threads without --cluster), each with "
                + "--users, and fit the Universal Scalability Law."),
        CommandOption(
            "yes", .flag, help: "Do not wait before sending load to a public address."),
    ]
    private static let outputs = [
        CommandOption("json", .flag, help: "Print the result as JSON."),
        CommandOption("html", .file(placeholder: "FILE"), help: "Write a page with charts."),
        CommandOption("csv", .file(placeholder: "FILE"), help: "Write a row for each second."),
        CommandOption(
            "hdr-log", .file(placeholder: "FILE"),
            help: "Write an HdrHistogram log with a line for each second."),
        CommandOption(
            "prometheus", .file(placeholder: "FILE"),
            help: "Write the result in the Prometheus text format."),
        CommandOption(
            "junit", .file(placeholder: "FILE"),
            help: "Write the thresholds as JUnit XML, for CI."),
        CommandOption(
            "metrics-listen", .text(placeholder: "ADDR:PORT"),
            help:
                "Let Prometheus scrape http://ADDR:PORT/metrics during the test; a PORT "
                + "alone is on loopback, 0 picks a free port."),
        CommandOption(
            "remote-write", .text(placeholder: "URL"),
            help:
                "Send the metrics to Prometheus's remote write every five seconds and at the end: "
                + "http://HOST:9090/api/v1/write."),
        CommandOption(
            "remote-write-header", .text(placeholder: "LINE"), repeatable: true, secret: true,
            help: "'Name: value' to send with --remote-write, for authentication. Repeatable."),
        CommandOption("quiet", .flag, help: "Show no progress."),
    ]

    // MARK: Running

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        do { return try await runAsAsked(arguments) } catch {
            throw LoadTestOptions.inOptions(error, arguments)
        }
    }

    private static func runAsAsked(_ arguments: Arguments) async throws -> ExitCode {
        var scenario = try LoadTestOptions.scenario(arguments)
        let mode = try mode(arguments, scenario)
        let files = try LoadTestFiles(arguments)
        let isQuiet = arguments.flag("quiet")
        let listen = try arguments.text(MetricsListener.option).map(MetricsListener.address)
        let environment = ClientSettings.environment
        let display = LoadTestDisplay(
            mode: LiveLines.mode(isQuiet: isQuiet, environment: environment),
            style: TerminalStyle(environment: environment))
        let backend = try backend(arguments, scenario, mode, display)
        scenario = try await LoadTargetSigner(environment: environment).signed(
            scenario, mode, waitSeconds: try waitSeconds(arguments, mode))
        let metrics = LoadMetrics(scenario) { backend.generators }
        let service = LoadTestService(
            scenario, mode, backend, isConfirmed: arguments.flag("yes"), display, metrics,
            errorForUser: { LoadTestOptions.inOptions($0, arguments) })
        var watchers: [any Service] =
            listen.map {
                [MetricsListener($0, isQuiet: isQuiet, metrics)]
            } ?? []
        if let writer = try remoteWriter(arguments, metrics) { watchers.append(writer) }
        // Lost workers are waited for before the rest is reported.
        let code = await runServices(
            [watchers, [service]], graceSeconds: arguments.flag("cluster") ? 45 : 5)
        display.end()
        guard let outcome = service.outcome else {
            return code == .success ? .interrupted : code
        }
        let unwritten = files.write(outcome)
        for failure in unwritten { _ = Console.fail(failure) }
        if let failure = outcome.failure { return Console.fail(failure) }
        return outcome.exitCode == .success && !unwritten.isEmpty ? .usage : outcome.exitCode
    }

    private static func remoteWriter(
        _ arguments: Arguments, _ metrics: LoadMetrics
    ) throws -> LoadRemoteWriter? {
        let lines = arguments.texts("remote-write-header")
        guard let text = arguments.text("remote-write") else {
            guard lines.isEmpty else {
                throw UsageError(
                    "--remote-write-header needs --remote-write",
                    hint: "Add --remote-write URL, or omit it.")
            }
            return nil
        }
        let url: WebURL
        do throws(WebURLError) { url = try WebURL(text) } catch {
            throw LoadTestOptions.rejection(
                "remote-write", Redaction.shown(text), "an http or https URL")
        }
        return try LoadRemoteWriter(
            url.text, headers: try LoadTestOptions.headers("remote-write-header", lines), metrics)
    }

    private static func mode(
        _ arguments: Arguments, _ scenario: LoadScenario
    ) throws -> LoadTestSession.Mode {
        let isSearch = arguments.flag("search")
        if !isSearch, let option = ["step", "max-load"].first(where: { arguments.text($0) != nil })
        {
            throw UsageError("--\(option) needs --search", hint: "Add --search, or omit it.")
        }
        if let text = arguments.text("scale") {
            guard !isSearch else {
                throw UsageError(
                    "--scale and --search cannot be combined", hint: "Run one after the other.")
            }
            guard scenario.model == .closed else {
                throw UsageError(
                    "--scale needs --users",
                    hint: "Use --users; a rate does not grow with the number of workers.")
            }
            return .scale(try workers(text))
        }
        guard isSearch else { return .once }
        guard !scenario.judgedThresholds.isEmpty else {
            throw UsageError(
                "--search with --may-fail needs --threshold",
                hint: "Add a threshold: --threshold 'p99(total) < 200ms'.")
        }
        let step = try LoadTestOptions.duration("step", arguments, LoadSearch.stepSeconds) ?? 10
        let first = scenario.maxLevel
        guard first > 0 else {
            throw UsageError(
                "--search starts with no load", hint: "Set a rate or users above 0 to start with.")
        }
        if let most = arguments.number("max-load"), most < first {
            throw LoadTestOptions.rejection(
                "max-load", HumanFormat.fixed(most, places: 0),
                "\(HumanFormat.fixed(first, places: 0)), its first load, or more")
        }
        let seconds =
            try LoadTestOptions.duration("duration", arguments, LoadLimits.capSeconds)
            ?? scenario.caps.durationSeconds
        if let seconds, seconds < step {
            guard let given = arguments.text("step") else {
                throw LoadTestOptions.rejection(
                    "duration", LoadText.text(duration: seconds),
                    "\(LoadText.text(duration: step)) or more, the time of one step; or set a "
                        + "shorter --step")
            }
            throw LoadTestOptions.rejection(
                "step", given,
                "up to \(LoadText.text(duration: seconds)), the time of all steps together")
        }
        return .search(
            stepSeconds: step, most: arguments.number("max-load") ?? 1_000_000, seconds: seconds)
    }

    private static func workers(_ text: String) throws -> [Int] {
        let counts = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        let known = counts.compactMap(\.self)
        guard known.count == counts.count, (1...50).contains(known.count),
            known.allSatisfy({ (1...256).contains($0) }), Set(known).count == known.count
        else {
            throw LoadTestOptions.rejection(
                "scale", text,
                "different numbers of workers, 1 to 256, separated by commas: 1,2,4,8")
        }
        return known
    }
}

/// Files for the result, besides the terminal.
struct LoadTestFiles {
    private let arguments: Arguments

    /// Throws if a file cannot be written, before any load is sent.
    init(_ arguments: Arguments) throws {
        self.arguments = arguments
        var options: [String: String] = [:]
        for option in ["html", "csv", "hdr-log", "prometheus", "junit"] {
            guard let path = arguments.text(option) else { continue }
            guard path != "-" else {
                throw LoadTestOptions.rejection(
                    option, path, "a file's path; standard output has the summary, or --json")
            }
            try ReportWriter.check(path, option: option)
            let canonical = Self.canonicalPath(path)
            if let canonical, let other = options.updateValue(option, forKey: canonical) {
                throw UsageError(
                    "--\(other) and --\(option) are one file, \(printable(path))",
                    hint: "Use a different file for each.")
            }
        }
    }

    /// Returns the canonical path of a file; nil for other things such as `/dev/null`.
    private static func canonicalPath(_ path: String) -> String? {
        var isFolder: ObjCBool = false
        let url = URL(fileURLWithPath: path)
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
            let type =
                try? FileManager.default.attributesOfItem(
                    atPath: url.resolvingSymlinksInPath().path)[.type] as? FileAttributeType
            return type == .typeRegular ? url.resolvingSymlinksInPath().path : nil
        }
        return url.deletingLastPathComponent().resolvingSymlinksInPath()
            .appendingPathComponent(url.lastPathComponent).path
    }

    /// Writes all files and returns the failures; a failed one does not prevent the others, since
    /// results cannot be measured again.
    func write(_ outcome: LoadTestSession.Outcome) -> [any Error] {
        let (result, ladder) = (outcome.result, outcome.ladder)
        var unwritten: [any Error] = []
        func write(_ option: String, _ text: () throws -> String) {
            guard let path = arguments.text(option) else { return }
            do { try WholeFile.write(try text(), to: path) } catch { unwritten.append(error) }
        }
        write("html") { LoadHTML(result, ladder: ladder).text }
        write("csv") { LoadCSV.text(result) }
        write("hdr-log") { try LoadHistograms.text(result) }
        write("prometheus") { LoadPrometheus.text(result) }
        write("junit") { LoadJUnit.text(result, ladder: ladder) }
        var json: String?
        if arguments.flag("json") {
            do { json = try LoadJSON.text(result, ladder: ladder) } catch {
                unwritten.append(error)
            }
        }
        if let json {
            Console.write(json)
        } else {
            let style = TerminalStyle(environment: ClientSettings.environment)
            let summary = LoadSummary(
                result, ladder: ladder, usesUnicode: style.usesUnicode,
                columns: LiveLines.columns(of: STDOUT_FILENO))
            Console.write(summary.text)
        }
        return unwritten
    }
}
