import API
import Model
import Postgres

/// Writes the segments that workers list for titles.
enum SegmentStore {
    /// Stores segments that are all new.
    static func copy(
        _ segments: [ResolvedSegment], _ origins: [String], into asset: Int64,
        _ connection: PostgresConnection
    ) async throws {
        let urls = PostgresValue.textArray(Set(origins).sorted())
        // The second statement sees those that another transaction has just created.
        let results = try await connection.pipeline([
            PostgresStatement(SQL.Origins.list, ["origins": urls]),
            PostgresStatement(SQL.Origins.named, ["origins": urls]),
        ])
        var ids: [String: Int64] = [:]
        for row in results[1].rows { ids[try row.string("url")] = try row.int64("id") }
        try await connection.copyIn(SQL.Resolving.copySegments.text, rows: zip(segments, origins)) {
            encoder, row in
            guard let id = ids[row.1] else {
                throw Failure(.workerInternal, "The origin \(row.1) is gone.")
            }
            encode(row.0, &encoder)
            encoder.field(row.0.objectOffset)
            encoder.field(asset)
            encoder.field(id)
        }
    }

    /// Stores segments some of which an earlier attempt of the job, or an earlier start, has
    /// stored.
    static func merge(
        _ segments: [ResolvedSegment], _ origins: [String], into asset: Int64,
        _ connection: PostgresConnection
    ) async throws {
        try await stage(segments, origins, connection)
        _ = try await connection.query(SQL.Resolving.mergeSegments, ["asset": .int(asset)])
        _ = try await connection.query(SQL.Resolving.mergeMirrors, ["asset": .int(asset)])
    }

    /// Stages segments for later statements, and creates their origins. None is a byte range, which
    /// only recordings store.
    static func stage(
        _ segments: [ResolvedSegment], _ origins: [String], _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.simple(SQL.Resolving.stageSegments.text)
        try await connection.copyIn(
            SQL.Resolving.copyStaged.text, rows: zip(segments, origins)
        ) { encoder, row in
            encode(row.0, &encoder)
            encoder.field(row.1)
        }
        _ = try await connection.query(SQL.Resolving.origins)
    }

    private static func encode(_ segment: ResolvedSegment, _ encoder: inout CopyEncoder) {
        encoder.field(segment.ordinal)
        encoder.field(segment.url)
        encoder.field(segment.key)
        encoder.field(segment.role.rawValue)
        encoder.field(segment.bytes)
        encoder.field(segment.sha256)
        encoder.field(segment.mirrors?.joined(separator: "\n"))
    }

    /// Stores warnings about a title's manifests.
    static func store(
        _ warnings: ManifestWarnings?, of asset: Int64, _ connection: PostgresConnection
    ) async throws {
        let text = try warnings.flatMap { try $0.isEmpty ? nil : WireJSON.encode($0) }
        _ = try await connection.query(
            SQL.Resolving.warnings,
            [
                "asset": .int(asset),
                "warnings": .optionalText(text.map { String(decoding: $0, as: UTF8.self) }),
            ])
    }

    /// Adds those of a later reading that are of other rules, before those that are known: they are
    /// kept in place of the last of these. A repeated request has one effect.
    static func add(
        _ warnings: ManifestWarnings, of asset: Int64, _ connection: PostgresConnection
    ) async throws {
        let row = try await connection.query(
            SQL.Resolving.knownWarnings, ["asset": .int(asset)]
        ).only()
        var known = ManifestWarnings()
        if let text = try row.optionalString("warnings") {
            known = try WireJSON.decode(ManifestWarnings.self, from: Array(text.utf8))
        }
        var all = warnings.without(rulesOf: known)
        guard !all.isEmpty else { return }
        all.add(known)
        try await store(all.bounded(to: WireLimits.warningsPerAsset), of: asset, connection)
    }
}
