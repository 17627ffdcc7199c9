import API
import ClusterTestSupport
import Coordinator
import CoordinatorClient
import EventLoop
import Foundation
import JobQueue
import Model
import Postgres
import TestSupport

/// A coordinator over a database of its own.
struct Fixture {
    let coordinator: Coordinator
    let port: Int
    let client: CoordinatorClient
    let server: PostgresServer
    let databaseURL: String

    static let storageURL = "file:///srv/edge"
    static let worker: WorkerID = "11111111-2222-4333-8444-555555555555"
    static let unknown = "99999999-2222-4333-8444-555555555555"

    init(
        _ server: PostgresServer, databaseURL: String,
        connections: Coordinator.Connections? = nil,
        configure: (inout Coordinator.Configuration) -> Void = { _ in }
    ) async throws {
        self.server = server
        self.databaseURL = databaseURL
        var configuration = Coordinator.Configuration(
            databaseURL: databaseURL, address: "127.0.0.1", port: 0, token: .test)
        // Tests look at what has just happened.
        configuration.figuresPeriod = .zero
        configure(&configuration)
        coordinator = try Coordinator(configuration, connections: connections)
        do {
            port = try await coordinator.start()
        } catch {
            await coordinator.stop()
            throw error
        }
        client = try CoordinatorClient(endpoints: "http://127.0.0.1:\(port)", token: .test)
    }

    /// Runs a test with a coordinator over the shared server and stops it.
    static func with(
        configure: (inout Coordinator.Configuration) -> Void = { _ in },
        _ body: (Fixture) async throws -> Void
    ) async throws {
        let server = try await PostgresServer.shared()
        let database = try await FixtureDatabase.take(.cluster)
        let fixture: Fixture
        do {
            fixture = try await Fixture(
                server, databaseURL: database.url,
                connections: Coordinator.Connections(loop: database.loop, pool: database.pool),
                configure: configure)
        } catch {
            await database.remove()
            throw error
        }
        do {
            try await body(fixture)
        } catch {
            await fixture.close()
            await database.remove()
            throw error
        }
        await fixture.close()
        await database.giveBack()
    }

    func close() async {
        client.shutdown()
        await coordinator.stop()
    }

    // MARK: Asking

    static let authorization = ["Authorization": "Bearer \(AccessToken.test.text)"]

    /// Sends a request with the token; headers given replace others.
    func send(
        _ method: String, _ target: String, _ body: String? = nil, headers: [String: String] = [:]
    ) async throws -> Wire.Answer {
        try await Wire.exchange(
            port: port, method, target,
            headers: Self.authorization.merging(headers) { $1 }, body: body.map { Array($0.utf8) })
    }

    static func file(_ name: String) -> AssetSubmission {
        AssetSubmission(
            name: name, url: "http://origin.test/\(name)", kind: .file, key: "origin.test/\(name)")
    }

    @discardableResult
    func submit(_ names: [String], catalog: String = "movies") async throws -> CatalogID {
        let handle = try await client.openCatalog(
            CatalogSubmission(name: catalog, storageURL: Self.storageURL))
        try await client.submit(
            AssetBatch(generation: handle.generation, assets: names.map(Self.file)), to: handle.id)
        try await client.start(handle.id, CatalogStartRequest(generation: handle.generation))
        return handle.id
    }

    func lease(_ most: Int = 10, waitMilliseconds: Int = 0) async throws -> LeaseGrant {
        try await client.lease(
            LeaseRequest(
                worker: Self.worker, queues: [], maxJobs: most, waitMilliseconds: waitMilliseconds))
    }

    // MARK: Looking

    /// Everything that all tables hold, a hash of each; but for the audit log, which also has what was
    /// tried in vain, for daily figures, which housekeeping moves, and for tables that are named.
    func tables(besides others: String...) async throws -> String {
        let names = try await execute(
            """
            SELECT tablename FROM pg_tables
            WHERE schemaname = 'dray'
              AND tablename NOT IN ('audit_record', 'outcome', 'daily_figure', 'asset_failure')
            ORDER BY 1
            """)
        let rows = names.split(separator: "\n").map(String.init).filter { !others.contains($0) }
            .map { name in
                // Housekeeping writes the rest there.
                let row =
                    switch name {
                    case "cluster": "t.id"
                    case "access_token": "(t.id, t.name, t.expires_at, t.revoked_at)"
                    case "webhook": "(t.id, t.url)"
                    default: "t"
                    }
                return "SELECT '\(name)' AS name, \(row)::text AS line FROM \(name) AS t"
            }.joined(separator: " UNION ALL ")
        return try await execute(
            "SELECT name, count(*), md5(string_agg(line, E'\\n' ORDER BY line)) "
                + "FROM (\(rows)) AS a GROUP BY name ORDER BY name")
    }

    /// Waits until all events can be read: chores have transactions too.
    func settleEvents() async throws {
        try await waitUntil(deadlineSeconds: 30, "the end of older transactions") {
            let left = try await execute(
                "SELECT count(*) FROM dray.event WHERE xact >= dray.events_end()")
            return left.split(separator: "\n").first == "0"
        }
    }

    func execute(_ sql: String) async throws -> String {
        try await server.execute(sql, database: PostgresServer.database(of: databaseURL))
    }
}
