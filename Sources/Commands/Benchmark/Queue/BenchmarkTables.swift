import JobQueue
import Model
import Postgres

/// The benchmark's own SQL. Only this file and `SQL/benchmark.sql` know Dray's tables.
struct BenchmarkTables: Sendable {
    /// A connection for checks, outside the measurement.
    let connection: PostgresConnection

    private enum Statements: String, SQLSubject {
        case ceilingLock, ceilingClaim, ceilingComplete, ceilingLanes
        case queue, segmentsCounted, tablesUsed, connectionsUsed, walPosition

        static let file = SQLFile(embedded: PackageResources.benchmark_sql)
    }

    /// Jobs that bare SQL has claimed.
    struct Claim {
        var lane: Int64
        var lease: LeaseID
        var jobs: [Int64]
        /// URLs and keys to download, as a worker would use them.
        var objects: [Object]
    }

    struct Object {
        var url: String
        var key: String
        var bytes: Int64?
        var sha256: String?
    }

    // MARK: The ceiling

    /// Claims up to `most` jobs of a lane with minimal SQL, in one round trip.
    static func claim(
        _ most: Int, of lane: Int64, on connection: PostgresConnection, waitsForDisk: Bool
    ) async throws -> Claim {
        let lease = LeaseID.random()
        let results = try await connection.pipeline([
            PostgresStatement(
                Statements.ceilingLock,
                [
                    "lane": .int(lane), "synchronous_commit": .text(waitsForDisk ? "on" : "off"),
                ]),
            PostgresStatement(
                Statements.ceilingClaim,
                ["lane": .int(lane), "most": .int(most), "lease": .uuid(lease.description)]),
        ])
        return Claim(
            lane: lane, lease: lease, jobs: try results[1].jobs(),
            objects: try results[1].objects())
    }

    /// Records claimed jobs as done with minimal SQL; returns their number.
    static func complete(_ claim: Claim, on connection: PostgresConnection) async throws -> Int {
        try await connection.query(
            Statements.ceilingComplete,
            [
                "lane": .int(claim.lane), "jobs": .int64Array(claim.jobs),
                "lease": .uuid(claim.lease.description),
                "bytes": .int64Array(claim.jobs.map { _ in Int64(BenchmarkWork.segmentBytes) }),
                "digests": .textArray(claim.jobs.map { BenchmarkWork.digest(of: $0) }),
            ]
        ).affectedRowCount
    }

    /// Returns the lanes of segments of a queue.
    func lanes(of queue: String) async throws -> [Int64] {
        try await connection.query(
            Statements.ceilingLanes, ["queue": .text(queue)]
        ).rows.map { try $0.int64("id") }
    }

    // MARK: Checks

    /// Returns the name of the only queue.
    func firstQueueName() async throws -> String {
        try await connection.query(Statements.queue).only().string("name")
    }

    /// Returns the number of segments with a job, and of those done.
    func counted() async throws -> (waiting: Int, done: Int) {
        let row = try await connection.query(Statements.segmentsCounted).only()
        return (try row.int("waiting"), try row.int("done"))
    }

    /// Brings the database to a steady state: no dead rows, current statistics, no pending writes
    /// of old pages.
    func settle() async throws {
        try await connection.simple("VACUUM (ANALYZE)")
        try await connection.simple("CHECKPOINT")
    }

    /// Returns the bytes of write-ahead log so far.
    func walBytes() async throws -> Int64 {
        try await connection.query(Statements.walPosition).only().int64("bytes")
    }

    /// Returns the number of the coordinators' connections.
    func connections() async throws -> Int {
        try await connection.query(Statements.connectionsUsed).only().int("connections")
    }

    /// Returns rows and sizes of the tables that have more than a few.
    ///
    /// ANALYZE counts them, from a sample of a large table. Sessions that have not ended may still
    /// add their earlier statistics.
    func used() async throws -> [TableUsage] {
        try await connection.simple("ANALYZE")
        return try await connection.query(Statements.tablesUsed).rows.map { row in
            TableUsage(
                name: try row.string("name"), liveRows: try row.int("live"),
                deadRows: try row.int("dead"), bytes: try row.int64("bytes"))
        }
    }
}

/// Rows and size of a table after a run.
struct TableUsage: Encodable, Sendable {
    var name: String
    var liveRows: Int
    var deadRows: Int
    /// Size including its indexes.
    var bytes: Int64
}

extension PostgresResult {
    /// Numbers of claimed jobs. Columns are looked up once.
    fileprivate func jobs() throws -> [Int64] {
        let id = try column("id")
        return try rows.map { try $0.int64(id) }
    }

    /// Objects of claimed jobs.
    fileprivate func objects() throws -> [BenchmarkTables.Object] {
        let (url, key) = (try column("url"), try column("key"))
        let (bytes, sha256) = (try column("expected_bytes"), try column("expected_sha256"))
        return try rows.map {
            BenchmarkTables.Object(
                url: try $0.string(url), key: try $0.string(key),
                bytes: try $0.optionalInt64(bytes), sha256: try $0.optionalString(sha256))
        }
    }

    /// Returns the only row.
    fileprivate func only() throws -> PostgresRow {
        guard rowCount == 1, let row = firstRow else {
            throw Failure(.workerInternal, "a statement of the benchmark found \(rowCount) rows")
        }
        return row
    }
}
