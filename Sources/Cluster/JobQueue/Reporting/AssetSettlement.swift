import Model
import Postgres

/// The end of an asset after a resolve or a verification. Fetches settle assets within their own
/// statements, all by `settled_state` of `SQL/functions/shared.sql`.
enum AssetSettlement {
    /// Counts what ended of an asset, and settles it when nothing else is lacking.
    static func record(
        _ asset: Int64, _ failure: Failure?, verifiesDone: Int64 = 0, verifiesFailed: Int64 = 0,
        resolveFailed: Bool = false, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            SQL.Reporting.settleAsset,
            [
                "asset": .int(asset), "verifies_done": .int(verifiesDone),
                "verifies_failed": .int(verifiesFailed),
                "failure_code": failure.map { .text($0.code.rawValue) } ?? .null,
                "failure_message": failure.map { .text($0.message) } ?? .null,
                "resolve_failed": .bool(resolveFailed),
            ])
    }
}
