package import API
package import Model
package import Postgres

/// Reads what `dray doctor` judges of a database. Changes nothing.
package struct Diagnoses: Sendable {
    let database: QueueDatabase

    /// Age from which a transaction is reported, in seconds.
    private static let oldTransactionSeconds = 60.0
    private static let maxTransactions = 10
    private static let maxTables = 20
    /// Settings that may lose data, slow the queue down or limit its sessions.
    private static let settings = [
        "autovacuum", "autovacuum_naptime", "checkpoint_timeout", "effective_cache_size", "fsync",
        "full_page_writes", "idle_in_transaction_session_timeout", "listen_addresses",
        "maintenance_work_mem", "max_connections", "max_wal_size", "server_version",
        "shared_buffers", "ssl", "statement_timeout", "superuser_reserved_connections",
        "synchronous_commit", "synchronous_standby_names", "TimeZone", "track_counts",
        "transaction_timeout", "wal_level", "work_mem",
    ]

    init(database: QueueDatabase) { self.database = database }

    /// Diagnoses the database of a pool, whose schema need not exist.
    package init(pool: PostgresPool) {
        database = QueueDatabase(pool: pool, catalogStatementSeconds: 60)
    }

    /// Throws the failure of the connection or a statement. That of the schema is in the result.
    package func read() async throws(Failure) -> DatabaseDiagnosis {
        var diagnosis = try await facts()
        do throws(Failure) {
            diagnosis.schemaVersion = try await database.transaction {
                try await Migrations.found($0)
            }
        } catch {
            diagnosis.schemaFailure = error
        }
        guard diagnosis.schemaFailure == nil, diagnosis.schemaVersion > 0 else { return diagnosis }
        diagnosis.tables = try await tables()
        return diagnosis
    }

    private func facts() async throws(Failure) -> DatabaseDiagnosis {
        try await database.withConnection { connection in
            let results = try await connection.pipeline([
                PostgresStatement(SQL.Figures.server),
                PostgresStatement(
                    SQL.Figures.settings, ["names": .textArray(Self.settings)]),
                PostgresStatement(
                    SQL.Figures.transactions,
                    [
                        "seconds": .double(Self.oldTransactionSeconds),
                        "limit": .int(Int64(Self.maxTransactions)),
                    ]),
            ])
            let row = try results[0].only()
            var diagnosis = DatabaseDiagnosis(
                version: try row.string("version"), versionNumber: try row.int("version_number"),
                now: try row.double("now"))
            diagnosis.isInRecovery = try row.bool("is_in_recovery")
            diagnosis.bytes = try row.int64("bytes")
            diagnosis.maxConnections = try row.int("max_connections")
            diagnosis.reservedConnections = try row.int("reserved_connections")
            diagnosis.usedConnections = try row.int("used_connections")
            diagnosis.ownConnections = try row.int("own_connections")
            diagnosis.neededSchemaVersion = Migrations.currentVersion
            for row in results[1].rows {
                let name = try row.string("name")
                diagnosis.settings[name] = try row.string("value")
            }
            diagnosis.transactions = try results[2].rows.map { row in
                DatabaseDiagnosis.Transaction(
                    process: try row.int("pid"), application: try row.string("application"),
                    state: try row.string("state"), seconds: try row.double("seconds"))
            }
            return diagnosis
        }
    }

    private func tables() async throws(Failure) -> [DatabaseDiagnosis.Table] {
        try await database.withConnection { connection in
            try await connection.query(
                SQL.Figures.tables, ["limit": .int(Int64(Self.maxTables))]
            ).rows.map { row in
                DatabaseDiagnosis.Table(
                    name: try row.string("name"), liveRows: try row.int64("live_rows"),
                    deadRows: try row.int64("dead_rows"), bytes: try row.int64("bytes"),
                    vacuumedSeconds: try row.optionalDouble("vacuumed_seconds"))
            }
        }
    }
}
