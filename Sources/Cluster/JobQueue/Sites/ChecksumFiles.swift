package import API
package import Model
import Postgres

/// Checksum files: one `SHA256SUMS` per directory of a site, with the files of all catalogs there.
package struct ChecksumFiles: Sendable {
    let database: QueueDatabase

    /// Decides whether a worker may write the checksum files of some jobs of one lease; one
    /// decision per job, in order.
    ///
    /// A directory's file has one writer at a time. The writer reads the files of every catalog
    /// whose own job for the directory waits by then, and its report completes those jobs too. So a
    /// directory of a hundred catalogs is listed twice for all that wait at once, not a hundred
    /// times.
    package func turns(_ request: ChecksumTurnRequest) async throws(Failure) -> ChecksumTurns {
        let jobs = Array(Set(request.jobs)).sorted()
        var turns: [JobID: ChecksumTurns.Turn] = [:]
        let rows = try await database.withConnection { connection in
            try await connection.query(
                SQL.ChecksumFiles.begin,
                [
                    "lease": .uuid(request.lease), "worker": .uuid(request.worker),
                    "jobs": .int64Array(jobs.map(\.rawValue)),
                ]
            ).rows.map {
                (
                    job: JobID(try $0.int64("job")), isWritten: try $0.bool("is_written"),
                    begins: try $0.bool("begins")
                )
            }
        }
        for row in rows {
            if row.isWritten {
                turns[row.job] = .written
            } else if row.begins {
                turns[row.job] = .write
            } else {
                turns[row.job] = try await takesOver(row.job, request.lease) ? .write : .wait
            }
        }
        return ChecksumTurns(turns: request.jobs.map { turns[$0] ?? .stale })
    }

    /// Returns true if a job whose directory has a writer replaces it.
    private func takesOver(_ job: JobID, _ lease: LeaseID) async throws(Failure) -> Bool {
        let values: SQLValues = ["job": .int(job.rawValue), "lease": .uuid(lease)]
        return try await database.transaction { connection in
            // Only the next statement sees a lease granted while this one waits for the lock.
            guard try await !connection.query(SQL.ChecksumFiles.lockWriter, values).rows.isEmpty
            else {
                return false
            }
            return try await !connection.query(SQL.ChecksumFiles.takeOver, values).rows.isEmpty
        }
    }

    /// Returns a page of the files for a directory's `SHA256SUMS`, over all catalogs of its site.
    package func page(
        site: SiteID, directory: String, after: String?, limit: Int
    ) async throws(Failure) -> ChecksumPage {
        let position = try PagePosition(after, first: [0, 0, -1])
        return try await database.withConnection { connection in
            let result = try await connection.query(
                SQL.ChecksumFiles.page,
                [
                    "site": .int(site.rawValue), "path": .text(directory),
                    "after_directory": .int(position[0]), "after_asset": .int(position[1]),
                    "after_ordinal": .int(position[2]), "limit": .int(Int64(limit)),
                ])
            var decoder = try RowDecoder<ChecksumPage.Entry>(result)
            let entries = try result.rows.map { try decoder.row($0) }
            var next: String?
            if entries.count == limit, let last = result.rows.last {
                next =
                    PagePosition([
                        try last.int64("directory"), try last.int64("id"),
                        try last.int64("ordinal"),
                    ]).description
            }
            return ChecksumPage(entries: entries, next: next)
        }
    }
}
