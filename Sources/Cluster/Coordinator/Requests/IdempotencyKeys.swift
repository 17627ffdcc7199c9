import Digest
import HTTPServer
import JobQueue
import Model

/// Answers a repeated request that creates something with the first answer, if both have the same
/// `Idempotency-Key`.
///
/// A key belongs to its token. It is recorded with what its request creates, in one transaction: a
/// request that failed, or whose coordinator was killed before it was made, may be sent again at once,
/// and no two requests with one key create something.
struct IdempotencyKeys: Sendable {
    let requests: RepeatedRequests

    static let header = "Idempotency-Key"
    /// Header of an answer that was given before.
    static let replayed = "Idempotency-Replayed"
    /// Longest key in bytes.
    static let maximumBytes = 128

    /// Reads the key of a request; nil without one, and of a route that creates nothing.
    func key(
        of request: HTTPRequest, _ route: Route, by caller: Caller
    ) throws(Failure) -> RequestKey? {
        guard route.isCreating, let key = request.header(Self.header) else { return nil }
        guard (1...Self.maximumBytes).contains(key.utf8.count),
            key.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else {
            throw Validation.wrong(
                Self.header, key, "1 to \(Self.maximumBytes) visible ASCII characters")
        }
        let digest = SHA256Digest(hashing: Array("\(route.name)\n".utf8) + request.body)
        return RequestKey(
            caller: caller.id, key: key, digest: digest.withUnsafeBytes { Array($0) })
    }

    /// Returns the answer to an earlier request with the same key; nil if there was none.
    ///
    /// Throws `cluster.requestRunning` if that request is being answered, `input.keyReused` if it was
    /// another one, and `input.alreadyCreated` if its answer had a secret or was too large, which is
    /// not kept.
    func answer(to key: RequestKey) async throws(Failure) -> HTTPResponse? {
        switch try await requests.find(key) {
        case .new: return nil
        case .running: throw .requestRunning
        case .other:
            throw Failure(.inputKeyReused, "Another request had this key in the last 24 hours.")
        case .answered(nil):
            throw Failure(.inputAlreadyCreated, "A request with this key has succeeded before.")
        case .answered(let body?):
            var answer = HTTPResponse.json(200, bytes: body)
            answer.headers.append((Self.replayed, "true"))
            return answer
        }
    }
}
