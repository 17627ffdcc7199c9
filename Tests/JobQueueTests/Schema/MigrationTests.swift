import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// The schema's versions.
@Suite struct MigrationTests {
    typealias F = QueueFixture

    private static func code(_ pool: PostgresPool) async throws -> FailureCode? {
        let error = await #expect(throws: Failure.self) { try await Migrations.migrate(pool) }
        return error?.code
    }

    private static func schema(_ pool: PostgresPool) async throws -> String {
        try await pool.query("SELECT quote_ident(current_schema())").only().string(0)
    }

    @Test func migrationsRunOnceHoweverManyStartThem() async throws {
        try await F.with("migrate") { fixture in
            let pool = fixture.pool
            try await pool.query("DROP SCHEMA \(try await Self.schema(pool)) CASCADE")
            let found = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1...4 { group.addTask { try await Migrations.migrate(pool) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let current = Migrations.currentVersion
            #expect(found.sorted() == [0, current, current, current])
            #expect(try await fixture.count("schema_migration") == Int64(current))
            try await fixture.submit([F.file("a")])
            #expect(try await fixture.lease().jobs.map(\.kind) == [.fetch])
        }
    }

    @Test func aNewerSchemaIsRefused() async throws {
        try await F.with("newer") { fixture in
            try await fixture.pool.query(
                "INSERT INTO schema_migration (version, checksum) VALUES (9999, '')")
            #expect(try await Self.code(fixture.pool) == "cluster.schemaNewer")
        }
    }

    @Test func aVersionOfAnotherTextIsRefused() async throws {
        try await F.with("edited") { fixture in
            try await fixture.pool.query(
                "UPDATE schema_migration SET checksum = repeat('0', 64) WHERE version = 1")
            #expect(try await Self.code(fixture.pool) == "cluster.schemaEdited")
        }
    }

    @Test func aSchemaOfBeforeTheFirstReleaseIsRefusedAndKept() async throws {
        try await F.with("unreleased") { fixture in
            try await fixture.pool.query("ALTER TABLE schema_migration DROP COLUMN checksum")
            try await fixture.submit([F.file("a")])
            #expect(try await Self.code(fixture.pool) == "cluster.schemaUnreleased")
            #expect(try await fixture.count("asset") == 1)
        }
    }

    /// The frozen text lists what the tables of states and kinds list.
    @Test func constraintsListWhatTheModelHas() async throws {
        try await F.with("lists") { fixture in
            let rows = try await fixture.pool.query(
                """
                SELECT conname, array(SELECT m[1] FROM regexp_matches(
                    pg_get_constraintdef(oid), '''([^'']*)''::text', 'g') AS m) AS listed
                FROM pg_constraint WHERE connamespace = current_schema()::regnamespace AND contype = 'c'
                """
            ).rows
            var lists: [String: Set<String>] = [:]
            for row in rows {
                lists[try row.string(0)] = Set(try row.textArray(1).compactMap { $0 })
            }
            func expect<T: CaseIterable & RawRepresentable<String>>(_ name: String, _ type: T.Type)
            {
                #expect(lists[name] == Set(type.allCases.map(\.rawValue)), "\(name)")
            }
            expect("asset_state_check", AssetState.self)
            expect("asset_kind_check", AssetKind.self)
            expect("asset_refreshed_check", RefreshOutcome.self)
            expect("catalog_state_check", CatalogState.self)
            expect("segment_role_check", SegmentRole.self)
            expect("job_kind_check", JobKind.self)
            expect("job_loss_kind_check", JobKind.self)
            expect("load_test_state_check", LoadTestState.self)
            expect("load_shard_state_check", LoadShardState.self)
            expect("queue_state_check", QueueState.self)
            expect("origin_breaker_check", OriginBreaker.self)
            expect("site_evict_check", EvictionOrder.self)
            expect("source_result_check", SourceResult.self)
            expect("recording_end_reason_check", RecordingEnd.self)
            expect("cache_answer_state_check", CacheAnswer.State.self)
            expect("site_audit_state_check", SiteAuditState.self)
            expect("site_audit_finding_kind_check", AuditFindingKind.self)
            expect("site_audit_finding_repair_check", AuditRepair.self)
            expect("access_token_role_check", AccessRole.self)
            expect("webhook_delivery_state_check", WebhookDelivery.State.self)
        }
    }

    /// PostgreSQL writes every index of a table again when a column that one of them names, be it
    /// in its condition, has changed: a fetch would write a dozen of them with each state.
    @Test func indexesOfAssetsNameNothingThatAFetchChanges() async throws {
        try await F.with("hot") { fixture in
            let named = try await fixture.pool.query(
                """
                SELECT DISTINCT a.attname FROM pg_index i
                JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                    AND d.refobjid = i.indrelid
                JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = d.refobjsubid
                WHERE i.indrelid = 'asset'::regclass
                UNION
                SELECT a.attname FROM pg_index i
                JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
                WHERE i.indrelid = 'asset'::regclass
                """
            ).rows.map { try $0.string(0) }
            #expect(
                Set(named).isSuperset(of: ["catalog_id", "is_purging", "is_cleared", "kept_until"]))
            #expect(
                Set(named).isDisjoint(with: [
                    "state", "segments", "segments_done", "segments_failed", "verifies",
                    "verifies_done", "verifies_failed", "bytes", "adopted_bytes", "retries",
                    "failure_code", "failure_message", "changed_at", "resolved",
                ]), "\(named)")
        }
    }
}
