import Foundation
import Model
import Runtime

/// The command tree and what happens around every command.
enum DrayCommand {
    static let environment = ProcessInfo.processInfo.environment

    private static let root = Command(
        "dray", summary: "Dray pre-fetches catalogs to edge storage with a cluster of workers.",
        discussion: """
            Without DRAY_COORDINATOR, `dray prefetch` runs a private cluster for itself: PostgreSQL, \
            a coordinator and workers, started and stopped by the command.

            Environment:

              DRAY_COORDINATOR      URL of the cluster to use, several separated by commas
              DRAY_TOKEN_FILE       a file with the cluster's token
              DRAY_COORDINATOR_USER users who may run a coordinator on this machine, or any
              DRAY_TOKEN            the token itself
              DRAY_DATABASE_FILE    a file with the database's URL, for coordinators
              DRAY_DATABASE_URL     the URL itself
              DRAY_ORIGIN_SETTINGS  a JSON file with the settings of origins
              DRAY_ALLOW_ADDRESSES  private addresses that transfers may connect to
              DRAY_DENY_ADDRESSES   addresses that they may not
              DRAY_LOG              debug, info, warning or error
              DRAY_LOG_FORMAT       text or json

            Exit codes:

              0    everything is done          2    bad usage or input, or output that
              1    some assets failed               cannot be written
              3    no coordinator or database
              4    the catalog was cancelled
              99   a load test's threshold does not hold
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
        ])

    static func run(_ words: [String]) async -> ExitCode {
        Console.ending(await ending(of: words))
    }

    private static func ending(of words: [String]) async -> ExitCode {
        do {
            switch try CommandParser(root: root, version: drayVersion).parse(words) {
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
