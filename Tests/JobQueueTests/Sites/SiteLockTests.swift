import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// The order in which settings of sites take locks.
@Suite struct SiteLockTests {
    typealias F = QueueFixture

    /// Statements that lock jobs lock the site's row after them.
    @Test func addingASiteThatExistsLocksItLast() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let grant = try await fixture.lease()
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "storage.noRoom")])
            var settings = SiteSettings(site: F.site)
            settings.adds = true
            settings.quotaBytes = 1_000
            let added = settings
            try await fixture.pool.withConnection { connection in
                try await connection.transaction { connection in
                    _ = try await connection.query("SELECT FROM delayed_job FOR UPDATE")
                    let configured = Task { try await fixture.queue.sites.configure(added) }
                    try await waitUntil(deadlineSeconds: 30, "the settings to wait for the job") {
                        try await fixture.count("pg_locks WHERE NOT granted") > 0
                    }
                    _ = try await connection.query("SELECT FROM site FOR UPDATE NOWAIT")
                    _ = configured
                }
            }
            try await waitUntil(deadlineSeconds: 30, "the quota") {
                try await fixture.count("site WHERE quota_bytes = 1000") == 1
            }
        }
    }
}
