package import API
package import Model
import Postgres

/// Space and volumes of sites, and sites that cannot be written.
package struct SiteRoom: Sendable {
    let database: QueueDatabase
    let bounds: KnownLimits

    /// Retries unwritable sites that are due, records the running transfers of sites with a quota,
    /// and pauses those whose quota is used up. Safe to run on all coordinators at once.
    package func watch() async throws(Failure) {
        guard bounds.boundSpace else { return }
        try await database.withConnection { connection in
            let tried = try await connection.query(SQL.Sites.retry).rows.count
            _ = try await connection.query(SQL.Sites.noteUnderWay)
            let changed = try await connection.transaction { connection in
                try await Self.checkQuotas(of: nil, connection)
            }
            guard tried + changed > 0 else { return }
            bounds.changed()
            _ = try await connection.query(SQL.Sites.notify)
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
    ) async throws -> [SiteSpace]? {
        guard bounds.boundSpace else { return nil }
        let row = try await connection.query(
            SQL.Sites.bounds, ["site": .int(site.rawValue), "worker": .uuid(worker)]
        )
        .only()
        var space = SiteSpace(
            site: site, floorBytes: try row.int64("floor_bytes"),
            quotaLeftBytes: try row.optionalInt64("quota_left"),
            isTried: try row.bool("is_tried"))
        if try row.bool("is_littered") {
            let rows = try await connection.query(
                SQL.Multipart.abandoned, ["site": .int(site.rawValue)]
            ).rows
            space.abandoned = try rows.map { try $0.string("id") }
        }
        let isWide =
            space.floorBytes == 0 && space.quotaLeftBytes == nil && !space.isTried
            && space.abandoned == nil
        return isWide ? nil : [space]
    }

    /// Returns the volume of a site. If none is recorded, records that of the request: of several
    /// concurrent workers, the first one's. The file system of the recorded volume is the last that
    /// a worker found it on.
    ///
    /// Throws `input.notFound`, and `worker.leaseLost` if the request's lease has no job of the
    /// site.
    package func volume(_ request: SiteVolumeRequest) async throws(Failure) -> SiteVolumeAnswer {
        try await database.withConnection { connection in
            let site: SQLValues = ["site": .int(request.site.rawValue)]
            guard let volume = request.volume, let lease = request.lease else {
                return try await recordedVolume(site, connection)
            }
            let values: SQLValues = [
                "worker": .uuid(request.worker), "lease": .uuid(lease), "volume": .uuid(volume),
                "file_system": .optionalText(request.fileSystem?.description),
            ]
            guard
                let row = try await connection.query(SQL.Sites.recordVolume, site + values).firstRow
            else {
                throw Failure(.workerLeaseLost, "The lease has no job of site \(request.site).")
            }
            return SiteVolumeAnswer(
                volume: try row.optionalUUID("volume_id"),
                fileSystem: try row.optionalString("volume_file_system").flatMap {
                    FileSystemID($0)
                })
        }
    }

    private func recordedVolume(
        _ site: SQLValues, _ connection: PostgresConnection
    ) async throws -> SiteVolumeAnswer {
        guard let row = try await connection.query(SQL.Sites.volume, site).firstRow else {
            throw Failure(.inputNotFound, "There is no such site.")
        }
        var answer = SiteVolumeAnswer(
            volume: try row.optionalUUID("volume_id"),
            fileSystem: try row.optionalString("volume_file_system").flatMap {
                FileSystemID($0)
            })
        answer.resumedSeconds = try row.optionalDouble("resumed_seconds")
        return answer
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
        bounds.changed()
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
        bounds.changed()
        _ = try await connection.query(SQL.Sites.notify)
    }
}
