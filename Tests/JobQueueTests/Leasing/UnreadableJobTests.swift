import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Jobs whose rows cannot be read, because another version wrote them or somebody edited them.
@Suite struct UnreadableJobTests {
    typealias F = QueueFixture

    private static func breakFile(_ name: String, _ fixture: QueueFixture) async throws {
        // The length of a stored file without its digest.
        try await fixture.pool.query(
            "UPDATE segment SET known_bytes = 5 WHERE key = $1",
            [.text("origin.test/files/\(name)")])
    }

    @Test func itFailsAloneAndNamesItsField() async throws {
        try await F.with { fixture in
            let names = (0..<10).map { "\($0)" }
            let catalog = try await fixture.submit(
                [F.file("bad"), F.title("title")] + names.map { F.file($0) })
            try await Self.breakFile("bad", fixture)
            try await fixture.pool.query("UPDATE catalog SET title_options = '{'")

            let grant = try await fixture.lease()
            #expect(grant.jobs.map(\.key).sorted() == names.map { "origin.test/files/\($0)" })
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            // The other attempts, a minute apart; then the checksum files, which come after the last
            // change.
            for _ in 0..<6 {
                try await fixture.drain()
                try await fixture.fold()
                try await fixture.skipDelays()
            }
            try await fixture.drain()

            // Not lost, and not tried for ever.
            #expect(try await fixture.count("job") == 0)
            #expect(try await fixture.count("delayed_job") == 0)
            let assets = try await fixture.assets(of: catalog)
            #expect(assets.count { $0.state == .completed } == names.count)
            let failures = Dictionary(
                uniqueKeysWithValues: assets.compactMap { asset in
                    asset.failure.map { (asset.name, $0) }
                })
            #expect(
                failures.mapValues(\.code) == [
                    "bad": .clusterJobUnreadable, "title": .clusterJobUnreadable,
                ])
            #expect(
                failures["bad"]?.message.hasSuffix(
                    "cannot be read: a stored object needs both its length and its SHA-256.")
                    == true)
            #expect(
                failures["title"]?.message.hasSuffix(
                    "cannot be read: the field titles is not valid") == true)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .failed)
        }
    }

    @Test func thoseBehindItAreHandedOut() async throws {
        try await F.with { fixture in
            try await fixture.submit(["bad", "worse"].map { F.file($0) } + [F.file("good")])
            try await Self.breakFile("bad", fixture)
            try await Self.breakFile("worse", fixture)
            // Each claim takes one job.
            let grant = try await fixture.lease(1)
            #expect(grant.jobs.map(\.key) == ["origin.test/files/good"])
            #expect(try await fixture.report([F.done(grant.jobs[0], grant)]) == [.accepted])
        }
    }

    @Test func itIsDoneByAVersionThatCanReadIt() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("bad"), F.file("good")])
            try await Self.breakFile("bad", fixture)
            let grant = try await fixture.lease()
            #expect(grant.jobs.map(\.key) == ["origin.test/files/good"])
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await fixture.pool.query("UPDATE segment SET known_bytes = NULL")
            try await fixture.skipDelays()
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.key) == ["origin.test/files/bad"])
            #expect(again.jobs.map(\.attempt) == [2])
            _ = try await fixture.report(again.jobs.map { F.done($0, again) })
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }
}
