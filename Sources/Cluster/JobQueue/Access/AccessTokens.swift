package import API
package import Model
import Postgres

/// A token that coordinators accept, or that expired lately.
package struct KnownToken: Sendable {
    package var id: AccessTokenID
    package var name: String
    package var role: AccessRole
    /// SHA-256 of its text, in hexadecimal digits.
    package var hash: String
    /// Empty for all.
    package var queues: [String]
    package var sites: [String]
    /// Seconds until it expires, negative afterwards; nil for never.
    package var secondsLeft: Double?
}

/// Access tokens, of which only hashes are stored.
package struct AccessTokens: Sendable {
    let database: QueueDatabase

    /// Maximum of tokens that are neither revoked nor expired: every coordinator keeps all of them in
    /// memory.
    package static let maxTokens = 1_000
    /// The latest that a list has; older ones ended long ago.
    private static let maxListed = 10_000

    /// Returns all tokens, the latest first.
    package func list() async throws(Failure) -> TokenList {
        try await database.withConnection { connection in
            let rows = try await connection.query(
                SQL.Access.tokens, ["limit": .int(Self.maxListed)]
            ).rows
            return TokenList(
                tokens: try rows.map { try TokenStatus(row: $0) },
                now: try rows.first?.double("now") ?? 0)
        }
    }

    /// Returns the tokens that coordinators have to know.
    package func known() async throws(Failure) -> [KnownToken] {
        try await database.withConnection { connection in
            try await connection.query(SQL.Access.knownTokens).rows.compactMap { row in
                // A role of a later version allows nothing here.
                guard let role = AccessRole(rawValue: try row.string("role")) else { return nil }
                return KnownToken(
                    id: AccessTokenID(try row.int64("id")), name: try row.string("name"),
                    role: role, hash: try row.string("hash"),
                    queues: try row.textArray("queues").compactMap(\.self),
                    sites: try row.textArray("sites").compactMap(\.self),
                    secondsLeft: try row.optionalDouble("seconds_left"))
            }
        }
    }

    /// Creates a token of which only the SHA-256 is given, and notifies coordinators.
    ///
    /// Throws `input.field` for a time that has passed, `input.nameInUse` for a name that another token
    /// has, and `input.tooLarge` beyond `maxTokens`.
    package func create(
        _ submission: TokenSubmission, hash: [UInt8], by creator: String, key: RequestKey? = nil
    ) async throws(Failure) -> TokenStatus {
        try await database.once(key, keepsAnswer: false) { connection in
            _ = try await connection.query(SQL.Access.lockTokens)
            let present = try await connection.query(SQL.Access.countTokens).only()
            guard try present.int64("tokens") < Self.maxTokens else {
                throw Failure(
                    .inputTooLarge,
                    "There are \(Self.maxTokens) tokens, which is the maximum; revoke some first.")
            }
            if let expires = submission.expires, try expires <= present.double("now") {
                throw Failure(.inputField, "expires: a time that has passed was given.")
            }
            let created = try await connection.query(
                SQL.Access.createToken,
                [
                    "name": .optionalText(submission.name),
                    "role": .text(submission.role.rawValue), "hash": .bytes(hash),
                    "queues": .textArray(submission.queues ?? []),
                    "sites": .textArray(submission.sites ?? []), "created_by": .text(creator),
                    "expires": .optionalDouble(submission.expires),
                ])
            guard let row = created.firstRow else {
                let name = submission.name ?? "of this role and number"
                throw Failure(.inputNameInUse, "There is a token \(name) already.")
            }
            _ = try await connection.query(SQL.Access.notifyTokens)
            return try TokenStatus(row: row)
        }
    }

    /// Revokes a token by its number or its name, and notifies coordinators. A second time changes
    /// nothing. Throws `input.notFound`.
    package func revoke(_ token: String) async throws(Failure) -> TokenStatus {
        let id = Int64(token)
        return try await database.transaction { connection in
            let revoked = try await connection.query(
                SQL.Access.revokeToken,
                ["token": .optionalInt(id), "name": id == nil ? .text(token) : .null])
            guard let row = revoked.firstRow else {
                throw Failure.notFound(
                    "There is no token \(token.prefix(100)).", listedBy: "dray token list")
            }
            _ = try await connection.query(SQL.Access.notifyTokens)
            return try TokenStatus(row: row)
        }
    }

    /// Records that tokens have just been used.
    package func noteUses(of tokens: [AccessTokenID]) async throws(Failure) {
        guard !tokens.isEmpty else { return }
        try await database.withConnection { connection in
            _ = try await connection.query(
                SQL.Access.noteUses, ["tokens": .int64Array(tokens.map(\.rawValue))])
        }
    }

    /// Deletes tokens that were revoked, or expired, more than `days` days ago.
    package func forget(olderThanDays days: Int) async throws(Failure) {
        try await database.withConnection { connection in
            _ = try await connection.query(SQL.Access.forgetTokens, ["days": .int(days)])
        }
    }

    // MARK: What tokens are bound to

    /// Returns those of `sites` that belong to one of these queues.
    package func sites(
        _ sites: Set<SiteID>, ofQueues queues: [String]
    ) async throws(Failure) -> Set<SiteID> {
        guard !sites.isEmpty else { return [] }
        return try await database.withConnection { connection in
            let rows = try await connection.query(
                SQL.Access.sitesOfQueues,
                [
                    "queues": .textArray(queues), "sites": .int64Array(sites.map(\.rawValue)),
                ]
            ).rows
            return Set(try rows.map { SiteID(try $0.int64("site_id")) })
        }
    }

    /// Returns the storage URL of a catalog's site. Throws `input.notFound`.
    package func site(of catalog: CatalogID) async throws(Failure) -> String {
        try await database.withConnection { connection in
            let found = try await connection.query(
                SQL.Access.siteOfCatalog, ["catalog": .int(catalog.rawValue)])
            guard let row = found.firstRow else { throw Failure.unknownCatalog(catalog) }
            return try row.string("storage_url")
        }
    }
}

extension TokenStatus {
    /// Decodes a row of the fragment `tokenColumns`.
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: AccessTokenID(try row.int64("id")), name: try row.string("name"),
            role: AccessRole(rawValue: try row.string("role")) ?? .reader,
            queues: try row.textArray("queues").compactMap(\.self),
            sites: try row.textArray("sites").compactMap(\.self),
            created: try row.double("created"), createdBy: try row.string("created_by"))
        expires = try row.optionalDouble("expires")
        revoked = try row.optionalDouble("revoked")
        lastUsed = try row.optionalDouble("last_used")
    }
}
