package import Model
package import Postgres

/// The schema's numbered versions, up and down, each embedded as a file of `SQL/migrations`.
package enum Migrations {
    struct Step {
        let version: Int
        let up: String
        let down: String

        init(_ version: Int, _ up: [UInt8], _ down: [UInt8]) {
            self.version = version
            self.up = SQL.text(up)
            self.down = SQL.text(down)
        }
    }

    static let steps = [
        Step(1, PackageResources.migration_0001_up_sql, PackageResources.migration_0001_down_sql),
        Step(2, PackageResources.migration_0002_up_sql, PackageResources.migration_0002_down_sql),
        Step(3, PackageResources.migration_0003_up_sql, PackageResources.migration_0003_down_sql),
        Step(4, PackageResources.migration_0004_up_sql, PackageResources.migration_0004_down_sql),
        Step(5, PackageResources.migration_0005_up_sql, PackageResources.migration_0005_down_sql),
        Step(6, PackageResources.migration_0006_up_sql, PackageResources.migration_0006_down_sql),
        Step(7, PackageResources.migration_0007_up_sql, PackageResources.migration_0007_down_sql),
        Step(8, PackageResources.migration_0008_up_sql, PackageResources.migration_0008_down_sql),
        Step(9, PackageResources.migration_0009_up_sql, PackageResources.migration_0009_down_sql),
        Step(10, PackageResources.migration_0010_up_sql, PackageResources.migration_0010_down_sql),
        Step(11, PackageResources.migration_0011_up_sql, PackageResources.migration_0011_down_sql),
        Step(12, PackageResources.migration_0012_up_sql, PackageResources.migration_0012_down_sql),
        Step(13, PackageResources.migration_0013_up_sql, PackageResources.migration_0013_down_sql),
        Step(14, PackageResources.migration_0014_up_sql, PackageResources.migration_0014_down_sql),
        Step(15, PackageResources.migration_0015_up_sql, PackageResources.migration_0015_down_sql),
        Step(16, PackageResources.migration_0016_up_sql, PackageResources.migration_0016_down_sql),
        Step(17, PackageResources.migration_0017_up_sql, PackageResources.migration_0017_down_sql),
        Step(18, PackageResources.migration_0018_up_sql, PackageResources.migration_0018_down_sql),
        Step(19, PackageResources.migration_0019_up_sql, PackageResources.migration_0019_down_sql),
        Step(20, PackageResources.migration_0020_up_sql, PackageResources.migration_0020_down_sql),
        Step(21, PackageResources.migration_0021_up_sql, PackageResources.migration_0021_down_sql),
        Step(22, PackageResources.migration_0022_up_sql, PackageResources.migration_0022_down_sql),
        Step(23, PackageResources.migration_0023_up_sql, PackageResources.migration_0023_down_sql),
        Step(24, PackageResources.migration_0024_up_sql, PackageResources.migration_0024_down_sql),
        Step(25, PackageResources.migration_0025_up_sql, PackageResources.migration_0025_down_sql),
        Step(26, PackageResources.migration_0026_up_sql, PackageResources.migration_0026_down_sql),
        Step(27, PackageResources.migration_0027_up_sql, PackageResources.migration_0027_down_sql),
        Step(28, PackageResources.migration_0028_up_sql, PackageResources.migration_0028_down_sql),
        Step(29, PackageResources.migration_0029_up_sql, PackageResources.migration_0029_down_sql),
        Step(30, PackageResources.migration_0030_up_sql, PackageResources.migration_0030_down_sql),
        Step(32, PackageResources.migration_0032_up_sql, PackageResources.migration_0032_down_sql),
        Step(33, PackageResources.migration_0033_up_sql, PackageResources.migration_0033_down_sql),
        Step(34, PackageResources.migration_0034_up_sql, PackageResources.migration_0034_down_sql),
        Step(37, PackageResources.migration_0037_up_sql, PackageResources.migration_0037_down_sql),
        Step(38, PackageResources.migration_0038_up_sql, PackageResources.migration_0038_down_sql),
        Step(39, PackageResources.migration_0039_up_sql, PackageResources.migration_0039_down_sql),
        Step(40, PackageResources.migration_0040_up_sql, PackageResources.migration_0040_down_sql),
        Step(41, PackageResources.migration_0041_up_sql, PackageResources.migration_0041_down_sql),
        Step(42, PackageResources.migration_0042_up_sql, PackageResources.migration_0042_down_sql),
        Step(43, PackageResources.migration_0043_up_sql, PackageResources.migration_0043_down_sql),
        Step(44, PackageResources.migration_0044_up_sql, PackageResources.migration_0044_down_sql),
        Step(45, PackageResources.migration_0045_up_sql, PackageResources.migration_0045_down_sql),
        Step(46, PackageResources.migration_0046_up_sql, PackageResources.migration_0046_down_sql),
        Step(47, PackageResources.migration_0047_up_sql, PackageResources.migration_0047_down_sql),
    ]

    /// Less than a statement may take.
    package static let lockSeconds: Double = 20

    /// All there are, in order. Numbers may be skipped, and stay so: a database runs the steps above its version.
    package static var versions: [Int] { steps.map(\.version) }

    /// The version that this binary works with.
    package static var currentVersion: Int { steps.last?.version ?? 0 }

    /// Brings the database to this binary's version and returns the version it was at.
    ///
    /// Safe to run from many processes at once: they wait for each other. A database that is newer
    /// than the binary is refused with `cluster.schemaNewer` and left as it is. With `role`, that role is granted
    /// what a coordinator needs. A database that is at its version is only read. For the lock of another migration
    /// it waits for `lockSeconds`.
    @discardableResult
    package static func migrate(
        _ pool: PostgresPool, grantingTo role: String? = nil,
        lockSeconds: Double = Migrations.lockSeconds
    ) async throws(Failure) -> Int {
        try await withVersion(pool, lockSeconds) { connection, schema, version in
            if version < currentVersion {
                try schema.requireOwner(version: version)
                for step in steps where step.version > version {
                    try await connection.simple(step.up)
                    _ = try await connection.query(
                        "INSERT INTO schema_migration (version) VALUES ($1)",
                        [.int(Int64(step.version))])
                }
                try await schema.pinFunctions(connection)
            }
            if let role { try await schema.grant(to: role, connection) }
        }
    }

    /// Takes the database back to `target`; what newer versions stored is lost.
    package static func revert(_ pool: PostgresPool, to target: Int) async throws(Failure) {
        _ = try await withVersion(pool, lockSeconds) { connection, _, version in
            for step in steps.reversed() where step.version > target && step.version <= version {
                try await connection.simple(step.down)
                _ = try await connection.query(
                    "DELETE FROM schema_migration WHERE version = $1",
                    [.int(Int64(step.version))])
            }
        }
    }

    /// Reads the version under the lock that serialises migrations, then runs `body`, all in one
    /// transaction.
    private static func withVersion(
        _ pool: PostgresPool, _ lockSeconds: Double,
        _ body: @escaping @Sendable (PostgresConnection, Schema, Int) async throws -> Void
    ) async throws(Failure) -> Int {
        do {
            return try await pool.withConnection { connection in
                try await connection.transaction { connection in
                    let schema = try await Schema.prepare(connection, lockSeconds: lockSeconds)
                    let rows = try await connection.query(
                        "SELECT coalesce(max(version), 0)::bigint AS version FROM schema_migration",
                        [])
                    let version = Int(try rows.firstRow?.int64("version") ?? 0)
                    guard version <= currentVersion else {
                        throw Failure(
                            "cluster.schemaNewer",
                            "The database has schema version \(version); this binary knows "
                                + "versions up to \(currentVersion).")
                    }
                    try await body(connection, schema, version)
                    return version
                }
            }
        } catch let failure as Failure {
            throw failure
        } catch let error as PostgresError {
            throw Failure(queue: error)
        } catch {
            throw Failure("worker.internal", "The migration was interrupted: \(error)")
        }
    }
}
