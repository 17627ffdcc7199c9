package import Model
package import Postgres
import QueueSQL

/// The numbered versions of the schema, each a file of `SQL/migrations`.
///
/// A released file is frozen: a database keeps the checksum of the file that created it, and
/// rejects another text. Later changes are added as further files. `Functions` follow in the same
/// transaction.
package enum Migrations {
    struct Step {
        let version: Int
        let text: String

        init(_ version: Int, _ file: EmbeddedFile) {
            self.version = version
            text = String(decoding: file.text, as: UTF8.self)
        }
    }

    static let steps = [Step(1, sql_migration_0001_initial())]

    /// Less than the time limit of a statement.
    package static let lockSeconds: Double = 20

    /// The version that this binary uses.
    package static var currentVersion: Int { steps.last?.version ?? 0 }

    /// Migrates the database's tables and functions to this binary's version; returns its previous
    /// version.
    ///
    /// Safe to run from many processes at once: they wait for each other. Grants `role`, if given,
    /// a coordinator's privileges. Only reads a database with the current version. Waits
    /// `lockSeconds` for the lock of another migration.
    ///
    /// Throws, and changes nothing: `cluster.schemaNewer` for a database that is newer than the
    /// binary, `cluster.schemaUnreleased` for one from before the first release,
    /// `cluster.schemaEdited` for one that another text of a version created.
    @discardableResult
    package static func migrate(
        _ pool: PostgresPool, grantingTo role: String? = nil,
        lockSeconds: Double = Migrations.lockSeconds
    ) async throws(Failure) -> Int {
        try await migrate(pool, grantingTo: role, lockSeconds: lockSeconds, .current)
    }

    @discardableResult
    static func migrate(
        _ pool: PostgresPool, grantingTo role: String? = nil,
        lockSeconds: Double = Migrations.lockSeconds, _ functions: Functions
    ) async throws(Failure) -> Int {
        do {
            return try await pool.withConnection { connection in
                try await connection.transaction { connection in
                    let schema = try await Schema.prepare(connection, lockSeconds: lockSeconds)
                    let version = try await Self.version(connection)
                    if version < currentVersion {
                        try schema.requireOwner(
                            "has version \(version); this binary needs version \(currentVersion)")
                        for step in steps where step.version > version {
                            try await connection.simple(step.text)
                            _ = try await connection.query(
                                SQL.Schema.record,
                                ["version": .int(Int64(step.version)), "text": .text(step.text)])
                        }
                        try await schema.pinFunctions(connection)
                    }
                    _ = try await functions.apply(to: schema, connection)
                    if let role { try await schema.grant(to: role, connection) }
                    return version
                }
            }
        } catch let failure as Failure {
            throw failure
        } catch let error as PostgresError {
            throw Failure(queue: error)
        } catch {
            throw Failure(.workerInternal, "The migration was interrupted: \(error)")
        }
    }

    /// Returns the database's version, 0 without a schema. Changes nothing; call it in a
    /// transaction. Throws the failures of `migrate`.
    static func found(_ connection: PostgresConnection) async throws -> Int {
        try await Schema.hasVersion(connection) ? try await version(connection) : 0
    }

    /// The database's version; 0 for a new one.
    private static func version(_ connection: PostgresConnection) async throws -> Int {
        let row = try await connection.query(
            SQL.Schema.edited,
            [
                "versions": .int64Array(steps.map { Int64($0.version) }),
                "texts": .textArray(steps.map(\.text)),
            ]
        ).only()
        let version = Int(try row.int64("version"))
        guard version <= currentVersion else {
            throw Failure(
                .clusterSchemaNewer,
                "The database has schema version \(version); this binary knows versions up to "
                    + "\(currentVersion).")
        }
        if try row.optionalInt64("edited") != nil {
            throw Failure(
                .clusterSchemaEdited,
                "Another build of Dray created the database, which has other tables.")
        }
        return version
    }
}
