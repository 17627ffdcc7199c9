package enum TransactionIsolation: String, Sendable {
    case readCommitted = "READ COMMITTED"
    case repeatableRead = "REPEATABLE READ"
    case serializable = "SERIALIZABLE"
}

extension PostgresConnection {
    /// Runs `body` between BEGIN and COMMIT; if it throws, ROLLBACK.
    ///
    /// BEGIN is sent with the first statement and costs no round trip. After an error of kind
    /// `.connectionLost`, it is unknown whether the COMMIT took effect.
    package func transaction<T>(
        _ level: TransactionIsolation = .readCommitted, isReadOnly: Bool = false,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (PostgresConnection) async throws -> T
    ) async throws -> T {
        let access = isReadOnly ? "READ ONLY" : "READ WRITE"
        try await begin("BEGIN ISOLATION LEVEL \(level.rawValue) \(access)")
        let value: T
        do {
            value = try await body(self)
        } catch {
            await rollback()
            throw error
        }
        try await commit()
        return value
    }
}
