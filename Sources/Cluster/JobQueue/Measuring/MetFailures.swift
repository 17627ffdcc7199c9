package import Model
import Postgres
import Synchronization

/// Failure codes that assets met, of which those of assets that have ended are counted.
///
/// A report inserts a row for each asset and code on the long way of its results. `fold` moves those of
/// ended assets into `outcome`, from where `DailyFigures` adds them up.
package final class MetFailures: Sendable {
    private let database: QueueDatabase
    /// The asset up to which rows were looked at; 0 for the beginning.
    private let position = Mutex<Int64>(0)

    private static let pagesAtOnce = 5

    init(database: QueueDatabase) { self.database = database }

    /// Looks at a bounded number of rows in the order of assets, and continues there the next time.
    /// Does nothing while another coordinator does.
    package func fold(pageRows: Int = 20_000) async throws(Failure) {
        for _ in 0..<Self.pagesAtOnce {
            let after = position.withLock { $0 }
            let last = try await foldPage(after: after, pageRows)
            position.withLock { $0 = last ?? 0 }
            guard last != nil else { return }
        }
    }

    /// Returns the last asset of the page; nil at the end.
    private func foldPage(after: Int64, _ limit: Int) async throws(Failure) -> Int64? {
        try await database.transaction { connection in
            guard try await connection.query(SQL.Daily.tryLock).only().bool("locked") else {
                return nil
            }
            return try await connection.query(
                SQL.Daily.foldFailures, ["after": .int(after), "limit": .int(limit)]
            ).only().optionalInt64("last")
        }
    }
}
