import Client
import CommandLine
import EventLoop
import JobQueue
import Model
import Postgres
import Services

/// `dray database`: manages a cluster's database.
enum DatabaseCommand {
    static let command = Command(
        "database", summary: "Manage a cluster's database.",
        subcommands: [
            Command(
                "migrate", summary: "Migrate a database to the schema of this version.",
                discussion: """
                    Coordinators migrate when they start; this command migrates earlier. It may \
                    run several times at once. A schema newer than this version's is rejected.
                    """,
                options: Secrets.databaseOptions + [
                    CommandOption(
                        "grant", .text(placeholder: "ROLE"),
                        help: "Grant ROLE the privileges that a coordinator needs.")
                ],
                action: migrate)
        ])

    @Sendable private static func migrate(_ arguments: Arguments) async -> ExitCode {
        do {
            try LogOutput.configure(environment: ClientSettings.environment, defaultLevel: .warning)
            let databaseURL = try Secrets.databaseURL(arguments)
            let loop = try EventLoop(name: "database")
            defer { loop.shutdown() }
            let pool = PostgresPool(
                PostgresConfiguration.queue(
                    url: databaseURL, applicationName: "dray migrate"),
                maximumConnections: 1, on: loop)
            let result: Result<Int, Failure>
            do {
                result = .success(
                    try await Migrations.migrate(pool, grantingTo: arguments.text("grant")))
            } catch {
                result = .failure(error)
            }
            await pool.shutdown()
            let before = try result.get()
            let now = Migrations.currentVersion
            Console.write(
                before == now
                    ? "The schema is already at version \(now).\n"
                    : "The schema is now at version \(now); it was at \(before).\n")
            return .success
        } catch {
            return Console.fail(error)
        }
    }
}
