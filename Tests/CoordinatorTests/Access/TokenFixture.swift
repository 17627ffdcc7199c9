import API
import CoordinatorClient
import Foundation
import Model
import TestSupport

extension Fixture {
    /// Creates a token with the coordinator's own.
    func token(
        _ role: AccessRole, name: String? = nil, queues: [String]? = nil, sites: [String]? = nil,
        expires: Double? = nil
    ) async throws -> IssuedToken {
        var submission = TokenSubmission(role: role, name: name)
        submission.queues = queues
        submission.sites = sites
        submission.expires = expires
        return try await client.createToken(submission)
    }

    static func bearer(_ secret: String) -> [String: String] {
        ["Authorization": "Bearer \(secret)"]
    }

    /// Sends a request with an issued token.
    func send(
        _ method: String, _ target: String, _ body: String? = nil, by token: IssuedToken,
        port: Int? = nil
    ) async throws -> Wire.Answer {
        try await Wire.exchange(
            port: port ?? self.port, method, target, headers: Self.bearer(token.secret),
            body: body.map { Array($0.utf8) })
    }

    /// Runs `body` with a client that has an issued token.
    func asking<Value>(
        with token: IssuedToken, _ body: (CoordinatorClient) async throws -> Value
    ) async throws -> Value {
        let client = try CoordinatorClient(
            endpoints: "http://127.0.0.1:\(port)", token: try AccessToken(token.secret),
            retrySeconds: 0)
        defer { client.shutdown() }
        return try await body(client)
    }

    /// The names and actions of the audit log, the latest first.
    func changes() async throws -> [AuditEntry] {
        try await client.audit(limit: 1_000).entries
    }
}

/// Returns the code of the failure that `body` throws; nil if it throws none.
func code<Value>(_ body: () async throws -> Value) async throws -> FailureCode? {
    do {
        _ = try await body()
        return nil
    } catch let failure as Failure {
        return failure.code
    }
}
