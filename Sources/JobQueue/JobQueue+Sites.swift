package import Model
import Postgres
import Synchronization

/// What sites may be fed with, shared out among the workers that hold jobs of them.
extension JobQueue {
    /// Finds out whether any site has a bandwidth to share out, or a bound to its room; as long as none
    /// has, claims and heartbeats do not ask for them.
    package func readSiteBounds() async throws(Failure) {
        let version = siteChanges.load(ordering: .sequentiallyConsistent)
        let (isFedSlowly, isNarrow) = try await withConnection { connection in
            let row = try await connection.query(SQL.sitesBounded, []).only()
            return (try row.bool(0), try row.bool(1))
        }
        areSitesBounded.store(isFedSlowly, ordering: .sequentiallyConsistent)
        areSitesNarrow.store(isNarrow, ordering: .sequentiallyConsistent)
        // Somebody else knew better meanwhile.
        if siteChanges.load(ordering: .sequentiallyConsistent) != version { sitesChanged() }
    }

    /// Has shares and bounds asked for until it is known that there are none.
    func sitesChanged() {
        siteChanges.wrappingAdd(1, ordering: .sequentiallyConsistent)
        areSitesBounded.store(true, ordering: .sequentiallyConsistent)
        areSitesNarrow.store(true, ordering: .sequentiallyConsistent)
    }

    /// A worker's shares of the sites that it holds jobs of, and of those whose shares it says that it
    /// keeps to; nil for none.
    func siteShares(
        of worker: WorkerID, keepingTo used: [SiteShareUse], _ connection: PostgresConnection
    ) async throws -> [SiteShare]? {
        guard areSitesBounded.load(ordering: .relaxed) || !used.isEmpty else { return nil }
        if !used.isEmpty {
            _ = try await connection.query(
                SQL.siteSharesNamed,
                [
                    .uuid(worker), .int64Array(used.map(\.site.rawValue)),
                    .int64Array(used.map(\.number)),
                ])
        }
        let rows = try await connection.query(
            SQL.siteSharesRenew,
            [
                .uuid(worker), .double(settings.leaseSeconds),
                .int64Array(used.map(\.site.rawValue)),
            ]
        ).rows
        let shares = try rows.map { row in
            SiteShare(
                site: SiteID(try row.int64(0)), number: try row.optionalInt64(1),
                bytesPerSecond: try row.int64(2), seconds: try row.double(3))
        }
        return shares.isEmpty ? nil : shares
    }
}
