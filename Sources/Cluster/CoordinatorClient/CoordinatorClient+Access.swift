package import API
package import Model

/// Requests of administrators: access tokens, and the audit log.
extension CoordinatorClient {
    package func tokens(retrySeconds: Double? = nil) async throws(Failure) -> TokenList {
        try await get("/v1/tokens", call: Call(retrySeconds: retrySeconds))
    }

    /// Creates a token. It is not retried once a coordinator may have received it: the text of a token
    /// whose answer is lost is lost too.
    ///
    /// Throws `input.nameInUse` for a name that another token has.
    package func createToken(_ token: TokenSubmission) async throws(Failure) -> IssuedToken {
        try await post("/v1/tokens", token, call: Call(retrySeconds: 0))
    }

    /// Revokes a token by its number or its name. Throws `input.notFound`.
    package func revokeToken(
        _ token: String, retrySeconds: Double? = nil
    ) async throws(Failure) -> TokenStatus {
        try await post(
            "/v1/tokens/\(Query.encode(token))/revoke", [String: String](),
            call: Call(retrySeconds: retrySeconds))
    }

    /// Returns a page of the audit log, the latest first; `after` is the previous page's `next`.
    package func audit(
        after: String? = nil, limit: Int, retrySeconds: Double? = nil
    ) async throws(Failure) -> AuditPage {
        try await get(
            "/v1/audit\(Query(("after", after), ("limit", "\(limit)")))",
            call: Call(retrySeconds: retrySeconds))
    }
}
