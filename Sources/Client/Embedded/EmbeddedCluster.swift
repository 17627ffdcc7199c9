import Coordinator
import CoordinatorClient
import EventLoop
import Glibc
import JobQueue
package import Model
package import Services
package import Storage
import Synchronization
package import TLS
package import Transfer
import Worker

/// A whole cluster in one process: PostgreSQL, a coordinator and workers, which use HTTP as they
/// would on different machines.
///
/// It is a list of services for a `ServiceGroup`, in their starting order. Safe from any thread.
package final class EmbeddedCluster: Sendable {
    /// The token that requests must carry.
    package enum Token: Sendable {
        case given(AccessToken)
        /// A random token that ends with the cluster.
        case ofThisRun
        /// The state directory's token, created at the first start.
        case ofState
    }

    package struct Configuration: Sendable {
        package var statePath: String
        /// Number of workers; 0 for a cluster that only answers requests.
        package var workers: Int
        /// Maximum number of concurrent transfers per worker.
        package var connectionsPerWorker: Int
        /// Durability with which files count as stored.
        package var durability: Durability
        /// IP address on which the coordinator listens.
        package var address: String
        /// Port number; 0 for any free port.
        package var port: Int
        package var token: Token
        /// True to interrupt other submitters' running catalogs, for a cluster that lives as long
        /// as one command.
        package var interruptsOthers: Bool
        /// Maximum seconds for running transfers when the cluster stops.
        package var drainSeconds: Double
        /// True to let this user's commands find the cluster while the command runs that started it.
        /// For `Token.ofThisRun`; `announce` is for the others.
        package var isAnnounced = false
        package var environment: [String: String]
        /// Addresses that transfers may connect to; `origins` has their settings.
        package var addressPolicy = AddressPolicy()
        package var origins = OriginSettingsTable()
        /// Directories that workers may write to. By default all sites: the cluster's own user
        /// names them.
        package var roots = SiteRoots.anySite
        /// Files of the coordinator's certificate; nil for plain HTTP.
        package var tls: TLSServerFiles?
        /// Absolute path of the authorities with which its workers and this user's commands verify that
        /// certificate; nil for the system's.
        package var caFile: String?

        package init(
            statePath: String, workers: Int, connectionsPerWorker: Int,
            durability: Durability = .batch, address: String, port: Int, token: Token,
            interruptsOthers: Bool, drainSeconds: Double,
            environment: [String: String]
        ) {
            self.statePath = statePath
            self.workers = workers
            self.connectionsPerWorker = connectionsPerWorker
            self.durability = durability
            self.address = address
            self.port = port
            self.token = token
            self.interruptsOthers = interruptsOthers
            self.drainSeconds = drainSeconds
            self.environment = environment
        }
    }

    package let configuration: Configuration
    /// PostgreSQL, then the coordinator, then the workers together.
    package let stages: [[any Service]]
    package let postgres: EmbeddedPostgres
    /// The token that requests must carry.
    package let token: AccessToken
    private let state: StateDirectory
    private let coordinator: CoordinatorRunner

    /// Takes the state's lock; starts nothing yet.
    ///
    /// Throws the failures of `StateDirectory.open`, and `input.token` for an invalid token file.
    package static func prepare(
        _ configuration: Configuration
    ) async throws(Failure) -> EmbeddedCluster {
        let state = try await StateDirectory.open(configuration.statePath)
        let token =
            switch configuration.token {
            case .given(let token): token
            case .ofThisRun: AccessToken.random()
            case .ofState: try state.tokenFile.readOrMake()
            }
        return EmbeddedCluster(configuration, state: state, token: token)
    }

    private init(_ configuration: Configuration, state: StateDirectory, token: AccessToken) {
        self.configuration = configuration
        self.state = state
        self.token = token
        let postgres = EmbeddedPostgres(state: state, environment: configuration.environment)
        let coordinator = CoordinatorRunner(
            configuration, token: token, postgres: postgres,
            announces: configuration.isAnnounced ? state : nil)
        let workers = (0..<configuration.workers).map { number in
            WorkerRunner(
                number: number + 1, configuration, token: token, coordinator: coordinator)
        }
        self.postgres = postgres
        self.coordinator = coordinator
        stages = [[postgres], [coordinator], workers]
    }

    /// Returns the stages with a submitter, which needs the coordinator and interrupts its catalog
    /// when drained. It is drained after the workers, because results of an interrupted catalog no
    /// longer count.
    package func stages(around submitter: any Service) -> [[any Service]] {
        stages.dropLast() + [[submitter]] + stages.suffix(1)
    }

    /// The coordinator's URL for this machine; valid once its stage has started.
    package var coordinatorURL: String { coordinator.url }

    /// The token's file; nil if the token is not the state's.
    package var tokenPath: String? {
        guard case .ofState = configuration.token else { return nil }
        return state.tokenFile.path
    }

    /// Lets commands of this user find the cluster by its state directory while this process runs.
    /// Call it once the coordinator listens.
    package func announce() throws(Failure) {
        try state.announce(coordinatorURL, caFile: configuration.caFile)
    }
}

/// Runs the coordinator as a service that waits for the database's address.
private final class CoordinatorRunner: Service {
    let name = "coordinator"

    private struct Running {
        var coordinator: Coordinator?
        var port = 0
    }

    private let configuration: EmbeddedCluster.Configuration
    private let token: AccessToken
    private let postgres: EmbeddedPostgres
    /// The directory in which it announces itself; nil to announce nothing.
    private let state: StateDirectory?
    private let running = Mutex(Running())

    init(
        _ configuration: EmbeddedCluster.Configuration, token: AccessToken,
        postgres: EmbeddedPostgres, announces state: StateDirectory?
    ) {
        self.state = state
        self.configuration = configuration
        self.token = token
        self.postgres = postgres
    }

    var port: Int { running.withLock { $0.port } }

    var url: String {
        let running = running.withLock { $0 }
        return Coordinator.url(
            address: configuration.address, port: running.port,
            certificate: running.coordinator?.serverCertificate)
    }

    func start() async throws {
        var queue = JobQueue.Settings()
        queue.machine = BootID.current
        var settings = Coordinator.Configuration(
            databaseURL: postgres.databaseURL, address: configuration.address,
            port: configuration.port, token: token, queue: queue, tls: configuration.tls,
            rates: RequestRates(token: nil))
        // PostgreSQL shares the cores, and each session plans its own statements.
        settings.usualDatabaseConnections = max(UsableCPUs.count + 1, 3)
        settings.webhookAddresses = configuration.addressPolicy
        let coordinator = try Coordinator(settings)
        do {
            let port = try await coordinator.start()
            // The state's previous user is gone, and its workers with it.
            try await coordinator.queue.workers.forgetWorkers()
            if configuration.interruptsOthers {
                try await coordinator.queue.catalogs.submissions.interruptAll()
            }
            running.withLock { $0 = Running(coordinator: coordinator, port: port) }
            try state?.announce(url, runToken: token)
        } catch {
            await coordinator.stop()
            throw inStateDirectory(error)
        }
    }

    /// Adds the state directory of the database to a schema failure.
    private func inStateDirectory(_ failure: Failure) -> Failure {
        let codes: [FailureCode] = [
            .clusterSchemaEdited, .clusterSchemaNewer, .clusterSchemaOwner,
            .clusterSchemaUnreleased,
        ]
        guard codes.contains(failure.code) else { return failure }
        let path = configuration.statePath
        return Failure(
            failure.code, "\(failure.message) The database is in the state directory \(path).")
    }

    /// Waits for its cancellation: the coordinator's own threads serve requests.
    func run() async throws { await ShutdownSignal().wait() }

    func stop() async {
        let coordinator = running.withLock { $0.coordinator }
        await coordinator?.stop()
    }
}

/// Runs a worker as a service that waits for the coordinator's port.
private final class WorkerRunner: DrainableService {
    let name: String
    private let number: Int
    private let configuration: EmbeddedCluster.Configuration
    private let token: AccessToken
    private let coordinator: CoordinatorRunner
    private let worker = Mutex<WorkerService?>(nil)

    init(
        number: Int, _ configuration: EmbeddedCluster.Configuration, token: AccessToken,
        coordinator: CoordinatorRunner
    ) {
        name = "worker-\(number)"
        self.number = number
        self.configuration = configuration
        self.token = token
        self.coordinator = coordinator
    }

    func start() async throws {
        var settings = WorkerService.Configuration(
            coordinators: [coordinator.url], token: token, roots: configuration.roots,
            connections: configuration.connectionsPerWorker,
            name: Workers.embeddedName(process: getpid(), number: number),
            durability: configuration.durability,
            drainSeconds: configuration.drainSeconds)
        settings.tls.caFile = configuration.caFile
        settings.addressPolicy = configuration.addressPolicy
        settings.origins = configuration.origins
        let made = try WorkerService(settings)
        worker.withLock { $0 = made }
    }

    func run() async throws { try await worker.withLock({ $0 })?.run() }

    func drain() async { await worker.withLock({ $0 })?.drain() }
}
