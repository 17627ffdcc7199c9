package import API
package import Model
import Postgres

/// Closes sites that cannot be written, or whose quota is used up, and opens them again. The jobs of
/// a closed site are not leased.
package struct ClosedSites: Sendable {
    let database: QueueDatabase
    let limits: KnownLimits
    let shared: SharedFiles

    /// Retries unwritable sites that are due, records the running transfers of sites with a quota,
    /// and pauses those whose quota is used up. Safe to run on all coordinators at once.
    package func watch() async throws(Failure) {
        guard limits.anySpaceLimit else { return }
        let (tried, full) = try await database.withConnection { connection in
            let tried = try await connection.query(SQL.Sites.retry).rows.count
            _ = try await connection.query(SQL.Sites.noteUnderWay)
            let full = try await connection.query(SQL.Sites.quotaChanges, ["site": .null]).rows
                .filter { try $0.bool("is_over") }
            return (tried, try full.map { try $0.int64("id") })
        }
        var isCounted = true
        for site in full where try await !shared.count(at: site) { isCounted = false }
        try await database.withConnection { [isCounted] connection in
            // Another coordinator counts, and then pauses what is full.
            let changed =
                isCounted
                ? try await connection.transaction { connection in
                    try await Self.checkQuotas(of: nil, connection)
                } : 0
            guard tried + changed > 0 else { return }
            limits.changed()
            _ = try await connection.query(SQL.Sites.notify)
        }
    }

    /// Returns the sites that a worker must probe: their time to be tried has come, and no job has
    /// tried them. Costs no query while no site has a failure or a limit of its space.
    package func unprobed() async throws(Failure) -> [SiteToProbe] {
        guard limits.anySpaceLimit else { return [] }
        return try await database.withConnection { connection in
            try await connection.query(SQL.Sites.unprobed).rows.map { row in
                SiteToProbe(
                    id: SiteID(try row.int64("id")), queue: try row.string("queue"),
                    storageURL: try row.string("storage_url"),
                    asked: try row.textArray("asked").compactMap { id in
                        id.flatMap { WorkerID($0) }
                    })
            }
        }
    }

    /// Asks a worker to probe a site. Returns nil if another one was asked meanwhile, or the site
    /// needs no probe any more. The next worker is asked after the time between tries.
    package func probe(
        _ site: SiteID, by worker: WorkerID
    ) async throws(Failure) -> LeasedSite? {
        try await database.withConnection { connection in
            let asked = try await connection.query(
                SQL.Sites.probe, ["site": .int(site.rawValue), "worker": .uuid(worker)]
            ).firstRow
            guard let asked else { return nil }
            return LeasedSite(
                id: site, storageURL: try asked.string("storage_url"),
                volume: try asked.optionalUUID("volume_id"),
                space: try await space(of: site, for: worker, connection))
        }
    }

    /// Pauses sites whose quota is used up, and resumes those with free quota again: all sites, or
    /// one. Within a transaction. Returns the number of changed sites.
    static func checkQuotas(
        of site: Int64?, _ connection: PostgresConnection
    ) async throws -> Int {
        let rows = try await connection.query(
            SQL.Sites.quotaChanges, ["site": .optionalInt(site)]
        ).rows
        guard !rows.isEmpty else { return 0 }
        let messages = try rows.map { row -> String? in
            guard try row.bool("is_over") else { return nil }
            let (used, quota) = (try row.int64("used"), try row.int64("quota_bytes"))
            return "\(used) of \(quota) bytes of the quota are used"
        }
        _ = try await connection.query(
            SQL.Sites.applyQuota,
            [
                "sites": .int64Array(try rows.map { try $0.int64("id") }),
                "messages": .optionalTextArray(messages),
            ])
        return rows.count
    }

    /// Returns the data about a site's space for a worker; nil for nothing.
    func space(
        of site: SiteID, for worker: WorkerID, _ connection: PostgresConnection
    ) async throws -> SiteSpace? {
        guard limits.anySpaceLimit else { return nil }
        let row = try await connection.query(
            SQL.Sites.bounds, ["site": .int(site.rawValue), "worker": .uuid(worker)]
        )
        .only()
        var space = SiteSpace(
            floorBytes: try row.int64("floor_bytes"),
            quotaLeftBytes: try row.optionalInt64("quota_left"),
            isTried: try row.bool("is_tried"))
        if try row.bool("is_littered") {
            let rows = try await connection.query(
                SQL.Multipart.abandoned, ["site": .int(site.rawValue)]
            ).rows
            space.abandoned = try rows.map { try $0.uuid("id") }
        }
        let isWide =
            space.floorBytes == 0 && space.quotaLeftBytes == nil && !space.isTried
            && space.abandoned == nil
        return isWide ? nil : space
    }

    /// Records a worker's reports of sites; sites that it could write to after a failure resume.
    func note(_ seen: [SiteReport], _ connection: PostgresConnection) async throws {
        guard !seen.isEmpty else { return }
        let healed = try await connection.query(
            SQL.Sites.seen,
            [
                "sites": .int64Array(seen.map(\.site.rawValue)),
                "available": .optionalIntArray(seen.map(\.availableBytes)),
                "is_sound": .boolArray(seen.map(\.isSound)),
            ]
        ).rows
        guard !healed.isEmpty else { return }
        limits.changed()
        _ = try await connection.query(SQL.Sites.notify)
    }

    /// Pauses sites that cannot be written.
    func fail(
        _ failures: ReportPlan.SiteFailures, _ connection: PostgresConnection
    ) async throws {
        let paused = try await connection.query(
            SQL.Sites.fail,
            [
                "lanes": .int64Array(failures.lanes), "codes": .optionalTextArray(failures.codes),
                "messages": .optionalTextArray(failures.messages),
            ]
        ).rows
        guard !paused.isEmpty else { return }
        limits.changed()
        _ = try await connection.query(SQL.Sites.notify)
    }
}
