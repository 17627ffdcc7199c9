package import EventLoop
import JobQueue
package import Postgres
import Synchronization
package import TestSupport

/// A database of a queue with its open connections, which tests take one after the other.
///
/// Connections of a new database plan every statement again, which takes most of the time of most tests.
package struct FixtureDatabase: Sendable {
    package let url: String
    package let loop: EventLoop
    package let pool: PostgresPool
    private let template: DatabaseTemplate
    /// Tests that had it.
    private var tests = 1

    /// Those that no test has, by the names of their templates.
    private static let idle = Mutex<[String: [FixtureDatabase]]>([:])
    /// Deleted rows stay in its tables, and slow down later tests.
    private static let mostTests = 50

    private init(_ template: DatabaseTemplate) async throws {
        self.template = template
        loop = try EventLoop(name: "fixture")
        url = try await PostgresServer.shared().databaseURL("fixture", copying: template)
        pool = PostgresPool(
            PostgresConfiguration.queue(
                url: url, applicationName: "dray coordinator",
                sessionSettings: JobQueue.sessionSettings),
            maximumConnections: 8, on: loop)
    }

    /// Returns one in which nothing has happened. Its template has to `remember`.
    package static func take(_ template: DatabaseTemplate) async throws -> FixtureDatabase {
        guard var database = idle.withLock({ $0[template.name]?.popLast() }) else {
            return try await FixtureDatabase(template)
        }
        database.tests += 1
        return database
    }

    /// Empties it for the next test, or removes it if the test changed more than rows.
    package func giveBack() async {
        let isEmpty =
            tests < Self.mostTests
            ? try? await pool.query("SELECT fixture.reset()").firstRow?.bool(0) : false
        guard isEmpty == true else { return await remove() }
        Self.idle.withLock { $0[template.name, default: []].append(self) }
    }

    /// Ends its connections and removes it, as after a test that failed.
    package func remove() async {
        await pool.shutdown()
        loop.shutdown()
        try? await PostgresServer.shared().drop(databaseAt: url)
    }

    /// Lets a new database of a template know what it holds, to return to that.
    package static func remember(_ pool: PostgresPool) async throws {
        try await pool.withConnection { _ = try await $0.simple(Self.script) }
    }

    private static let script = """
        CREATE SCHEMA fixture;
        CREATE TABLE fixture.schema_change (tag text);
        CREATE FUNCTION fixture.note_change() RETURNS event_trigger LANGUAGE plpgsql
        SECURITY DEFINER AS $$
        BEGIN
            -- Temporary tables are those of a connection, and are used again.
            IF tg_event = 'sql_drop' THEN
                INSERT INTO fixture.schema_change
                SELECT tg_tag FROM pg_event_trigger_dropped_objects() WHERE NOT is_temporary LIMIT 1;
            ELSE
                INSERT INTO fixture.schema_change
                SELECT tg_tag FROM pg_event_trigger_ddl_commands()
                WHERE schema_name IS DISTINCT FROM 'pg_temp' LIMIT 1;
            END IF;
        END $$;
        DO $$
        DECLARE
            name text;
            has_rows bool;
        BEGIN
            FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'dray' LOOP
                EXECUTE format('SELECT EXISTS (SELECT FROM dray.%I)', name) INTO has_rows;
                IF has_rows THEN
                    EXECUTE format('CREATE TABLE fixture.%1$I AS TABLE dray.%1$I', name);
                END IF;
            END LOOP;
        END $$;
        CREATE TABLE fixture.sequence_start AS
            SELECT format('%I.%I', schemaname, sequencename) AS name,
                   coalesce(last_value, start_value) AS value, last_value IS NOT NULL AS is_used
            FROM pg_sequences WHERE schemaname = 'dray';
        -- Statistics change plans.
        CREATE TABLE fixture.relation AS
            SELECT oid, reltuples FROM pg_class
            WHERE relnamespace = 'dray'::regnamespace AND relkind = 'r';
        CREATE FUNCTION fixture.reset() RETURNS bool LANGUAGE plpgsql AS $$
        DECLARE
            name text;
            names text;
            deleted bigint;
            total bigint := 0;
        BEGIN
            IF EXISTS (SELECT FROM fixture.schema_change)
                OR EXISTS (
                    SELECT FROM pg_class c JOIN fixture.relation r USING (oid)
                    WHERE c.reltuples <> r.reltuples)
            THEN
                RETURN false;
            END IF;
            PERFORM set_config('lock_timeout', '2s', true);
            -- Without the triggers of foreign keys, the order of the tables does not matter.
            PERFORM set_config('session_replication_role', 'replica', true);
            FOR name IN
                SELECT relname FROM pg_class
                WHERE relnamespace = 'dray'::regnamespace AND relkind = 'r'
                  AND pg_relation_size(oid) > 0
            LOOP
                EXECUTE format('DELETE FROM dray.%I', name);
                GET DIAGNOSTICS deleted = ROW_COUNT;
                total := total + deleted;
                CONTINUE WHEN to_regclass(format('fixture.%I', name)) IS NULL;
                SELECT string_agg(quote_ident(attname), ', ') INTO names
                FROM pg_attribute
                WHERE attrelid = to_regclass(format('dray.%I', name)) AND attnum > 0
                  AND NOT attisdropped AND attgenerated = '';
                EXECUTE format(
                    'INSERT INTO dray.%1$I (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM fixture.%1$I',
                    name, names);
            END LOOP;
            PERFORM setval(s.name::regclass, s.value, s.is_used) FROM fixture.sequence_start s;
            UPDATE dray.cluster SET id = gen_random_uuid();
            RETURN total < 10000;
        END $$;
        CREATE EVENT TRIGGER note_change ON ddl_command_end EXECUTE FUNCTION fixture.note_change();
        CREATE EVENT TRIGGER note_drop ON sql_drop EXECUTE FUNCTION fixture.note_change();
        """
}
