package import API
package import Model
import Postgres

/// Catalogs, their assets and their files, as clients see them.
package struct Catalogs: Sendable {
    let database: QueueDatabase
    let statuses: StatusReader
    package let submissions: Submissions
    package let sources: CatalogSources
    package let listings: AssetListings
    package let selections: Selections
    package let cacheAnswers: CacheAnswers

    init(database: QueueDatabase, statuses: StatusReader, leaseSeconds: Double) {
        let names = CatalogNames(database: database)
        self.database = database
        self.statuses = statuses
        submissions = Submissions(database: database)
        listings = AssetListings(database: database, names: names)
        selections = Selections(database: database, names: names, leaseSeconds: leaseSeconds)
        sources = CatalogSources(
            database: database, selections: selections,
            work: SourceWork(
                database: database, submissions: submissions, selections: selections,
                leaseSeconds: leaseSeconds))
        cacheAnswers = CacheAnswers(database: database)
    }

    /// Returns a catalog's progress, and some of its running assets unless `withActive` is false.
    /// Throws `input.notFound`.
    package func status(
        of catalog: CatalogID, withActive: Bool = true
    ) async throws(Failure) -> CatalogStatus {
        try await database.withConnection { connection in
            var statements = statuses.statements(of: catalog).all
            if withActive {
                statements.append(
                    PostgresStatement(SQL.Status.active, ["catalog": .int(catalog.rawValue)]))
            }
            let results = try await connection.pipelinePlannedOnce(statements)
            guard
                var status = try StatusReader.read(
                    results[0], waits: results[1], limits: results[2]
                ).first
            else {
                throw Failure.unknownCatalog(catalog)
            }
            if withActive, let active = results.last {
                status.active = try active.rows.map { row in
                    var asset = try AssetStatus(row: row)
                    let resumed = try row.int64("resumed_bytes")
                    asset.resumedBytes = resumed > 0 ? resumed : nil
                    return asset
                }
            }
            return status
        }
    }

    /// Returns a page of a catalog's assets, by number.
    package func assets(
        of catalog: CatalogID, after: AssetID, state: AssetState?, limit: Int
    ) async throws(Failure) -> AssetPage {
        try await database.withConnection { connection in
            let rows = try await connection.query(
                SQL.Browsing.assets,
                [
                    "catalog": .int(catalog.rawValue), "after": .int(after.rawValue),
                    "limit": .int(Int64(limit)), "state": .optionalText(state?.rawValue),
                ]
            ).rows
            var assets = try rows.map { row in
                var asset = try AssetStatus(row: row)
                asset.path = try row.string("key")
                asset.warnings = try row.warnings
                return asset
            }
            let accompanied = try rows.filter { try $0.bool("has_sidecars") }.map {
                try $0.int64("id")
            }
            if !accompanied.isEmpty {
                try await Self.addMissing(to: &assets, accompanied, connection)
            }
            return AssetPage(
                assets: assets, next: assets.count == limit ? assets.last?.id.description : nil)
        }
    }

    /// Sets `missing` of those `assets` that lack sidecars; `accompanied` are the ones with any.
    private static func addMissing(
        to assets: inout [AssetStatus], _ accompanied: [Int64], _ connection: PostgresConnection
    ) async throws {
        let rows = try await connection.query(
            SQL.Browsing.missingSidecars, ["assets": .int64Array(accompanied)]
        ).rows
        var missing: [AssetID: [AssetStatus.MissingSidecar]] = [:]
        for row in rows {
            missing[AssetID(try row.int64("asset_id")), default: []].append(
                AssetStatus.MissingSidecar(
                    url: try row.string("url"), path: try row.string("key"),
                    failure: Failure(
                        FailureCode(try row.string("failure_code")),
                        try row.optionalMessage("failure_message") ?? "")))
        }
        for index in assets.indices { assets[index].missing = missing[assets[index].id] }
    }

    /// Returns a page of a catalog's stored files; `after` is the `next` of the previous page.
    package func files(
        of catalog: CatalogID, after: String?, limit: Int
    ) async throws(Failure) -> FilePage {
        let position = try PagePosition(after, first: [0, -1])
        return try await database.withConnection { connection in
            let rows = try await connection.query(
                SQL.Browsing.files,
                [
                    "catalog": .int(catalog.rawValue), "after_asset": .int(position[0]),
                    "after_ordinal": .int(position[1]), "limit": .int(Int64(limit)),
                ]
            ).rows
            let files = try rows.map { row in
                var file = FilePage.StoredFile(
                    asset: AssetID(try row.int64("asset_id")), path: try row.string("key"),
                    url: try row.string("url"), bytes: try row.int64("bytes"),
                    sha256: try row.string("sha256"))
                file.verified = try row.optionalBool("verified")
                file.afterSeconds = try row.optionalDouble("after_seconds")
                return file
            }
            var next: String?
            if files.count == limit, let last = rows.last {
                next =
                    PagePosition([try last.int64("asset_id"), try last.int64("ordinal")])
                    .description
            }
            return FilePage(files: files, next: next)
        }
    }
}

extension PostgresRow {
    /// Decodes a row with an asset's `warnings`.
    var warnings: ManifestWarnings? {
        get throws {
            guard let text = try optionalString("warnings") else { return nil }
            return try WireJSON.decode(from: Array(text.utf8))
        }
    }
}

extension AssetStatus {
    /// Decodes a row of `Browsing.assets` or `Status.active`.
    init(row: PostgresRow) throws {
        self.init(
            id: AssetID(try row.int64("id")), name: try row.string("name"),
            url: try row.string("url"), kind: AssetKind(rawValue: try row.string("kind")) ?? .file,
            state: AssetState(rawValue: try row.string("state")) ?? .new,
            segments: Int(try row.int64("segments")),
            segmentsDone: Int(try row.int64("segments_done")), bytes: try row.int64("bytes"),
            expectedBytes: try row.optionalInt64("expected_bytes"),
            retries: Int(try row.int64("retries")))
        refreshed = try row.optionalString("refreshed").flatMap(RefreshOutcome.init(rawValue:))
        isPaused = try row.bool("is_paused") ? true : nil
        isPinned = try row.bool("is_pinned") ? true : nil
        notBefore = try row.optionalDouble("not_before")
        expiresAt = try row.optionalDouble("expires_at")
        freedFiles = try row.optionalInt64("freed_files").map { Int($0) }
        freedBytes = try row.optionalInt64("freed_bytes")
        adoptedBytes = try row.int64("adopted_bytes")
        failure = try Failure(in: row)
        leftOut = try row.optionalString("left_out").map {
            // A file that has no kind is of renditions that are not known yet.
            try WireJSON.decode([LeftOutRendition].self, from: Array($0.utf8))
                .filter { $0.kind != nil }
        }
        if leftOut?.isEmpty == true { leftOut = nil }
        recording = try row.optionalString("recording").map {
            try WireJSON.decode(AssetRecording.self, from: Array($0.utf8))
        }
    }
}
