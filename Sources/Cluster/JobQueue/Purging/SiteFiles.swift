/// Files at sites after they were stored: they are checked, replaced and deleted.
package struct SiteFiles: Sendable {
    package let refreshes: Refreshes
    package let assetRefreshes: AssetRefreshes
    package let purges: Purges
    package let evictions: Evictions

    init(database: QueueDatabase, leaseSeconds: Double, shared: SharedFiles) {
        purges = Purges(database: database, leaseSeconds: leaseSeconds)
        refreshes = Refreshes(database: database)
        assetRefreshes = AssetRefreshes(database: database, purges: purges)
        evictions = Evictions(database: database, purges: purges, shared: shared)
    }
}
