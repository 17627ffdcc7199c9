import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Catalogs whose records are deleted.
@Suite struct ForgetTests: SelectionSuite {
    @Test func aForgottenCatalogLeavesNoRecords() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            let forget = SelectionAction(.forget, catalog: CatalogReference(catalog))
            let failure = await #expect(throws: Failure.self) {
                try await fixture.queue.catalogs.selections.apply(forget)
            }
            #expect(failure?.code == .inputField)
            try await fixture.drain()
            #expect(try await fixture.queue.sites.list().sites.map(\.catalogs) == [1])
            #expect(try await fixture.queue.catalogs.selections.apply(forget).assets == 3)
            // Its site keeps its settings and audits.
            #expect(try await fixture.queue.sites.list().sites.map(\.catalogs) == [0])
            for table in ["catalog", "asset", "segment", "result", "directory", "unneeded_file"] {
                #expect(try await fixture.count(table) == 0)
            }
            let gone = await #expect(throws: Failure.self) {
                try await fixture.queue.catalogs.selections.apply(forget)
            }
            #expect(gone?.code == .inputNotFound)
        }
    }

    @Test func whatIsSubmittedAgainIsNotForgotten() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            let submissions = fixture.queue.catalogs.submissions
            let handle = try await submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await submissions.add(files(1...3), to: handle.id, generation: handle.generation)
            let failure = await #expect(throws: Failure.self) {
                try await apply(fixture, .forget, catalog)
            }
            #expect(failure?.code == .inputField)
            // It was opened after the first look.
            let retention = CatalogRetention(database: fixture.queue.files.purges.database)
            #expect(try await retention.forget(catalog.rawValue, generation: 1) == false)
            #expect(try await fixture.count("asset") == 3)
            try await submissions.start(handle.id, generation: handle.generation)
            #expect(try await retention.forget(catalog.rawValue, generation: 1) == false)
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.completed == 3)
            #expect(try await retention.forget(catalog.rawValue, generation: 1) == false)
            #expect(try await apply(fixture, .forget, catalog).assets == 3)
        }
    }

    @Test func whatIsToExpireIsNotForgotten() async throws {
        try await F.with { fixture in
            let now = try #require(
                try await fixture.pool.query("SELECT extract(epoch FROM now())::float8").firstRow
            ).double(0)
            var assets = files(1...2)
            assets[0].expiresAt = now + 5_000_000
            let catalog = try await fixture.submit(assets)
            try await fixture.drain()
            let age = """
                UPDATE catalog SET ended_at = now() - interval '40 days',
                    opened_at = now() - interval '40 days'
                """
            try await fixture.pool.query(age)
            let retention = fixture.queue.housekeeping.retention
            #expect(try await retention.delete(olderThanDays: 30) == 0)
            let failure = await #expect(throws: Failure.self) {
                try await apply(fixture, .forget, catalog)
            }
            #expect(failure?.code == .inputField)
            #expect(try await fixture.count("asset") == 2)
            try await fixture.pool.query("UPDATE asset SET expires_at = now() - interval '1 day'")
            try await fixture.queue.files.purges.applyRights()
            #expect(try await RemovalTests.purge(fixture).count == 2)
            try await fixture.pool.query(age)
            #expect(try await retention.delete(olderThanDays: 30) == 1)
        }
    }
}
