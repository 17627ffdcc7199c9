import Model
package import Postgres

extension PostgresConfiguration {
    /// How the queue's database is connected to: names are looked up in the schema `dray`, or in the first that
    /// `url` names by `options=-c search_path=…`, and nowhere else but in pg_catalog.
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

/// The schema that a session's search path is pinned to, and who owns it.
struct Schema: Sendable {
    /// As an identifier, in quotes where it needs them.
    let name: String
    let owner: String
    /// This session's role owns it, or is a member of the role that does.
    let isOwn: Bool

    private static let state = SQL.text(PackageResources.schema_state_sql)
    private static let create = SQL.text(PackageResources.schema_create_sql)
    private static let move = SQL.text(PackageResources.schema_move_sql)
    private static let pin = SQL.text(PackageResources.schema_pin_sql)

    /// Makes the schema where there is none, moves what former versions left in public into it, and keeps others from
    /// doing the same until the transaction ends. Changes nothing of a schema that has a version.
    static func prepare(_ connection: PostgresConnection) async throws -> Schema {
        // Of this schema alone, under a name that is nobody else's by accident.
        _ = try await connection.query(
            "SELECT pg_advisory_xact_lock(hashtextextended('dray.schema.' || "
                + "split_part(current_setting('search_path'), ',', 1), 0))", [])
        guard let row = try await connection.query(Self.state, []).firstRow else {
            throw Failure("worker.internal", "PostgreSQL does not say which schema this is.")
        }
        let schema = Schema(
            name: try row.string("name"), owner: try row.string("owner"),
            isOwn: try row.bool("is_own"))
        guard !(try row.bool("has_version")) else { return schema }
        try schema.requireOwner(version: 0)
        try await connection.simple(try row.bool("is_in_public") ? move : create)
        return schema
    }

    /// Refuses to make tables in a schema of another role, who could put functions beside them.
    func requireOwner(version: Int) throws(Failure) {
        guard isOwn else {
            throw Failure(
                "cluster.schemaOwner",
                "The schema \(name) belongs to the role \(owner), and has version \(version); this binary needs "
                    + "version \(Migrations.currentVersion).")
        }
    }

    func pinFunctions(_ connection: PostgresConnection) async throws {
        try await connection.simple(Self.pin)
    }

    /// Grants `role` what a coordinator needs of this schema, now and of what its owner makes later.
    func grant(to role: String, _ connection: PostgresConnection) async throws {
        guard isOwn else {
            throw Failure(
                "cluster.schemaOwner",
                "The schema \(name) belongs to the role \(owner); only that role can grant it.")
        }
        try await connection.simple(
            SQL.grant(schema: name, role: try PostgresEscaping.identifier(role)))
    }
}
