import FoundationEssentials
import Model
import Postgres

/// The benchmark's own SQL: all that knows Dray's tables is here and in the files of `SQL`.
struct BenchmarkTables: Sendable {
    /// A connection that measures nothing but only looks.
    let connection: PostgresConnection

    /// Jobs that bare SQL has claimed.
    struct Claim {
        var lane: Int64
        var lease: String
        var jobs: [Int64]
        /// What to download, to where: as values that a worker could use.
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

    /// Claims up to `most` jobs of a lane with the least of SQL, in one round trip.
    static func claim(
        _ most: Int, of lane: Int64, on connection: PostgresConnection, waitsForDisk: Bool
    ) async throws -> Claim {
        let lease = UUID().uuidString.lowercased()
        let results = try await connection.pipeline([
            PostgresStatement(ceilingLock, [.int(lane), .text(waitsForDisk ? "on" : "off")]),
            PostgresStatement(ceilingClaim, [.int(lane), .int(most), .uuid(lease)]),
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

    /// Records claimed jobs as done with the least of SQL; how many were.
    static func complete(_ claim: Claim, on connection: PostgresConnection) async throws -> Int {
        try await connection.query(
            ceilingComplete,
            [
                .int(claim.lane), .int64Array(claim.jobs), .uuid(claim.lease),
                .int64Array(claim.jobs.map { _ in Int64(BenchmarkWork.segmentBytes) }),
                .textArray(claim.jobs.map { BenchmarkWork.digest(of: $0) }),
            ]
        ).affectedRowCount
    }

    /// The lanes of segments of a queue.
    func lanes(of queue: String) async throws -> [Int64] {
        try await connection.query(
            Self.text(PackageResources.ceiling_lanes_sql), [.text(queue)]
        ).rows.map { try $0.int64("id") }
    }

    // MARK: What is there

    /// The name of the only queue there is.
    func firstQueueName() async throws -> String {
        try await connection.query("SELECT name FROM queue").only().string("name")
    }

    /// Segments with a job, and segments that are done.
    func counted() async throws -> (waiting: Int, done: Int) {
        let row = try await connection.query(
            Self.text(PackageResources.segments_counted_sql)
        ).only()
        return (try row.int("waiting"), try row.int("done"))
    }

    /// As a database is that has been in use: no dead rows, statistics of what there is, and no
    /// write of old pages due.
    func settle() async throws {
        try await connection.simple("VACUUM (ANALYZE)")
        try await connection.simple("CHECKPOINT")
    }

    /// Write-ahead log written so far, in bytes.
    func walBytes() async throws -> Int64 {
        try await connection.query(
            Self.text(PackageResources.wal_position_sql)
        ).only().int64("bytes")
    }

    /// Connections that coordinators have now.
    func connections() async throws -> Int {
        try await connection.query(
            Self.text(PackageResources.connections_used_sql)
        ).only().int("connections")
    }

    /// Rows and sizes of the tables that hold more than a few.
    ///
    /// Counted by ANALYZE, from a sample of a large table. Sessions that have not ended may still
    /// add to it what they did before.
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

/// What a table holds after a run.
struct TableUsage: Encodable, Sendable {
    var name: String
    var liveRows: Int
    var deadRows: Int
    /// With its indexes.
    var bytes: Int64
}

extension PostgresResult {
    /// The only row there is.
    fileprivate func only() throws -> PostgresRow {
        guard rowCount == 1, let row = firstRow else {
            throw Failure("worker.internal", "a statement of the benchmark found \(rowCount) rows")
        }
        return row
    }
}
