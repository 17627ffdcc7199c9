package import API
package import Model
import Postgres

/// Deletions of files that assets no longer need, by workers that hold a purge job.
package struct Purges: Sendable {
    let database: QueueDatabase
    let leaseSeconds: Double

    /// Milliseconds for which a page waits for starts that are making jobs at the site.
    private static let lockMilliseconds = 300
    private static let busySeconds = 1.0

    /// Records the results of a leased purge job, and returns the next files to delete.
    ///
    /// From then on no job is made for their keys until their deletion is reported. Throws
    /// `worker.leaseLost` if the lease does not hold the job.
    package func next(_ request: PurgeRequest) async throws(Failure) -> PurgePage {
        if let assets = request.assets { return try await gone(assets, request) }
        let (catalog, assets) = try await settle(request)
        if !assets.isEmpty { try await finish(catalog, assets) }
        if request.isLast == true { return PurgePage(files: [], waitSeconds: 0) }
        do throws(Failure) {
            let (page, kept) = try await page(request)
            if !kept.isEmpty { try await finish(catalog, Array(kept)) }
            return page
        } catch {
            guard error.code == .clusterBusy else { throw error }
            return PurgePage(files: [], waitSeconds: Self.busySeconds)
        }
    }

    private static func held(
        _ request: PurgeRequest, _ connection: PostgresConnection
    ) async throws -> HeldJob {
        let held = try await HeldJob.find(
            [request.job], [request.lease], request.worker, connection)[request.job]
        guard let job = held, job.kind == .purge else {
            throw Failure(.workerLeaseLost, "The lease does not hold the job.")
        }
        return job
    }

    /// Returns a page that names those of the assets that are gone.
    private func gone(
        _ assets: [AssetID], _ request: PurgeRequest
    ) async throws(Failure) -> PurgePage {
        try await database.transaction { connection in
            _ = try await Self.held(request, connection)
            var page = PurgePage(files: [], waitSeconds: 0)
            page.gone = try await connection.query(
                SQL.Purging.gone, ["assets": .int64Array(assets.map(\.rawValue))]
            ).rows.map { AssetID(try $0.int64("id")) }
            return page
        }
    }

    /// Returns the catalog of the job, and the assets of the results.
    private func settle(
        _ request: PurgeRequest
    ) async throws(Failure) -> (catalog: Int64, assets: [Int64]) {
        let (results, freed) = (request.results, request.freed ?? [])
        return try await database.transaction { connection in
            let job = try await Self.held(request, connection)
            let held: SQLValues = ["lane": .int(job.lane), "job": .int(job.id.rawValue)]
            var assets: [Int64] = []
            if !results.isEmpty {
                assets = try await connection.query(
                    SQL.Purging.settle,
                    held + [
                        "files": .int64Array(results.map(\.file)),
                        "deleted": .boolArray(results.map(\.deleted)),
                        "codes": .optionalTextArray(results.map { $0.failure?.code.rawValue }),
                        "messages": .optionalTextArray(
                            results.map { $0.failure.map { String($0.message.prefix(500)) } }),
                        "body_assets": .int64Array(freed.map(\.asset.rawValue)),
                        "body_files": .int64Array(freed.map { Int64($0.files) }),
                        "body_bytes": .int64Array(freed.map(\.bytes)),
                    ]
                ).rows.map { try $0.int64("asset_id") }
            }
            let row = try await connection.query(
                SQL.Purging.catalog, ["lane": .int(job.lane)]
            ).only()
            return (try row.int64("catalog_id"), assets)
        }
    }

    /// Returns what is to be deleted, and assets that keep files which they listed for deletion.
    private func page(
        _ request: PurgeRequest
    ) async throws(Failure) -> (page: PurgePage, kept: Set<Int64>) {
        try await database.transaction { connection in
            _ = try await connection.query(
                SQL.Purging.limitWait, ["milliseconds": .int(Int64(Self.lockMilliseconds))])
            let values: SQLValues = [
                "lease": .uuid(request.lease), "job": .int(request.job.rawValue),
            ]
            guard let row = try await connection.query(SQL.Purging.lockSite, values).firstRow else {
                throw Failure(.workerLeaseLost, "The lease does not hold the job.")
            }
            let catalog: SQLValues = ["catalog": .int(try row.int64("catalog_id"))]
            let job = try await Self.held(request, connection)
            let rows = try await connection.query(
                SQL.Purging.page,
                catalog + [
                    "lane": .int(job.lane), "job": .int(job.id.rawValue),
                    "limit": .int(Int64(WireLimits.filesPerPurge)),
                ]
            ).rows
            var (files, bodies): ([PurgePage.File], [Int64]) = ([], [])
            for row in rows {
                guard let file = try row.optionalInt64("id") else { continue }
                if try row.bool("is_of_bodies") {
                    bodies.append(file)
                } else {
                    files.append(PurgePage.File(file: file, key: try row.string("key")))
                }
            }
            let kept = Set(try rows.compactMap { try $0.optionalInt64("asset_id") })
            if !files.isEmpty || !bodies.isEmpty {
                var page = PurgePage(files: files)
                page.bodies = bodies.isEmpty ? nil : bodies
                return (page, kept)
            }
            if !kept.isEmpty { return (PurgePage(files: [], waitSeconds: 0), kept) }
            let wait = try await connection.query(SQL.Purging.wait, catalog).firstRow
            return (PurgePage(files: [], waitSeconds: try wait?.double("seconds")), kept)
        }
    }

    // MARK: Rights

    /// Starts the deletion of assets whose rights have expired, and lets those begin that may by
    /// now. Safe to run on all coordinators at once. Returns the number of changed assets.
    ///
    /// Does what it can for the other catalogs before it throws the failure of one.
    @discardableResult
    package func applyRights() async throws(Failure) -> Int {
        let (expired, beginning) = try await database.withConnection { connection in
            (
                try await connection.query(SQL.Rights.expired).rows.map { try $0.int64("id") },
                try await connection.query(SQL.Rights.mayBegin).rows.map { try $0.int64("id") }
            )
        }
        var changed = 0
        var failure: Failure?
        // A catalog that fails holds up no other.
        for (catalogs, expires) in [(expired, true), (beginning, false)] {
            for catalog in catalogs {
                do throws(Failure) {
                    changed += try await change(catalog, orElse: 0) {
                        try await expires ? $0.expire($1).assets : $0.begin($1).assets
                    }
                } catch {
                    failure = failure ?? error
                }
            }
        }
        if let failure { throw failure }
        return changed
    }

    /// Changes assets of a catalog; returns `none` if it is gone or its lock is taken.
    func change<Value: Sendable>(
        _ catalog: Int64, orElse none: Value,
        _ body: @escaping @Sendable (Selection, PostgresConnection) async throws -> Value
    ) async throws(Failure) -> Value {
        let id: SQLValues = ["catalog": .int(catalog)]
        // As `Selections`: tallies are folded first, because reports lock their jobs before assets.
        try await database.transaction { connection in
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return
            }
            try await database.allowCatalogTime(connection)
            _ = try await connection.query(SQL.Catalogs.fold, id)
        }
        return try await database.transaction { connection in
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked"),
                let row = try await connection.query(SQL.Catalogs.read, id).firstRow
            else { return none }
            try await database.allowCatalogTime(connection)
            let selection = Selection(
                action: SelectionAction(.remove), catalog: CatalogID(catalog), row: row,
                leaseSeconds: leaseSeconds)
            return try await body(selection, connection)
        }
    }

    // MARK: The end

    /// Maximum number of assets that one round ends, or looks at.
    private static let assetsPerRound = 10_000

    /// Ends the removal of assets whose last file is gone, lets go of files and keys that need not be
    /// held any more, and creates missing purge jobs. Safe to run on all coordinators at once. Returns
    /// the number of new jobs.
    @discardableResult
    package func reconcile() async throws(Failure) -> Int {
        let limit: SQLValues = ["limit": .int(Int64(Self.assetsPerRound))]
        let (over, jobs) = try await database.withConnection { connection in
            let hasMore = try await connection.query(
                SQL.Purging.releaseHeld, limit + ["is_random": .bool(false)]
            ).only().bool("has_more")
            if hasMore {
                _ = try await connection.query(
                    SQL.Purging.releaseHeld, limit + ["is_random": .bool(true)])
            }
            _ = try await connection.query(
                SQL.Purging.releaseLost,
                ["grace_seconds": .double(leaseSeconds + Selection.graceSeconds)])
            let over = try await connection.query(SQL.Removing.over, limit).rows.map { row in
                (
                    catalog: try row.int64("catalog_id"),
                    assets: try row.optionalInt64Array("assets") ?? []
                )
            }
            let jobs = try await connection.query(SQL.Purging.ensureJobs, ["catalog": .null])
                .only().int64("jobs")
            if jobs > 0 { _ = try await connection.query(SQL.Common.notifyWork) }
            return (over, Int(jobs))
        }
        for ended in over { try await finish(ended.catalog, ended.assets) }
        return jobs
    }

    /// Does nothing while the catalog's lock is taken: housekeeping tries again.
    private func finish(_ catalog: Int64, _ assets: [Int64]) async throws(Failure) {
        try await database.transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return
            }
            try await Self.finish(catalog, assets, connection)
        }
    }

    /// Ends the removal of those of a catalog's assets whose last file is gone; its lock is held.
    static func finish(
        _ catalog: Int64, _ assets: [Int64], _ connection: PostgresConnection
    ) async throws {
        let id: SQLValues = ["catalog": .int(catalog)]
        let removed = try await connection.query(
            SQL.Removing.finish, id + ["assets": .int64Array(assets)]
        ).only().int64("assets")
        guard removed > 0 else { return }
        _ = try await connection.query(SQL.Catalogs.fold, id)
        _ = try await connection.query(SQL.Common.notifyWork)
    }
}

/// Keeps files from being deleted while jobs are made for their keys.
enum PurgeGuard {
    /// Returns the statement that holds deletions back; before anything that makes jobs.
    static func share(catalog: Int64) -> PostgresStatement {
        PostgresStatement(SQL.Purging.share, ["catalog": .int(catalog), "asset": .null])
    }

    static func share(asset: Int64) -> PostgresStatement {
        PostgresStatement(SQL.Purging.share, ["catalog": .null, "asset": .int(asset)])
    }

    /// Returns the statement that finds a key that is needed and just being deleted, for `check`.
    static func awaited(catalog: Int64) -> PostgresStatement {
        PostgresStatement(SQL.Purging.awaited, ["catalog": .int(catalog), "asset": .null])
    }

    static func awaited(asset: Int64) -> PostgresStatement {
        PostgresStatement(SQL.Purging.awaited, ["catalog": .null, "asset": .int(asset)])
    }

    /// Throws `cluster.busy` if the answer to `awaited` has a key.
    static func check(_ awaited: PostgresResult?) throws {
        guard let key = try awaited?.firstRow?.string("key") else { return }
        throw Failure(
            .clusterBusy,
            "\(Redaction.key(key).prefix(300)) is just being deleted from the site, for an asset that was "
                + "removed; a worker of the site ends that. Try again after it.")
    }
}
