import Model
package import Postgres

extension PostgresConfiguration {
    /// Returns the configuration of the queue's connections. Names are looked up in pg_catalog and
    /// one schema only: `dray`, or the first that `url` names by `options=-c search_path=…`.
    package static func queue(
        url: String, applicationName: String = "dray", statementTimeoutSeconds: Double? = 30,
        sessionSettings: [String: String] = [:]
    ) -> PostgresConfiguration {
        PostgresConfiguration(
            url: url, applicationName: applicationName,
            statementTimeoutSeconds: statementTimeoutSeconds, sessionSettings: sessionSettings,
            searchPath: .pinned(schema: "dray"))
    }
}

/// The schema to which a session's search path is pinned, and its owner.
struct Schema: Sendable {
    /// The name as an identifier, quoted if necessary.
    let name: String
    let owner: String
    /// True if this session's role owns it, or is a member of the role that does.
    let isOwn: Bool

    /// True if this session's role owns it, or a role that could control this session in any case.
    let isTrusted: Bool

    /// Creates the schema if there is none, and prevents others from doing the same until the
    /// transaction ends. Changes nothing of a schema that has a version.
    ///
    /// Throws `cluster.busy` if another session holds that lock for too long, `cluster.schemaOwner`
    /// for the schema of an untrusted role, and `cluster.schemaUnreleased` for one from before the
    /// first release.
    static func prepare(
        _ connection: PostgresConnection, lockSeconds: Double
    ) async throws -> Schema {
        let path = try await distrust(connection)
        try await takeLock(connection, seconds: lockSeconds)
        let (schema, hasVersion) = try await read(connection, path: path)
        guard !hasVersion else { return schema }
        try schema.requireOwner(
            "has version 0; this binary needs version \(Migrations.currentVersion)")
        try await connection.simple(SQL.Schema.create.text)
        return schema
    }

    /// Returns true if the schema has a version. Changes nothing; call it in a transaction.
    ///
    /// Throws `cluster.schemaOwner` and `cluster.schemaUnreleased`, as `prepare` does.
    static func hasVersion(_ connection: PostgresConnection) async throws -> Bool {
        try await read(connection, path: try await distrust(connection)).hasVersion
    }

    /// Looks names up in pg_catalog alone, and returns the path that the session had: until its
    /// owner is known, no function of the schema may be called, whose names come first.
    private static func distrust(_ connection: PostgresConnection) async throws -> String {
        let path = try await connection.query("SHOW search_path").only().string("search_path")
        let name = path.prefix { $0 != "," }
        try await connection.simple("SET LOCAL search_path TO pg_catalog, pg_temp")
        _ = try await connection.query(
            "SELECT set_config('dray.schema', $1, true)", [.text(String(name))])
        return path
    }

    /// Reads whose schema it is; looks names up by `path` again if that role is trusted.
    private static func read(
        _ connection: PostgresConnection, path: String
    ) async throws -> (schema: Schema, hasVersion: Bool) {
        guard let row = try await connection.query(SQL.Schema.state).firstRow else {
            throw Failure(.workerInternal, "PostgreSQL does not report which schema this is.")
        }
        let schema = Schema(
            name: try row.string("name"), owner: try row.string("owner"),
            isOwn: try row.bool("is_own"), isTrusted: try row.bool("is_trusted"))
        try schema.requireTrust()
        try await connection.simple("SET LOCAL search_path TO \(path)")
        guard !(try row.bool("is_unreleased")) else {
            throw Failure(
                .clusterSchemaUnreleased,
                "A pre-release version of Dray created the schema \(schema.name); this version cannot read it."
            )
        }
        return (schema, try row.bool("has_version"))
    }

    private static func takeLock(
        _ connection: PostgresConnection, seconds: Double
    ) async throws {
        let milliseconds = "\(max(1, Int64(seconds * 1_000)))ms"
        let before = try await connection.query(
            "SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $1, true)",
            [.text(milliseconds)]
        ).only().string("before")
        do {
            try await connection.simple(SQL.Schema.lock.text)
        } catch {
            guard error.isLockTimeout else { throw error }
            throw Failure(
                .clusterBusy,
                "\(error.message), and was for \(milliseconds). Wait for that migration, or end the session: "
                    + "SELECT pg_terminate_backend(PID).")
        }
        _ = try await connection.query(
            "SELECT set_config('lock_timeout', $1, true)", [.text(before)])
    }

    /// Rejects a schema of an untrusted role, whose functions this session would call.
    private func requireTrust() throws(Failure) {
        guard isTrusted else {
            throw Failure(
                .clusterSchemaOwner,
                "The schema \(name) belongs to the role \(owner), which is neither this role, one that it is a member "
                    + "of, the database's owner nor a superuser. If it is meant to be, as this role: ALTER ROLE CURRENT_USER "
                    + "SET dray.owner = '\(owner)'. If not, look at what made it, and remove it or name another "
                    + "schema by options=-c search_path=… in the URL.")
        }
    }

    /// Refuses to create tables in a schema of another role, which could add functions to it.
    ///
    /// - Parameter lacks: the schema's version and the required one, for the message.
    func requireOwner(_ lacks: String) throws(Failure) {
        guard isOwn else {
            throw Failure(
                .clusterSchemaOwner,
                "The schema \(name) belongs to the role \(owner), and \(lacks).")
        }
    }

    func pinFunctions(_ connection: PostgresConnection) async throws {
        try await connection.simple(SQL.Schema.pin.text)
    }

    /// Grants `role` a coordinator's privileges on this schema, for present tables and those that
    /// its owner creates later.
    func grant(to role: String, _ connection: PostgresConnection) async throws {
        guard isOwn else {
            throw Failure(
                .clusterSchemaOwner,
                "The schema \(name) belongs to the role \(owner); only that role can grant it.")
        }
        do {
            try await connection.simple(
                SQL.Schema.grant(
                    schema: name, role: try PostgresEscaping.identifier(role)
                ).text)
        } catch {
            guard error.isUndefinedObject else { throw error }
            throw Failure(
                .inputRole, "There is no role \(role.prefix(100)) to grant the schema to.")
        }
    }
}
