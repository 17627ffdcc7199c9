import ClusterTestSupport
import JobQueue
import Postgres
import TestSupport
import Testing

/// Databases that tests take one after the other.
@Suite struct FixtureDatabaseTests {
    private static let template = DatabaseTemplate(
        "reused_template", distinguish: "UPDATE dray.cluster SET id = gen_random_uuid()",
        fill: DatabaseTemplate.queue.fill)

    @Test func theNextTestGetsAnEmptyOne() async throws {
        let first = try await FixtureDatabase.take(Self.template)
        let connection = try await first.pool.query("SELECT pg_backend_pid()::bigint").firstRow
        let id = try await first.pool.query("SELECT id::text FROM cluster").firstRow?.string(0)
        let added = "INSERT INTO origin (url) VALUES ('http://one.test') RETURNING id::bigint"
        let number = try await first.pool.query(added).firstRow?.int64(0)
        try await first.pool.query("DELETE FROM origin WHERE id = 0")
        try await first.pool.query("CREATE TEMPORARY TABLE kept (id int PRIMARY KEY)")
        await first.giveBack()

        let second = try await FixtureDatabase.take(Self.template)
        #expect(second.url == first.url)
        let same = try await second.pool.query("SELECT pg_backend_pid()::bigint").firstRow
        #expect(try same?.int64(0) == connection?.int64(0))
        let other = try await second.pool.query("SELECT id::text FROM cluster").firstRow?.string(0)
        #expect(other != nil && other != id)
        let origins = try await second.pool.query("SELECT id::bigint FROM origin").rows
        #expect(try origins.map { try $0.int64(0) } == [0])
        #expect(try await second.pool.query(added).firstRow?.int64(0) == number)
        await second.remove()
    }

    @Test func aChangedSchemaIsNotUsedAgain() async throws {
        let first = try await FixtureDatabase.take(Self.template)
        try await first.pool.query("CREATE INDEX another ON origin (cooldown_until)")
        await first.giveBack()
        let second = try await FixtureDatabase.take(Self.template)
        #expect(second.url != first.url)
        await second.remove()
    }
}
