import Postgres

/// The clock of a fixture's database, which stands still until a test sets it.
///
/// The schema of the queue comes before `pg_catalog`: statements find its functions instead.
struct QueueClock {
    private let pool: PostgresPool

    /// Stops the clock at a time in seconds since 1970: before the test asks the database for anything else, as
    /// statements that a session has planned keep the clock that they have.
    init(_ fixture: QueueFixture, at seconds: Double) async throws {
        pool = fixture.pool
        try await pool.query("CREATE TABLE stopped_clock (at timestamptz NOT NULL)")
        try await pool.query(
            "INSERT INTO stopped_clock VALUES (to_timestamp($1))", [.double(seconds)])
        for name in ["now", "clock_timestamp"] {
            try await pool.query(
                """
                CREATE FUNCTION \(name)() RETURNS timestamptz LANGUAGE sql STABLE
                AS 'SELECT at FROM stopped_clock'
                """)
        }
        // Defaults of columns are bound to the functions that there were.
        try await pool.query(
            #"""
            DO $$
            DECLARE c record;
            BEGIN
                FOR c IN
                    SELECT d.adrelid::regclass AS relation, a.attname AS name
                    FROM pg_attrdef d
                    JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
                    JOIN pg_class t ON t.oid = d.adrelid
                    WHERE t.relnamespace = current_schema()::regnamespace
                      AND pg_get_expr(d.adbin, d.adrelid) ~ '(now|clock_timestamp)\(\)$'
                LOOP
                    EXECUTE format(
                        'ALTER TABLE %s ALTER COLUMN %I SET DEFAULT now()', c.relation, c.name);
                END LOOP;
            END $$
            """#)
    }

    /// Sets the clock, in seconds since 1970.
    func set(_ seconds: Double) async throws {
        try await pool.query("UPDATE stopped_clock SET at = to_timestamp($1)", [.double(seconds)])
    }
}
