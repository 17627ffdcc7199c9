import API
import EventLoop
import Foundation
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// A database of its own: whose names are found in it, and by which roles.
@Suite("The schema and its roles")
struct SchemaTests {
    let server: PostgresServer
    let loop: EventLoop
    let url: String
    let database: String

    init() async throws {
        server = try await PostgresServer.shared()
        loop = try EventLoop(name: "schema-tests")
        url = try await server.databaseURL("schema")
        let path = url.prefix { $0 != "?" }
        let slash = try #require(path.lastIndex(of: "/"))
        database = String(path[path.index(after: slash)...])
    }

    @discardableResult
    private func with<T>(
        _ url: String, _ body: (PostgresPool) async throws -> T
    ) async throws -> T {
        let pool = PostgresPool(
            PostgresConfiguration.queue(url: url, sessionSettings: JobQueue.sessionSettings),
            maximumConnections: 4, on: loop)
        do {
            let value = try await body(pool)
            await pool.shutdown()
            return value
        } catch {
            await pool.shutdown()
            throw error
        }
    }

    private func login(_ role: String) -> String {
        url.replacingOccurrences(of: "user=postgres", with: "user=\(role)")
    }

    /// One value, by psql.
    private func value(_ sql: String) async throws -> String {
        try await server.execute(sql, database: database)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Names of roles are the whole server's.
    private func role(_ name: String) -> String { "\(database)_\(name)" }

    /// A catalog of two files, from its submission to its end.
    private func work(_ pool: PostgresPool) async throws {
        let queue = JobQueue(pool: pool)
        let handle = try await queue.catalogs.submissions.open(
            CatalogSubmission(
                name: "movies", storageURL: QueueFixture.site, priority: 5, notBefore: nil,
                deadline: nil))
        try await queue.catalogs.submissions.add(
            ["a", "b"].map { QueueFixture.file($0) }, to: handle.id, generation: handle.generation)
        try await queue.catalogs.submissions.start(handle.id, generation: handle.generation)
        let worker: WorkerID = .random()
        while true {
            let grant = try await queue.jobs.claims.lease(
                LeaseRequest(worker: worker, queues: [], maxJobs: 10, waitMilliseconds: 0),
                as: .random())
            guard grant.lease != nil else { break }
            let done = grant.jobs.map { QueueFixture.done($0, grant) }
            _ = try await queue.jobs.reports.record(ReportRequest(worker: worker, results: done))
            while try await queue.housekeeping.tallies.fold() { await Task.yield() }
        }
        try await queue.jobs.leases.sweep()
        #expect(try await completed(pool) == 2)
    }

    private func completed(_ pool: PostgresPool) async throws -> Int64? {
        try await pool.query("SELECT count(*)::bigint FROM asset WHERE state = 'completed'")
            .firstRow?.int64(0)
    }

    @Test("functions, operators and tables of others in public are not found")
    func shadows() async throws {
        // What anybody who may create in public can make: a better match for a call of Dray's, a table before it
        // has one, an operator.
        try await server.execute(
            """
            CREATE SCHEMA IF NOT EXISTS public; GRANT ALL ON SCHEMA public TO PUBLIC;
            CREATE TABLE public.ran (what text); GRANT ALL ON public.ran TO PUBLIC;
            CREATE FUNCTION public.hashtextextended(text, int) RETURNS bigint LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO public.ran VALUES ('function'); RETURN 1; END $$;
            CREATE FUNCTION public.matches(int, bigint) RETURNS bool LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO public.ran VALUES ('operator'); RETURN true; END $$;
            CREATE OPERATOR public.= (LEFTARG = int, RIGHTARG = bigint, FUNCTION = public.matches);
            """, database: database)
        try await server.execute("CREATE TABLE public.job (id int)", database: database)
        try await with(url) { pool in
            try await Migrations.migrate(pool)
            try await work(pool)
        }
        #expect(
            try await server.execute("SELECT DISTINCT what FROM public.ran", database: database)
                .isEmpty)
        // The same from a session of another role: functions keep their search path.
        let unpinned = try await server.execute(
            """
            SELECT p.proname FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
            WHERE p.pronamespace = 'dray'::regnamespace AND l.lanname = 'plpgsql'
                AND NOT EXISTS (SELECT FROM unnest(p.proconfig) c
                    WHERE c = 'search_path=dray, pg_catalog, pg_temp')
            """, database: database)
        #expect(unpinned.isEmpty)
        loop.shutdown()
    }

    @Test("a coordinator's role works, and neither makes nor changes what is not its own")
    func roles() async throws {
        let (owner, coordinator) = (role("owner"), role("coordinator"))
        try await server.execute(
            """
            CREATE ROLE \(owner) LOGIN; CREATE ROLE \(coordinator) LOGIN;
            ALTER DATABASE \(database) OWNER TO \(owner)
            """)
        // Before there is anything, it cannot make it.
        await #expect {
            try await with(login(coordinator)) { try await Migrations.migrate($0) }
        } throws: { ($0 as? Failure)?.code == "cluster.databasePrivilege" }
        await #expect {
            try await with(login(owner)) {
                try await Migrations.migrate($0, grantingTo: "nosuchrole")
            }
        } throws: {
            let failure = $0 as? Failure
            return failure?.code == "input.role" && failure?.message.contains("nosuchrole") == true
        }
        try await with(login(owner)) { pool in
            try await Migrations.migrate(pool, grantingTo: coordinator)
        }
        try await with(login(coordinator)) { pool in
            #expect(try await Migrations.migrate(pool) == Migrations.currentVersion)
            try await work(pool)
            for statement in [
                "CREATE TABLE dray.other (id int)", "DROP TABLE dray.job",
                "ALTER TABLE dray.job ADD COLUMN x int", "TRUNCATE dray.job",
                "CREATE OR REPLACE FUNCTION dray.promote_jobs(of_queue bigint) RETURNS void "
                    + "LANGUAGE sql AS 'SELECT'",
                "CREATE SCHEMA other",
            ] {
                await #expect(throws: PostgresError.self, "\(statement)") {
                    try await pool.query(statement)
                }
            }
        }
        // A version that it would have to make is rejected with what to do.
        try await server.execute(
            "DELETE FROM dray.schema_migration WHERE version = \(Migrations.currentVersion)",
            database: database)
        await #expect {
            try await with(login(coordinator)) { try await Migrations.migrate($0) }
        } throws: { ($0 as? Failure)?.code == "cluster.schemaOwner" }
        loop.shutdown()
    }

    @Test("a schema dray that another role made is rejected")
    func foreignSchema() async throws {
        let (stranger, owner) = (role("stranger"), role("owner"))
        try await server.execute("CREATE ROLE \(stranger); CREATE ROLE \(owner) LOGIN")
        try await server.execute(
            "CREATE SCHEMA dray AUTHORIZATION \(stranger); GRANT ALL ON SCHEMA dray TO PUBLIC",
            database: database)
        await #expect {
            try await with(login(owner)) { try await Migrations.migrate($0) }
        } throws: { ($0 as? Failure)?.code == "cluster.schemaOwner" }
        loop.shutdown()
    }

    @Test(
        "a schema dray with a version that a third role made is rejected before any of it is called"
    )
    func foreignVersion() async throws {
        let (stranger, owner) = (role("stranger"), role("owner"))
        let step = try #require(Migrations.steps.last)
        try await server.execute("CREATE ROLE \(stranger); CREATE ROLE \(owner) LOGIN")
        try await server.execute(
            """
            CREATE SCHEMA dray AUTHORIZATION \(stranger);
            SET ROLE \(stranger);
            CREATE TABLE dray.schema_migration (version int PRIMARY KEY, checksum text);
            INSERT INTO dray.schema_migration VALUES (
                \(step.version),
                encode(sha256(convert_to($migration$\(step.text)$migration$, 'UTF8')), 'hex'));
            CREATE TABLE dray.schema_functions (revision int PRIMARY KEY, checksum text);
            INSERT INTO dray.schema_functions VALUES (\(Functions.current.revision + 1), '');
            CREATE FUNCTION dray.hashtextextended(text, int) RETURNS bigint LANGUAGE plpgsql AS
                $$ BEGIN RAISE 'called'; END $$;
            CREATE FUNCTION dray.current_setting(text) RETURNS text LANGUAGE plpgsql AS
                $$ BEGIN RAISE 'called'; END $$;
            GRANT ALL ON SCHEMA dray TO PUBLIC; GRANT ALL ON ALL TABLES IN SCHEMA dray TO PUBLIC;
            """, database: database)
        await #expect {
            try await with(login(owner)) { try await Migrations.migrate($0) }
        } throws: {
            let failure = $0 as? Failure
            return failure?.code == "cluster.schemaOwner"
                && failure?.message.contains("SET dray.owner = '\(stranger)'") == true
        }
        // The role may trust the owner, and so may the owner of the database.
        try await server.execute(
            """
            DROP FUNCTION dray.hashtextextended; DROP FUNCTION dray.current_setting;
            """, database: database)
        let isMeant = [
            (
                "ALTER ROLE \(owner) SET dray.owner = '\(stranger)'",
                "ALTER ROLE \(owner) RESET dray.owner"
            ),
            ("ALTER DATABASE \(database) OWNER TO \(stranger)", "SELECT 1"),
        ]
        for (begin, end) in isMeant {
            try await server.execute(begin, database: database)
            let version = try await with(login(owner)) { try await Migrations.migrate($0) }
            #expect(version == Migrations.currentVersion)
            try await server.execute(end, database: database)
        }
        loop.shutdown()
    }

    @Test("a lock that another session never releases times out")
    func heldLock() async throws {
        let holder = role("holder")
        try await server.execute("CREATE ROLE \(holder) LOGIN")
        try await with(url) { try await Migrations.migrate($0) }
        let pool = PostgresPool(
            PostgresConfiguration(url: login(holder)), maximumConnections: 1, on: loop)
        try await pool.withConnection { connection in
            _ = try await connection.query(
                "SELECT pg_advisory_lock(hashtextextended('dray.schema.dray', 0))")
            await #expect {
                try await self.with(self.url) {
                    try await Migrations.migrate($0, lockSeconds: 0.2)
                }
            } throws: {
                let failure = $0 as? Failure
                return failure?.code == "cluster.busy"
                    && failure?.message.contains("of the role \(holder), and was for 200ms") == true
            }
        }
        await pool.shutdown()
        // Nothing of the bound is left with the connection.
        let left = try await with(url) { pool in
            _ = try await Migrations.migrate(pool)
            return [
                try await pool.query("SHOW lock_timeout").firstRow?.string(0),
                try await pool.query("SHOW search_path").firstRow?.string(0),
            ]
        }
        #expect(left == ["0", "dray, pg_catalog, pg_temp"])
        loop.shutdown()
    }
}
