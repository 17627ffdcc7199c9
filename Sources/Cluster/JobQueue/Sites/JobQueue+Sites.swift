package import Model
import Postgres
import Synchronization

/// Whether there are limits to divide or bounds to a site's room to mind.
extension JobQueue {
    /// Finds out whether any site has a bandwidth in force, any origin a limit, and any site a bound to its room; as
    /// long as none has, claims and heartbeats do not ask for them.
    package func readSiteBounds() async throws(Failure) {
        let version = siteChanges.load(ordering: .sequentiallyConsistent)
        let (isLimited, isNarrow) = try await withConnection { connection in
            let row = try await connection.query(SQL.Sites.bounded).only()
            return (try row.bool("is_limited"), try row.bool("is_narrow"))
        }
        areLimitsSet.store(isLimited, ordering: .sequentiallyConsistent)
        areSitesNarrow.store(isNarrow, ordering: .sequentiallyConsistent)
        // Somebody else knew better meanwhile.
        if siteChanges.load(ordering: .sequentiallyConsistent) != version { sitesChanged() }
    }

    /// Has quotas and bounds asked for until it is known that there are none.
    func sitesChanged() {
        siteChanges.wrappingAdd(1, ordering: .sequentiallyConsistent)
        areLimitsSet.store(true, ordering: .sequentiallyConsistent)
        areSitesNarrow.store(true, ordering: .sequentiallyConsistent)
    }
}
