import Client
import CommandLine
import Coordinator
import CoordinatorClient
import Embedded
import Model
import Services
import Storage
import TLS

/// `dray up`: runs a private cluster as long as the command runs.
enum UpCommand {
    static let command = Command(
        "up", summary: "Run a private cluster: PostgreSQL, a coordinator and workers.",
        discussion: """
            Ctrl-C, SIGTERM or SIGHUP drains the workers and stops everything in order; a second \
            signal stops at once. Catalogs resume when the cluster is started again; those of an \
            interrupted `dray prefetch` on the same state by `dray assets resume CATALOG`.

            Requests need the token in the file `token` of the state directory. The first start \
            creates it, readable by this user only; this user's commands find it there. \
            DRAY_TOKEN or DRAY_TOKEN_FILE replaces it.

            If it listens beyond loopback, others may submit catalogs. Private and loopback \
            addresses are then rejected unless --allow-addresses has them, and workers write \
            only below --root.

            With --tls-certificate and --tls-key it serves https only. Its own workers use it too, so \
            the certificate must have its address, or a name that leads to this machine. They trust \
            --ca-file, by default the certificate itself. A changed certificate is read again.
            """,
        options: [
            CommonOptions.state, CommonOptions.workers, CommonOptions.connections,
            CommonOptions.durability,
            CommandOption(
                "listen", .text(placeholder: "ADDR:PORT"),
                help: "Address and port of the coordinator. Default: "
                    + "\(ClientSettings.defaultListen)."),
            RootOptions.root,
        ] + TLSOptions.certificate + [TLSOptions.authorities] + TransferOptions.all
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
            configuration.tls = try TLSOptions.server(arguments)
            configuration.caFile = try configuration.tls.map {
                Destination.absolute(try ClientSettings.coordinatorTLS().caFile ?? $0.certificate)
            }
            try checkCertificate(configuration)
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

    /// Throws for files of TLS that the cluster's own workers could not use, before anything is written.
    private static func checkCertificate(
        _ configuration: EmbeddedCluster.Configuration
    ) throws(Failure) {
        guard let files = configuration.tls else { return }
        let context: TLSServerContext
        do throws(TLSError) {
            context = try TLSServerContext(files)
        } catch {
            throw Failure(error)
        }
        let what = "the cluster's own workers cannot use its certificate"
        switch context.verdict(trusting: configuration.caFile) {
        case .trusted: break
        case .expired: throw Failure(.clusterCertificateExpired, "\(what): it has expired")
        case .untrusted(let reason):
            throw Failure(
                .clusterUntrustedCertificate,
                "\(what): \(configuration.caFile ?? "the system") does not vouch for it: \(reason)")
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
            try await checkCertificate()
            try cluster.announce()
            Console.write(
                ClusterVariables.exports(
                    coordinator: cluster.coordinatorURL, caFile: cluster.configuration.caFile,
                    tokenPath: cluster.tokenPath))
            await ShutdownSignal().wait()
        }

        /// Throws if the workers cannot use the coordinator because of its certificate.
        private func checkCertificate() async throws {
            guard cluster.configuration.tls != nil else { return }
            let client = try CoordinatorClient(
                endpoints: cluster.coordinatorURL, token: cluster.token,
                tls: CoordinatorTLS(caFile: cluster.configuration.caFile))
            defer { client.shutdown() }
            do throws(Failure) {
                try await client.readiness(retrySeconds: 0)
            } catch {
                throw Failure(
                    error.code,
                    "the cluster's own workers cannot use its certificate: \(error.message)")
            }
        }
    }
}
