/// Chores that keep tables small and counts current. Each is safe to run on all coordinators at
/// once.
package struct QueueHousekeeping: Sendable {
    package let tallies: Tallies
    package let tables: OutdatedRows
    package let multipartFiles: AbandonedMultipartFiles
    package let retention: CatalogRetention

    init(database: QueueDatabase, queues: KnownQueues) {
        tallies = Tallies(database: database)
        tables = OutdatedRows(database: database, queues: queues)
        multipartFiles = AbandonedMultipartFiles(database: database)
        retention = CatalogRetention(database: database)
    }
}
