package import API
package import Model
import Postgres

/// Figures by day: what was stored and what failed, by queue, catalog, origin and failure code.
///
/// Reports and folds insert rows into `outcome`, each in its own transaction. `fold` moves them into
/// `daily_figure`, in one statement: each row counts once, however often it runs, and on however many
/// coordinators.
package struct DailyFigures: Sendable {
    let database: QueueDatabase

    /// Rows with names that a day may have. What comes when it has them counts as `other`, by code.
    package static let maxRowsPerDay = 2_000
    private static let rowsPerFold = 20_000
    private static let foldsAtOnce = 10
    private static let codes = FailureCode.table.map(\.code.rawValue)

    /// Moves what there is, in bounded transactions and a bounded number at once. Does nothing while
    /// another coordinator does. Returns the number of moved rows.
    @discardableResult
    package func fold(maxRows: Int = maxRowsPerDay) async throws(Failure) -> Int {
        var moved = 0
        for _ in 0..<Self.foldsAtOnce {
            let rows = try await foldSome(maxRows)
            moved += rows
            guard rows == Self.rowsPerFold else { break }
        }
        return moved
    }

    private func foldSome(_ maxRows: Int) async throws(Failure) -> Int {
        try await database.transaction { connection in
            guard try await connection.query(SQL.Daily.tryLock).only().bool("locked") else {
                return 0
            }
            return try await connection.query(
                SQL.Daily.fold,
                [
                    "limit": .int(Self.rowsPerFold), "codes": .textArray(Self.codes),
                    "max_rows": .int(maxRows),
                ]
            ).only().int("rows")
        }
    }

    /// Deletes days of more than `days` days ago.
    package func trim(olderThanDays days: Int = WireLimits.reportDays) async throws(Failure) {
        try await database.withConnection { connection in
            _ = try await connection.query(SQL.Daily.trim, ["days": .int(days)])
        }
    }

    /// Returns the figures that a query selects. What was not moved yet counts too. Throws
    /// `input.notFound` for a catalog, a site or an origin that is neither there nor in any figure.
    package func report(
        _ query: DailyReportQuery, limit: Int = WireLimits.reportRows
    ) async throws(Failure) -> DailyReport {
        var days = WireLimits.reportDays
        var (since, until): (UTCDay?, UTCDay?) = (nil, nil)
        switch query.period {
        case .last(let count): days = count
        case .from(let first, let last): (since, until) = (first, last)
        }
        let values: SQLValues = [
            "days": .int(days), "since": .optionalText(since?.description),
            "until": .optionalText(until?.description), "by": .text(query.grouping.rawValue),
            "catalog": .optionalText(query.catalog), "site": .optionalText(query.site),
            "origin": .optionalText(query.origin), "code": .optionalText(query.code),
            "codes": .textArray(Self.codes),
            "unaddressable": .textArray(FailureCode.unaddressable.map(\.rawValue)),
            "limit": .int(limit),
        ]
        // Of one origin or code there are no assets.
        let hasAssets = query.grouping.hasAssets && query.origin == nil && query.code == nil
        return try await database.withConnection { connection in
            let rows = try await connection.query(SQL.Daily.report, values).rows
            guard let total = rows.first else {
                throw Failure(.clusterProtocol, "a report has no total.")
            }
            let groups = try rows.dropFirst().map {
                try DailyReport.Group(row: $0, by: query.grouping, hasAssets: hasAssets)
            }
            if groups.isEmpty { try await Self.requireKnown(query, connection) }
            return DailyReport(
                by: query.grouping, since: try total.string("first"),
                until: try total.string("last"),
                total: try DailyReport.Figures(row: total, hasAssets: hasAssets), groups: groups,
                leftOff: max(try total.int("groups") - groups.count, 0))
        }
    }

    private static func requireKnown(
        _ query: DailyReportQuery, _ connection: PostgresConnection
    ) async throws {
        let known = try await connection.query(
            SQL.Daily.isKnown,
            [
                "catalog": .optionalText(query.catalog), "site": .optionalText(query.site),
                "origin": .optionalText(query.origin),
            ]
        ).only()
        if let name = query.catalog, try !known.bool("has_catalog") {
            throw Failure.notFound(
                "There is no catalog \(name.prefix(100)).", listedBy: "dray catalog list")
        }
        if let name = query.site, try !known.bool("has_site") { throw Failure.unknownSite(name) }
        if let name = query.origin, try !known.bool("has_origin") {
            throw Failure.unknownOrigin(name)
        }
    }
}

extension DailyReport.Group {
    /// Decodes a row of `Daily.report`.
    fileprivate init(row: PostgresRow, by grouping: DailyReport.Grouping, hasAssets: Bool) throws {
        self.init(
            name: try row.string("key"),
            figures: try DailyReport.Figures(row: row, hasAssets: hasAssets))
        switch grouping {
        case .catalog: queue = try row.string("queue")
        case .site: storageURL = try row.string("storage_url")
        case .code:
            isAddressable = FailureCode(name).isAddressable
            recovery = try DailyReport.Recovery(row: row, figures)
        case .day, .origin: break
        }
    }
}

extension DailyReport.Recovery {
    /// Decodes the sums of a row of `Daily.report` with these figures.
    fileprivate init(row: PostgresRow, _ figures: DailyReport.Figures) throws {
        self.init(
            attempts: figures.failed + figures.retries + (try row.int64("mirrored")),
            assets: try row.int64("met"), completed: try row.int64("recovered"),
            byRetry: try row.int64("by_retry"), byMirror: try row.int64("by_mirror"),
            byFreshURL: try row.int64("by_fresh_url"),
            withoutOptional: try row.int64("without_optional"),
            withoutRendition: try row.int64("without_rendition"), lost: try row.int64("lost"))
    }
}

extension DailyReport.Figures {
    /// Decodes the sums of a row of `Daily.report`.
    fileprivate init(row: PostgresRow, hasAssets: Bool) throws {
        self.init(
            done: try row.int64("done"), failed: try row.int64("failed"),
            unaddressable: try row.int64("unaddressable"), retries: try row.int64("retries"),
            bytes: try row.int64("bytes"), reusedBytes: try row.int64("reused_bytes"),
            transferSeconds: Double(try row.int64("transfer_ms")) / 1_000,
            assets: hasAssets
                ? DailyReport.Assets(
                    completed: try row.int64("assets_completed"),
                    failed: try row.int64("assets_failed"),
                    cancelled: try row.int64("assets_cancelled")) : nil)
    }
}
