package import API
package import Model
import Postgres

/// The volume that each site was first stored on. No two sites with catalogs record the same one.
package struct SiteVolumes: Sendable {
    let database: QueueDatabase

    /// Returns the volume of a site. If none is recorded, records that of the request: of several
    /// concurrent workers, the first one's. The file system of the recorded volume is the last that
    /// a worker found it on. With the request's marks, returns the other sites that they belong to.
    ///
    /// Throws `input.notFound`, `worker.leaseLost` if the request's lease has no job of the site,
    /// and `storage.sharedDirectory` if the volume is another site's.
    package func volume(_ request: SiteVolumeRequest) async throws(Failure) -> SiteVolumeAnswer {
        guard let volume = request.volume, let lease = request.lease else {
            return try await database.withConnection { connection in
                try await Self.recorded(request, connection)
            }
        }
        return try await database.transaction { connection in
            try await Self.record(volume, lease, request, connection)
        }
    }

    private static func record(
        _ volume: VolumeID, _ lease: LeaseID, _ request: SiteVolumeRequest,
        _ connection: PostgresConnection
    ) async throws -> SiteVolumeAnswer {
        _ = try await connection.query(SQL.Sites.lockVolumes)
        let others = try await others(of: request.site, on: [volume], connection)
        if let other = others.firstRow, try other.bool("is_new") { throw try shared(other) }
        let site: SQLValues = ["site": .int(request.site.rawValue)]
        let values: SQLValues = [
            "worker": .uuid(request.worker), "lease": .uuid(lease), "volume": .uuid(volume),
            "file_system": .optionalText(request.fileSystem?.description),
        ]
        guard
            let row = try await connection.query(SQL.Sites.recordVolume, site + values).firstRow
        else {
            throw Failure(.workerLeaseLost, "The lease has no job of site \(request.site).")
        }
        let answer = try answer(row)
        if answer.volume == volume {
            _ = try await connection.query(
                SQL.Sites.takeVolume, site + ["volume": .uuid(volume)])
        }
        return answer
    }

    private static func recorded(
        _ request: SiteVolumeRequest, _ connection: PostgresConnection
    ) async throws -> SiteVolumeAnswer {
        let site: SQLValues = ["site": .int(request.site.rawValue)]
        guard let row = try await connection.query(SQL.Sites.volume, site).firstRow else {
            throw Failure(.inputNotFound, "There is no such site.")
        }
        var answer = try answer(row)
        answer.resumedSeconds = try row.optionalDouble("resumed_seconds")
        guard let marks = request.marks, !marks.isEmpty else { return answer }
        let others = try await others(of: request.site, on: marks, connection)
        guard !others.rows.isEmpty else { return answer }
        answer.others = try others.rows.map { row in
            SiteVolumeAnswer.MarkedSite(
                name: try row.string("queue"), storageURL: try row.string("storage_url"),
                volume: try row.uuid("volume_id"))
        }
        return answer
    }

    private static func answer(_ row: PostgresRow) throws -> SiteVolumeAnswer {
        SiteVolumeAnswer(
            volume: try row.optionalUUID("volume_id"),
            fileSystem: try row.optionalString("volume_file_system").flatMap { FileSystemID($0) })
    }

    private static func others(
        of site: SiteID, on marks: [VolumeID], _ connection: PostgresConnection
    ) async throws -> PostgresResult {
        try await connection.query(
            SQL.Sites.othersOnVolume,
            ["site": .int(site.rawValue), "marks": .uuidArray(marks)])
    }

    /// Returns the failure of a site whose volume was just recorded for another site.
    private static func shared(_ row: PostgresRow) throws -> Failure {
        let other = SiteVolumeAnswer.MarkedSite(
            name: try row.string("queue"), storageURL: try row.string("storage_url"),
            volume: try row.uuid("volume_id"))
        return other.sharedFailure(with: try row.string("own_url"))
    }
}
