import Postgres
import TestSupport
import Testing

private struct Interruption: Error {}

@Suite struct TransactionTests {
    private func withTable(_ body: (PostgresConnection) async throws -> Void) async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (x bigint PRIMARY KEY)")
            try await body(connection)
        }
    }

    private func count(_ connection: PostgresConnection) async throws -> Int64? {
        try await connection.query("SELECT count(*) FROM t").firstRow?.int64(0)
    }

    @Test func commits() async throws {
        try await withTable { connection in
            let answer = try await connection.transaction { inner in
                try await inner.query("INSERT INTO t VALUES (1)")
                try await inner.query("INSERT INTO t VALUES (2)")
                return 42
            }
            #expect(answer == 42)
            #expect(try await count(connection) == 2)
        }
    }

    @Test func aTransactionMayHaveMoreTime() async throws {
        try await withConnection(statementTimeoutSeconds: 1) { connection in
            try await connection.transaction { inner in
                try await inner.setStatementTimeout(seconds: 60)
                try await inner.query("SELECT pg_sleep(1.5)")
            }
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query("SELECT pg_sleep(60)")
            }
            #expect(error?.sqlState == "57014")
            await #expect(throws: PostgresError.self) {
                try await connection.setStatementTimeout(seconds: 60)
            }
        }
    }

    @Test func rollsBackWhenTheBodyThrows() async throws {
        try await withTable { connection in
            await #expect(throws: Interruption.self) {
                try await connection.transaction { inner in
                    try await inner.query("INSERT INTO t VALUES (1)")
                    throw Interruption()
                }
            }
            let rows = try await count(connection)
            #expect(rows == 0)
        }
    }

    @Test func rollsBackAfterAServerError() async throws {
        try await withTable { connection in
            await #expect(throws: PostgresError.self) {
                try await connection.transaction { inner in
                    try await inner.query("INSERT INTO t VALUES (1)")
                    try await inner.query("INSERT INTO t VALUES (1)")
                }
            }
            let rows = try await count(connection)
            #expect(rows == 0)
        }
    }

    @Test func swallowedErrorDoesNotLookLikeACommit() async throws {
        try await withTable { connection in
            let error = await #expect(throws: PostgresError.self) {
                try await connection.transaction { inner in
                    try await inner.query("INSERT INTO t VALUES (1)")
                    _ = try? await inner.query("INSERT INTO t VALUES (1)")
                }
            }
            #expect(error?.sqlState == "25P02")
            let rows = try await count(connection)
            #expect(rows == 0)
        }
    }

    @Test func emptyTransactionAndNestedOne() async throws {
        try await withTable { connection in
            try await connection.transaction { _ in }
            let error = await #expect(throws: PostgresError.self) {
                try await connection.transaction { outer in
                    try await outer.transaction { _ in }
                }
            }
            #expect(error?.kind == .usage)
            let rows = try await count(connection)
            #expect(rows == 0)
        }
    }

    @Test func isolationAndAccessReachTheServer() async throws {
        try await withTable { connection in
            try await connection.transaction(.serializable, isReadOnly: true) { inner in
                let results = try await inner.pipeline([
                    PostgresStatement("SHOW transaction_isolation"),
                    PostgresStatement("SHOW transaction_read_only"),
                ])
                #expect(try results[0].firstRow?.string(0) == "serializable")
                #expect(try results[1].firstRow?.string(0) == "on")
            }
        }
    }

    @Test func pipelineInATransactionIsPartOfIt() async throws {
        try await withTable { connection in
            await #expect(throws: Interruption.self) {
                try await connection.transaction { inner in
                    _ = try await inner.pipeline([
                        PostgresStatement("INSERT INTO t VALUES (1)"),
                        PostgresStatement("INSERT INTO t VALUES (2)"),
                    ])
                    throw Interruption()
                }
            }
            let rows = try await count(connection)
            #expect(rows == 0)
        }
    }

    @Test func serializationFailureIsRetryable() async throws {
        try await withTable { connection in
            try await connection.query("INSERT INTO t VALUES (1)")
            let pid = try await connection.query("SHOW search_path").firstRow?.string(0)
            let schema = try #require(pid)
            try await withConnection { other in
                try await other.simple("SET search_path = \(PostgresEscaping.identifier(schema))")
                let error = await #expect(throws: PostgresError.self) {
                    try await connection.transaction(.repeatableRead) { inner in
                        _ = try await inner.query("SELECT * FROM t")
                        try await other.query("UPDATE t SET x = 2")
                        try await inner.query("UPDATE t SET x = 3")
                    }
                }
                #expect(error?.isRetryableTransaction == true)
            }
        }
    }
}

@Suite struct CopyTests {
    private static let odd = ["", "\\N", "\\.", "a\tb", "a\nb", "a\r\nb", "\\", "NULL", "é🛒"]

    @Test func everyValueComesBackAsItWas() async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (n bigint, s text)")
            let stored = try await connection.copyIn(
                "COPY t FROM STDIN", rows: Self.odd.enumerated()
            ) { encoder, row in
                encoder.field(row.offset)
                encoder.field(row.element)
            }
            #expect(stored == Self.odd.count)
            let rows = try await connection.query("SELECT * FROM t ORDER BY n").rows
            #expect(try rows.map { try $0.string("s") } == Self.odd)
        }
    }

    @Test func nullsAreNulls() async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (a text, b bigint)")
            try await connection.copyIn("COPY t FROM STDIN", rows: 0..<1) { encoder, _ in
                encoder.field(String?.none)
                encoder.field(Int64?.none)
            }
            let row = try #require(try await connection.query("SELECT * FROM t").firstRow)
            #expect(try row.isNull(0) && row.isNull(1))
        }
    }

    @Test func manyRowsInBatches() async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (n bigint, s text)")
            let text = String(repeating: "y", count: 100)
            let stored = try await connection.copyIn(
                "COPY t FROM STDIN", rows: 0..<100_000
            ) { encoder, number in
                encoder.field(number)
                encoder.field(text)
            }
            #expect(stored == 100_000)
            let sum = try await connection.query("SELECT sum(n)::bigint FROM t").firstRow
            #expect(try sum?.int64(0) == 4_999_950_000)
        }
    }

    @Test func producerErrorStoresNothing() async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (n bigint)")
            await #expect(throws: Interruption.self) {
                try await connection.copyIn("COPY t FROM STDIN") { encoder in
                    guard encoder.byteCount == 0 else { throw Interruption() }
                    for number in 0..<10_000 {
                        encoder.field(number)
                        encoder.endRow()
                    }
                    if Bool.random() { return true }
                    throw Interruption()
                }
            }
            let after = try await connection.query("SELECT * FROM t")
            #expect(after.rowCount == 0)
        }
    }

    @Test func serverErrorIsThrownAndTheConnectionStays() async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (n bigint)")
            let error = await #expect(throws: PostgresError.self) {
                try await connection.copyIn(
                    "COPY t FROM STDIN", rows: 0..<100_000
                ) { encoder, _ in encoder.field("no number") }
            }
            #expect(error?.sqlState == "22P02")
            let missing = await #expect(throws: PostgresError.self) {
                try await connection.copyIn("COPY missing FROM STDIN", rows: 0..<1) {
                    encoder, _ in encoder.null()
                }
            }
            #expect(missing?.sqlState == "42P01")
            let after = try await connection.query("SELECT * FROM t")
            #expect(after.rowCount == 0)
        }
    }

    @Test func copyInATransaction() async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (n bigint)")
            try await connection.transaction { inner in
                try await inner.copyIn("COPY t FROM STDIN", rows: 1...2) { encoder, number in
                    encoder.field(number)
                }
                try await inner.query("INSERT INTO t VALUES (3)")
            }
            let after = try await connection.query("SELECT * FROM t")
            #expect(after.rowCount == 3)
        }
    }

    @Test func copyOutsideCopyInEndsTheConnection() async throws {
        try await withConnection { connection in
            let error = await #expect(throws: PostgresError.self) {
                try await connection.simple("COPY (SELECT 1) TO STDOUT")
            }
            #expect(error?.kind == .usage)
        }
    }
}
