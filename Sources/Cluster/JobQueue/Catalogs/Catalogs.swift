package import API
package import Model
import Postgres

/// Catalogs, their assets and their files, as clients see them.
package struct Catalogs: Sendable {
    let database: QueueDatabase
    let waits: CatalogWaits
    package let listings: AssetListings
    package let selections: Selections

    /// Returns a catalog's progress, and some of its running assets unless `withActive` is false.
    /// Throws `input.notFound`.
    package func status(
        of catalog: CatalogID, withActive: Bool = true
    ) async throws(Failure) -> CatalogStatus {
        try await database.withConnection { connection in
            let id = PostgresValue.int(catalog.rawValue)
            var statements = [
                PostgresStatement(SQL.Browsing.status, ["catalog": id]), waits.statement(id),
                FinishLimits.statement(id),
            ]
            if withActive {
                statements.append(PostgresStatement(SQL.Browsing.active, ["catalog": id]))
            }
            let results = try await connection.pipeline(statements)
            guard let row = results[0].firstRow else { throw Failure.unknownCatalog(catalog) }
            return try CatalogStatus(
                row: row, waits: try CatalogWaits.read(results[1])[catalog] ?? CatalogWaits.Entry(),
                limits: try FinishLimits.read(results[2])[catalog],
                active: try results.dropFirst(3).flatMap {
                    try $0.rows.map(AssetStatus.init(row:))
                })
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
                        try row.optionalString("failure_message") ?? "")))
        }
        for index in assets.indices { assets[index].missing = missing[assets[index].id] }
    }

    /// Returns a page of a catalog's stored files; `after` is the `next` of the previous page.
    package func files(
        of catalog: CatalogID, after: String?, limit: Int
    ) async throws(Failure) -> FilePage {
        let place = try PagePlace(after, first: [0, -1])
        return try await database.withConnection { connection in
            let rows = try await connection.query(
                SQL.Browsing.files,
                [
                    "catalog": .int(catalog.rawValue), "after_asset": .int(place[0]),
                    "after_ordinal": .int(place[1]), "limit": .int(Int64(limit)),
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
                    PagePlace([try last.int64("asset_id"), try last.int64("ordinal")]).description
            }
            return FilePage(files: files, next: next)
        }
    }
}

extension CatalogStatus {
    /// Decodes answers of `Browsing.status`, and of the waits and the limits of the same catalogs.
    static func read(
        _ statuses: PostgresResult, waits: PostgresResult, limits: PostgresResult
    ) throws -> [CatalogStatus] {
        let waits = try CatalogWaits.read(waits)
        let limits = try FinishLimits.read(limits)
        return try statuses.rows.map { row in
            let id = CatalogID(try row.int64("id"))
            return try CatalogStatus(
                row: row, waits: waits[id] ?? CatalogWaits.Entry(), limits: limits[id], active: [])
        }
    }

    /// Decodes a row of `Browsing.status`.
    ///
    /// - Parameter limits: nil unless it runs.
    init(
        row: PostgresRow, waits: CatalogWaits.Entry, limits: FinishLimits?, active: [AssetStatus]
    ) throws {
        var totals = CatalogTotals()
        totals.assets = Int(try row.int64("assets"))
        totals.completed = Int(try row.int64("assets_completed"))
        totals.failed = Int(try row.int64("assets_failed"))
        let cancelled = Int(try row.int64("assets_cancelled"))
        totals.cancelled = cancelled > 0 ? cancelled : nil
        totals.segments = Int(try row.int64("segments"))
        totals.segmentsDone = Int(try row.int64("segments_done"))
        totals.segmentsFailed = Int(try row.int64("segments_failed"))
        totals.bytes = try row.int64("bytes")
        totals.adoptedBytes = try row.int64("adopted_bytes")
        totals.receivingBytes = try row.int64("receiving_bytes")
        totals.expectedBytes = try row.optionalInt64("expected_bytes")
        totals.retries = Int(try row.int64("retries"))
        totals.seconds = try row.double("seconds")
        self.init(
            id: CatalogID(try row.int64("id")), name: try row.string("name"),
            queue: try row.string("queue"), storageURL: try row.string("storage_url"),
            state: CatalogState(rawValue: try row.string("state")) ?? .open,
            generation: Int(try row.int64("generation")), totals: totals, active: active)
        priority = Int(try row.int64("priority"))
        traceID = try row.optionalString("traceparent").flatMap { TraceContext($0)?.traceID }
        trouble = try Failure(catalogOf: row)
        troubleSeconds = try row.optionalDouble("trouble_seconds")
        notBefore = try row.optionalDouble("not_before")
        deadline = try row.optionalDouble("deadline")
        self.waits = waits.all.isEmpty ? nil : CatalogWait.ordered(waits.all)
        let deadlineSeconds = try row.optionalDouble("deadline_seconds")
        var estimate: CatalogFinish.Estimate?
        if state == .running, let limits {
            var pace: FinishLimits.Pace?
            if let seconds = try row.optionalDouble("pace_seconds") {
                pace = FinishLimits.Pace(
                    seconds: seconds, segments: try row.double("pace_segments"),
                    bytes: try row.double("pace_bytes"))
            }
            let isSiteFailing = try row.optionalString("trouble_kind") == "site"
            estimate =
                FinishForecast(
                    totals, limits, pace: pace, waits: waits,
                    siteFailure: isSiteFailing ? trouble?.code : nil
                ).estimate
        }
        var secondsLeft: Double?
        if case .finishes(_, let seconds, _) = estimate { secondsLeft = seconds }
        outlook = DeadlineOutlook.of(
            state, deadlineSeconds: deadlineSeconds, waits: waits.all,
            hasReadyJobs: waits.hasReadyJobs, secondsLeft: secondsLeft)
        finish = estimate.map { estimate in
            let verdict: CatalogFinish.Deadline =
                deadlineSeconds == nil
                ? .noDeadline : outlook != nil ? .missed : secondsLeft == nil ? .unknown : .met
            return CatalogFinish(estimate, deadline: verdict)
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

extension Failure {
    /// Decodes the reason why a catalog waits, from a row of `Browsing.status`.
    fileprivate init?(catalogOf row: PostgresRow) throws {
        guard let code = try row.optionalString("trouble_code") else { return nil }
        let subject = try row.optionalString("trouble_subject") ?? ""
        let number = try row.optionalInt64("trouble_number") ?? 0
        let message =
            switch try row.optionalString("trouble_kind") {
            case "roots":
                "\(try row.string("storage_url")) lies outside of the roots of all workers: "
                    + outsideRootsText(subject, hasSymlink: try row.bool("has_symlink"))
            case "room" where number > 1: "\(number) wait for room; one of them: \(subject)"
            case "origins" where number > 1: "\(number) origins, one of them \(subject)"
            default: subject
            }
        self.init(FailureCode(code), message)
    }
}

extension AssetStatus {
    /// Decodes a row of `Browsing.assets` or `Browsing.active`.
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
        failure = try Failure(in: row)
    }
}
