import Curl
package import EventLoop
import HTTPServer
package import JobQueue
import Metrics
package import Model
package import Postgres
import Services
import Synchronization
package import TLS
package import Transfer

/// The coordinator: the HTTP API over the PostgreSQL queues, and their housekeeping.
///
/// It keeps no state that matters: any number of coordinators may serve one database, and any of
/// them may be killed at any moment.
package final class Coordinator: Sendable {
    package struct Configuration: Sendable {
        /// A `postgresql://…` URL or a libpq keyword string.
        package var databaseURL: String
        /// IP address on which it listens.
        package var address: String
        /// Port number; 0 for any free port.
        package var port: Int
        /// The token of its environment, which allows everything.
        package var token: AccessToken
        package var queue: JobQueue.Settings
        /// Maximum number of database connections, besides the listening one.
        package var databaseConnections: Int
        /// Database connections that are opened at once, others after a moment; nil for all.
        package var usualDatabaseConnections: Int?
        /// The files of its certificate; nil for plain HTTP.
        package var tls: TLSServerFiles?
        /// Time between reads of the cluster's figures, while metrics are scraped.
        package var figuresPeriod = Duration.seconds(5)
        var events = EventHub.Limits()
        /// Limits of requests per sender.
        package var rates: RequestRates
        /// Addresses of webhooks that may be connected to: public ones, unless others are allowed.
        package var webhookAddresses = AddressPolicy(allowsPrivate: false)
        /// Time between two looks at what is to be sent to webhooks.
        var webhookPeriod = Duration.seconds(2)

        package init(
            databaseURL: String, address: String, port: Int, token: AccessToken,
            queue: JobQueue.Settings = JobQueue.Settings(), databaseConnections: Int = 8,
            tls: TLSServerFiles? = nil, rates: RequestRates = RequestRates()
        ) {
            self.rates = rates
            self.databaseURL = databaseURL
            self.address = address
            self.port = port
            self.token = token
            self.queue = queue
            self.databaseConnections = databaseConnections
            self.tls = tls
        }
    }

    /// Connections to a database, and the loop that they are on.
    package struct Connections: Sendable {
        var loop: EventLoop
        var pool: PostgresPool

        package init(loop: EventLoop, pool: PostgresPool) {
            self.loop = loop
            self.pool = pool
        }
    }

    private struct Running {
        var server: HTTPServer
        /// Listener, housekeeping and folding of reports.
        var background: Task<Void, Never>
    }

    private let configuration: Configuration
    private let connections: Connections
    /// Whether the connections end with this.
    private let ownsConnections: Bool
    /// Runs frequent requests on the loop of the database connections.
    private let executor: EventLoopTaskExecutor
    private let memory: ClusterMemory
    private let failures = BackgroundFailures()
    /// Fired when a report has left tallies to fold.
    private let reported = WorkSignal()
    private let certificate: CertificateKeeper?
    private let running = Mutex<Running?>(nil)
    package let metrics = CoordinatorMetrics()
    private let figures: FigureCache
    /// Sends events to the streams of clients.
    private let hub: EventHub
    private let webhooks: WebhookSender
    private let housekeeping: Housekeeping
    private let log = Logger("coordinator")

    package var queue: JobQueue { memory.queue }

    /// - Parameter connections: some that are open after `stop` too; nil for own ones.
    ///
    /// Throws `input.unreadable` and `input.malformed` for files of TLS.
    package init(
        _ configuration: Configuration, connections given: Connections? = nil
    ) throws(Failure) {
        self.configuration = configuration
        certificate = try configuration.tls.map { files throws(Failure) in
            try CertificateKeeper(files)
        }
        let connections =
            if let given { given } else { try Self.connections(configuration) }
        self.connections = connections
        ownsConnections = given == nil
        executor = EventLoopTaskExecutor(connections.loop)
        webhooks = try WebhookSender(policy: configuration.webhookAddresses)
        memory = ClusterMemory(
            queue: JobQueue(pool: connections.pool, settings: configuration.queue),
            signal: WorkSignal(),
            cooldowns: CurrentCooldowns(), loadTests: CalledLoadTests(),
            access: Access(token: configuration.token), failures: failures)
        let queue = memory.queue
        hub = EventHub(queue.events, configuration.events, failures)
        let chores = Chore.all(queue, memory, memory.signal, metrics)
        housekeeping = Housekeeping(
            chores, times: ChoreTimes(chores, in: metrics.registry), failures)
        figures = FigureCache(period: configuration.figuresPeriod, failures: failures) {
            try await queue.figures.read()
        }
        ClusterMetrics(cache: figures).declare(in: metrics.registry)
        metrics.declare(hub)
        metrics.declare(
            pool: connections.pool, waitingRequests: { [weak self] in self?.waitingRequests ?? 0 },
            server: { [weak self] in self?.running.withLock { $0?.server } })
    }

    private static func connections(
        _ configuration: Configuration
    ) throws(Failure) -> Connections {
        let loop: EventLoop
        do {
            loop = try EventLoop(name: "coordinator")
        } catch {
            throw Failure(.workerInternal, "The event loop could not be created: \(error)")
        }
        return Connections(
            loop: loop,
            pool: PostgresPool(
                PostgresConfiguration.queue(
                    url: configuration.databaseURL, applicationName: "dray coordinator",
                    sessionSettings: JobQueue.sessionSettings),
                usualConnections: configuration.usualDatabaseConnections,
                maximumConnections: configuration.databaseConnections, on: loop))
    }

    /// Migrates the schema and starts to listen; returns the port.
    ///
    /// Throws `cluster.databaseUnreachable`, `cluster.schemaNewer`, `cluster.portInUse` and
    /// `input.field` (an invalid address or port).
    package func start() async throws(Failure) -> Int {
        try await Migrations.migrate(connections.pool)
        try await memory.loadTokens()
        let router = Router(
            table: RouteTable(api.routes.map(metrics.counting)), access: memory.access,
            audit: AuditTrail(audit: queue.access.audit), rates: RateLimiter(configuration.rates),
            keys: IdempotencyKeys(requests: queue.access.requests), executor: executor)
        let server = try listen(router)
        var services: [any Service] = [
            WorkListener(
                databaseURL: configuration.databaseURL, loop: connections.loop,
                signal: memory.signal,
                memory: memory),
            housekeeping, figures, hub,
            WebhookService(
                webhooks: queue.events.webhooks, sender: webhooks, failures: failures,
                metrics: metrics.webhooks, period: configuration.webhookPeriod),
            ReportFolding(
                queue: queue, reported: reported, signal: memory.signal, metrics: metrics,
                times: housekeeping.times, failures: failures),
        ]
        if let certificate { services.append(certificate) }
        let background = Task { [services] in
            await withDiscardingTaskGroup { group in
                for service in services { group.addTask { try? await service.run() } }
            }
        }
        running.withLock { $0 = Running(server: server, background: background) }
        log.info("listening", ["address": configuration.address, "port": server.port])
        return Int(server.port)
    }

    /// All routes.
    var api: API {
        API(
            memory: memory, reported: reported, hub: hub, metrics: metrics, figures: figures,
            databaseConnections: configuration.databaseConnections + 1,
            webhookAddresses: configuration.webhookAddresses)
    }

    private func listen(_ router: Router) throws(Failure) -> HTTPServer {
        guard let port = UInt16(exactly: configuration.port) else {
            throw Failure(.inputField, "--listen: there is no port \(configuration.port).")
        }
        do {
            return try HTTPServer.start(
                HTTPServer.Configuration(
                    address: configuration.address, port: port,
                    maximumBodyBytes: WireLimits.bodyBytes, rejection: FailureAnswer.rejection,
                    admission: router.decide, knows: router.knows,
                    // Running requests must be finished and answered, not cut off.
                    cancelsHandlers: false, tls: certificate?.certificate,
                    handshakeFailed: { [log] address, reason in
                        log.debug(
                            "TLS handshake failed", ["address": address, "error": reason])
                    })
            )
        } catch {
            let endpoint = "\(configuration.address):\(configuration.port)"
            if case .addressInUse = error {
                throw Failure(.clusterPortInUse, "\(endpoint) is in use by another process.")
            }
            throw Failure(.inputField, "--listen \(endpoint): \(error)")
        }
    }

    /// Answers the running requests, then closes everything. May be called more than once.
    package func stop() async {
        let state = running.withLock { state in
            defer { state = nil }
            return state
        }
        memory.signal.close()
        reported.close()
        memory.cooldowns.signal.close()
        memory.loadTests.changeSignal.close()
        hub.close()
        state?.background.cancel()
        await state?.server.shutdown()
        webhooks.shutdown()
        await state?.background.value
        guard ownsConnections else { return }
        await queue.close()
        connections.loop.shutdown()
    }

    /// Reads the files of its certificate again, if it has one; a failure is logged.
    package func reloadCertificate() { certificate?.reload() }

    /// Its certificate in use; nil for plain HTTP.
    package var serverCertificate: Certificate? { serverContext?.certificate }

    /// The file of its certificate, if clients do not trust that by the system's authorities; nil if
    /// they do, and for plain HTTP.
    package var untrustedCertificateFile: String? {
        guard let context = serverContext,
            context.verdict(trusting: CurlGlobal.authorities) != .trusted
        else { return nil }
        return context.files.certificate
    }

    private var serverContext: TLSServerContext? { certificate?.certificate.context }

    /// Number of open event streams.
    package var eventStreams: Int { hub.streamCount }

    /// Number of lease requests that are held open.
    package var waitingRequests: Int { memory.signal.waiterCount }

    /// Returns the URL of a coordinator that listens at an address: with its certificate, an https URL
    /// of a name that the certificate has, if any.
    package static func url(
        address: String, port: Int, certificate: Certificate?
    ) -> String {
        // A wildcard address is reached through loopback.
        let reached =
            switch address {
            case "0.0.0.0": "127.0.0.1"
            case "::": "::1"
            default: address
            }
        let host = reached.contains(":") ? "[\(reached)]" : reached
        guard let certificate else { return "http://\(host):\(port)" }
        let name = certificate.names.first { !$0.hasPrefix("*") }
        let shown = certificate.isFor(address: reached) ? host : name ?? host
        return "https://\(shown):\(port)"
    }

    package static func isLoopback(_ address: String) -> Bool {
        // A name that only starts like an address is no address.
        let isIPv4 = address.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
        return address == "::1" || address == "localhost"
            || (isIPv4 && address.hasPrefix("127."))
    }
}
