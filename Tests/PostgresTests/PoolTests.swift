import Postgres
import Synchronization
import TestSupport
import Testing

@Suite struct PoolTests {
    @Test func connectionsAreBoundedAndShared() async throws {
        try await withPool(maximumConnections: 3) { pool in
            let pids = try await withThrowingTaskGroup(of: Int64?.self) { group in
                for _ in 0..<200 {
                    group.addTask {
                        try await pool.query("SELECT pg_backend_pid()").firstRow?.int64(0)
                    }
                }
                return try await group.reduce(into: Set<Int64?>()) { $0.insert($1) }
            }
            #expect(pids.count <= 3)
            #expect(pool.connectionCount <= 3)
        }
    }

    @Test func whoWaitsGetsAConnectionBeyondTheUsualOnes() async throws {
        try await withPool(
            usualConnections: 1, maximumConnections: 2, acquireTimeoutSeconds: 30
        ) { pool in
            try await pool.withConnection { _ in
                #expect(pool.connectionCount == 1)
                try await pool.withConnection { _ in
                    #expect(pool.connectionCount == 2)
                    let waiting = Task { try await pool.query("SELECT 1") }
                    waiting.cancel()
                    _ = try? await waiting.value
                    #expect(pool.connectionCount == 2)
                }
            }
            // Returned connections are granted before others are opened.
            for _ in 0..<4 { _ = try await pool.query("SELECT 1") }
            #expect(pool.connectionCount == 2)
        }
    }

    @Test func waitingEndsAtTheDeadline() async throws {
        try await withPool(maximumConnections: 1, acquireTimeoutSeconds: 0.02) { pool in
            try await pool.withConnection { _ in
                let error = await #expect(throws: PostgresError.self) {
                    try await pool.query("SELECT 1")
                }
                #expect(error?.kind == .timeout)
            }
            let after = try await pool.query("SELECT 1")
            #expect(after.rowCount == 1)
        }
    }

    @Test func cancelledWaiterLeavesTheQueue() async throws {
        try await withPool(maximumConnections: 1) { pool in
            try await pool.withConnection { _ in
                let waiting = Task { try await pool.query("SELECT 1") }
                waiting.cancel()
                let error = await #expect(throws: PostgresError.self) {
                    try await waiting.value
                }
                #expect(error?.kind == .cancelled)
            }
            let after = try await pool.query("SELECT 1")
            #expect(after.rowCount == 1)
        }
    }

    @Test func brokenConnectionIsReplaced() async throws {
        try await withPool(maximumConnections: 2) { pool in
            let pid = try await pool.query("SELECT pg_backend_pid()").firstRow?.int64(0)
            let error = await #expect(throws: PostgresError.self) {
                try await pool.query("SELECT pg_terminate_backend(pg_backend_pid())")
            }
            #expect(error?.isConnectionFailure == true)
            let next = try await pool.query("SELECT pg_backend_pid()").firstRow?.int64(0)
            #expect(next != pid)
        }
    }

    @Test func waiterGetsTheSlotOfABrokenConnection() async throws {
        try await withPool(maximumConnections: 1) { pool in
            // The stream buffers, so that no order of the two tasks hangs.
            let (holds, hold) = AsyncStream<Void>.makeStream()
            let (breaks, end) = AsyncStream<Void>.makeStream()
            let broken = Task {
                try await pool.withConnection { connection in
                    hold.finish()
                    for await _ in breaks {}
                    return try await connection.query(
                        "SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(0.01)")
                }
            }
            for await _ in holds {}
            async let waiting = pool.query("SELECT 1")
            end.finish()
            let error = await #expect(throws: PostgresError.self) { try await broken.value }
            #expect(error?.isConnectionFailure == true)
            let answer = try await waiting
            #expect(answer.rowCount == 1)
            #expect(pool.connectionCount == 1)
        }
    }

    @Test func connectionLeftInATransactionIsNotReused() async throws {
        try await withPool(maximumConnections: 1) { pool in
            let pid = "SELECT pg_backend_pid()"
            let before = try await pool.withConnection { connection in
                try await connection.simple("BEGIN")
                return try await connection.query(pid).firstRow?.int64(0)
            }
            let after = try await pool.query(pid).firstRow?.int64(0)
            #expect(before != after)
        }
    }

    @Test func poolRecoversFromACrashOfTheServer() async throws {
        let server = try await PostgresServer()
        let pool = PostgresPool(
            PostgresConfiguration(url: server.url, connectTimeoutSeconds: 60),
            maximumConnections: 4, on: try testLoop(), acquireTimeoutSeconds: 120)
        func askEveryConnection() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { try await pool.query("SELECT pg_sleep(0.01)") } }
                try await group.waitForAll()
            }
        }
        try await askEveryConnection()
        try await server.stop()
        let error = await #expect(throws: PostgresError.self) { try await askEveryConnection() }
        #expect(error?.isConnectionFailure == true)
        try await server.start()
        try await askEveryConnection()
        try await server.crashAndRestart()
        // The end of an idle connection may be noticed only by its next user.
        try await waitUntil(deadlineSeconds: 120, "every connection works") {
            do {
                try await askEveryConnection()
                return true
            } catch let error as PostgresError where error.isConnectionFailure {
                return false
            }
        }
        #expect(pool.connectionCount <= 4)
        await pool.shutdown()
    }

    @Test func failedConnectFreesItsSlot() async throws {
        let pool = PostgresPool(
            PostgresConfiguration(url: "host=/nonexistent"), maximumConnections: 1,
            on: try testLoop())
        for _ in 0..<3 {
            let error = await #expect(throws: PostgresError.self) {
                try await pool.query("SELECT 1")
            }
            #expect(error?.kind == .cannotConnect)
        }
        #expect(pool.connectionCount == 0)
        await pool.shutdown()
    }

    @Test func shutdownWaitsForLentConnectionsAndRefusesNewOnes() async throws {
        let server = try await PostgresServer.shared()
        let pool = PostgresPool(
            PostgresConfiguration(url: server.url), maximumConnections: 1, on: try testLoop())
        let isReturned = Mutex(false)
        let shutdown = try await pool.withConnection { connection in
            let shutdown = Task { await pool.shutdown() }
            // Waits in the queue, or comes too late: both are rejected.
            let error = await #expect(throws: PostgresError.self) {
                try await pool.query("SELECT 1")
            }
            #expect(error?.kind == .closed)
            let after = try await connection.query("SELECT 1")
            #expect(after.rowCount == 1)
            isReturned.withLock { $0 = true }
            return shutdown
        }
        await shutdown.value
        #expect(isReturned.withLock { $0 })
        #expect(pool.connectionCount == 0)
    }
}
