package import API
package import Model
import Postgres

/// The volume that each site was first stored on.
package struct SiteVolumes: Sendable {
    let database: QueueDatabase

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
}
