import Digest
import HTTPServer
import JobQueue
import Model
import Services

/// Answers a repeated request that creates something with the first answer, if both have the same
/// `Idempotency-Key`.
///
/// A key belongs to its token and is kept for 24 hours. Only successes are kept: a request that was
/// refused may be sent again under its key at once. One that failed with the database may have been
/// made, as is one whose coordinator was killed: its key is free again after
/// `RepeatedRequests.lostSeconds`.
struct IdempotencyKeys: Sendable {
    let requests: RepeatedRequests

    private let log = Logger("coordinator")

    static let header = "Idempotency-Key"
    /// Header of an answer that was given before.
    static let replayed = "Idempotency-Replayed"
    /// Longest key in bytes.
    static let maximumBytes = 128
    /// Longest answer to keep; none of the routes has one as long.
    private static let maximumAnswerBytes = 64 << 10

    init(requests: RepeatedRequests) { self.requests = requests }

    /// Returns the answer of `make`, or that of an earlier request with the same key.
    ///
    /// Throws `input.keyReused` if that request was another one, `cluster.requestRunning` if it has
    /// not ended, and `input.alreadyCreated` if its answer had a secret, which is not kept.
    func make(
        _ request: HTTPRequest, _ route: Route, by caller: Caller,
        _ make: () async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        guard let creation = route.creation, let key = try Self.key(of: request) else {
            return try await make()
        }
        let number: Int64
        switch try await requests.begin(
            caller: caller.id, key: key, digest: Self.digest(of: request, route))
        {
        case .begun(let begun): number = begun
        case .running:
            throw Failure(.clusterRequestRunning, "A request with this key is being answered.")
        case .other:
            throw Failure(.inputKeyReused, "Another request had this key in the last 24 hours.")
        case .answered(status: _, body: nil):
            throw Failure(.inputAlreadyCreated, "A request with this key has succeeded before.")
        case .answered(status: let status, body: let body?):
            var answer = HTTPResponse.json(status, bytes: body)
            answer.headers.append((Self.replayed, "true"))
            return answer
        }
        do {
            let answer = try await make()
            let isKept = creation == .answer && answer.body.count <= Self.maximumAnswerBytes
            await note {
                try await requests.end(
                    number, status: answer.status, body: isKept ? answer.body : nil)
            }
            return answer
        } catch {
            // Without the database's answer it is not known whether the change was made.
            if !FailureAnswer.failure(of: error).code.isOfUnavailableCluster {
                await note { try await requests.release(number) }
            }
            throw error
        }
    }

    /// The change is made or has failed: what happens to its key does not alter the answer.
    private func note(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            log.warning("the key of a request is not recorded", ["error": "\(error)"])
        }
    }

    /// Reads the key; nil without one.
    private static func key(of request: HTTPRequest) throws(Failure) -> String? {
        guard let key = request.header(header) else { return nil }
        guard (1...maximumBytes).contains(key.utf8.count),
            key.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else {
            throw Validation.wrong(header, key, "1 to \(maximumBytes) visible ASCII characters")
        }
        return key
    }

    private static func digest(of request: HTTPRequest, _ route: Route) -> [UInt8] {
        let digest = SHA256Digest(hashing: Array("\(route.name)\n".utf8) + request.body)
        return digest.withUnsafeBytes { Array($0) }
    }
}
