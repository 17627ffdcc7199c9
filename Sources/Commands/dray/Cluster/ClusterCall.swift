import Client
import CommandLine
import CoordinatorClient
import Embedded
import FoundationEssentials
import Model
import Rendering
import Services
import Text

/// Helps commands that query a running cluster and print its answer.
enum ClusterCall {
    static let json = CommandOption("json", .flag, help: "Print JSON.")
    static let csv = CommandOption("csv", .flag, help: "Print CSV (RFC 4180).")
    /// Options of commands that use a running cluster.
    static let options = [CommonOptions.state, json] + TLSOptions.client
    /// Options of commands that print a list of one.
    static let listOptions = options + [csv]
    /// Help of such commands.
    static let clusterHelp =
        "Uses the cluster at DRAY_COORDINATOR, by default the one of `dray up`."
    /// Help of commands that may start the private cluster.
    static let privateClusterHelp =
        "Uses the cluster at DRAY_COORDINATOR, by default the one of `dray up`. If none "
        + "runs, starts the private cluster of `dray prefetch` while the command runs."
    /// Short, because a person waits.
    static let retrySeconds = 2.0

    /// Connects to a running cluster, prints the result of `body`, and returns the exit code.
    static func run(
        _ body: @escaping @Sendable (CoordinatorClient) async throws -> String
    ) async -> ExitCode {
        do {
            try LogOutput.configure(environment: ClientSettings.environment, defaultLevel: .warning)
            return try await ask(try ClusterEndpoint.current(), body)
        } catch {
            return Console.fail(error)
        }
    }

    /// Runs `body` like the function above. Without DRAY_COORDINATOR it uses the `dray up` of the
    /// state directory. If none runs, it starts the private cluster, without workers, while `body`
    /// runs.
    ///
    /// - Parameter isCheck: true for commands that check if a cluster runs, or that make no sense
    ///   without one: they start only a private cluster that `--state` names.
    static func run(
        _ arguments: Arguments, isCheck: Bool = false,
        _ body: @escaping @Sendable (CoordinatorClient) async throws -> String
    ) async -> ExitCode {
        await run(arguments, isCheck: isCheck, workers: 0) { client, _ in try await body(client) }
    }

    /// Runs `body` like the function above, with workers in a private cluster; `body` gets true in
    /// one.
    static func run(
        _ arguments: Arguments, isCheck: Bool, workers: Int,
        _ body: @escaping @Sendable (CoordinatorClient, Bool) async throws -> String
    ) async -> ExitCode {
        do {
            try LogOutput.configure(environment: ClientSettings.environment, defaultLevel: .warning)
            try CommonOptions.checkState(arguments)
            if arguments.flag(json.name), arguments.flag(csv.name) {
                throw UsageError(
                    "--json and --csv cannot be combined", hint: "Use one of them.")
            }
            if let named = try ClusterEndpoint.named() {
                PrefetchCommand.noteEmbeddedOptions(arguments, [CommonOptions.state.name])
                return try await ask(named) { try await body($0, false) }
            }
            // Without a home directory there is no default state.
            if let path = try? CommonOptions.statePath(arguments),
                let running = try ClusterEndpoint.running(in: path)
            {
                return try await ask(running) { try await body($0, false) }
            }
            guard !isCheck || arguments.text(CommonOptions.state.name) != nil,
                try await isPrivate(arguments)
            else {
                return try await ask(try ClusterEndpoint.standard()) { try await body($0, false) }
            }
            return try await askPrivate(try CommonOptions.statePath(arguments), workers: workers) {
                try await body($0, true)
            }
        } catch {
            return Console.fail(error)
        }
    }

    /// Runs `body` with the parsed command line, which is parsed before any cluster is started.
    static func run<Asked: Sendable>(
        _ arguments: Arguments, isCheck: Bool = false, asking: () throws -> Asked,
        _ body: @escaping @Sendable (Asked, CoordinatorClient) async throws -> String
    ) async -> ExitCode {
        do {
            let asked = try asking()
            return await run(arguments, isCheck: isCheck) { try await body(asked, $0) }
        } catch {
            return Console.fail(error)
        }
    }

    /// Runs `body` against the cluster that `dray prefetch` would use; without workers, if that is a
    /// private one.
    static func preview(
        _ arguments: Arguments,
        _ body: @escaping @Sendable (CoordinatorClient?) async throws -> String
    ) async -> ExitCode {
        do {
            if let named = try ClusterEndpoint.named() {
                return try await ask(named) { try await body($0) }
            }
            let path = try CommonOptions.statePath(arguments)
            guard StateDirectory.isUsed(path) else {
                Console.write(try await body(nil))
                return .success
            }
            return try await askPrivate(path, workers: 0) { try await body($0) }
        } catch {
            return Console.fail(error)
        }
    }

    /// Runs `body` with the parsed command line, with workers in a private cluster; `body` gets
    /// true in one.
    static func run<Asked: Sendable>(
        _ arguments: Arguments, workers: Int, asking: () throws -> Asked,
        _ body: @escaping @Sendable (Asked, CoordinatorClient, Bool) async throws -> String
    ) async -> ExitCode {
        do {
            let asked = try asking()
            return await run(arguments, isCheck: false, workers: workers) {
                try await body(asked, $0, $1)
            }
        } catch {
            return Console.fail(error)
        }
    }

    private static func ask(
        _ cluster: ClusterEndpoint,
        _ body: @escaping @Sendable (CoordinatorClient) async throws -> String
    ) async throws -> ExitCode {
        // A signal ends the call, however long its answer takes.
        let group = ServiceGroup(
            stages: [[ClusterCallService(makeClient: { try cluster.client() }, body: body)]],
            graceSeconds: 0, signals: try ProcessSignals.stream())
        do {
            return try await group.run() == .finished ? .success : .interrupted
        } catch let failure as Failure
            where failure.code == .clusterCoordinatorUnreachable
            && ClientSettings.coordinator == nil
        {
            throw noCluster(failure.code, else: privateHint)
        }
    }

    /// Returns the failure of a command without DRAY_COORDINATOR where no cluster runs.
    static func noCluster(_ code: FailureCode, else hint: String) -> Failure {
        Failure(
            code,
            "no cluster runs at \(ClientSettings.defaultListen), and DRAY_COORDINATOR "
                + "is not set; start one with `dray up`" + hint)
    }

    /// The hint to use the private cluster, if the default one exists.
    private static var privateHint: String {
        guard
            let path = try? StateDirectory.defaultPath(environment: ClientSettings.environment),
            StateDirectory.isUsed(path)
        else { return "" }
        return ", or use the private one of `dray prefetch`: add `--state \(printable(path))`"
    }

    /// Returns `value` as JSON with `--json`, as CSV with `--csv`, or else as `text`.
    ///
    /// - Parameter next: position of a list's next page, which CSV has no cell for and stderr gets; nil
    ///   at the end.
    static func show(
        _ value: some Encodable, _ arguments: Arguments, csv: (() -> String)? = nil,
        next: String? = nil, as text: () -> String
    ) throws -> String {
        if let csv, arguments.flag(Self.csv.name) {
            if let next { Console.note("there is more: \(after(next))") }
            return csv()
        }
        guard arguments.flag("json") else { return text() }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }

    /// The last line of a list with more rows; empty without.
    static func more(_ next: String?) -> String { next.map { "More: \(after($0))\n" } ?? "" }

    private static func after(_ next: String) -> String {
        "--after '\(next.replacing("'", with: "'\\''"))'"
    }

    /// Formats a table below its title; `Title: none` without rows.
    static func section(
        _ title: String, _ headings: [String], _ alignments: [TextLayout.Alignment],
        _ rows: [[String]]
    ) -> String {
        guard !rows.isEmpty else { return "\(title): none\n" }
        return "\(title)\n"
            + TextLayout.table(headings: headings, alignments: alignments, rows: rows)
    }

    /// Formats a rate like `Bandwidth`; `unlimited` for nil.
    static func rate(_ bytesPerSecond: Int64?) -> String {
        (bytesPerSecond.map(Bandwidth.bytesPerSecond) ?? .unlimited).description
    }

    /// Reads `--name RATE` in bytes per second; nil for `unlimited` and without the option.
    static func rate(_ name: String, _ arguments: Arguments) throws(UsageError) -> Int64? {
        guard let text = arguments.text(name) else { return nil }
        do throws(Failure) {
            let bandwidth = try Bandwidth(text)
            guard bandwidth != .off else {
                throw Failure(.inputField, "'off' was given; allowed: a rate, or unlimited.")
            }
            return bandwidth.limit
        } catch {
            throw UsageError(
                "--\(name): \(printable(error.message))", hint: "Use a rate such as 200Mbit/s.")
        }
    }
}

/// Makes a call and prints its answer; then the services before it are stopped.
struct ClusterCallService: Service {
    let name = "call"
    let makeClient: @Sendable () throws -> CoordinatorClient
    let body: @Sendable (CoordinatorClient) async throws -> String

    func run() async throws {
        let client = try makeClient()
        defer { client.shutdown() }
        do {
            Console.write(try await body(client))
        } catch  where Task.isCancelled {
            // It was stopped, whatever failed because of that.
            throw CancellationError()
        }
    }
}
