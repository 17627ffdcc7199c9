import FoundationEssentials
package import Model
import Postgres

/// Submissions of catalogs: assets are added to one that is open, then it is started.
package struct Submissions: Sendable {
    let database: QueueDatabase

    /// Opens a submission to a catalog; the catalog, its site and its queue are made on first use.
    package func open(_ submission: CatalogSubmission) async throws(Failure) -> CatalogHandle {
        try await database.transaction { connection in
            let site = try await connection.query(
                SQL.Submitting.site, ["storage_url": .text(submission.storageURL)]
            ).only().int64("id")
            let name = Self.queueName(of: submission.storageURL)
            let queue = try await connection.query(
                SQL.Submitting.queue,
                ["site": .int(site), "name": .text(name), "other_name": .text("\(name)-\(site)")]
            ).only()
            try Self.checkOpen(try queue.string("name"), state: try queue.string("state"))
            try await Self.checkRoots(site, submission.storageURL, connection)
            let catalog = try await connection.query(
                SQL.Submitting.openCatalog,
                [
                    "site": .int(site), "queue": .int(try queue.int64("id")),
                    "name": .text(submission.name), "priority": .int(Int64(submission.priority)),
                    "not_before": .optionalDouble(submission.notBefore),
                    "deadline": .optionalDouble(submission.deadline),
                ]
            ).only()
            let titles = submission.titles.flatMap { $0.isDefault ? nil : $0 }
            _ = try await connection.query(
                SQL.Submitting.redefineTitles,
                [
                    "catalog": .int(try catalog.int64("id")),
                    "title_options": .optionalText(try titles.map(Self.text(of:))),
                    "key_queries": .optionalText(try SQLObjects.keyQueries(titles?.keyQueries)),
                ])
            return CatalogHandle(
                id: CatalogID(try catalog.int64("id")), queue: try queue.string("name"),
                generation: Int(try catalog.int64("opened_generation")))
        }
    }

    /// Throws `storage.outsideRoots` for a site that none of the workers that are heard of may write to. Where there is
    /// none, one that may is awaited.
    private static func checkRoots(
        _ site: Int64, _ url: String, _ connection: PostgresConnection
    ) async throws {
        let outside = try await connection.query(SQL.Submitting.outsideRoots, ["site": .int(site)])
        guard let row = outside.firstRow else { return }
        let roots = outsideRootsText(
            try row.string("roots"), hasSymlink: try row.bool("has_symlink"))
        throw Failure(
            .storageOutsideRoots,
            "storageURL: \(url.prefix(120)) was given; allowed, by the roots of all workers: \(roots)."
        )
    }

    /// The same text for the same options.
    private static func text(of titles: TitleOptions) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(titles), as: UTF8.self)
    }

    /// Throws `input.draining` for a queue that takes in nothing new.
    private static func checkOpen(_ queue: String, state: String) throws(Failure) {
        guard QueueState(rawValue: state) == .draining else { return }
        throw Failure(.inputDraining, "The queue \(queue) is draining: it takes in nothing new.")
    }

    /// A queue's name from its site's URL: the path's letters and digits, dashes between.
    static func queueName(of storageURL: String) -> String {
        let path = storageURL.split(separator: ":", maxSplits: 1).last ?? ""
        let words = path.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        let name = words.suffix(4).joined(separator: "-").lowercased()
        return name.isEmpty ? "root" : String(name.prefix(60))
    }

    /// Merges a batch of assets into an open submission; repeating it changes nothing.
    ///
    /// Throws `input.notFound` for an unknown catalog and `input.field` for a submission that a
    /// later one has overtaken.
    package func add(
        _ assets: [AssetSubmission], to catalog: CatalogID, generation: Int
    ) async throws(Failure) {
        var origins = OriginNames()
        let rows = try assets.map { asset throws(Failure) in
            (asset, try origins.name(of: asset.url), try Self.sidecars(of: asset))
        }
        try await database.transaction { connection in
            let (row, _) = try await SubmittedCatalog.lock(
                catalog, generation: generation, connection)
            _ = try await connection.query(SQL.Common.planInBulk)
            _ = try await connection.simple(SQL.Submitting.stageAssets.text)
            let values = rows.lazy.enumerated().map { position, row in
                [
                    .int(position), .text(row.0.name), .text(row.0.url),
                    .text(row.0.kind.rawValue), .text(row.0.key), .optionalInt(row.0.bytes),
                    .optionalText(row.0.sha256), .optionalText(row.0.digests), .text(row.1),
                    .text(directory(of: row.0.key)),
                    .optionalText(row.0.mirrors?.joined(separator: "\n")),
                    .optionalText(row.2),
                ] as [PostgresValue]
            }
            try await connection.copyIn(SQL.Submitting.copyAssets.text, rows: values)
            _ = try await connection.query(SQL.Submitting.origins)
            _ = try await connection.query(
                SQL.Submitting.directories,
                ["catalog": .int(catalog.rawValue), "site": .int(row.siteID)])
            _ = try await connection.query(
                SQL.Submitting.mergeAssets,
                ["catalog": .int(catalog.rawValue), "generation": .int(Int64(generation))])
            guard row.hasMirrors || assets.contains(where: { $0.mirrors != nil }) else { return }
            _ = try await connection.query(
                SQL.Submitting.mergeMirrors, ["catalog": .int(catalog.rawValue)])
        }
    }

    /// As `asset.sidecars` has them; nil for none.
    private static func sidecars(of asset: AssetSubmission) throws(Failure) -> String? {
        guard let sidecars = asset.sidecars, !sidecars.isEmpty else { return nil }
        struct Row: Encodable {
            var url: String
            var key: String
            var origin: String
            var role: SegmentRole
            var required: Bool
            var bytes: Int64?
            var sha256: String?
            var digests: String?
        }
        let rows = try sidecars.map { sidecar throws(Failure) in
            Row(
                url: sidecar.url, key: sidecar.key, origin: try originURL(of: sidecar.url),
                role: sidecar.role, required: sidecar.required, bytes: sidecar.bytes,
                sha256: sidecar.sha256, digests: sidecar.digests)
        }
        guard let text = try? JSONEncoder().encode(rows) else {
            throw Failure(.workerInternal, "The sidecars of \(asset.name) are no JSON.")
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Starts a submission: every asset that is not done gets its jobs, and those that are done are
    /// checked. Starting it again changes nothing.
    @discardableResult
    package func start(
        _ catalog: CatalogID, generation: Int
    ) async throws(Failure) -> CatalogStarted {
        try await database.transaction { connection in
            // It has time from then on: see `QueueDatabase.allowCatalogTime`.
            let time = try await connection.statementTimeout(
                seconds: database.catalogStatementSeconds)
            let neighbours = PostgresStatement(
                SQL.Starting.hasNeighbours, ["catalog": .int(catalog.rawValue)])
            let (row, found) = try await SubmittedCatalog.lock(
                catalog, generation: generation, connection,
                [
                    time,
                    PostgresStatement(SQL.KeyConflicts.lock, ["catalog": .int(catalog.rawValue)]),
                    neighbours,
                ])
            let hasNeighbours = try found.last?.only().bool("has_neighbours") ?? false
            if row.generation == generation && row.state != .interrupted {
                return CatalogStarted()
            }
            try Self.checkOpen("of catalog \(catalog)", state: row.queueState)
            let id: SQLValues = ["catalog": .int(catalog.rawValue)]
            let both = id + ["generation": .int(Int64(generation))]
            try CatalogLocks.checkSwitches(try await CatalogLocks.lockWork(both, connection))
            if hasNeighbours { _ = try await connection.simple(SQL.KnownFiles.stage.text) }
            // One round trip: idle workers wait for the end of it.
            var statements = [
                // What was reported of assets that are started anew is in them then.
                PostgresStatement(SQL.Catalogs.fold, id),
                PostgresStatement(SQL.Starting.endRenewals, id),
                PostgresStatement(SQL.Starting.forget, both),
                PostgresStatement(SQL.Starting.renew, both),
                PostgresStatement(SQL.Starting.lanes, both + ["queue": .int(row.queueID)]),
                // Reports continue meanwhile; they take no lane's lock.
                PostgresStatement(SQL.Starting.lockLanes, id),
            ]
            statements += KeyConflicts.statements(
                both, .null, hasHolders: hasNeighbours || row.generation > 0)
            statements += [
                PostgresStatement(SQL.Starting.newFiles, both),
                PostgresStatement(SQL.Starting.fileSegments, both),
                PostgresStatement(SQL.Starting.dropSidecars, both),
                PostgresStatement(SQL.Starting.sidecars, both),
            ]
            if hasNeighbours { statements += Self.knownFiles(both) }
            // One that is begun again after an interruption has left none behind.
            let before: SQLValues = ["generation": .int(Int64(row.generation))]
            statements += [
                PostgresStatement(SQL.Starting.dropParts, both),
                PostgresStatement(SQL.Starting.jobs, both + ["assets": .null]),
                PostgresStatement(SQL.Starting.isolate, id),
                PostgresStatement(SQL.Starting.totals, both),
                PostgresStatement(SQL.Common.notifyWork),
                PostgresStatement(SQL.Starting.left, id + before),
            ]
            let results = try await connection.pipeline(statements)
            let left = try results.last?.only().int64("assets") ?? 0
            return CatalogStarted(left: row.generation == generation ? 0 : Int(left))
        }
    }

    /// Statements that note what other catalogs of the site have stored; `both` are a catalog and its generation.
    private static func knownFiles(_ both: SQLValues) -> [PostgresStatement] {
        [
            // What was staged is looked up, however few rows the planner expects.
            PostgresStatement(SQL.Common.planByIndex),
            PostgresStatement(SQL.KnownFiles.storedByFiles, both),
            PostgresStatement(SQL.KnownFiles.noteFiles, both),
            PostgresStatement(SQL.Common.planInBulk),
        ]
    }

    /// Deletes a catalog's jobs, because its submitter disconnected. Stored files stay; a later start
    /// resumes from there.
    package func interrupt(_ catalog: CatalogID) async throws(Failure) {
        try await database.transaction { connection in
            _ = try await connection.query(SQL.Catalogs.lock, ["catalog": .int(catalog.rawValue)])
            guard
                try await !connection.query(
                    SQL.Catalogs.read, ["catalog": .int(catalog.rawValue)]
                ).rows.isEmpty
            else { throw Failure.unknownCatalog(catalog) }
            try await database.allowCatalogTime(connection)
            try await Self.interrupt([catalog.rawValue], connection)
        }
    }

    /// As `interrupt`, for every running catalog; a private cluster does it before it starts.
    package func interruptAll() async throws(Failure) {
        try await database.transaction { connection in
            let running = try await connection.query(SQL.Catalogs.running)
            let ids = try running.rows.map { try $0.int64("id") }
            guard !ids.isEmpty else { return }
            for id in ids {
                _ = try await connection.query(SQL.Catalogs.lock, ["catalog": .int(id)])
            }
            try await database.allowCatalogTime(connection)
            try await Self.interrupt(ids, connection)
        }
    }

    private static func interrupt(_ ids: [Int64], _ connection: PostgresConnection) async throws {
        _ = try await connection.query(SQL.Common.planInBulk)
        let catalogs: SQLValues = ["catalogs": .int64Array(ids)]
        // A report that was under way may leave jobs that a statement begun before it ended cannot
        // see. Without any job there is no report under way, and nothing makes new ones.
        repeat {
            _ = try await connection.query(SQL.Catalogs.interruptJobs, catalogs)
        } while try await connection.query(SQL.Catalogs.haveJobs, catalogs).only().bool("have_jobs")
        // What was done of them counts, and what that begins goes too.
        for id in ids { _ = try await connection.query(SQL.Catalogs.fold, ["catalog": .int(id)]) }
        _ = try await connection.query(SQL.Catalogs.interruptJobs, catalogs)
        _ = try await connection.query(SQL.Catalogs.interruptAssets, catalogs)
        _ = try await connection.query(SQL.Catalogs.interrupt, catalogs)
    }
}
