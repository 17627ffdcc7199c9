import FoundationEssentials
package import Model
import Postgres
import Runtime

extension JobQueue {
    /// Opens a submission to a catalog; the catalog, its site and its queue are made on first use.
    package func open(_ submission: CatalogSubmission) async throws(Failure) -> CatalogHandle {
        try await transaction { connection in
            let site = try await connection.query(
                SQL.siteUpsert, [.text(submission.storageURL)]
            ).only().int64("id")
            let name = Self.queueName(of: submission.storageURL)
            let queue = try await connection.query(
                SQL.queueUpsert, [.int(site), .text(name), .text("\(name)-\(site)")]
            ).only()
            try Self.checkOpen(try queue.string("name"), state: try queue.string("state"))
            try await Self.checkRoots(site, submission.storageURL, connection)
            let catalog = try await connection.query(
                SQL.catalogOpen,
                [
                    .int(site), .int(try queue.int64("id")), .text(submission.name),
                    .int(Int64(submission.priority)), .optionalDouble(submission.notBefore),
                    .optionalDouble(submission.deadline),
                ]
            ).only()
            let titles = submission.titles.flatMap { $0.isDefault ? nil : $0 }
            _ = try await connection.query(
                SQL.titlesRedefine,
                [
                    .int(try catalog.int64("id")), .optionalText(try titles.map(Self.text(of:))),
                    .optionalText(try SQL.keyQueries(titles?.keyQueries)),
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
        let outside = try await connection.query(SQL.siteOutsideRoots, [.int(site)]).only()
        guard let roots = try outside.optionalString(0) else { return }
        throw Failure(
            "storage.outsideRoots",
            "storageURL: \(url.prefix(120)) was given; allowed, by the roots of all workers: \(roots)."
        )
    }

    /// Forgets what workers may write to, which have all gone: a private cluster does it before it starts.
    package func forgetRoots() async throws(Failure) {
        try await withConnection { connection in
            _ = try await connection.query(SQL.workersForgetRoots, [])
        }
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
        throw Failure("input.draining", "The queue \(queue) is draining: it takes in nothing new.")
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
        try await transaction { connection in
            let (row, _) = try await Self.lock(catalog, generation: generation, connection)
            _ = try await connection.query(SQL.planInBulk, [])
            _ = try await connection.simple(SQL.assetsStage)
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
            try await connection.copyIn(SQL.assetsCopy, rows: values)
            _ = try await connection.query(SQL.originsFromAssets, [])
            _ = try await connection.query(
                SQL.directoriesFromAssets, [.int(catalog.rawValue), .int(row.siteID)])
            _ = try await connection.query(
                SQL.assetsMerge, [.int(catalog.rawValue), .int(Int64(generation))])
            guard row.hasMirrors || assets.contains(where: { $0.mirrors != nil }) else { return }
            _ = try await connection.query(SQL.mirrorsMerge, [.int(catalog.rawValue)])
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
            throw Failure("worker.internal", "The sidecars of \(asset.name) are no JSON.")
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Starts a submission: every asset that is not done gets its jobs, and those that are done are
    /// checked. Starting it again changes nothing.
    @discardableResult
    package func start(
        _ catalog: CatalogID, generation: Int
    ) async throws(Failure) -> CatalogStarted {
        try await transaction { connection in
            // It has time from then on: see `takeTime`.
            let time = try await connection.statementTimeout(
                seconds: self.settings.catalogStatementSeconds)
            let neighbours = PostgresStatement(SQL.startNeighbours, [.int(catalog.rawValue)])
            let (row, found) = try await Self.lock(
                catalog, generation: generation, connection,
                [
                    time, PostgresStatement(SQL.startLockKeys, [.int(catalog.rawValue)]),
                    neighbours,
                ])
            let hasNeighbours = try found.last?.only().bool(0) ?? false
            if row.generation == generation && row.state != .interrupted {
                return CatalogStarted()
            }
            try Self.checkOpen("of catalog \(catalog)", state: row.queueState)
            let both: [PostgresValue] = [.int(catalog.rawValue), .int(Int64(generation))]
            try Self.checkSwitches(try await Self.lockWork(both, connection))
            if hasNeighbours { _ = try await connection.simple(SQL.toldStage) }
            // One round trip: idle workers wait for the end of it.
            var statements: [(String, [PostgresValue])] = [
                // What was reported of assets that are started anew is in them then.
                (SQL.catalogFold, [.int(catalog.rawValue)]),
                (SQL.startEndRenewals, [.int(catalog.rawValue)]),
                (SQL.startForget, both), (SQL.startRenew, both),
                (SQL.startLanes, both + [.int(row.queueID)]),
                // Its reports go on meanwhile; they take no lane's lock.
                (SQL.startLockLanes, [.int(catalog.rawValue)]),
            ]
            statements += Self.keyConflicts(
                both + [.null], hasHolders: hasNeighbours || row.generation > 0)
            statements += [
                (SQL.startNewFiles, both), (SQL.startFileSegments, both),
                (SQL.startDropSidecars, both), (SQL.startSidecars, both),
            ]
            if hasNeighbours { statements += Self.knownFiles(both) }
            statements += [
                (SQL.startDropParts, both), (SQL.startJobs, both + [.null]),
                (SQL.startIsolate, [.int(catalog.rawValue)]),
                (SQL.startTotals, both), (SQL.notifyWork, []),
                // One that is begun again after an interruption has left none behind.
                (SQL.startLeft, [.int(catalog.rawValue), .int(Int64(row.generation))]),
            ]
            let results = try await connection.pipeline(
                statements.map { PostgresStatement($0.0, $0.1) })
            let left = try results.last?.only().int64("assets") ?? 0
            return CatalogStarted(left: row.generation == generation ? 0 : Int(left))
        }
    }

    /// Statements that refuse assets whose keys hold other objects; `values` are a catalog, a generation, and its
    /// assets that are started, null for all.
    static func keyConflicts(
        _ values: [PostgresValue], hasHolders: Bool
    ) -> [(String, [PostgresValue])] {
        let holders = [
            (SQL.planByIndex, []), (SQL.startKeyHolders, values), (SQL.planInBulk, []),
        ]
        return [(SQL.startKeysFree, Array(values.prefix(2)))] + (hasHolders ? holders : [])
            + [(SQL.startKeyRivals, values)]
    }

    /// Statements that note what other catalogs of the site have stored; `both` are a catalog and its generation.
    private static func knownFiles(_ both: [PostgresValue]) -> [(String, [PostgresValue])] {
        [
            // What was staged is looked up, however little the planner takes it for.
            (SQL.planByIndex, []), (SQL.toldByFiles, both),
            (SQL.startKnownFiles, both), (SQL.planInBulk, []),
        ]
    }

    /// Locks what a start takes away from workers, and answers what of it is in the midst of a switch, by
    /// `switch_awaited.sql`; `values` are a catalog and its generation.
    static func lockWork(
        _ values: [PostgresValue], _ connection: PostgresConnection
    ) async throws -> PostgresResult? {
        let lock = [
            PostgresStatement(SQL.startLockWork, values),
            PostgresStatement(SQL.switchAwaited, values),
        ]
        var results = try await connection.pipeline(
            [PostgresStatement(SQL.planInBulk, []), lock[0]] + lock)
        while let row = try results.dropLast().last?.only(),
            try row.int64("found") != row.int64("locked")
        {
            results = try await connection.pipeline(lock)
        }
        return results.last
    }

    /// Throws `cluster.busy` for an answer of `switch_awaited.sql` that names an asset: what a start would take away
    /// from its switch comes after it.
    static func checkSwitches(_ awaited: PostgresResult?) throws {
        guard let asset = try awaited?.firstRow?.string("name") else { return }
        throw Failure(
            "cluster.busy",
            "asset \(asset.prefix(100)): its new files are just taking their places; a worker of the site "
                + "ends that. Start again after it.")
    }

    /// Takes a catalog's jobs away: its submitter has gone. What is stored stays; a later start
    /// goes on from there.
    package func interrupt(_ catalog: CatalogID) async throws(Failure) {
        try await transaction { connection in
            _ = try await connection.query(SQL.catalogLock, [.int(catalog.rawValue)])
            guard
                try await !connection.query(
                    SQL.catalogRead, [.int(catalog.rawValue)]
                ).rows.isEmpty
            else { throw Self.unknown(catalog) }
            try await self.takeTime(connection)
            try await Self.interrupt([catalog.rawValue], connection)
        }
    }

    /// As `interrupt`, for every running catalog; a private cluster does it before it starts.
    package func interruptAll() async throws(Failure) {
        try await transaction { connection in
            let running = try await connection.query(SQL.catalogsRunning, [])
            let ids = try running.rows.map { try $0.int64("id") }
            guard !ids.isEmpty else { return }
            for id in ids { _ = try await connection.query(SQL.catalogLock, [.int(id)]) }
            try await self.takeTime(connection)
            try await Self.interrupt(ids, connection)
        }
    }

    private static func interrupt(_ ids: [Int64], _ connection: PostgresConnection) async throws {
        _ = try await connection.query(SQL.planInBulk, [])
        let catalogs: [PostgresValue] = [.int64Array(ids)]
        // A report that was under way may leave jobs that a statement begun before it ended cannot
        // see. Without any job there is no report under way, and nothing makes new ones.
        repeat {
            _ = try await connection.query(SQL.interruptJobs, catalogs)
        } while try await connection.query(SQL.catalogsHaveJobs, catalogs).only().bool("have_jobs")
        // What was done of them counts, and what that begins goes too.
        for id in ids { _ = try await connection.query(SQL.catalogFold, [.int(id)]) }
        _ = try await connection.query(SQL.interruptJobs, catalogs)
        for statement in [SQL.interruptAssets, SQL.interruptCatalogs] {
            _ = try await connection.query(statement, catalogs)
        }
    }

    private struct CatalogRow {
        var siteID: Int64
        var queueID: Int64
        var queueState: String
        var generation: Int
        var state: CatalogState
        var hasMirrors: Bool
    }

    /// Takes the catalog's lock, does `next`, and checks that `generation` is still the one last opened. Answers what
    /// came of `next` as well.
    private static func lock(
        _ catalog: CatalogID, generation: Int, _ connection: PostgresConnection,
        _ next: [PostgresStatement] = []
    ) async throws -> (CatalogRow, [PostgresResult]) {
        let id: [PostgresValue] = [.int(catalog.rawValue)]
        let results = try await connection.pipeline(
            [PostgresStatement(SQL.catalogLock, id)] + next
                + [PostgresStatement(SQL.catalogRead, id)])
        guard let row = results.last?.firstRow else { throw unknown(catalog) }
        let opened = Int(try row.int64("opened_generation"))
        guard opened == generation else {
            throw Failure(
                "input.field",
                "generation: \(generation) was overtaken; catalog \(catalog) was opened again as "
                    + "\(opened).")
        }
        let catalogRow = CatalogRow(
            siteID: try row.int64("site_id"), queueID: try row.int64("queue_id"),
            queueState: try row.string("queue_state"),
            generation: Int(try row.int64("generation")),
            state: CatalogState(rawValue: try row.string("state")) ?? .open,
            hasMirrors: try row.bool("has_mirrors"))
        return (catalogRow, Array(results.dropFirst().dropLast()))
    }

    static func unknown(_ catalog: CatalogID) -> Failure {
        Failure("input.notFound", "There is no catalog \(catalog).")
    }
}

/// Who answers for an http or https URL, which must not carry credentials.
func originURL(of url: String) throws(Failure) -> String {
    guard let name = originName(of: url, allowsUserInfo: false) else { throw notWeb(url) }
    return name
}

private func notWeb(_ url: String) -> Failure {
    Failure(
        "input.url",
        "url: \(redacted(url: url).prefix(80)) is not an http or https URL without credentials.")
}

/// The origins of the URLs of one batch; most have the same few.
struct OriginNames {
    /// By what stands before a URL's path.
    private var known: [Substring: String] = [:]

    /// As `originURL(of:)`.
    mutating func name(of url: String) throws(Failure) -> String {
        var slashes = 0
        let end = url.utf8.firstIndex { byte in
            if byte == UInt8(ascii: "/") { slashes += 1 }
            return slashes == 3 || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
        }
        let start = url[..<(end ?? url.endIndex)]
        if let name = known[start] { return name }
        let name = try originURL(of: url)
        // Those of a whole list may be as many as its URLs, each named once.
        if known.count < 1_000 { known[start] = name }
        return name
    }
}
