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
        try await F.with { fixture in
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
        try await F.with { fixture in
            try await fixture.pool.query(
                "INSERT INTO schema_migration (version, checksum) VALUES (9999, '')")
            #expect(try await Self.code(fixture.pool) == "cluster.schemaNewer")
        }
    }

    @Test func aVersionOfAnotherTextIsRefused() async throws {
        try await F.with { fixture in
            try await fixture.pool.query(
                "UPDATE schema_migration SET checksum = repeat('0', 64) WHERE version = 1")
            #expect(try await Self.code(fixture.pool) == "cluster.schemaEdited")
        }
    }

    @Test func aSchemaOfBeforeTheFirstReleaseIsRefusedAndKept() async throws {
        try await F.with { fixture in
            try await fixture.pool.query("ALTER TABLE schema_migration DROP COLUMN checksum")
            try await fixture.submit([F.file("a")])
            #expect(try await Self.code(fixture.pool) == "cluster.schemaUnreleased")
            #expect(try await fixture.count("asset") == 1)
        }
    }

    /// The frozen text lists what the tables of states and kinds list, and nothing else is listed.
    @Test func constraintsListWhatTheModelHas() async throws {
        try await F.with { fixture in
            let rows = try await fixture.pool.query(
                """
                SELECT conrelid::regclass::text || ' ' || regexp_replace(
                           pg_get_constraintdef(oid), 'ARRAY\\[[^]]*\\]', '…', 'g'),
                       array(SELECT m[1] FROM regexp_matches((
                           SELECT string_agg(a[1], '') FROM regexp_matches(
                               pg_get_constraintdef(oid), 'ARRAY\\[([^]]*)\\]', 'g') AS a
                       ), '''([^'']*)''::text', 'g') AS m)
                FROM pg_constraint
                WHERE connamespace = current_schema()::regnamespace AND contype = 'c'
                    AND pg_get_constraintdef(oid) LIKE '%ARRAY[''%'
                """
            ).rows
            var lists: [String: [String]] = [:]
            for row in rows {
                let listed = try row.textArray(1).compactMap { $0 }
                #expect(lists.updateValue(listed.sorted(), forKey: try row.string(0)) == nil)
            }
            #expect(lists == Self.expectedLists)
        }
    }

    /// Lists by table and condition.
    private static let expectedLists: [String: [String]] = {
        var lists: [String: [String]] = [:]
        func names<T: RawRepresentable<String>>(_ values: [T]) -> [String] {
            values.map(\.rawValue).sorted()
        }
        func expect<T: CaseIterable & RawRepresentable<String>>(
            _ table: String, _ column: String, _ type: T.Type
        ) {
            lists["\(table) CHECK ((\(column) = ANY (…)))"] = names(Array(type.allCases))
        }
        expect("asset", "state", AssetState.self)
        expect("asset", "kind", AssetKind.self)
        expect("asset", "refreshed", RefreshOutcome.self)
        expect("catalog", "state", CatalogState.self)
        expect("segment", "role", SegmentRole.self)
        expect("job", "kind", JobKind.self)
        expect("job_loss", "kind", JobKind.self)
        expect("load_test", "state", LoadTestState.self)
        expect("load_test", "load_unit", LoadRange.Unit.self)
        expect("load_shard", "state", LoadShardState.self)
        expect("queue", "state", QueueState.self)
        expect("quota", "kind", QuotaResource.Kind.self)
        expect("origin", "breaker", OriginBreaker.self)
        expect("directory", "checksum_state", ChecksumFileState.self)
        expect("site", "evict", EvictionOrder.self)
        expect("source", "result", SourceResult.self)
        expect("recording", "end_reason", RecordingEnd.self)
        expect("cache_answer", "state", CacheAnswer.State.self)
        expect("site_audit", "state", SiteAuditState.self)
        expect("site_audit_finding", "kind", AuditFindingKind.self)
        expect("site_audit_finding", "repair", AuditRepair.self)
        expect("access_token", "role", AccessRole.self)
        expect("webhook_delivery", "state", WebhookDelivery.State.self)
        lists["asset CHECK ((is_purging = (state = ANY (…))))"] =
            names(AssetState.allCases.filter(\.isPurging))
        lists[
            "asset CHECK (((is_cleared = (state = ANY (…))) OR (is_cleared AND (state = 'failed'::text))))"
        ] = names(AssetState.allCases.filter(\.isCleared))
        lists["job CHECK (((segment_id IS NOT NULL) = (kind = ANY (…))))"] =
            names(JobKind.allCases.filter(\.isOfSegment))
        lists["site_audit CHECK (((ended_at IS NULL) = (state = ANY (…))))"] =
            names(SiteAuditState.allCases.filter { !$0.hasEnded })
        return lists
    }()

    /// PostgreSQL writes every index of a table again when a column that one of them names, be it
    /// in its condition, has changed: a fetch would write a dozen of them with each state.
    @Test func indexesOfAssetsNameNothingThatAFetchChanges() async throws {
        try await F.with { fixture in
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
