import Digest
import HTTPServer
import JobQueue
import Model
import Synchronization

/// Checks the access token before a request's body is read. Every request but the health checks
/// must carry one: that of the coordinator's environment, or one that a coordinator has issued.
///
/// All issued tokens are in memory, as this coordinator last read them: a request costs one SHA-256
/// and one lookup, and an unknown token no query. Safe from any thread.
///
/// The Host header is not checked: a web page that rebinds its own name to this address has no
/// token, and browsers add none.
final class Access: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// An issued token.
    final class Token: Sendable {
        let known: KnownToken
        let hash: SHA256Digest
        /// Nil for never.
        let endsAt: Instant?
        let wasUsed = Atomic<Bool>(false)
        /// Sites that are known to be of its queues. A site's queue does not change.
        let sites: Mutex<Set<SiteID>>

        init(_ known: KnownToken, _ hash: SHA256Digest, now: Instant, replacing old: Token?) {
            self.known = known
            self.hash = hash
            endsAt = known.secondsLeft.map { now + .seconds($0) }
            // A use that was not recorded yet.
            if let old { wasUsed.store(old.wasUsed.load(ordering: .relaxed), ordering: .relaxed) }
            sites = Mutex(
                old?.known.queues == known.queues ? old?.sites.withLock(\.self) ?? [] : [])
        }
    }

    /// The last list of the database that was read, and the order of reads.
    private struct State {
        var tokens: [SHA256Digest: Token] = [:]
        /// The number of reads that have begun.
        var begun = 0
        /// The number of the read that `tokens` are of.
        var stored = 0
    }

    /// A read of the database's list. Reads overlap; each sees all changes from before it began.
    struct Read: Sendable {
        fileprivate let number: Int
    }

    private let environment: SHA256Digest
    private let state = Mutex(State())

    /// - Parameter token: the token of the coordinator's environment, which allows everything.
    init(token: AccessToken) { environment = SHA256Digest(hashing: Array(token.text.utf8)) }

    // MARK: Requests

    /// Returns the sender of a request. Throws `cluster.unauthorized`.
    func caller(of request: HTTPRequest) throws(Failure) -> Caller {
        guard let given = request.header("authorization") else {
            throw Failure(.clusterUnauthorized, "The request carries no token.")
        }
        guard let text = Self.token(in: given) else { throw Self.unknown }
        let hash = SHA256Digest(hashing: text)
        // Takes constant time.
        if hash == environment { return Caller(access: self, token: nil) }
        let token = try current(hash)
        token.wasUsed.store(true, ordering: .relaxed)
        return Caller(access: self, token: token)
    }

    /// Throws `cluster.unauthorized` if the token was revoked, or has expired, since the request began.
    func requireCurrent(_ token: Token) throws(Failure) { _ = try current(token.hash) }

    private func current(_ hash: SHA256Digest) throws(Failure) -> Token {
        guard let token = state.withLock({ $0.tokens[hash] }) else { throw Self.unknown }
        guard token.endsAt.map({ $0 > .now }) ?? true else {
            throw Failure(.clusterUnauthorized, "The request's token has expired.")
        }
        return token
    }

    private static let unknown = Failure(
        .clusterUnauthorized, "The request carries a wrong token: unknown, or revoked.")

    /// Returns the credentials of the Bearer scheme, whose name may have any case (RFC 9110, 11.1).
    private static func token(in authorization: String) -> [UInt8]? {
        let bytes = Array(authorization.utf8)
        let scheme = Array("bearer ".utf8)
        guard bytes.count > scheme.count,
            bytes.count <= scheme.count + AccessToken.maximumLength,
            zip(bytes, scheme).allSatisfy({ $0 == $1 || $0 | 0x20 == $1 && $0 >= 0x41 })
        else { return nil }
        return Array(bytes.dropFirst(scheme.count))
    }

    // MARK: The database's tokens

    /// Begins a read of the database's list.
    func beginRead() -> Read {
        state.withLock { state in
            state.begun += 1
            return Read(number: state.begun)
        }
    }

    /// Stores the list that a read has returned; returns true if a token is gone. The list is
    /// ignored if a read that began later was stored already: it may hold tokens revoked since.
    func store(_ known: [KnownToken], of read: Read) -> Bool {
        let now = Instant.now
        let old = state.withLock(\.tokens)
        var next: [SHA256Digest: Token] = [:]
        for token in known {
            guard let hash = SHA256Digest(hex: token.hash) else { continue }
            next[hash] = Token(token, hash, now: now, replacing: old[hash])
        }
        return state.withLock { [next] state in
            guard read.number > state.stored else { return false }
            state.stored = read.number
            // Uses since the old tokens were copied.
            for (hash, token) in state.tokens where token.wasUsed.load(ordering: .relaxed) {
                next[hash]?.wasUsed.store(true, ordering: .relaxed)
            }
            let isGone = state.tokens.keys.contains { next[$0] == nil }
            state.tokens = next
            return isGone
        }
    }

    /// Returns the tokens that were used since the last call.
    func takeUsed() -> [AccessTokenID] {
        state.withLock { state in
            state.tokens.values.filter { $0.wasUsed.exchange(false, ordering: .relaxed) }
                .map(\.known.id)
        }
    }
}
