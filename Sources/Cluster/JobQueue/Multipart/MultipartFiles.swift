import Model
import Postgres

/// Files that are fetched in parts, as reports and splits change them.
enum MultipartFiles {
    /// Counts a part that is stored; true when the file's verification is due.
    ///
    /// - Parameter stated: digests of the whole, by the origin; empty for none.
    static func partDone(
        of whole: Int64, bytes: Int64, stated: String, _ connection: PostgresConnection
    ) async throws -> Bool {
        try await connection.query(
            SQL.Multipart.partDone,
            ["whole": .int(whole), "digests": .text(stated), "bytes": .int(bytes)]
        ).affectedRowCount > 0
    }

    /// Fails a file in parts, unless another part of it has.
    static func fail(
        _ whole: Int64, of asset: Int64, _ failure: Failure, _ connection: PostgresConnection
    ) async throws {
        let first = try await !connection.query(SQL.Multipart.partFailed, ["whole": .int(whole)])
            .rows.isEmpty
        guard first else { return }
        try await AssetSettlement.record(asset, failure, verifiesFailed: 1, connection)
    }

    /// Has a file fetched anew.
    ///
    /// - Parameters:
    ///   - counts: whether the try that ends so uses up an attempt.
    ///   - isDivisible: whether the file may be divided again.
    static func reset(
        _ whole: Int64, seconds: Double, counts: Bool, isDivisible: Bool,
        _ connection: PostgresConnection
    ) async throws {
        // The job that reports it is one of them, so this runs twice at least.
        while try await connection.query(
            SQL.Multipart.deleteJobs, ["whole": .int(whole)]
        ).only().int64("jobs") > 0 {}
        _ = try await connection.query(
            SQL.Multipart.reset,
            [
                "whole": .int(whole), "seconds": .double(seconds),
                "uncounted": .int(counts ? 0 : 1), "is_whole": .bool(!isDivisible),
            ])
    }

    /// Records a file that was put together and hashed.
    static func verified(
        _ job: HeldJob, _ stored: StoredObject, isCompared: Bool, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            SQL.Multipart.verified,
            [
                "job": .int(job.id.rawValue), "segment": .int(job.segment ?? 0),
                "bytes": .int(stored.bytes), "sha256": .text(stored.sha256),
                "attempts": .int(Int64(job.attempt)), "lane": .int(job.lane),
                "verified": .bool(isCompared),
            ])
        try await AssetSettlement.record(job.asset, nil, verifiesDone: 1, connection)
    }

    static func verifyFailed(
        _ job: HeldJob, _ failure: Failure, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            SQL.Multipart.verifyFailed,
            [
                "job": .int(job.id.rawValue), "segment": .int(job.segment ?? 0),
                "code": .text(failure.code.rawValue), "message": .text(failure.message),
                "attempts": .int(Int64(job.attempt)), "lane": .int(job.lane),
            ])
        try await AssetSettlement.record(job.asset, failure, verifiesFailed: 1, connection)
    }
}
