package import API
import FoundationEssentials
package import Model
import Postgres

/// Submissions of catalogs: assets are added to an open one, then it is started.
package struct Submissions: Sendable {
    let database: QueueDatabase

    /// Throws `input.destination` if another site has files or objects in common with this one: one
    /// would delete or replace what the other has recorded, and audits would find what the other
    /// has stored.
    private static func checkOverlap(
        _ url: String, _ connection: PostgresConnection
    ) async throws {
        switch try StorageURL(url).location {
        case .directory: try await checkDirectory(url, connection)
        case .bucket(let bucket): try await checkBucket(url, bucket, connection)
        case .cache: break
        }
    }

    private static func checkDirectory(
        _ url: String, _ connection: PostgresConnection
    ) async throws {
        let others = try await connection.query(
            SQL.Submitting.nestedSites, ["storage_url": .text(url)])
        guard let other = try others.firstRow?.string("storage_url") else { return }
        let (directory, site) = (try StorageURL(url).path, try StorageURL(other).path)
        let isInside = url.utf8.count > other.utf8.count
        throw Failure(
            .inputDestination,
            "the directory \(directory) \(isInside ? "lies in" : "contains") that of the site \(site); "
                + "allowed: \(site) itself, or a directory that neither contains it nor lies in it.",
            hint: overlapHint(site))
    }

    /// - Parameter site: the site that has files in common with the given one.
    private static func overlapHint(_ site: String) -> String {
        "To add to that site, use \(site); for a site of its own, another location. It is --to of "
            + "`dray prefetch`, storageURL in the API."
    }

    private static func checkBucket(
        _ url: String, _ bucket: BucketLocation, _ connection: PostgresConnection
    ) async throws {
        let others = try await connection.query(
            SQL.Submitting.sitesInBucket,
            ["start": .text("s3://\(bucket.bucket)"), "storage_url": .text(url)])
        for row in others.rows {
            let other = try row.string("storage_url")
            guard case .bucket(let known) = try StorageURL(other).location, known.overlaps(bucket)
            else { continue }
            throw Failure(
                .inputDestination,
                "\(url) and the site \(other) would have objects in common; allowed: that URL, or a "
                    + "prefix of its own.", hint: overlapHint(other))
        }
    }

    /// Opens a submission to a catalog; creates the catalog, its site and its queue on first use.
    ///
    /// - Parameter trace: the trace of the request.
    package func open(
        _ submission: CatalogSubmission, trace: TraceContext? = nil, key: RequestKey? = nil
    ) async throws(Failure) -> CatalogHandle {
        try CachedAssets.check(submission)
        let refresh = RefreshTime(
            submission.refreshSeconds, byOrigin: submission.refreshByOrigin)
        return try await database.once(key) { connection in
            let (site, queue) = try await Self.site(submission.storageURL, connection)
            try Self.checkOpen(try queue.string("name"), state: try queue.string("state"))
            try await Self.checkRoots(site, submission.storageURL, connection)
            let catalog = try await connection.query(
                SQL.Submitting.openCatalog,
                [
                    "site": .int(site), "queue": .int(try queue.int64("id")),
                    "name": .text(submission.name), "priority": .int(Int64(submission.priority)),
                    "not_before": .optionalDouble(submission.notBefore),
                    "deadline": .optionalDouble(submission.deadline),
                    "traceparent": .optionalText(trace?.header),
                    "expires_at": .optionalDouble(submission.expiresAt),
                    "keep_seconds": .optionalDouble(submission.keepSeconds),
                    "max_fetches": .optionalInt(submission.maxFetches.map { Int64($0.count) }),
                    "fetch_seconds": .optionalDouble(submission.maxFetches?.periodSeconds),
                    "max_sites": .optionalInt(submission.maxSites.map { Int64($0) }),
                    "refresh_seconds": .optionalDouble(refresh.seconds),
                    "refresh_by_origin": .bool(refresh.byOrigin),
                ]
            ).only()
            try await Neighbours.choose(
                submission.neighbours ?? [], of: try catalog.int64("id"), connection)
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

    /// Returns the site of a storage URL and its queue, which are created on first use. Throws
    /// `input.duplicate` if another site has the name that is given.
    ///
    /// - Parameter given: nil for a name made from the URL.
    static func site(
        _ url: String, named given: String? = nil, _ connection: PostgresConnection
    ) async throws -> (id: Int64, queue: PostgresRow) {
        try await checkOverlap(url, connection)
        let site = try await connection.query(
            SQL.Submitting.site, ["storage_url": .text(url)]
        ).only().int64("id")
        let name = given ?? queueName(of: url)
        let queue = try await connection.query(
            SQL.Submitting.queue,
            ["site": .int(site), "name": .text(name), "other_name": .text("\(name)-\(site)")]
        ).only()
        if given != nil, try queue.string("name") != name {
            throw Failure(
                .inputDuplicate,
                "name: \(name) was given, which another site has; allowed: a name of its own.")
        }
        return (site, queue)
    }

    /// Throws `storage.outsideRoots` for a site that no connected worker may write to. Without
    /// connected workers, the site waits for one.
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

    /// Returns equal texts for equal options.
    private static func text(of titles: TitleOptions) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(titles), as: UTF8.self)
    }

    /// Throws `input.draining` for a draining queue.
    static func checkOpen(_ queue: String, state: String) throws(Failure) {
        guard QueueState(rawValue: state) == .draining else { return }
        throw Failure(.inputDraining, "The queue \(queue) is draining: it accepts nothing new.")
    }

    /// Returns a queue's name for its site's URL: letters and digits of the path, joined by dashes.
    static func queueName(of storageURL: String) -> String {
        let path = storageURL.split(separator: ":", maxSplits: 1).last ?? ""
        let words = path.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        let name = words.suffix(4).joined(separator: "-").lowercased()
        return name.isEmpty ? "root" : String(name.prefix(60))
    }

    /// Merges a batch of assets into an open submission; repeating it changes nothing.
    ///
    /// Throws `input.notFound` for an unknown catalog and `input.field` for a submission that a
    /// later one has replaced.
    ///
    /// - Parameter keptGeneration: not nil to skip what is gone although the list of that
    ///   generation named it as now: evicted, expired and removed assets.
    package func add(
        _ assets: [AssetSubmission], to catalog: CatalogID, generation: Int,
        keptGeneration: Int? = nil
    ) async throws(Failure) {
        try await database.transaction { connection in
            let (row, _) = try await SubmittedCatalog.lock(
                catalog, generation: generation, connection)
            try await row.merge(assets, keptGeneration: keptGeneration, connection)
        }
    }

    /// Starts a submission: every asset that is not done gets jobs, and stored files are checked.
    /// Starting it again changes nothing.
    ///
    /// - Parameters:
    ///   - skipsFailed: true to leave what has failed before as it is.
    ///   - isWanted: false once the submitter has left. A start that waits for others of its site
    ///     then throws `cluster.busy`.
    @discardableResult
    package func start(
        _ catalog: CatalogID, generation: Int, skipsFailed: Bool = false,
        while isWanted: () -> Bool = { true }
    ) async throws(Failure) -> CatalogStarted {
        try await database.startTransaction(of: catalog, while: isWanted) { connection in
            let start = CatalogStart(
                catalog: catalog, generation: generation,
                statementSeconds: database.catalogStatementSeconds,
                scope: skipsFailed ? .notFailed : .all, connection: connection)
            return try await start.run()
        }
    }

    /// Deletes a catalog's jobs, because its submitter disconnected. Stored files stay; a later
    /// start resumes from there.
    package func interrupt(_ catalog: CatalogID) async throws(Failure) {
        try await database.transaction { connection in
            _ = try await connection.query(SQL.Catalogs.lock, ["catalog": .int(catalog.rawValue)])
            guard
                try await !connection.query(
                    SQL.Catalogs.read, ["catalog": .int(catalog.rawValue)]
                ).rows.isEmpty
            else { throw Failure.unknownCatalog(catalog) }
            try await database.allowCatalogTime(connection)
            try await CatalogInterruption.interrupt([catalog.rawValue], connection)
        }
    }

    /// Interrupts every running catalog; a private cluster calls it before it starts.
    package func interruptAll() async throws(Failure) {
        try await database.transaction { connection in
            let running = try await connection.query(SQL.Catalogs.running)
            let ids = try running.rows.map { try $0.int64("id") }
            guard !ids.isEmpty else { return }
            for id in ids {
                _ = try await connection.query(SQL.Catalogs.lock, ["catalog": .int(id)])
            }
            try await database.allowCatalogTime(connection)
            try await CatalogInterruption.interrupt(ids, connection)
        }
    }
}
