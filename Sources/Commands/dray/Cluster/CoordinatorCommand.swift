import Client
import CommandLine
import Coordinator
import CoordinatorClient
import JobQueue
import Model
import Services
import TLS
import Text
import Transfer

/// `dray coordinator`: runs one of any number of coordinators over one database.
enum CoordinatorCommand {
    static let command = Command(
        "coordinator", summary: "Run a coordinator over a PostgreSQL database.",
        discussion: """
            Migrates the database's schema first. A coordinator keeps no state: any number of \
            coordinators may serve one database. The database URL and the cluster's token come \
            from files or the environment, because other users can see a command line. The \
            password may be in the URL, in PGPASSWORD or in a password file.

            Every request needs a token. That of DRAY_TOKEN, or of the file that DRAY_TOKEN_FILE \
            names, allows everything; with it, `dray token create` makes others, which allow less. A \
            coordinator does not start without one. Create it with `openssl rand -hex 32`.

            DRAY_LEASE_SECONDS, 5 to 3600, default 30, is how long a lease lasts without a \
            heartbeat. The jobs of a killed worker wait that long. A shorter lease replaces lost \
            workers sooner, but tolerates shorter outages of coordinators and database.

            With --tls-certificate and --tls-key it serves https only, TLS 1.2 and 1.3. Changed files \
            are used for new connections; files that cannot be used are reported, and the old ones \
            stay. SIGHUP then reads them again instead of stopping the coordinator.

            Prints the lines that clients and workers on this machine need. If the system does not \
            trust the certificate, they trust DRAY_CA_FILE: the value that the coordinator has, or else \
            the certificate itself.

            DRAY_RETENTION_DAYS, 1 to 36500, deletes the records of catalogs that ended this many \
            days ago. Default: keep them. DRAY_AUDIT_DAYS, 1 to 36500, default 90, is how long \
            the audit log is kept (`dray token log`).

            Events are sent to webhooks (`dray webhook`) at public addresses, and at private ones \
            that --allow-addresses allows.
            """,
        options: [
            CommandOption(
                "listen", .text(placeholder: "ADDR:PORT"), required: true,
                help: "Address and port to listen on; port 0 picks a free port."),
            rateOption(
                "max-requests",
                "Maximum requests per second of one token, without those of workers",
                default: .ofToken),
            rateOption(
                "max-unknown-requests",
                "Maximum requests per second of one address without a valid token, except this machine's",
                default: .ofAddress),
            TransferOptions.allowAddresses, TransferOptions.denyAddresses,
        ] + TLSOptions.server + Secrets.databaseOptions
    ) { arguments in
        do {
            try LogOutput.configure(environment: ClientSettings.environment, defaultLevel: .info)
            let listen = try ListenAddress(arguments.text("listen") ?? "")
            let tls = try TLSOptions.server(arguments)
            let databaseURL = try Secrets.databaseURL(arguments)
            let token = try Secrets.requiredToken()
            let caFile = try ClientSettings.coordinatorTLS().caFile
            try listen.checkFree()
            var queue = JobQueue.Settings(
                leaseSeconds: try leaseSeconds(), retentionDays: try days("DRAY_RETENTION_DAYS"))
            if let days = try days("DRAY_AUDIT_DAYS") { queue.auditDays = days }
            var configuration = Coordinator.Configuration(
                databaseURL: databaseURL, address: listen.address, port: listen.port, token: token,
                queue: queue, tls: tls,
                rates: RequestRates(
                    token: rate("max-requests", arguments) ?? .ofToken,
                    address: rate("max-unknown-requests", arguments) ?? .ofAddress))
            configuration.webhookAddresses = try TransferOptions.addressPolicy(
                arguments, allowsPrivate: false)
            let coordinator = try Coordinator(configuration)
            ServiceUser.warn("coordinator")
            let service = CoordinatorService(
                coordinator: coordinator, listen: listen, caFile: caFile)
            guard tls != nil else { return await runServices([[service]], graceSeconds: 10) }
            return await runServices([[service]], graceSeconds: 10) {
                coordinator.reloadCertificate()
            }
        } catch {
            return Console.fail(error)
        }
    }

    private static func rateOption(
        _ name: String, _ subject: String, default rate: RequestRate
    ) -> CommandOption {
        CommandOption(
            name, .integer(placeholder: "N", range: 1...1_000_000),
            help: "\(subject), 1 to 1000000; five times as many at once after a pause. More are "
                + "answered with 429. Default: \(rate.perSecond).")
    }

    private static func rate(_ name: String, _ arguments: Arguments) -> RequestRate? {
        arguments.integer(name).map { RequestRate(perSecond: $0) }
    }

    /// Returns `DRAY_LEASE_SECONDS`, or else the queue's default.
    ///
    /// A worker reserves the last two seconds of a lease for writing and reporting; below five
    /// seconds there would be no time left to work.
    private static func leaseSeconds() throws(UsageError) -> Double {
        guard let text = ClientSettings.environment["DRAY_LEASE_SECONDS"], !text.isEmpty else {
            return JobQueue.Settings().leaseSeconds
        }
        guard let seconds = Int(text), (5...3_600).contains(seconds) else {
            throw UsageError(
                "DRAY_LEASE_SECONDS is '\(printable(text))'",
                hint: "Use a whole number of seconds from 5 to 3600.")
        }
        return Double(seconds)
    }

    /// Returns a variable's number of days; nil if it is not set.
    private static func days(_ variable: String) throws(UsageError) -> Int? {
        guard let text = ClientSettings.environment[variable], !text.isEmpty else { return nil }
        guard let days = Int(text), (1...36_500).contains(days) else {
            throw UsageError(
                "\(variable) is '\(printable(text))'",
                hint: "Use a whole number of days from 1 to 36500, or unset it.")
        }
        return days
    }

    private struct CoordinatorService: Service {
        let name = "coordinator"
        let coordinator: Coordinator
        let listen: ListenAddress
        /// The authorities that clients of this environment trust; nil for the system's.
        let caFile: String?

        func start() async throws {
            do {
                let port = try await coordinator.start()
                let url = listen.url(port: port, certificate: coordinator.serverCertificate)
                Console.write(
                    ClusterVariables.exports(
                        coordinator: url, caFile: trustedFile, tokenPath: nil))
            } catch {
                await coordinator.stop()
                throw error
            }
        }

        /// The authorities that clients have to trust; nil without TLS, and if the system's are enough.
        private var trustedFile: String? {
            guard coordinator.serverCertificate != nil else { return nil }
            return (caFile ?? coordinator.untrustedCertificateFile).map { Destination.absolute($0) }
        }

        /// Waits for its cancellation: the coordinator's own threads serve requests.
        func run() async throws { await ShutdownSignal().wait() }

        func stop() async { await coordinator.stop() }
    }
}
