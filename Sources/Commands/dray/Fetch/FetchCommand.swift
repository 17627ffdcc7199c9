import Client
import CommandLine
import Digest
import Glibc
import Model
import Rendering
import Services
import Text
import Transfer
import WebURL

/// `dray fetch`: fetches one file with the workers' engine.
enum FetchCommand {
    static let command = Command(
        "fetch", summary: "Fetch one URL to a file or to stdout, without a cluster.",
        discussion: """
            Uses the workers' transfer engine: the same limits on time and size, the same rules \
            for redirects and addresses. Transient failures are retried from the last byte \
            received.

            FILE appears when it is complete; until then an existing FILE is not changed. If the \
            command fails or is interrupted, it keeps the received bytes beside FILE when the \
            origin supports a resume, and the same command resumes. A file that is fetched in \
            parts (--connections) does not resume.

            Exit codes: 0 fetched, 1 the origin or the connection to it failed, 2 bad usage or \
            FILE cannot be written, 130 interrupted.
            """,
        operands: [CommandOperand("URL", help: "An http or https URL.")],
        options: [
            CommandOption(
                "output", short: "o", .file(placeholder: "FILE"),
                help: "File to write, - for stdout. Default: the last part of the URL's path, "
                    + "if no such file exists."),
            CommandOption(
                "expect-sha256", .text(placeholder: "HEX"),
                help: "Fail, and keep no file, if the SHA-256 differs."),
            CommandOption(
                "connections", .integer(placeholder: "N", range: 1...64),
                help: "Fetch a file larger than 16 MiB in N parallel ranges, if the origin "
                    + "supports ranges. Default: 1."),
            CommandOption(
                "retries", .integer(placeholder: "N", range: 0...100),
                help: "Maximum retries of a request. Default: by failure code, see "
                    + "docs/failures.md."),
            CommandOption("json", .flag, help: "Print the result as JSON on stdout."),
            CommandOption("quiet", .flag, help: "Show errors only."),
        ] + HeaderOptions.all + TransferOptions.all
    ) { arguments in
        do {
            try LogOutput.configure(
                environment: ClientSettings.environment, defaultLevel: .warning)
            return try await run(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let isJSON = arguments.flag("json")
        let isQuiet = arguments.flag("quiet")
        if isJSON, arguments.text("output") == "-" {
            throw UsageError("--json and -o - both write to stdout", hint: "Name a file with -o.")
        }
        let session = try FetchSession(try plan(arguments))
        let group = ServiceGroup(
            stages: [[session]], graceSeconds: 5, signals: try ProcessSignals.stream())
        _ = try await group.run()
        guard let report = session.report else { return .interrupted }
        if isJSON { Console.write(try report.json()) }
        if let failure = report.failure {
            let kept = report.keptBytes.map {
                "\(HumanFormat.bytes($0)) kept: the same command resumes from there"
            }
            if failure.code == .workerCancelled {
                Console.note("interrupted; \(kept ?? "nothing is kept")")
                return .interrupted
            }
            let ending = Console.fail(failure)
            if let kept, !isQuiet { Console.note(kept) }
            return ending == .usage ? .usage : .someFailed
        }
        if !isQuiet { for line in report.lines { Console.note(line) } }
        return .success
    }

    /// Checks everything possible before any request.
    private static func plan(_ arguments: Arguments) throws -> FetchSession.Plan {
        let text = arguments.operands[0]
        let url: WebURL
        do throws(WebURLError) { url = try WebURL(text) } catch {
            throw error.failure(given: text)
        }
        let sha256 = arguments.text("expect-sha256")
        if let sha256, SHA256Digest(hex: sha256.lowercased()) == nil {
            throw UsageError("--expect-sha256 is not a SHA-256", hint: "It has 64 hex digits.")
        }
        let connections = arguments.integer("connections") ?? 1
        var options = TransferEngine.Options()
        options.loops = min(options.loops, connections)
        options.connections = connections
        options.addressPolicy = try TransferOptions.addressPolicy(arguments, allowsPrivate: true)
        options.origins = try TransferOptions.origins(arguments)
        try HeaderOptions.add(arguments, of: url.text, to: &options.origins)
        let given = arguments.text("output")
        let path = try given ?? name(of: url)
        var plan = FetchSession.Plan(
            url: url, output: try FetchOutput(path, mustBeNew: given == nil),
            expectedSHA256: sha256?.lowercased(), connections: connections,
            retries: arguments.integer("retries"), tellsRetries: !arguments.flag("quiet"),
            engine: options)
        let environment = ClientSettings.environment
        let isLive =
            LiveLines.mode(isQuiet: arguments.flag("quiet"), environment: environment)
            == .live
        // Output and progress would overwrite each other on one terminal.
        if isLive, path != "-" || isatty(STDOUT_FILENO) == 0 {
            plan.progress = FetchProgress(
                name: printable(path), style: TerminalStyle(environment: environment))
        }
        return plan
    }

    /// Returns the default file name: from the URL's path alone, like a site's key.
    private static func name(of url: WebURL) throws(Failure) -> String {
        let key: SiteKey
        do {
            key = try SiteKey(url.withoutQuery)
        } catch {
            throw Failure(
                .inputDestination, "the URL's path has no file name; use -o FILE")
        }
        return key.text.split(separator: "/").last.map(String.init) ?? "index.html"
    }
}
