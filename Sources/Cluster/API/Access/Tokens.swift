package import Model

/// `POST /v1/tokens`: creates an access token. A repeated request creates another one, or fails because
/// of the name.
package struct TokenSubmission: Codable, Hashable, Sendable {
    package var role: AccessRole
    /// 1 to 100 characters, unique among tokens that are not revoked; nil for the role and the token's
    /// number.
    package var name: String?
    /// Names of the queues of a worker; nil for all. A queue need not exist yet.
    package var queues: [String]?
    /// Storage URLs of the sites of a submitter, which need not exist yet, or names of the queues of
    /// sites that do; nil for all.
    package var sites: [String]?
    /// End of its validity in seconds since 1970; nil for none.
    package var expires: Double?

    package init(role: AccessRole, name: String? = nil) {
        self.role = role
        self.name = name
    }
}

/// The answer to `TokenSubmission`, the only one that has the token's text.
package struct IssuedToken: Codable, Sendable {
    /// The text, which is kept nowhere.
    package var secret: String
    package var token: TokenStatus

    package init(secret: String, token: TokenStatus) {
        self.secret = secret
        self.token = token
    }
}

/// An access token without its text. Times are in seconds since 1970.
package struct TokenStatus: Codable, Hashable, Sendable {
    package var id: AccessTokenID
    package var name: String
    package var role: AccessRole
    /// Empty for all.
    package var queues: [String]
    package var sites: [String]
    package var created: Double
    /// Name of the token that created it.
    package var createdBy: String
    package var expires: Double?
    package var revoked: Double?
    /// Time of the last use, to the minute; nil if it was never used.
    package var lastUsed: Double?

    package init(
        id: AccessTokenID, name: String, role: AccessRole, queues: [String] = [],
        sites: [String] = [], created: Double, createdBy: String
    ) {
        self.id = id
        self.name = name
        self.role = role
        self.queues = queues
        self.sites = sites
        self.created = created
        self.createdBy = createdBy
    }
}

/// `GET /v1/tokens`: all tokens, the latest first.
package struct TokenList: Codable, Sendable {
    package var tokens: [TokenStatus]
    /// Time of the answer.
    package var now: Double

    package init(tokens: [TokenStatus], now: Double) {
        self.tokens = tokens
        self.now = now
    }
}

/// The state of a token at a time.
package enum TokenState: String, Sendable {
    case active
    case expired
    case revoked
}

extension TokenStatus {
    /// Returns its state at a time in seconds since 1970.
    package func state(at now: Double) -> TokenState {
        if revoked != nil { return .revoked }
        return expires.map { $0 <= now } == true ? .expired : .active
    }
}
