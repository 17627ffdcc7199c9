import API
import ClusterTestSupport
import EventLoop
import Foundation
import JobQueue
import Model
import Postgres
import Services
import Statistics
import TestSupport
import Testing

/// A queue in a database that no other test uses meanwhile, with workers to play.
struct QueueFixture {
    let queue: JobQueue
    let worker = WorkerID.random()
    let transitions: TransitionLog
    static let site = "file:///srv/edge"

    private let database: FixtureDatabase

    private init() async throws {
        database = try await FixtureDatabase.take(.queue)
        transitions = TransitionLog(pool: database.pool)
        queue = JobQueue(
            pool: database.pool,
            // No delay between tries: what waits is then due at once, and no test sleeps.
            settings: JobQueue.Settings(
                leaseSeconds: 30, retry: Backoff(firstSeconds: 1e-9, maxSeconds: 1e-9)),
            random: SeededRandom(seed: 1))
    }

    var loop: EventLoop { database.loop }
    var url: String { database.url }
    var pool: PostgresPool { database.pool }

    /// Runs a test with an empty queue.
    static func with(_ body: (QueueFixture) async throws -> Void) async throws {
        let fixture = try await QueueFixture()
        do {
            try await body(fixture)
            try await fixture.checkTransitions()
        } catch {
            await fixture.database.remove()
            throw error
        }
        await fixture.database.giveBack()
    }

    /// The statements move rows only as the tables of states allow.
    private func checkTransitions() async throws {
        for edge in try await transitions.seen().subtracting(TransitionLog.allowed).sorted() {
            Issue.record("\(edge)")
        }
        for missing in try await transitions.withoutEvents() { Issue.record("\(missing)") }
        for change in try await transitions.raised().unnamed { Issue.record("\(change)") }
    }

    // MARK: Submitting

    static func file(_ name: String, sha256: String? = nil) -> AssetSubmission {
        AssetSubmission(
            name: name, url: "http://origin.test/files/\(name)", kind: .file,
            key: "origin.test/files/\(name)", sha256: sha256)
    }

    static func title(_ name: String) -> AssetSubmission {
        AssetSubmission(
            name: name, url: "http://origin.test/\(name)/main.m3u8", kind: .hls,
            key: "origin.test/\(name)/main.m3u8")
    }

    @discardableResult
    func submit(
        _ assets: [AssetSubmission], catalog: String = "movies", site: String = Self.site,
        priority: Int = 5, notBefore: Double? = nil, deadline: Double? = nil
    ) async throws -> CatalogID {
        let handle = try await queue.catalogs.submissions.open(
            CatalogSubmission(
                name: catalog, storageURL: site, priority: priority, notBefore: notBefore,
                deadline: deadline))
        try await queue.catalogs.submissions.add(
            assets, to: handle.id, generation: handle.generation)
        try await queue.catalogs.submissions.start(handle.id, generation: handle.generation)
        return handle.id
    }

    // MARK: Working

    func lease(_ most: Int = 100, as worker: WorkerID? = nil) async throws -> LeaseGrant {
        try await queue.jobs.claims.lease(
            LeaseRequest(
                worker: worker ?? self.worker, queues: [], maxJobs: most, waitMilliseconds: 0),
            as: .random())
    }

    func report(
        _ results: [JobReport], as worker: WorkerID? = nil
    ) async throws -> [ReportAnswer.Verdict] {
        let verdicts = try await queue.jobs.reports.record(
            ReportRequest(worker: worker ?? self.worker, results: results))
        try await fold()
        return verdicts
    }

    static func done(_ job: Job, _ grant: LeaseGrant, bytes: Int64 = 10) -> JobReport {
        var report = JobReport(job: job.id, lease: grant.lease ?? "", outcome: .done())
        if job.kind == .fetch || job.kind == .verify {
            report.stored = StoredObject(bytes: bytes, sha256: digest(of: job.key))
        }
        return report
    }

    static func failed(
        _ job: Job, _ grant: LeaseGrant, _ code: FailureCode, retryAfter: Double? = nil
    ) -> JobReport {
        let failed = JobReport.Failed(
            Failure(code, "it did not work"), retryAfterSeconds: retryAfter)
        return JobReport(job: job.id, lease: grant.lease ?? "", outcome: .failed(failed))
    }

    /// A digest that is a function of the key; its value does not matter to the queue.
    static func digest(of key: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in key.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// Leases and completes until nothing is left; returns the jobs in the order they came.
    @discardableResult
    func drain() async throws -> [Job] {
        var jobs: [Job] = []
        while true {
            let grant = try await lease()
            guard grant.lease != nil else { return jobs }
            jobs += grant.jobs
            _ = try await report(grant.jobs.map { Self.done($0, grant) })
        }
    }

    // MARK: Looking

    /// Lets every lease run out by the database's clock while its worker lives, and sweeps.
    func expireLeases() async throws {
        try await pool.query(
            """
            INSERT INTO worker (id, name) SELECT DISTINCT worker_id, 'alive' FROM lease
            ON CONFLICT (id) DO UPDATE SET last_seen = now()
            """)
        try await pool.query("UPDATE lease SET expires_at = now() - interval '1 hour'")
        try await queue.jobs.leases.sweep()
        try await pool.query("DELETE FROM worker WHERE name = 'alive'")
        try await fold()
    }

    /// Disconnects a worker until its leases have expired, and sweeps those.
    func silence(_ worker: WorkerID) async throws {
        let id: [PostgresValue] = [.uuid(worker)]
        try await pool.query(
            "UPDATE worker SET last_seen = now() - interval '2 hours' WHERE id = $1", id)
        try await pool.query(
            "UPDATE lease SET expires_at = now() - interval '1 hour' WHERE worker_id = $1", id)
        try await serveForHours()
        try await queue.jobs.leases.sweep()
        try await fold()
    }

    /// Lets coordinators have served without a pause since long before.
    func serveForHours() async throws {
        try await pool.query(
            "UPDATE cluster SET served_at = now(), served_since = now() - interval '3 hours'")
    }

    /// Folds all tallies, even if catalogs' locks are taken at first.
    func fold() async throws {
        while try await queue.housekeeping.tallies.fold() { await Task.yield() }
    }

    /// Makes all delayed jobs due, and resets the failures of all sites.
    func skipDelays() async throws {
        try await pool.query("UPDATE delayed_job SET available_at = now()")
        try await pool.query("UPDATE site SET fault_code = NULL")
    }

    func count(_ sql: String) async throws -> Int64 {
        try await pool.query("SELECT count(*)::bigint FROM \(sql)").firstRow?.int64(0) ?? -1
    }

    func assets(of catalog: CatalogID) async throws -> [AssetStatus] {
        try await queue.catalogs.assets(of: catalog, after: AssetID(0), state: nil, limit: 1_000)
            .assets
    }
}

extension DatabaseTemplate {
    /// A queue's tables, and the log of their transitions.
    static let queue = DatabaseTemplate(
        "queue_template", distinguish: "UPDATE dray.cluster SET id = gen_random_uuid()"
    ) { url in
        let loop = try EventLoop(name: "queue-template")
        let pool = PostgresPool(.queue(url: url), maximumConnections: 1, on: loop)
        try await Migrations.migrate(pool)
        try await TransitionLog.start(pool)
        try await FixtureDatabase.remember(pool)
        await pool.shutdown()
        loop.shutdown()
    }
}
