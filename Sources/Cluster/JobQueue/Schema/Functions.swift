import Postgres
import QueueSQL

/// The schema's functions, the files of `SQL/functions`: statements with their own planner
/// settings.
///
/// A migration replaces them all if the database has an earlier revision, or another text of this
/// one. It keeps a later revision, so that an older coordinator that starts during an update does
/// not restore its functions. A new revision therefore keeps the names, parameters and columns of
/// the revision before; an incompatible function gets a new name, and the old one stays for one
/// release (`docs/decisions/0018-functions.md`).
struct Functions: Sendable {
    /// Counts the changes of their text, one for each release that changes it.
    let revision: Int
    let text: String

    static let current = Functions(
        revision: 1,
        files: [
            sql_functions_shared(), sql_functions_lanes(),
            sql_functions_claims(), sql_functions_leased_jobs(),
            sql_functions_reports(), sql_functions_quota_resources(),
            sql_functions_checksum_page(),
        ])

    init(revision: Int, text: String) {
        self.revision = revision
        self.text = text
    }

    /// The functions of these files, in the order of the files.
    private init(revision: Int, files: [EmbeddedFile]) {
        let texts = files.map { SQL.file($0) }.flatMap { file in
            file.names.compactMap { file.statements[$0]?.text }
        }
        self.init(revision: revision, text: texts.map { $0 + ";\n" }.joined())
    }

    /// Replaces the functions of a schema with this binary's tables, unless they are the same or of
    /// a later revision. Returns true if it replaced them.
    ///
    /// Throws `cluster.schemaOwner` if they must be replaced and another role owns the schema.
    func apply(to schema: Schema, _ connection: PostgresConnection) async throws -> Bool {
        let row = try await connection.query(SQL.Schema.functions, ["text": .text(text)]).only()
        let applied = Int(try row.int64("revision"))
        guard try applied < revision || (applied == revision && !row.bool("is_same")) else {
            return false
        }
        try schema.requireOwner(
            "has revision \(applied) of its functions; this binary needs revision \(revision)")
        try await connection.simple(text)
        _ = try await connection.query(
            SQL.Schema.recordFunctions,
            ["revision": .int(Int64(revision)), "text": .text(text)])
        // Replaced ones have lost it.
        try await schema.pinFunctions(connection)
        return true
    }
}
