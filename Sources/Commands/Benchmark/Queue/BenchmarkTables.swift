import Model
import Postgres

/// The benchmark's own SQL. Only this file and those in `SQL` know Dray's tables.
struct BenchmarkTables: Sendable {
    /// A connection for checks, outside the measurement.
    let connection: PostgresConnection

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

    private static let ceilingLock = text(PackageResources.ceiling_lock_sql)
    private static let ceilingClaim = text(PackageResources.ceiling_claim_sql)
    private static let ceilingComplete = text(PackageResources.ceiling_complete_sql)

    /// Claims up to `most` jobs of a lane with minimal SQL, in one round trip.
    static func claim(
        _ most: Int, of lane: Int64, on connection: PostgresConnection, waitsForDisk: Bool
    ) async throws -> Claim {
        let lease = LeaseID.random()
        let results = try await connection.pipeline([
            PostgresStatement(ceilingLock, [.int(lane), .text(waitsForDisk ? "on" : "off")]),
            PostgresStatement(ceilingClaim, [.int(lane), .int(most), .uuid(lease.description)]),
        ])
        let rows = results[1].rows
        return Claim(
            lane: lane, lease: lease, jobs: try rows.map { try $0.int64(0) },
            objects: try rows.map {
                Object(
                    url: try $0.string(1), key: try $0.string(2), bytes: try $0.optionalInt64(3),
                    sha256: try $0.optionalString(4))
            })
    }

    /// Records claimed jobs as done with minimal SQL; returns their number.
    static func complete(_ claim: Claim, on connection: PostgresConnection) async throws -> Int {
        try await connection.query(
            ceilingComplete,
            [
                .int(claim.lane), .int64Array(claim.jobs), .uuid(claim.lease.description),
                .int64Array(claim.jobs.map { _ in Int64(BenchmarkWork.segmentBytes) }),
                .textArray(claim.jobs.map { BenchmarkWork.digest(of: $0) }),
            ]
        ).affectedRowCount
    }

    /// Returns the lanes of segments of a queue.
    func lanes(of queue: String) async throws -> [Int64] {
        try await connection.query(
            Self.text(PackageResources.ceiling_lanes_sql), [.text(queue)]
        ).rows.map { try $0.int64("id") }
    }

    // MARK: Checks

    /// Returns the name of the only queue.
    func firstQueueName() async throws -> String {
        try await connection.query("SELECT name FROM queue").only().string("name")
    }

    /// Returns the number of segments with a job, and of those done.
    func counted() async throws -> (waiting: Int, done: Int) {
        let row = try await connection.query(
            Self.text(PackageResources.segments_counted_sql)
        ).only()
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
        try await connection.query(
            Self.text(PackageResources.wal_position_sql)
        ).only().int64("bytes")
    }

    /// Returns the number of the coordinators' connections.
    func connections() async throws -> Int {
        try await connection.query(
            Self.text(PackageResources.connections_used_sql)
        ).only().int("connections")
    }

    /// Returns rows and sizes of the tables that have more than a few.
    ///
    /// ANALYZE counts them, from a sample of a large table. Sessions that have not ended may still
    /// add their earlier statistics.
    func used() async throws -> [TableUsage] {
        try await connection.simple("ANALYZE")
        return try await connection.query(Self.text(PackageResources.tables_used_sql)).rows.map {
            row in
            TableUsage(
                name: try row.string("name"), liveRows: try row.int("live"),
                deadRows: try row.int("dead"), bytes: try row.int64("bytes"))
        }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
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
    /// Returns the only row.
    fileprivate func only() throws -> PostgresRow {
        guard rowCount == 1, let row = firstRow else {
            throw Failure(.workerInternal, "a statement of the benchmark found \(rowCount) rows")
        }
        return row
    }
}
