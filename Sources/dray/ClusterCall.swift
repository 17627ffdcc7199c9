import CoordinatorClient
import FoundationEssentials
import Model
import Runtime

/// What commands have in common that ask a running cluster and print its answer.
enum ClusterCall {
    static let json = CommandOption("json", .flag, help: "Print JSON.")
    /// For the help of such commands.
    static let place = "Asks the cluster at DRAY_COORDINATOR, by default the one of `dray up`."
    /// A person waits.
    static let retrySeconds = 2.0

    /// Connects, prints what `body` answers, and says how the process ends.
    static func run(
        _ body: (CoordinatorClient) async throws -> String
    ) async -> ExitCode {
        do {
            try LogOutput.configure(environment: DrayCommand.environment, defaultLevel: .warning)
            let endpoints = CommonOptions.coordinator ?? "http://\(CommonOptions.defaultListen)"
            let client = try CoordinatorClient(endpoints: endpoints, token: CommonOptions.token)
            defer { client.shutdown() }
            Console.write(try await body(client))
            return .success
        } catch {
            return Console.fail(error)
        }
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
