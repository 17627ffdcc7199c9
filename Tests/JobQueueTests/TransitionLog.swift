import Model
import Postgres

@testable import JobQueue

/// The states that rows of a schema have moved between, recorded by triggers: without a key, on which
/// transactions would wait for each other.
struct TransitionLog: Sendable {
    let pool: PostgresPool

    /// One edge of a table of states, or one that it lacks.
    struct Edge: Hashable, Comparable, CustomStringConvertible {
        /// The SQL table, such as `asset`.
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
    static let ofQueues = edges(QueueState.machine, "queue")
    static let ofBreakers = edges(OriginBreaker.machine, "origin")
    static let ofAudits = edges(SiteAuditState.machine, "site_audit")
    static let ofDeliveries = edges(WebhookDeliveryState.machine, "webhook_delivery")
    static let ofChecksumFiles = edges(ChecksumFileState.machine, "directory")
    /// Every edge that the tables of states have.
    static let allowed = events.values.reduce(into: Set()) { $0.formUnion($1) }

    /// The edges of each event, by the names that statements use: `asset.cancel`.
    static let events: [String: Set<Edge>] = [
        events(AssetState.machine, "asset"), events(CatalogState.machine, "catalog"),
        events(LoadTestState.machine, "load_test"), events(LoadShardState.machine, "load_shard"),
        events(QueueState.machine, "queue"), events(OriginBreaker.machine, "origin"),
        events(SiteAuditState.machine, "site_audit"),
        events(WebhookDeliveryState.machine, "webhook_delivery"),
        events(ChecksumFileState.machine, "directory"),
    ].reduce(into: [:]) { $0.merge($1) { first, _ in first } }

    /// SQL tables by the column that has the state of a row.
    private static let columns = [
        "state": [
            "asset", "catalog", "load_test", "load_shard", "queue", "site_audit",
            "webhook_delivery",
        ],
        "breaker": ["origin"],
        "checksum_state": ["directory"],
    ]

    /// Those that change the state: a row that keeps its state records nothing.
    static func edges<State, Event>(
        _ machine: StateMachine<State, Event>, _ table: String
    ) -> Set<Edge> {
        events(machine, table).values.reduce(into: Set()) { $0.formUnion($1) }
    }

    private static func events<State, Event>(
        _ machine: StateMachine<State, Event>, _ table: String
    ) -> [String: Set<Edge>] {
        var events: [String: Set<Edge>] = [:]
        for event in Event.allCases {
            let edges = machine.sources(of: event).compactMap { state -> Edge? in
                guard let next = machine.next(state, event), next != state else { return nil }
                return Edge(table: table, old: state.rawValue, new: next.rawValue)
            }
            events["\(table).\(event.rawValue)"] = Set(edges)
        }
        return events
    }

    /// Starts to record; the schema has its tables already.
    static func start(_ pool: PostgresPool) async throws {
        var script = """
            CREATE UNLOGGED TABLE transition (kind text, old text, new text, statement text);
            """
        for (column, tables) in columns {
            script += """
                CREATE FUNCTION note_\(column)() RETURNS trigger
                LANGUAGE plpgsql SECURITY DEFINER AS $$
                BEGIN
                    INSERT INTO transition
                    VALUES (TG_TABLE_NAME, old.\(column), new.\(column), md5(current_query()));
                    RETURN NULL;
                END $$;
                """
            for table in tables {
                script += """
                    CREATE TRIGGER note AFTER UPDATE ON \(table)
                        FOR EACH ROW WHEN (old.\(column) <> new.\(column))
                        EXECUTE FUNCTION note_\(column)();
                    """
            }
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

    /// The events that have changed states, and the changes that are none of the events that their
    /// statements name. Changes by a test's own statements are neither.
    func raised() async throws -> (events: Set<String>, unnamed: [String]) {
        guard try await isRecording() else { return ([], []) }
        let statements = SQLStatementTests.all.map(\.statement)
        let rows = try await pool.query(
            """
            SELECT DISTINCT t.kind, t.old, t.new, s.number
            FROM transition t
            JOIN unnest($1::text[]) WITH ORDINALITY AS s(text, number) ON md5(s.text) = t.statement
            """, [.textArray(statements.map(\.text))]
        ).rows
        var (seen, unnamed): (Set<String>, [String]) = ([], [])
        for row in rows {
            let edge = Edge(
                table: try row.string(0), old: try row.string(1), new: try row.string(2))
            let statement = statements[Int(try row.int64(3)) - 1]
            let events = statement.raises.filter { Self.events[$0]?.contains(edge) == true }
            seen.formUnion(events)
            if events.isEmpty {
                unnamed.append("\(edge) by \(statement.name), which names no such event")
            }
        }
        return (seen, unnamed)
    }

    /// False in a schema that a test has replaced meanwhile.
    private func isRecording() async throws -> Bool {
        try await pool.query(
            """
            SELECT FROM pg_tables
            WHERE tablename = 'transition' AND schemaname = current_schema()
            """
        ).rowCount == 1
    }

    /// What was recorded; nothing for a schema that a test has replaced meanwhile.
    func seen() async throws -> Set<Edge> {
        guard try await isRecording() else { return [] }
        return Set(
            try await pool.query("SELECT DISTINCT kind, old, new FROM transition").rows.map {
                Edge(table: try $0.string(0), old: try $0.string(1), new: try $0.string(2))
            })
    }
}
