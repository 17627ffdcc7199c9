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
    /// For the help of such commands.
    static let place = "Uses the cluster at DRAY_COORDINATOR, by default the one of `dray up`."
    /// For the help of those that make do with a private cluster that does not run.
    static let anyPlace =
        "Uses the cluster at DRAY_COORDINATOR, by default the one of `dray up`. If none "
        + "runs, starts the private cluster of `dray prefetch` for the answer."
    /// A person waits.
    static let retrySeconds = 2.0

    /// Connects to a cluster that runs, prints what `body` answers, and says how the process ends.
    static func run(
        _ body: (CoordinatorClient) async throws -> String
    ) async -> ExitCode {
        do {
            try LogOutput.configure(environment: ClientSettings.environment, defaultLevel: .warning)
            return try await ask(try ClusterPlace.current(), body)
        } catch {
            return Console.fail(error)
        }
    }

    /// As `run`; where DRAY_COORDINATOR is not set, by the `dray up` of the state directory or, where none runs, by
    /// the private cluster, started without workers for as long as `body` takes.
    ///
    /// - Parameter isCheck: tells whether a cluster runs, so that none is started that is not named.
    static func run(
        _ arguments: Arguments, isCheck: Bool = false,
        _ body: @escaping @Sendable (CoordinatorClient) async throws -> String
    ) async -> ExitCode {
        do {
            try LogOutput.configure(environment: ClientSettings.environment, defaultLevel: .warning)
            try CommonOptions.checkState(arguments)
            if let named = try ClusterPlace.named() {
                PrefetchCommand.noteEmbeddedOptions(arguments, [CommonOptions.state.name])
                return try await ask(named, body)
            }
            // Without a home there is no default state.
            if let path = try? CommonOptions.statePath(arguments),
                let running = try ClusterPlace.running(in: path)
            {
                return try await ask(running, body)
            }
            guard !isCheck || arguments.text(CommonOptions.state.name) != nil,
                try await isPrivate(arguments)
            else { return try await ask(try ClusterPlace.standard(), body) }
            return try await askPrivate(try CommonOptions.statePath(arguments), body)
        } catch {
            return Console.fail(error)
        }
    }

    /// As above, with what the command line asks for: read before any cluster is started.
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

    private static func ask(
        _ place: ClusterPlace, _ body: (CoordinatorClient) async throws -> String
    ) async throws -> ExitCode {
        let client = try place.client()
        defer { client.shutdown() }
        do {
            Console.write(try await body(client))
        } catch let failure as Failure
            where failure.code == "cluster.coordinatorUnreachable"
            && ClientSettings.coordinator == nil
        {
            throw Failure(
                failure.code,
                "no cluster runs at \(ClientSettings.defaultListen), and DRAY_COORDINATOR "
                    + "is not set; start one with `dray up`" + privateHint)
        }
        return .success
    }

    /// Where the private cluster is to be asked, if there is one in its default place.
    private static var privateHint: String {
        guard
            let path = try? StateDirectory.defaultPath(environment: ClientSettings.environment),
            StateDirectory.isUsed(path)
        else { return "" }
        return
            ", or use the private one of `dray prefetch`: `dray status --state "
            + "\(printable(path))`"
    }

    /// `value` as JSON if `--json` was given, as `text` otherwise.
    static func show(
        _ value: some Encodable, _ arguments: Arguments, as text: () -> String
    ) throws -> String {
        guard arguments.flag("json") else { return text() }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }

    /// A table under its title; `Title: none` without rows.
    static func section(
        _ title: String, _ headings: [String], _ alignments: [TextLayout.Alignment],
        _ rows: [[String]]
    ) -> String {
        guard !rows.isEmpty else { return "\(title): none\n" }
        return "\(title)\n"
            + TextLayout.table(headings: headings, alignments: alignments, rows: rows)
    }

    /// A rate as `Bandwidth` prints it; `unlimited` for none.
    static func rate(_ bytesPerSecond: Int64?) -> String {
        (bytesPerSecond.map(Bandwidth.bytesPerSecond) ?? .unlimited).description
    }

    /// `--name RATE` in bytes a second; nil for `unlimited` and when it was not given.
    static func rate(_ name: String, _ arguments: Arguments) throws(UsageError) -> Int64? {
        guard let text = arguments.text(name) else { return nil }
        do throws(Failure) {
            let bandwidth = try Bandwidth(text)
            guard bandwidth != .off else {
                throw Failure("input.field", "'off' was given; allowed: a rate, or unlimited.")
            }
            return bandwidth.limit
        } catch {
            throw UsageError(
                "--\(name): \(printable(error.message))", hint: "Write 200Mbit/s, say.")
        }
    }
}
