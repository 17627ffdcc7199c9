import Client
import CommandLine
import Embedded
import Model
import Services
import Storage

/// `dray up`: runs a private cluster as long as the command runs.
enum UpCommand {
    static let command = Command(
        "up", summary: "Run a private cluster: PostgreSQL, a coordinator and workers.",
        discussion: """
            Ctrl-C, SIGTERM or SIGHUP drains the workers and stops everything in order; a second \
            signal stops at once. Catalogs resume when the cluster is started again.

            Requests need the token in the file `token` of the state directory. The first start \
            creates it, readable by this user only; this user's commands find it there. \
            DRAY_TOKEN or DRAY_TOKEN_FILE replaces it.

            If it listens beyond loopback, others may submit catalogs. Private and loopback \
            addresses are then refused unless --allow-addresses lists them, and workers write \
            only below --root.
            """,
        options: [
            CommonOptions.state, CommonOptions.workers, CommonOptions.connections,
            CommonOptions.durability,
            CommandOption(
                "listen", .text(placeholder: "ADDR:PORT"),
                help: "Address and port of the coordinator. Default: "
                    + "\(ClientSettings.defaultListen)."),
            RootOptions.root,
        ] + TransferOptions.all
    ) { arguments in
        do {
            let environment = ClientSettings.environment
            try LogOutput.configure(environment: environment, defaultLevel: .info)
            let listen = try ListenAddress(
                arguments.text("listen") ?? ClientSettings.defaultListen)
            let token = try Secrets.token
            var configuration = EmbeddedCluster.Configuration(
                statePath: try CommonOptions.statePath(arguments),
                workers: arguments.integer("workers") ?? CommonOptions.defaultWorkers,
                connectionsPerWorker: arguments.integer("connections")
                    ?? CommonOptions.defaultConnections,
                durability: CommonOptions.durability(arguments),
                address: listen.address, port: listen.port,
                token: token.map { .given($0) } ?? .ofState,
                interruptsOthers: false, drainSeconds: ClientSettings.drainSeconds,
                environment: environment)
            configuration.addressPolicy = try TransferOptions.addressPolicy(
                arguments, allowsPrivate: listen.isLoopback)
            configuration.origins = try TransferOptions.origins(arguments)
            configuration.roots = try roots(arguments, listen)
            // If it already runs, its own port is in use.
            if StateDirectory.running(in: configuration.statePath) == nil { try listen.checkFree() }
            let cluster = try await ClusterVariables.prepare(configuration)
            ServiceUser.warn("up")
            let announcer = Announcer(cluster)
            return await runServices(
                cluster.stages + [[announcer]], graceSeconds: ClientSettings.drainSeconds + 6)
        } catch {
            return Console.fail(error)
        }
    }

    /// Returns any site on loopback, where only this user submits; otherwise those of `--root`.
    private static func roots(
        _ arguments: Arguments, _ listen: ListenAddress
    ) throws(UsageError) -> SiteRoots {
        guard listen.isLoopback else {
            return try RootOptions.required(
                arguments,
                because: "beyond loopback, others who submit a catalog could name any directory")
        }
        return try RootOptions.roots(arguments) ?? .anySite
    }

    /// Prints the environment for other processes once the cluster runs; the last service to start.
    private struct Announcer: Service {
        let name = "announcer"
        let cluster: EmbeddedCluster

        init(_ cluster: EmbeddedCluster) { self.cluster = cluster }

        func run() async throws {
            try cluster.announce()
            Console.write(
                ClusterVariables.exports(
                    coordinator: cluster.coordinatorURL, tokenPath: cluster.tokenPath))
            await ShutdownSignal().wait()
        }
    }
}
