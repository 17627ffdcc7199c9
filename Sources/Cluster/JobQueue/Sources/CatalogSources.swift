package import API
package import Model
import Postgres

/// Lists at URLs that are read again and again for their catalogs, as clients see them.
package struct CatalogSources: Sendable {
    let database: QueueDatabase
    let selections: Selections
    package let work: SourceWork

    /// Sets the source of a catalog. Throws `input.notFound`.
    package func set(
        _ source: SourceSubmission, of catalog: CatalogID
    ) async throws(Failure) -> SourceStatus {
        try await database.transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog.rawValue)]
            guard let row = try await connection.query(SQL.Catalogs.read, id).firstRow else {
                throw Failure.unknownCatalog(catalog)
            }
            // Its assets are those of each POP, which no list names.
            guard try StorageURL(try row.string("storage_url")).cache == nil else {
                throw Failure(
                    .inputCacheSite,
                    "catalog: \(catalog) is of a cache; allowed for a source: a catalog of a site "
                        + "with storage.")
            }
            let drop = source.maxDropPercent ?? WireLimits.sourceMaxDropPercent
            _ = try await connection.query(
                SQL.Sources.set,
                id + [
                    "url": .text(source.url), "format": .optionalText(source.format),
                    "every_seconds": .double(source.everySeconds),
                    "prunes": .bool(source.prunes == true), "max_drop_percent": .int(drop),
                    "delay_seconds": .double(source.readsNow == false ? source.everySeconds : 0),
                ])
            _ = try await connection.query(SQL.Sources.notify)
            return try await Self.read(catalog, connection)
        }
    }

    /// Makes a source due now. Throws `input.notFound`.
    package func readNow(_ catalog: CatalogID) async throws(Failure) -> SourceStatus {
        try await database.transaction { connection in
            _ = try await connection.query(
                SQL.Sources.readNow, ["catalog": .int(catalog.rawValue)])
            _ = try await connection.query(SQL.Sources.notify)
            return try await Self.read(catalog, connection)
        }
    }

    /// Removes a source; its catalog stays as it is. Throws `input.notFound`.
    package func remove(_ catalog: CatalogID) async throws(Failure) -> SourceStatus {
        try await database.transaction { connection in
            let status = try await Self.read(catalog, connection)
            _ = try await connection.query(
                SQL.Sources.remove, ["catalog": .int(catalog.rawValue)])
            return status
        }
    }

    /// Throws `input.notFound` for a catalog without a source.
    package func status(of catalog: CatalogID) async throws(Failure) -> SourceStatus {
        try await database.withConnection { try await Self.read(catalog, $0) }
    }

    /// Returns a page of the sources; `after` is the previous page's `next`.
    package func page(after: Int64?, limit: Int) async throws(Failure) -> SourcePage {
        try await database.withConnection { connection in
            let sources = try await connection.query(
                SQL.Sources.status,
                ["catalog": .null, "after": .int(after ?? 0), "limit": .int(limit)]
            ).rows.map { try SourceStatus(row: $0) }
            return SourcePage(
                sources: sources,
                next: sources.count < limit ? nil : sources.last.map { "\($0.catalog)" })
        }
    }

    private static func read(
        _ catalog: CatalogID, _ connection: PostgresConnection
    ) async throws -> SourceStatus {
        let row = try await connection.query(
            SQL.Sources.status,
            [
                "catalog": .int(catalog.rawValue), "after": .int(Int64(0)),
                "limit": .int(1),
            ]
        ).firstRow
        guard let row else {
            throw Failure.notFound(
                "Catalog \(catalog) has no source.", listedBy: "dray source list")
        }
        return try SourceStatus(row: row)
    }

    /// Returns the site of a source's catalog. Throws `input.notFound`.
    package func site(of catalog: CatalogID) async throws(Failure) -> SiteID {
        try await database.withConnection { connection in
            let row = try await connection.query(
                SQL.Sources.site, ["catalog": .int(catalog.rawValue)]
            ).firstRow
            guard let row else {
                throw Failure.notFound(
                    "Catalog \(catalog) has no source.", listedBy: "dray source list")
            }
            return SiteID(try row.int64("site_id"))
        }
    }

    /// Starts the refreshes of catalogs that are due. Safe to run on all coordinators at once. Returns the
    /// number of assets that are checked.
    ///
    /// A catalog that cannot be refreshed holds up no other; it is tried again, soon if it was busy. Throws
    /// the first failure that none but the database or the cluster can cause, after the last catalog.
    @discardableResult
    package func refreshDue() async throws(Failure) -> Int {
        let due = try await database.withConnection { connection in
            try await connection.query(SQL.Sources.claimRefreshes).rows.map {
                CatalogID(try $0.int64("id"))
            }
        }
        var assets = 0
        var failure: Failure?
        for catalog in due {
            do throws(Failure) {
                assets += try await selections.apply(
                    SelectionAction(.refresh, catalog: CatalogReference(catalog))
                ).assets
            } catch {
                // With an input code it is interrupted, or was forgotten: nothing to check before the
                // next time. Others were claimed for a minute.
                guard error.code.family == "input" else {
                    failure = failure ?? error
                    continue
                }
            }
            try await database.withConnection { connection in
                _ = try await connection.query(
                    SQL.Sources.noteRefreshed, ["catalog": .int(catalog.rawValue)])
            }
        }
        if let failure { throw failure }
        return assets
    }

    /// Returns the sources that are due and need a worker.
    package func called() async throws(Failure) -> [SourceCall] {
        try await database.withConnection { connection in
            try await connection.query(SQL.Sources.called).rows.map {
                SourceCall(id: CatalogID(try $0.int64("id")), queue: try $0.string("queue"))
            }
        }
    }
}

extension SourceStatus {
    /// Decodes a row of `Sources.status`, without secrets.
    fileprivate init(row: PostgresRow) throws {
        self.init(
            catalog: CatalogID(try row.int64("catalog_id")), name: try row.string("name"),
            queue: try row.string("queue"), storageURL: try row.string("storage_url"),
            url: redacted(url: try row.string("url")),
            everySeconds: try row.double("every_seconds"), prunes: try row.bool("prunes"),
            maxDropPercent: try row.int("max_drop_percent"),
            isReading: try row.bool("is_reading"), isSkipped: try row.bool("is_skipped"),
            next: try row.double("next"), failures: try row.int("failures"),
            now: try row.double("now"))
        format = try row.optionalString("format")
        worker = try row.optionalString("worker_name")
        read = try row.optionalDouble("read")
        result = try row.optionalString("result").flatMap { SourceResult(rawValue: $0) }
        failure = try Failure(in: row)
        applied = try row.optionalDouble("applied")
        assets = try row.optionalInt64("assets")
        added = try row.optionalInt64("added")
        dropped = try row.optionalInt64("dropped")
    }
}
