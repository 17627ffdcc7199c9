import Client
import CommandLine
import Configuration
import Model
import Rendering

/// The command tree, and the common steps of all commands.
enum DrayCommand {
    private static let root: Command = Command(
        "dray",
        summary:
            "Dray fetches lists of files and titles (HLS, DASH) to edge storage, with a cluster of "
            + "workers.",
        discussion: """
            Without DRAY_COORDINATOR, `dray prefetch` starts a private cluster (PostgreSQL, a \
            coordinator and workers) and stops it at the end.

            Environment:

            \(environmentText)

            Exit codes:

              0    everything is done, or left to the cluster
              1    some assets failed, or a check of `dray doctor`
              2    bad usage or input, or output that cannot be written
              3    no coordinator or database, or a load test failed
              4    the catalog was cancelled
              5    everything is done, but after the deadline
              99   a threshold of a load test failed
              130  interrupted; run the command again to resume
            """,
        subcommands: [
            PrefetchCommand.command, AdoptCommand.command, RefreshCommand.command,
            FetchCommand.command,
            InspectCommand.command, UpCommand.command, CoordinatorCommand.command,
            WorkerCommand.command, DatabaseCommand.command, StatusCommand.command,
            ReportCommand.command, QueueCommand.command, CatalogCommand.command,
            AssetsCommand.command, WatchCommand.command, WebhookCommand.command,
            OriginsCommand.command,
            SourceCommand.command, SiteCommand.command, AuditCommand.command, TokenCommand.command,
            PlanCommand.command,
            LoadTestCommand.command, HistogramCommand.command, BenchmarkCommand.command,
            DoctorCommand.command, SupportBundleCommand.command,
            ConfigCommand.command, CompletionCommand.command, ManualCommand.command,
        ])

    static let tree: CommandTree = CommandTree(
        root: root, version: drayVersion, common: Settings.options, settings: Settings.all)

    /// Lists the variables of all settings.
    private static let environmentText: String =
        (Settings.all.map { ($0.variable, $0.help) } + [
            ("DRAY_CONFIG", "Configuration file.")
        ]).map { "  \(TextLayout.padded($0.0, to: 24))\($0.1)" }.joined(separator: "\n")

    static func run(_ words: [String]) async -> ExitCode {
        Console.ending(await ending(of: words))
    }

    /// Completes a command line from the environment and the configuration file.
    private static func configure(
        _ node: CommandTree.Node, _ arguments: inout Arguments
    ) throws(UsageError) {
        // These have to work with a file that cannot be used.
        guard !["config", "completion", "man"].contains(node.path.dropFirst().first) else { return }
        do throws(UsageError) {
            let configuration = try ConfigurationSource.configuration(arguments, of: tree)
            try configuration.complete(&arguments, of: node)
            ClientSettings.apply(configuration.settings(arguments, of: node))
        } catch {
            // These report it as the result of a check.
            guard ["doctor", "support-bundle"].contains(node.path.dropFirst().first) else {
                throw error
            }
        }
    }

    private static func ending(of words: [String]) async -> ExitCode {
        do {
            switch try CommandParser(tree, defaults: configure).parse(words) {
            case .show(let text):
                Console.write(text)
                return .success
            case .run(let action, let arguments):
                return await action(arguments)
            }
        } catch {
            return Console.fail(error)
        }
    }
}
