package import Model
import Postgres

/// Chores that keep tables small, and fold what reports left to count.
package struct QueueHousekeeping: Sendable {
    let database: QueueDatabase
    let queues: KnownQueues

    /// Deletes outdated rows: leases without jobs, workers that disconnected long ago.
    package func tidy() async throws(Failure) {
        queues.forget()
        try await database.withConnection { connection in
            _ = try await connection.query(SQL.Housekeeping.leases)
            let chores: [SQL.Housekeeping] = [
                .checksumWriters, .spans, .lanes, .cancelled,
                // Before the workers: one that came back did not die with what it had.
                .losses, .workers,
                .tidyOrigins, .documents, .assemblies, .loadTests,
            ]
            for statement in chores {
                _ = try await connection.query(statement)
            }
            _ = try await connection.query(
                SQL.Housekeeping.workerMinutes,
                ["seconds": .double(Double(WorkersHistory.keptSeconds))])
        }
        try await forgetOrigins()
        try await abandonAssemblies()
    }

    /// An origin that no list names is deleted this long after its last use. No cooldown is longer.
    private static let unlistedSeconds = 3_600.0

    /// Forgets origins that no list names, and about which there is nothing to remember any more.
    func forgetOrigins() async throws(Failure) {
        try await database.withConnection { connection in
            _ = try await connection.query(
                SQL.Housekeeping.origins, ["seconds": .double(Self.unlistedSeconds)])
        }
    }

    /// Gives up files in parts that were cancelled, or failed and were not tried again for an hour: a
    /// worker removes them, and the room that they have goes to others.
    private func abandonAssemblies() async throws(Failure) {
        let catalogs = try await database.withConnection { connection in
            try await connection.query(
                SQL.Multipart.givenUp, ["seconds": .double(Self.keptAssemblySeconds)]
            ).rows.map { try $0.int64("id") }
        }
        for catalog in catalogs {
            try await database.transaction { connection in
                // No other request starts its assets meanwhile.
                guard
                    try await connection.query(
                        SQL.Catalogs.tryLock, ["catalog": .int(catalog)]
                    ).only().bool("locked")
                else { return }
                _ = try await connection.query(SQL.Catalogs.fold, ["catalog": .int(catalog)])
                _ = try await connection.query(
                    SQL.Multipart.release,
                    ["catalog": .int(catalog), "seconds": .double(Self.keptAssemblySeconds)])
            }
        }
    }

    private static let keptAssemblySeconds = 3_600.0

    /// Forgets catalogs that ended, or were left open, more than `days` days ago, with their assets and
    /// all that is known of these; what is stored stays. At most `transactions` bounded transactions
    /// a call. Returns how many catalogs are gone. Safe to run on all coordinators at once.
    @discardableResult
    package func forget(olderThanDays days: Int, transactions: Int = 50) async throws(Failure)
        -> Int
    {
        let old = try await database.withConnection { connection in
            try await connection.query(SQL.Housekeeping.oldCatalogs, ["days": .int(Int64(days))])
                .rows.map {
                    try $0.int64("id")
                }
        }
        var left = transactions
        var forgotten = 0
        for catalog in old {
            var isPending = true
            while isPending {
                guard left > 0 else { return forgotten }
                left -= 1
                isPending = try await forgetSome(of: catalog, days)
            }
            if try await forget(catalog, days) { forgotten += 1 }
        }
        return forgotten
    }

    /// False when there is nothing more to forget, or somebody else is at work on the catalog.
    private func forgetSome(of catalog: Int64, _ days: Int) async throws(Failure) -> Bool {
        try await database.transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return false
            }
            return try await connection.query(
                SQL.Housekeeping.forgetAssets, id + ["days": .int(Int64(days))]
            ).only().int64("assets") > 0
        }
    }

    private func forget(_ catalog: Int64, _ days: Int) async throws(Failure) -> Bool {
        try await database.transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return false
            }
            return try await connection.query(
                SQL.Housekeeping.forgetCatalog, id + ["days": .int(Int64(days))]
            ).only().int64("catalogs") > 0
        }
    }

    /// Adds what reports left to the counts of catalogs and directories, which ends those that are
    /// whole; true when some catalog's lock was taken, and it has to be asked again soon.
    ///
    /// Safe to run on all coordinators at once.
    @discardableResult
    package func fold() async throws(Failure) -> Bool {
        let catalogs = try await database.withConnection { connection in
            try await connection.query(SQL.Catalogs.tallied).rows.map { try $0.int64("id") }
        }
        var isPending = false
        for catalog in catalogs {
            if try await !fold(catalog) { isPending = true }
        }
        return isPending
    }

    private func fold(_ catalog: Int64) async throws(Failure) -> Bool {
        try await database.transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return false
            }
            let sums = try await connection.query(SQL.Catalogs.fold, id).only().int64("sums_jobs")
            if sums > 0 { _ = try await connection.query(SQL.Common.notifyWork) }
            return true
        }
    }
}
