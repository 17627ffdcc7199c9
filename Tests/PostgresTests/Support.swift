import EventLoop
import Postgres
import TestSupport

/// The loop that all connections of the tests live on.
private let sharedLoop = Result { () throws(EventLoopError) in
    try EventLoop(name: "test-postgres")
}

func testLoop() throws -> EventLoop { try sharedLoop.get() }

/// A connection to a fresh schema, closed after `body`.
func withConnection(
    statementTimeoutSeconds: Double? = 30, maximumPreparedStatements: Int = 256,
    _ body: (PostgresConnection) async throws -> Void
) async throws {
    let configuration = PostgresConfiguration(
        url: try await PostgresServer.shared().schemaURL("connection"),
        statementTimeoutSeconds: statementTimeoutSeconds,
        maximumPreparedStatements: maximumPreparedStatements)
    let connection = try await PostgresConnection.connect(configuration, on: testLoop())
    do {
        try await body(connection)
    } catch {
        await connection.close()
        throw error
    }
    await connection.close()
}

/// A pool on a fresh schema, shut down after `body`.
func withPool(
    usualConnections: Int? = nil, maximumConnections: Int, acquireTimeoutSeconds: Double = 120,
    _ body: (PostgresPool) async throws -> Void
) async throws {
    let configuration = PostgresConfiguration(
        url: try await PostgresServer.shared().schemaURL("pool"), connectTimeoutSeconds: 60)
    let pool = PostgresPool(
        configuration, usualConnections: usualConnections,
        maximumConnections: maximumConnections, on: try testLoop(),
        acquireTimeoutSeconds: acquireTimeoutSeconds)
    do {
        try await body(pool)
    } catch {
        await pool.shutdown()
        throw error
    }
    await pool.shutdown()
}
