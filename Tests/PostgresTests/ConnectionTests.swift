import EventLoop
import Postgres
import TestSupport
import Testing

@Suite struct ConnectionTests {
    @Test func valuesComeBackAsTheyWere() async throws {
        try await withConnection { connection in
            let result = try await connection.query(
                """
                SELECT $1::bigint AS a, $2::text AS b, $3::float8 AS c, $4::bool AS d,
                       $5::bytea AS e, $6::bigint[] AS f, $7::text[] AS g, $8::text AS h
                """,
                [
                    .int(Int64.min), .text("tab\tquote'\"\\ é 🛒"), 0.1, true,
                    .bytes([0, 1, 255, 92]), .int64Array([1, -2, .max]),
                    .textArray(["a,b", nil, "", "NULL", "x\"y\\z", "{}"]), nil,
                ])
            let row = try #require(result.firstRow)
            #expect(try row.int64("a") == Int64.min)
            #expect(try row.string("b") == "tab\tquote'\"\\ é 🛒")
            #expect(try row.double("c") == 0.1)
            #expect(try row.bool("d"))
            #expect(try row.bytes("e") == [0, 1, 255, 92])
            #expect(try row.int64Array("f") == [1, -2, .max])
            #expect(
                try row.textArray("g") == ["a,b", nil, "", "NULL", "x\"y\\z", "{}"])
            #expect(try row.optionalString(7) == nil)
            #expect(try row.isNull("h"))
        }
    }

    @Test func arraysComeBackFromTheirBinaryForm() async throws {
        try await withConnection { connection in
            for texts in [[], ["a,b", nil, "", "NULL", "x\"y\\z", "é 🛒"], ["only"]] as [[String?]] {
                let row = try #require(
                    try await connection.query("SELECT $1::text[]", [.binaryTextArray(texts)])
                        .firstRow)
                #expect(try row.textArray(0) == texts)
            }
            for numbers in [[], [1, -2, .max, .min]] as [[Int64]] {
                let row = try #require(
                    try await connection.query("SELECT $1::bigint[]", [.binaryInt64Array(numbers)])
                        .firstRow)
                #expect(try row.int64Array(0) == numbers)
            }
            await #expect(throws: PostgresError.self) {
                try await connection.query("SELECT $1::text[]", [.binaryTextArray(["a\0b"])])
            }
        }
    }

    @Test func wrongColumnsAndTypesThrow() async throws {
        try await withConnection { connection in
            let row = try #require(
                try await connection.query("SELECT 'x' AS a, NULL::bigint AS b").firstRow)
            for bad in [
                { try row.int64("a") }, { try row.int64("b") }, { try row.int64("c") },
                { try row.int64(2) },
            ] {
                let error = #expect(throws: PostgresError.self) { try bad() }
                #expect(error?.kind == .decoding)
            }
        }
    }

    @Test func affectedRowsAreCounted() async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (x bigint)")
            let insert = try await connection.query(
                "INSERT INTO t SELECT * FROM unnest($1::bigint[])", [.int64Array([1, 2, 3])])
            #expect(insert.affectedRowCount == 3)
            #expect(insert.rowCount == 0)
            let rows = try await connection.query("SELECT x FROM t ORDER BY x").rows
            #expect(try rows.map { try $0.int64(0) } == [1, 2, 3])
        }
    }

    @Test func serverErrorsCarryTheirStateAndLeaveTheConnectionUsable() async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (x bigint CONSTRAINT one UNIQUE)")
            let insert = "INSERT INTO t VALUES ($1)"
            try await connection.query(insert, [1])
            let duplicate = await #expect(throws: PostgresError.self) {
                try await connection.query(insert, [1])
            }
            #expect(duplicate?.sqlState == "23505")
            #expect(duplicate?.constraint == "one")
            #expect(duplicate?.isRetryableTransaction == false)
            let syntax = await #expect(throws: PostgresError.self) {
                try await connection.query("SELEC 1")
            }
            #expect(syntax?.sqlState == "42601")
            try await connection.query(insert, [2])
        }
    }

    @Test func nulBytesAreRefusedBeforeTheyAreSent() async throws {
        try await withConnection { connection in
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query("SELECT $1::text", [.text("a\0b")])
            }
            #expect(error?.kind == .usage)
            let after = try await connection.query("SELECT 1")
            #expect(after.rowCount == 1)
        }
    }

    @Test func pipelineIsOneTransaction() async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (x bigint PRIMARY KEY)")
            let results = try await connection.pipeline([
                PostgresStatement("INSERT INTO t VALUES ($1)", [1]),
                PostgresStatement("INSERT INTO t VALUES ($1)", [2]),
                PostgresStatement("SELECT count(*) FROM t"),
            ])
            #expect(results.map(\.affectedRowCount) == [1, 1, 1])
            #expect(try results[2].firstRow?.int64(0) == 2)
            let error = await #expect(throws: PostgresError.self) {
                try await connection.pipeline([
                    PostgresStatement("INSERT INTO t VALUES ($1)", [3]),
                    PostgresStatement("INSERT INTO t VALUES ($1)", [1]),
                    PostgresStatement("SELECT never_prepared FROM t"),
                ])
            }
            #expect(error?.sqlState == "23505")
            let count = try await connection.query("SELECT count(*) FROM t").firstRow?.int64(0)
            #expect(count == 2)
        }
    }

    /// Far more than the socket buffers hold in either direction.
    @Test func largePipelineDoesNotDeadlock() async throws {
        try await withConnection { connection in
            let text = String(repeating: "x", count: 20_000)
            let results = try await connection.pipeline(
                (0..<1000).map { _ in PostgresStatement("SELECT $1::text", [.text(text)]) })
            #expect(results.count == 1000)
            #expect(try results.allSatisfy { try $0.firstRow?.string(0) == text })
        }
    }

    @Test func statementsAreBoundedAndComeBackAfterEviction() async throws {
        try await withConnection(maximumPreparedStatements: 4) { connection in
            for round in 0..<3 {
                for number in 0..<10 {
                    let row = try await connection.query("SELECT \(number) + $1::bigint", [100])
                        .firstRow
                    #expect(try row?.int(0) == number + 100, "round \(round)")
                }
            }
            let prepared = try await connection.query("SELECT count(*) FROM pg_prepared_statements")
            #expect(try #require(prepared.firstRow).int64(0) <= 4)
        }
    }

    @Test func whatIsNotPreparedIsPlannedEachTime() async throws {
        try await withConnection { connection in
            let statement = PostgresStatement("SELECT $1::bigint + 1", [1], isPrepared: false)
            for _ in 0..<3 {
                #expect(try await connection.query(statement).firstRow?.int64(0) == 2)
            }
            let mixed = try await connection.pipeline([
                PostgresStatement("SELECT $1::bigint", [5]), statement,
            ])
            #expect(try mixed.map { try $0.firstRow?.int64(0) } == [5, 2])
            let prepared = try await connection.query(
                "SELECT statement FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1%'")
            #expect(try prepared.rows.map { try $0.string(0) } == ["SELECT $1::bigint"])
        }
    }

    @Test func changedResultTypeIsPreparedAgain() async throws {
        try await withConnection { connection in
            try await connection.simple("CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
            _ = try await connection.query("SELECT * FROM t")
            try await connection.simple("ALTER TABLE t ADD y int")
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query("SELECT * FROM t")
            }
            #expect(error?.sqlState == "0A000")
            let result = try await connection.query("SELECT * FROM t")
            #expect(result.columnCount == 2)
        }
    }

    @Test func concurrentCallersTakeTurns() async throws {
        try await withConnection { connection in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let result = try await connection.query("SELECT $1::bigint", [.int(number)])
                        return try result.firstRow?.int(0) == number
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test func notificationsArrive() async throws {
        try await withConnection { connection in
            try await connection.listen(to: "odd \"name")
            try await withConnection { other in
                try await other.query("SELECT pg_notify($1, $2)", ["odd \"name", "hello"])
            }
            var messages = connection.notifications.makeAsyncIterator()
            let message = await messages.next()
            #expect(message == PostgresNotification(channel: "odd \"name", payload: "hello"))
            await connection.close()
            #expect(await messages.next() == nil)
        }
    }

    @Test func statementTimeoutEndsAStatement() async throws {
        try await withConnection(statementTimeoutSeconds: 2) { connection in
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query("SELECT pg_sleep(60)")
            }
            #expect(error?.sqlState == "57014")
            let after = try await connection.query("SELECT 1")
            #expect(after.rowCount == 1)
        }
    }

    @Test func silentServerTimesOut() async throws {
        try await withConnection { connection in
            let error = await #expect(throws: PostgresError.self) {
                try await connection.simple("SELECT pg_sleep(60)", timeoutSeconds: 0.05)
            }
            #expect(error?.kind == .timeout)
            let after = await #expect(throws: PostgresError.self) {
                try await connection.query("SELECT 1")
            }
            #expect(after?.kind == .timeout)
        }
    }

    @Test func terminatedBackendIsAConnectionFailure() async throws {
        try await withConnection { connection in
            let pid = try await connection.query("SELECT pg_backend_pid()").firstRow?.int64(0)
            let sleeping = Task { try await connection.query("SELECT pg_sleep(60)") }
            try await withConnection { other in
                try await waitUntilSleeping(try #require(pid), other)
                try await other.query(
                    "SELECT pg_terminate_backend($1::int)", [.optionalInt(pid)])
            }
            let error = await #expect(throws: PostgresError.self) { try await sleeping.value }
            #expect(error?.isConnectionFailure == true)
            let after = await #expect(throws: PostgresError.self) {
                try await connection.query("SELECT 1")
            }
            #expect(after?.isConnectionFailure == true)
        }
    }

    private func waitUntilSleeping(_ pid: Int64, _ connection: PostgresConnection) async throws {
        let sql = "SELECT 1 FROM pg_stat_activity WHERE pid = $1::int AND wait_event = 'PgSleep'"
        try await waitUntil(deadlineSeconds: 30, "pg_sleep") {
            try await connection.query(sql, [.int(pid)]).rowCount == 1
        }
    }
}

@Suite struct ConnectFailureTests {
    private func failure(_ url: String) async throws -> PostgresError? {
        let loop = try EventLoop(name: "test")
        defer { loop.shutdown() }
        return await #expect(throws: PostgresError.self) {
            try await PostgresConnection.connect(PostgresConfiguration(url: url), on: loop)
        }
    }

    @Test(arguments: [
        "postgresql://user:s3cret@127.0.0.1:1/db",
        "postgresql://user:s3cret@127.0.0.1:s3cret/db",
        "postgresql://user:s3cret@[::1/db",
        "postgresql:///db?host=/nonexistent&password=s3cret",
        "host=/nonexistent password=s3cret",
        "host=/nonexistent password='s3cret",
        "postgresql://user:s3cret@127.0.0.1/db?bad=s3cret",
    ])
    func passwordIsNeverShown(_ url: String) async throws {
        let error = try #require(try await failure(url))
        #expect(error.kind == .cannotConnect)
        #expect(error.isConnectionFailure)
        #expect(!"\(error)".contains("s3cret"))
    }

    @Test func unknownDatabaseIsNamed() async throws {
        let server = try await PostgresServer.shared()
        let url = server.url.replacing("/postgres?", with: "/nosuchdatabase?")
        let error = try #require(try await failure(url))
        #expect(error.message.contains("nosuchdatabase"))
    }
}

@Suite struct EscapingTests {
    @Test(arguments: ["plain", "it's", "back\\slash", "\\' OR 1=1 --", "\"", ""])
    func literalsAndIdentifiersComeBackAsTheyWere(_ text: String) async throws {
        try await withConnection { connection in
            let literal = try PostgresEscaping.literal(text)
            let name = try PostgresEscaping.identifier("x" + text)
            let result = try await connection.simple("SELECT \(literal) AS \(name)")
            let row = try #require(result.first?.firstRow)
            #expect(try row.string(0) == text)
            #expect(try row.string(.name("x" + text)) == text)
        }
    }
}
