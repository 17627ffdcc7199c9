import Postgres

extension Selection {
    /// Locks `chosen` assets of a catalog after `jobs` of theirs, in the order of reports.
    ///
    /// Two statements of the transaction: one would need a condition that only fixes the order.
    static func lock(
        _ chosen: SQLValues, after jobs: SQL.Selecting, of catalog: SQLValues,
        _ connection: PostgresConnection
    ) async throws(PostgresError) {
        _ = try await connection.pipeline([
            PostgresStatement(jobs, catalog + chosen),
            PostgresStatement(SQL.Selecting.lockAssets, chosen),
        ])
    }
}
