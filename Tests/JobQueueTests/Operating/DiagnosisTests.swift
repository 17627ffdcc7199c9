import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// What `dray doctor` reads of a database.
@Suite struct DiagnosisTests {
    typealias F = QueueFixture

    @Test func aDatabaseIsDescribed() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let found = try await Diagnoses(pool: fixture.pool).read()
            #expect(found.versionNumber >= 140_000 && !found.version.isEmpty)
            #expect(found.schemaVersion == Migrations.currentVersion)
            #expect(found.neededSchemaVersion == Migrations.currentVersion)
            #expect(found.schemaFailure == nil && !found.isInRecovery)
            #expect(found.settings["fsync"] == "off" && found.settings["autovacuum"] != nil)
            #expect(found.maxConnections > 100 && found.usedConnections > 0 && found.bytes > 0)
            #expect(!found.tables.isEmpty && found.tables.allSatisfy { $0.deadRows >= 0 })
        }
    }

    @Test func aSchemaThatCannotBeUsedIsInTheDiagnosisAndStays() async throws {
        try await F.with { fixture in
            try await fixture.pool.query(
                "INSERT INTO schema_migration (version, checksum) VALUES (9999, '')")
            let newer = try await Diagnoses(pool: fixture.pool).read()
            #expect(newer.schemaFailure?.code == "cluster.schemaNewer")
            try await fixture.pool.query("DELETE FROM schema_migration WHERE version = 9999")
            try await fixture.pool.query("UPDATE schema_migration SET checksum = repeat('0', 64)")
            let edited = try await Diagnoses(pool: fixture.pool).read()
            #expect(edited.schemaFailure?.code == "cluster.schemaEdited")
        }
    }

    @Test func aDatabaseWithoutASchemaGetsNone() async throws {
        try await F.with { fixture in
            let schema = try await fixture.pool.query("SELECT quote_ident(current_schema())")
                .only().string(0)
            try await fixture.pool.query("DROP SCHEMA \(schema) CASCADE")
            let found = try await Diagnoses(pool: fixture.pool).read()
            #expect(found.schemaVersion == 0 && found.schemaFailure == nil)
            #expect(found.tables.isEmpty)
            let count = try await fixture.pool.query(
                "SELECT count(*) FROM pg_namespace WHERE nspname = $1", [.text(schema)]
            ).only().int64(0)
            #expect(count == 0)
        }
    }

    /// A worker's version is that of its last heartbeat.
    @Test func workersReportTheirVersion() async throws {
        try await F.with { fixture in
            for version in [nil, "9.8.7"] as [String?] {
                var heartbeat = Heartbeat(
                    worker: "6f1f2a9e-6d9c-4c44-9c07-3f7f9f0b8f11",
                    leases: [], progress: [:], name: "w", activeTransfers: 0)
                heartbeat.version = version
                _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
                let status = try await fixture.queue.workers.clusterStatus()
                #expect(status.workers.map(\.version) == [version])
            }
        }
    }
}
