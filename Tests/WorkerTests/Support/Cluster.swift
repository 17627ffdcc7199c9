import API
import ClusterTestSupport
import Coordinator
import CoordinatorClient
import Digest
import EventLoop
import JobQueue
import Model
import Postgres
import Services
import Storage
import Synchronization
import TestSupport
import Testing
import WebURL

@testable import Worker

/// Coordinators over a database of their own, workers over HTTP, an origin and an edge directory.
final class Cluster {
    let origin: FaultOrigin
    let edge: TemporaryDirectory
    let client: CoordinatorClient
    let coordinator: Coordinator
    let port: Int
    /// Of all coordinators, the first one's first.
    private(set) var ports: [Int]
    private let database: FixtureDatabase
    private var others: [Coordinator] = []
    private var workers: [RunningWorker] = []

    /// All that were started.
    var runningWorkers: [RunningWorker] { workers }

    /// A worker with the task it runs in.
    struct RunningWorker {
        let service: WorkerService
        let task: Task<Void, any Error>

        /// Drains it and waits for its end.
        func drain() async throws {
            await service.drain()
            try await task.value
        }
    }

    private init(leaseSeconds: Double, coordinators: Int) async throws {
        origin = try FaultOrigin()
        edge = try TemporaryDirectory("edge")
        // A database, not a schema: schemas share NOTIFY.
        database = try await FixtureDatabase.take(.cluster)
        // Short delays between tries; how long they are is the queue's business.
        var settings = JobQueue.Settings(
            leaseSeconds: leaseSeconds, retry: Backoff(firstSeconds: 0.01, maxSeconds: 0.02))
        // Audits of a few hundred files have several pages.
        settings.recordsPerAuditPage = 100
        let configuration = Coordinator.Configuration(
            databaseURL: database.url, address: "127.0.0.1", port: 0, token: .test, queue: settings)
        coordinator = try Coordinator(
            configuration,
            connections: Coordinator.Connections(loop: database.loop, pool: database.pool))
        port = try await coordinator.start()
        ports = [port]
        client = try CoordinatorClient(
            endpoints: "http://127.0.0.1:\(port)", token: .test)
        for _ in 1..<coordinators {
            let other = try Coordinator(configuration)
            ports.append(try await other.start())
            others.append(other)
        }
    }

    /// Runs a test with a cluster and `workers` workers, and stops everything.
    static func with(
        workers: Int = 1, leaseSeconds: Double = 30, partBytes: Int64 = 64 << 20,
        splitBelow: Double = .infinity,
        coordinators: Int = 1, _ body: (Cluster) async throws -> Void
    ) async throws {
        let cluster = try await Cluster(leaseSeconds: leaseSeconds, coordinators: coordinators)
        do {
            for _ in 0..<workers {
                try cluster.startWorker(partBytes: partBytes, splitBelow: splitBelow)
            }
            try await body(cluster)
        } catch {
            await cluster.stop()
            await cluster.database.remove()
            throw error
        }
        await cluster.stop()
        await cluster.database.giveBack()
    }

    private func stop() async {
        for worker in workers {
            worker.task.cancel()
            _ = try? await worker.task.value
        }
        client.shutdown()
        for other in others { await other.stop() }
        await coordinator.stop()
    }

    @discardableResult
    func startWorker(
        port: Int? = nil, connections: Int = 8, partBytes: Int64 = 64 << 20,
        splitBelow: Double = .infinity, drainSeconds: Double = 20,
        loadShards: (any LoadShardRunner)? = nil, roots: SiteRoots = .anySite,
        traces: TraceUse = .off
    ) throws -> RunningWorker {
        var configuration = self.configuration(port: port, connections: connections)
        configuration.roots = roots
        configuration.partBytes = partBytes
        configuration.splitBelowBytesPerSecond = splitBelow
        configuration.drainSeconds = drainSeconds
        configuration.loadShards = loadShards
        configuration.traces = traces
        return try startWorker(configuration)
    }

    @discardableResult
    func startWorker(_ configuration: WorkerService.Configuration) throws -> RunningWorker {
        let service = try WorkerService(configuration)
        let worker = RunningWorker(service: service, task: Task { try await service.run() })
        workers.append(worker)
        return worker
    }

    /// The settings of a further worker.
    func configuration(port: Int? = nil, connections: Int = 8) -> WorkerService.Configuration {
        WorkerService.Configuration(
            coordinators: ["http://127.0.0.1:\(port ?? self.port)"], token: .test, roots: .anySite,
            connections: connections, name: "w\(workers.count)", durability: .none,
            partBytes: 64 << 20, splitBelowBytesPerSecond: .infinity, drainSeconds: 20)
    }

    /// Sites that one of the workers cannot use.
    var unusableSites: Int {
        Set(workers.flatMap { $0.service.sites.volumes.withLock { $0.unusable() } }).count
    }

    /// Runs statements in the cluster's database.
    @discardableResult
    func execute(_ sql: String) async throws -> String {
        try await PostgresServer.shared().execute(
            sql, database: PostgresServer.database(of: database.url))
    }

    // MARK: Submitting

    func file(
        _ path: String, bytes: Int64? = nil, sha256: String? = nil
    ) throws -> AssetSubmission {
        try asset(path, .file, bytes: bytes, sha256: sha256)
    }

    func title(_ path: String) throws -> AssetSubmission { try asset(path, .hls) }

    private func asset(
        _ path: String, _ kind: AssetKind, bytes: Int64? = nil, sha256: String? = nil
    ) throws -> AssetSubmission {
        let url = origin.url(path)
        return AssetSubmission(
            name: path, url: url, kind: kind, key: try SiteKey(try WebURL(url)).text, bytes: bytes,
            sha256: sha256)
    }

    /// Opens, fills and starts a catalog.
    @discardableResult
    func submit(
        _ assets: [AssetSubmission], catalog: String = "test", to site: String? = nil,
        by submitter: CoordinatorClient? = nil
    ) async throws -> CatalogID {
        let client = submitter ?? client
        let handle = try await client.openCatalog(
            CatalogSubmission(name: catalog, storageURL: site ?? "file://\(edge.path)"))
        try await client.submit(
            AssetBatch(generation: handle.generation, assets: assets), to: handle.id)
        try await client.start(handle.id, CatalogStartRequest(generation: handle.generation))
        return handle.id
    }

    /// Waits for the catalog's end and answers its assets by name.
    func end(
        of catalog: CatalogID, deadlineSeconds: Double = 60
    ) async throws -> [String: AssetStatus] {
        var status = try await client.status(of: catalog)
        do {
            try await waitUntil(deadlineSeconds: deadlineSeconds, "the catalog's end") {
                status = try await client.status(of: catalog)
                return status.state.isTerminal
            }
        } catch {
            Issue.record("\(status)")
            throw error
        }
        let assets = try await client.assets(of: catalog).assets
        return Dictionary(uniqueKeysWithValues: assets.map { ($0.name, $0) })
    }

    /// Submits and waits for the end.
    func run(
        _ assets: [AssetSubmission], catalog: String = "test"
    ) async throws -> [String: AssetStatus] {
        try await end(of: try await submit(assets, catalog: catalog))
    }

    // MARK: Looking

    /// Where the origin's paths lie at the edge.
    var root: String { "127.0.0.1:\(origin.port)" }

    /// What lies at the edge under a path of the origin; nil for nothing.
    func stored(_ path: String) -> [UInt8]? { try? edge.read(root + path) }

    /// Everything at the edge but Dray's own files and lists of digests.
    func storedPaths() throws -> [String] {
        try edge.files().filter { !$0.hasPrefix(".dray/") && !$0.contains("SHA256SUMS") }
            .map { String($0.dropFirst(root.count)) }
    }

    /// What is left in Dray's own directory.
    func temporaryFiles() throws -> [String] {
        try edge.files().filter { $0.hasPrefix(".dray/") }
    }

    /// Runs `sha256sum -c` in a directory of the edge; answers how many files it checked.
    func checkSums(_ directory: String) async throws -> Int {
        let path = edge.path(root + directory)
        let output = try await ChildProcess.run([
            "sh", "-c", "cd \"$0\" && sha256sum -c --strict SHA256SUMS", path,
        ])
        return output.split(separator: "\n").count
    }

    static func sha256(_ bytes: [UInt8]) -> String {
        var hasher = SHA256Hasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finish().description
    }
}
