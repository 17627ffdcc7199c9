import Coordinator
import Model
import Runtime

/// `dray coordinator`: one of any number of coordinators over one database.
enum CoordinatorCommand {
    static let command = Command(
        "coordinator", summary: "Run a coordinator over a PostgreSQL database.",
        discussion: """
            The database's schema is brought up to date first. A coordinator keeps no state: any \
            number of them may serve one database. The password may be in the URL, in PGPASSWORD or \
            in a password file; URL and password of a command line can be seen by other users.
            """,
        options: [
            CommandOption(
                "database", .text(placeholder: "URL"), required: true,
                help: "postgresql://USER@HOST/NAME, or anything else that libpq takes."),
            CommandOption(
                "listen", .text(placeholder: "ADDR:PORT"), required: true,
                help: "Where to listen; port 0 takes a free one. Beyond loopback DRAY_TOKEN must "
                    + "be set."),
        ]
    ) { arguments in
        do {
            try LogOutput.configure(environment: DrayCommand.environment, defaultLevel: .info)
            let listen = try ListenAddress(arguments.text("listen") ?? "")
            try listen.check(token: CommonOptions.token)
            let coordinator = try Coordinator(
                Coordinator.Configuration(
                    databaseURL: arguments.text("database") ?? "", address: listen.address,
                    port: listen.port, token: CommonOptions.token))
            let service = CoordinatorService(coordinator: coordinator, listen: listen)
            return await runServices([[service]], graceSeconds: 10)
        } catch {
            return Console.fail(error)
        }
    }

    private struct CoordinatorService: Service {
        let name = "coordinator"
        let coordinator: Coordinator
        let listen: ListenAddress

        func start() async throws {
            do {
                let port = try await coordinator.start()
                Console.write("export DRAY_COORDINATOR=\(listen.url(port: port))\n")
            } catch {
                await coordinator.stop()
                throw error
            }
        }

        /// Requests are served on the coordinator's own threads; this only lasts.
        func run() async throws { await ShutdownSignal().wait() }

        func stop() async { await coordinator.stop() }
    }
}
