import CoordinatorClient
import Embedded
import EventLoop
import Glibc
import JobQueue
import Model
import Postgres
import Synchronization
import TLS

/// The private PostgreSQL server of a benchmark, configured like the embedded cluster's, with any
/// number of databases and a coordinator process for each.
///
/// Created once the server runs. `stop` ends the coordinators and closes all connections; the
/// server has its own service.
final class BenchmarkCluster: Sendable {
    let postgres: EmbeddedPostgres
    private let directory: String
    private let tokenFile: TokenFile
    private let token: AccessToken
    private let tls: TLSServerFiles?
    private let loop: EventLoop
    private let opened = Mutex(Opened())

    /// The objects to close at the end.
    private struct Opened {
        var coordinators: [CoordinatorProcess] = []
        var clients: [CoordinatorClient] = []
        var connections: [PostgresConnection] = []
    }

    /// - Parameter tokenFile: file of the coordinators' token.
    init(
        postgres: EmbeddedPostgres, directory: String, tokenFile: TokenFile,
        tls: TLSServerFiles?
    ) throws {
        self.tls = tls
        self.postgres = postgres
        self.directory = directory
        self.tokenFile = tokenFile
        token = try tokenFile.read()
        loop = try EventLoop(name: "benchmark")
    }

    /// The fragment of that name of the queue's SQL.
    private static let plannedByIndex = [
        "plan_cache_mode": "force_generic_plan", "enable_hashjoin": "off",
        "enable_mergejoin": "off", "enable_material": "off", "enable_memoize": "off",
        "enable_seqscan": "off",
    ]

    /// Creates a database and starts a coordinator over it, which migrates its schema.
    func addDatabase(named name: String) async throws -> BenchmarkDatabase {
        let server = try await connect(postgres.databaseURL)
        try await server.simple("CREATE DATABASE \(name)")
        let url = postgres.databaseURL(named: name)
        let coordinator = try await CoordinatorProcess.start(
            databaseURL: url, tokenFile: tokenFile, tls: tls,
            log: "\(directory)/coordinator-\(name).log")
        opened.withLock { $0.coordinators.append(coordinator) }
        return BenchmarkDatabase(
            name: name, cluster: self, url: url, coordinator: coordinator,
            client: try client(of: coordinator, connections: 64),
            tables: BenchmarkTables(connection: try await connect(url)))
    }

    /// Opens a connection like the coordinators', but without a statement timeout, and with the planner settings that
    /// the queue's functions have.
    func connect(_ url: String) async throws -> PostgresConnection {
        let connection = try await PostgresConnection.connect(
            PostgresConfiguration.queue(
                url: url, applicationName: "dray benchmark", statementTimeoutSeconds: nil,
                sessionSettings: JobQueue.sessionSettings.merging(Self.plannedByIndex) { $1 }),
            on: loop)
        opened.withLock { $0.connections.append(connection) }
        return connection
    }

    func client(
        of coordinator: CoordinatorProcess, connections: Int
    ) throws -> CoordinatorClient {
        let client = try CoordinatorClient(
            endpoints: coordinator.url, token: token, timeoutSeconds: 600,
            tls: CoordinatorTLS(caFile: tls?.certificate), maximumConnections: connections)
        opened.withLock { $0.clients.append(client) }
        return client
    }

    /// Returns the CPU seconds so far of the server, one coordinator and this process.
    func cpuTimes(of coordinator: CoordinatorProcess) -> CPUTimes {
        CPUTimes(
            postgres: ProcessUsage.cpuSeconds(ofServer: postgres.processID),
            coordinator: ProcessUsage.cpuSeconds(of: coordinator.pid),
            client: ProcessUsage.ownCPUSeconds)
    }

    /// Ends the coordinators; afterwards their sessions have reported all statistics.
    func stopCoordinators() async {
        let coordinators = opened.withLock { opened in
            defer { opened.coordinators = [] }
            return opened.coordinators
        }
        for coordinator in coordinators { await coordinator.stop() }
    }

    func stop() async {
        await stopCoordinators()
        let rest = opened.withLock { opened in
            defer { opened = Opened() }
            return opened
        }
        for client in rest.clients { client.shutdown() }
        for connection in rest.connections { await connection.close() }
        loop.shutdown()
    }
}

/// A database of the server, its coordinator, and connections to both.
struct BenchmarkDatabase: Sendable {
    let name: String
    let cluster: BenchmarkCluster
    let url: String
    let coordinator: CoordinatorProcess
    let client: CoordinatorClient
    let tables: BenchmarkTables

    /// Submits work through the API, and checks in SQL that all of it arrived.
    func submit(_ work: BenchmarkWork, clients: Int) async throws -> Submitter.Submitted {
        let before = try await tables.counted()
        let submitted = try await submitter(clients: clients).submit(work)
        try await expect(waiting: before.waiting + work.segments, done: before.done)
        return submitted
    }

    func submitter(clients: Int) -> Submitter {
        Submitter(client: client, worker: .random(), clients: clients)
    }

    /// Submits and completes segments: the finished ones of a used database.
    func fillFinished(_ segments: Int, as name: String, _ options: BenchmarkOptions) async throws {
        guard segments > 0 else { return }
        let work = BenchmarkWork(
            name: name, segments: segments, segmentsPerTitle: options.segmentsPerTitle,
            origins: options.origins)
        let submitted = try await submit(work, clients: options.clients)
        _ = try await load(submitted.queue, options, batch: WireLimits.jobsPerLease).work(
            off: segments)
    }

    func load(_ queue: String, _ options: BenchmarkOptions, batch: Int? = nil) -> APILoad {
        APILoad(
            client: client, queue: queue, batch: batch ?? options.batch, clients: options.clients)
    }

    /// Checks that the database agrees with the clients' results.
    func expect(waiting: Int, done: Int) async throws {
        let counted = try await tables.counted()
        guard counted == (waiting, done) else {
            throw Failure(
                .workerInternal,
                "of the database \(name), \(waiting) segments should wait and \(done) be done; "
                    + "there are \(counted.waiting) and \(counted.done)")
        }
    }
}
