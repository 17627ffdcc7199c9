package import Model
import Postgres

/// Files of a site that several assets have recorded as stored, which count once.
///
/// Each catalog counts all that it has stored. What is counted more than once is subtracted: it is counted
/// again when the sums of the catalogs have changed. Until then a file that another catalog has stored as
/// well counts once more.
package struct SharedFiles: Sendable {
    let database: QueueDatabase

    /// Counts them at all sites that are due. Safe to run on all coordinators at once.
    package func count() async throws(Failure) {
        let sites = try await database.withConnection { connection in
            try await connection.query(SQL.Sites.sharedOutdated, ["site": .null]).rows.map {
                try $0.int64("id")
            }
        }
        for site in sites { try await count(at: site) }
    }

    /// Counts them at a site unless its count is up to date: before it is paused, or evicts assets, for what may
    /// be counted twice. Returns false while another coordinator counts.
    @discardableResult
    func count(at site: Int64) async throws(Failure) -> Bool {
        let id: SQLValues = ["site": .int(site)]
        return try await database.transaction { connection in
            guard
                try await connection.query(SQL.Sites.tryLockShared, id).only().bool("locked")
            else { return false }
            try await database.allowCatalogTime(connection)
            let isOutdated = try await !connection.query(SQL.Sites.sharedOutdated, id).rows.isEmpty
            if isOutdated { _ = try await connection.query(SQL.Sites.countShared, id) }
            return true
        }
    }
}
