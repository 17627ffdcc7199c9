import Model
import Postgres

/// The end of a job that resolves a title.
enum TitleResolution {
    /// Ends a resolve job: its asset has `segments` segments, all sent before, and each gets a job.
    static func finish(
        _ job: HeldJob, segments: Int, _ connection: PostgresConnection
    ) async throws -> Bool {
        if let recording = try await Recording.find(job.asset, connection) {
            return try await recording.advance(job, after: nil, connection)
        }
        let asset: SQLValues = ["asset": .int(job.asset)]
        let found = try await connection.pipeline([
            PurgeGuard.share(asset: job.asset),
            PostgresStatement(SQL.Resolving.trim, asset + ["segments": .int(Int64(segments))]),
            PostgresStatement(SQL.Resolving.sidecars, asset),
            PostgresStatement(SQL.Resolving.segmentOrigins, asset),
            PostgresStatement(SQL.KnownFiles.sources, asset),
            PurgeGuard.awaited(asset: job.asset),
        ])
        try PurgeGuard.check(found.last)
        let origins = found[3].rows
        let stored = try origins.reduce(0) { $0 + (try $1.int64("segments")) }
        guard stored == Int64(segments) else {
            throw Failure(
                .clusterProtocol,
                "A resolve job reported \(segments) segments; \(stored) had arrived.")
        }
        if try await isRefused(job, from: 0, connection) { return false }
        let sources = try found[4].rows.map { try $0.int64("id") }
        if !sources.isEmpty { try await noteKnown(job.asset, from: sources, connection) }
        let lanes: SQLValues = [
            "lane": .int(job.lane), "asset": .int(job.asset),
            "origins": .int64Array(try origins.map { try $0.int64("origin_id") }),
        ]
        _ = try await connection.pipeline([
            PostgresStatement(SQL.Resolving.lanes, lanes),
            PostgresStatement(SQL.Resolving.lockLanes, lanes),
            PostgresStatement(
                SQL.KnownFiles.adoptTitle, asset + ["unread": .text(FoundFile.unread)]),
            PostgresStatement(
                SQL.Resolving.jobs,
                ["lane": .int(job.lane), "job": .int(job.id.rawValue), "asset": .int(job.asset)]),
        ])
        return true
    }

    /// Ends a job that could not read a manifest: its title fails, unless it is recorded, which
    /// continues. True if jobs became due.
    static func unread(
        _ job: HeldJob, _ failure: Failure, _ connection: PostgresConnection
    ) async throws -> Bool {
        if let recording = try await Recording.find(job.asset, connection) {
            return try await recording.advance(job, after: failure, connection)
        }
        try await fail(job, failure, connection)
        return false
    }

    /// Fails a title one of whose keys, from an ordinal on, holds another object; false if none
    /// does.
    static func isRefused(
        _ job: HeldJob, from ordinal: Int64, _ connection: PostgresConnection
    ) async throws -> Bool {
        let taken = try await connection.query(
            SQL.KeyConflicts.resolvedHolder, ["asset": .int(job.asset), "first": .int(ordinal)]
        ).firstRow
        guard let taken else { return false }
        try await refuse(job, taken, connection)
        return true
    }

    /// Fails a title whose manifest cannot be read, or lists segments that cannot be stored.
    static func fail(
        _ job: HeldJob, _ failure: Failure, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            SQL.Reporting.deleteJob, ["lane": .int(job.lane), "job": .int(job.id.rawValue)])
        try await AssetSettlement.record(job.asset, failure, resolveFailed: true, connection)
    }

    /// Fails a title one of whose keys holds another object, a row of
    /// `KeyConflicts.resolvedHolder`.
    private static func refuse(
        _ job: HeldJob, _ taken: PostgresRow, _ connection: PostgresConnection
    ) async throws {
        let key = Redaction.key(try taken.string("key")).prefix(300)
        let holder = redacted(url: try taken.string("holder")).prefix(300)
        let message = RecordedMessage.keyTaken(
            key: String(key), holder: String(holder), catalog: try taken.string("holder_catalog"),
            isOther: try taken.bool("is_other_catalog"))
        try await fail(job, Failure(.storagePathConflict, message.sentence), connection)
    }

    /// Records, for the segments of a title, files known from before it was resolved. Skips
    /// segments that were begun: their records are their own, or were deleted deliberately.
    private static func noteKnown(
        _ asset: Int64, from sources: [Int64], _ connection: PostgresConnection
    ) async throws {
        let isBegun = try await connection.query(
            SQL.KnownFiles.haveResults, ["asset": .int(asset)]
        ).only().bool("have_results")
        guard !isBegun else { return }
        _ = try await connection.simple(SQL.KnownFiles.stage.text)
        _ = try await connection.pipeline([
            PostgresStatement(
                SQL.KnownFiles.storedByTitles,
                ["asset": .int(asset), "sources": .int64Array(sources)]),
            PostgresStatement(SQL.KnownFiles.noteTitle, ["asset": .int(asset)]),
        ])
    }
}
