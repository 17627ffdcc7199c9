import API
package import Model
import Postgres

/// Deletes outdated rows: leases without jobs, workers that disconnected long ago, and others.
package struct OutdatedRows: Sendable {
    let database: QueueDatabase
    let queues: KnownQueues

    /// Time after the last use at which an origin is deleted that no list names. No cooldown is
    /// longer.
    private static let unlistedSeconds = 3_600.0

    package func delete() async throws(Failure) {
        queues.forget()
        try await database.withConnection { connection in
            _ = try await connection.query(SQL.Housekeeping.leases)
            let statements: [SQL.Housekeeping] = [
                .checksumWriters, .spans, .lanes, .cancelled,
                // Before the workers: one that came back did not die with its jobs.
                .losses, .workers, .titleFetches,
                .tidyOrigins, .rewrittenManifests, .multipartFiles, .loadTests,
            ]
            for statement in statements {
                _ = try await connection.query(statement)
            }
            for statement in [SQL.Housekeeping.workerMinutes, .runWork] {
                _ = try await connection.query(
                    statement, ["seconds": .double(Double(WorkersHistory.keptSeconds))])
            }
            _ = try await connection.query(
                SQL.Housekeeping.origins, ["seconds": .double(Self.unlistedSeconds)])
        }
    }
}
