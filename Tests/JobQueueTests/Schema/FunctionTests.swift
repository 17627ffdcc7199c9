import API
import Model
import Postgres
import Testing

@testable import JobQueue

/// The schema's functions: replaced by those of a later revision, and never by those of an earlier one.
@Suite struct FunctionTests {
    typealias F = QueueFixture

    /// Of the binary, with another text or in another revision.
    private static func functions(
        _ revision: Int = Functions.current.revision, comment: String? = nil
    ) -> Functions {
        let text = Functions.current.text
        guard let comment else { return Functions(revision: revision, text: text) }
        return Functions(
            revision: revision,
            text: text.replacing("AS $$", with: "AS $$ /* \(comment) */"))
    }

    /// Which functions the schema has, by the comment in the text of claims.
    private static func source(_ pool: PostgresPool) async throws -> String {
        try await pool.query(
            "SELECT prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = 'claim_jobs'"
        ).only().string(0)
    }

    private static func revisions(_ pool: PostgresPool) async throws -> [Int64] {
        try await pool.query("SELECT revision::bigint FROM schema_functions ORDER BY revision").rows
            .map { try $0.int64(0) }
    }

    private static func claims(_ fixture: F) async throws {
        try await fixture.submit([F.file("a")])
        #expect(try await fixture.lease().jobs.count == 1)
    }

    @Test func theyAreAppliedOnceWithTheirChecksum() async throws {
        try await F.with { fixture in
            let pool = fixture.pool
            let row = try await pool.query(
                "SELECT checksum, applied_at::text FROM schema_functions"
            )
            .only()
            let sum = try await pool.query(
                "SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex')",
                [.text(Functions.current.text)]
            ).only().string(0)
            #expect(try row.string(0) == sum)
            try await Migrations.migrate(pool)
            let again = try await pool.query("SELECT applied_at::text FROM schema_functions").only()
            #expect(try again.string(0) == row.string(1))
            #expect(try await Self.revisions(pool) == [Int64(Functions.current.revision)])
        }
    }

    @Test func anEditedTextIsApplied() async throws {
        try await F.with { fixture in
            try await Migrations.migrate(fixture.pool, Self.functions(comment: "edited"))
            #expect(try await Self.source(fixture.pool).contains("edited"))
            try await Self.claims(fixture)
            try await Migrations.migrate(fixture.pool)
            #expect(try await !Self.source(fixture.pool).contains("edited"))
        }
    }

    /// During a rolling update coordinators of the version before start too.
    @Test func anEarlierRevisionDoesNotReplaceALaterOne() async throws {
        try await F.with { fixture in
            let pool = fixture.pool
            let later = Functions.current.revision + 1
            try await Migrations.migrate(pool, Self.functions(later, comment: "later"))
            try await Migrations.migrate(pool)
            try await Migrations.migrate(pool, Self.functions(comment: "edited"))
            #expect(try await Self.source(pool).contains("later"))
            #expect(try await Self.revisions(pool).last == Int64(later))
            try await Self.claims(fixture)
        }
    }

    @Test func ofManyThatStartAtOnceTheLatestStays() async throws {
        try await F.with { fixture in
            let pool = fixture.pool
            let current = Functions.current.revision
            try await withThrowingTaskGroup(of: Void.self) { group in
                for revision in (1...6).map({ current + $0 }).shuffled() {
                    group.addTask {
                        try await Migrations.migrate(
                            pool, Self.functions(revision, comment: "r\(revision)"))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await Self.source(pool).contains("r\(current + 6) "))
            try await Self.claims(fixture)
        }
    }

    /// A call that runs while its function is replaced ends as it began, and the next one is of the later revision.
    @Test func callsGoOnWhileTheyAreReplaced() async throws {
        try await F.with { fixture in
            let current = Functions.current.revision
            try await fixture.submit((0..<200).map { F.file("\($0)") })
            let claimed = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var jobs = 0
                        for _ in 0..<10 { jobs += try await fixture.lease(5).jobs.count }
                        return jobs
                    }
                }
                for revision in current + 1...current + 5 {
                    try await Migrations.migrate(
                        fixture.pool, Self.functions(revision, comment: "r\(revision)"))
                }
                return try await group.reduce(0, +)
            }
            #expect(claimed == 200)
        }
    }

    /// Names are found in the same schema whoever calls: a replacement loses what was set by ALTER FUNCTION.
    @Test func theSearchPathOfReplacedOnesIsPinned() async throws {
        try await F.with { fixture in
            try await Migrations.migrate(fixture.pool, Self.functions(comment: "edited"))
            let unpinned = try await fixture.pool.query(
                """
                SELECT count(*) FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
                WHERE pronamespace = current_schema()::regnamespace AND lanname = 'plpgsql'
                  AND NOT coalesce(array_to_string(proconfig, ';'), '') LIKE '%search_path=%'
                """
            ).only().int64(0)
            #expect(unpinned == 0)
        }
    }

    /// A new text has a new revision: without one, coordinators of two versions would replace each other's. Add the
    /// checksum of a later revision below; those before it are frozen once they are released.
    @Test func eachRevisionHasOneText() async throws {
        let checksums = [1: "93254556a045f7801322f783b11d1045216d2b1e5307a501a1974659fc27f9f5"]
        try await F.with { fixture in
            let sum = try await fixture.pool.query(
                "SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex')",
                [.text(Functions.current.text)]
            ).only().string(0)
            #expect(checksums[Functions.current.revision] == sum)
            #expect(Functions.current.revision == checksums.keys.max())
        }
    }
}
