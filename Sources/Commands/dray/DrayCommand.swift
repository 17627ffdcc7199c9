import Client
import CommandLine
import Model

/// The command tree, and the common steps of all commands.
enum DrayCommand {
    private static let root: Command = Command(
        "dray", summary: "Dray pre-fetches catalogs to edge storage with a cluster of workers.",
        discussion: """
            Without DRAY_COORDINATOR, `dray prefetch` starts a private cluster (PostgreSQL, a \
            coordinator and workers) and stops it at the end.

            Environment:

              DRAY_COORDINATOR      URL of the cluster's coordinator, several separated by commas
              DRAY_COORDINATOR_USER trusted users of a coordinator on this machine, or any
              DRAY_TOKEN_FILE       file with the cluster's token
              DRAY_TOKEN            the token
              DRAY_DATABASE_FILE    file with the database URL, for coordinators
              DRAY_DATABASE_URL     the database URL
              DRAY_ORIGIN_SETTINGS  JSON file with the settings of origins
              DRAY_ALLOW_ADDRESSES  private addresses to allow
              DRAY_DENY_ADDRESSES   addresses to deny
              DRAY_LOG              debug, info, warning or error
              DRAY_LOG_FORMAT       text or json

            Exit codes:

              0    everything is done
              1    some assets failed
              2    bad usage or input, or output that cannot be written
              3    no coordinator or database, or a load test failed
              4    the catalog was cancelled
              5    everything is done, but after the deadline
              99   a threshold of a load test failed
              130  interrupted; run the command again to resume
            """,
        subcommands: [
            PrefetchCommand.command, RefreshCommand.command, FetchCommand.command,
            InspectCommand.command, UpCommand.command, CoordinatorCommand.command,
            WorkerCommand.command, DatabaseCommand.command, StatusCommand.command,
            QueueCommand.command, CatalogCommand.command, AssetsCommand.command,
            OriginsCommand.command,
            SiteCommand.command, PlanCommand.command,
            LoadTestCommand.command, HistogramCommand.command, BenchmarkCommand.command,
            CompletionCommand.command, ManualCommand.command,
        ])

    static let tree: CommandTree = CommandTree(root: root, version: drayVersion)

    static func run(_ words: [String]) async -> ExitCode {
        Console.ending(await ending(of: words))
    }

    private static func ending(of words: [String]) async -> ExitCode {
        do {
            switch try CommandParser(tree).parse(words) {
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
