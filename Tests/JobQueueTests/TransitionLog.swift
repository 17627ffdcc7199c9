import Model
import Postgres

/// The states that rows of a schema have moved between, recorded by triggers: without a key, on which
/// transactions would wait for each other.
struct TransitionLog: Sendable {
    let pool: PostgresPool

    /// One edge of a table of states, or one that it lacks.
    struct Edge: Hashable, Comparable, CustomStringConvertible {
        /// The SQL table: `asset`, `catalog`, `load_test` or `load_shard`.
        var table: String
        var old: String
        var new: String

        var description: String { "\(table): \(old) → \(new)" }

        static func < (a: Edge, b: Edge) -> Bool { a.description < b.description }
    }

    static let ofCatalogs =
        edges(AssetState.machine, "asset").union(edges(CatalogState.machine, "catalog"))
    static let ofLoadTests =
        edges(LoadTestState.machine, "load_test").union(edges(LoadShardState.machine, "load_shard"))
    /// Every edge that the tables of states have.
    static let allowed = ofCatalogs.union(ofLoadTests)

    /// Those that change the state: a row that keeps its state records nothing.
    static func edges<State, Event>(
        _ machine: StateMachine<State, Event>, _ table: String
    ) -> Set<Edge> {
        var edges: Set<Edge> = []
        for (state, events) in machine.table {
            for next in events.values where next != state {
                edges.insert(Edge(table: table, old: state.rawValue, new: next.rawValue))
            }
        }
        return edges
    }

    /// Starts to record; the schema has its tables already.
    static func start(_ pool: PostgresPool) async throws {
        var script = """
            CREATE UNLOGGED TABLE transition (kind text, old text, new text);
            CREATE FUNCTION note_transition() RETURNS trigger
            LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN
                INSERT INTO transition VALUES (TG_TABLE_NAME, old.state, new.state);
                RETURN NULL;
            END $$;
            """
        for table in ["asset", "catalog", "load_test", "load_shard"] {
            script += """
                CREATE TRIGGER note AFTER UPDATE ON \(table)
                    FOR EACH ROW WHEN (old.state <> new.state) EXECUTE FUNCTION note_transition();
                """
        }
        try await pool.withConnection { [script] in _ = try await $0.simple(script) }
    }

    /// States that more assets entered than events report.
    func withoutEvents() async throws -> [String] {
        let tables = try await pool.query(
            """
            SELECT FROM pg_tables
            WHERE tablename IN ('transition', 'event') AND schemaname = current_schema()
            """)
        guard tables.rowCount == 2 else { return [] }
        return try await pool.query(
            """
            SELECT format('%s assets entered %s, events report %s', t.n, t.new, coalesce(e.n, 0))
                AS missing
            FROM (SELECT new, count(*) AS n FROM transition WHERE kind = 'asset' GROUP BY new) AS t
            LEFT JOIN (SELECT substr(kind, 7) AS new,
                              sum(coalesce(assets, cardinality(asset_ids), 1)) AS n
                       FROM event WHERE kind LIKE 'asset.%' GROUP BY 1) AS e USING (new)
            WHERE coalesce(e.n, 0) < t.n
            """
        ).rows.map { try $0.string("missing") }
    }

    /// What was recorded; nothing for a schema that a test has replaced meanwhile.
    func seen() async throws -> Set<Edge> {
        let tables = try await pool.query(
            """
            SELECT FROM pg_tables
            WHERE tablename = 'transition' AND schemaname = current_schema()
            """)
        guard tables.rowCount == 1 else { return [] }
        return Set(
            try await pool.query("SELECT DISTINCT kind, old, new FROM transition").rows.map {
                Edge(table: try $0.string(0), old: try $0.string(1), new: try $0.string(2))
            })
    }
}
