internal import Curl
internal import FoundationEssentials
package import Model
import Synchronization

/// Speaks to a cluster's coordinators: JSON over HTTP, any of several endpoints.
///
/// Safe to use from any task. A request that finds a coordinator down goes to the next endpoint; one
/// that may be repeated is tried again, with exponential backoff and full jitter, until its time is
/// over. Cancelling the task cancels the request, with `worker.cancelled`. `shutdown` must be called
/// before a client is released.
package final class CoordinatorClient: Sendable {
    /// Largest answer that is read, in bytes: a full lease of the longest URLs and keys.
    static let maximumAnswerBytes = 64 << 20
    static let connectTimeoutSeconds = 5.0
    /// How long a request may take that works on a whole catalog, of ten million assets say.
    package static let catalogSeconds = 3_600.0

    private let endpoints: [String]
    /// The endpoint to ask first: the first, and the next one whenever it was down.
    private let current = Atomic<Int>(0)
    private let loop: RequestLoop
    private let retrySeconds: Double
    private let timeoutSeconds: Double
    /// Where the token is from; nil without one.
    private let tokenSource: String?

    /// - Parameters:
    ///   - endpoints: http or https URLs of coordinators, separated by commas.
    ///   - token: sent as a bearer token; without one only health checks are answered. A coordinator on this
    ///     machine has to run as this user, root or the owner of the token's file.
    ///   - retrySeconds: how long a request that may be repeated is tried when its caller does not
    ///     say.
    ///   - timeoutSeconds: how long one request may take, a long poll's wait not counted; those that
    ///     work on whole catalogs have `catalogSeconds`.
    ///   - caFile: a PEM file of certificate authorities in place of the system's.
    ///   - maximumConnections: what goes beyond waits its turn.
    package init(
        endpoints: String, token: AccessToken? = nil, retrySeconds: Double = 30,
        timeoutSeconds: Double = 30, caFile: String? = nil, maximumConnections: Int = 16
    ) throws(Failure) {
        var parsed: [String] = []
        for part in endpoints.split(separator: ",") {
            parsed.append(try Self.endpoint(String(part)))
        }
        guard !parsed.isEmpty else {
            throw Failure("input.url", "the coordinator's URL is empty")
        }
        self.endpoints = parsed
        self.retrySeconds = retrySeconds
        self.timeoutSeconds = timeoutSeconds
        tokenSource = token.map { $0.source ?? "this process" }
        var lines = ["Accept: application/json", "Content-Type: application/json", "Expect:"]
        if let token { lines.append("Authorization: Bearer \(token.text)") }
        var options = CurlEasy.Options(userAgent: "dray/\(drayVersion)")
        options.bufferBytes = 64 << 10
        // A request may take an hour, and its coordinator be gone without a word.
        options.keepsAlive = true
        options.caFile = caFile
        loop = try RequestLoop(
            maximumConnections: maximumConnections, options: options, headerLines: lines,
            peers: PeerCheck(token: token))
    }

    /// Cancels what is under way and joins the thread.
    package func shutdown() { loop.shutdown() }

    /// A base URL without its trailing slash.
    private static func endpoint(_ text: String) throws(Failure) -> String {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " || text.last == "/" { text.removeLast() }
        do {
            let url = try CurlURL(text)
            guard url.isHTTP, url.query == nil else {
                throw Failure(
                    "input.url",
                    "the coordinator's URL \(Redaction.shown(text, limit: 2_000)) is not one of http or https without a query"
                )
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(
                "input.url",
                "the coordinator's URL \(Redaction.shown(text, limit: 2_000)): \(error)")
        }
        return text
    }

    // MARK: Requests

    /// How a request is made.
    package struct Call: Sendable {
        /// For how long it is repeated after failures that may pass; nil is the client's time. 0 for
        /// what must not reach a coordinator twice: only an endpoint that takes no connection is
        /// then skipped.
        package var retrySeconds: Double?
        /// How long the coordinator may hold the request before it answers.
        package var waitSeconds = 0.0
        /// It works on a whole catalog: a try takes as long as it takes, `catalogSeconds` at most. One
        /// that had been under way for longer than it would be repeated, and whose answer was lost, is
        /// repeated as if it were the first.
        package var isOfCatalog = false

        package init(
            retrySeconds: Double? = nil, waitSeconds: Double = 0, isOfCatalog: Bool = false
        ) {
            self.retrySeconds = retrySeconds
            self.waitSeconds = waitSeconds
            self.isOfCatalog = isOfCatalog
        }
    }

    /// GET `path` (with its query) and decode the answer.
    package func get<Answer: Decodable & Sendable>(
        _ path: String, as type: Answer.Type = Answer.self, call: Call = Call()
    ) async throws(Failure) -> Answer {
        try Self.decode(try await answer(path, body: nil, call: call), path)
    }

    /// POST `body` to `path` and decode the answer.
    package func post<Answer: Decodable & Sendable>(
        _ path: String, _ body: some Encodable & Sendable, as type: Answer.Type = Answer.self,
        call: Call = Call()
    ) async throws(Failure) -> Answer {
        try Self.decode(try await answer(path, body: Self.encode(body), call: call), path)
    }

    /// POST `body` to `path` and decode the answer; `other` where an older coordinator's holds nothing of it.
    package func post<Answer: Decodable & Sendable>(
        _ path: String, _ body: some Encodable & Sendable, or other: Answer, call: Call
    ) async throws(Failure) -> Answer {
        let answer = try await answer(path, body: Self.encode(body), call: call)
        return (try? WireJSON.decode(from: answer)) ?? other
    }

    /// POST `body` to `path`; what the answer holds does not matter.
    package func post(
        _ path: String, _ body: some Encodable & Sendable, call: Call = Call()
    ) async throws(Failure) {
        _ = try await answer(path, body: Self.encode(body), call: call)
    }

    /// GET `path`; what the answer holds does not matter.
    package func get(_ path: String, call: Call = Call()) async throws(Failure) {
        _ = try await answer(path, body: nil, call: call)
    }

    private static func encode(_ value: some Encodable) throws(Failure) -> [UInt8] {
        do {
            return try WireJSON.encode(value)
        } catch {
            throw Failure("worker.internal", "a request that JSON cannot hold")
        }
    }

    private static func decode<Answer: Decodable>(
        _ body: [UInt8], _ path: String
    ) throws(Failure) -> Answer {
        do {
            return try WireJSON.decode(from: body)
        } catch {
            throw Failure(
                "cluster.protocol",
                "\(Redaction.shown(path, limit: 2_000)): the answer is not \(Answer.self)")
        }
    }

    /// The body of a 2xx answer, after as many tries as `call` allows.
    private func answer(
        _ path: String, body: [UInt8]?, call: Call
    ) async throws(Failure) -> [UInt8] {
        let retrySeconds = call.retrySeconds ?? retrySeconds
        let mayRepeat = retrySeconds > 0
        var backoff = Backoff(forSeconds: retrySeconds)
        let end = ContinuousClock.now + .seconds(Self.catalogSeconds)
        while true {
            let failure: Failure
            let isUnsent: Bool
            let begin = ContinuousClock.now
            do throws(WireFailure) {
                return try await pass(path, body: body, call: call, mayRepeat: mayRepeat)
            } catch {
                (failure, isUnsent) = (error.failure, error.isUnsent)
            }
            let now = ContinuousClock.now
            if call.isOfCatalog, !isUnsent, now - begin > .seconds(retrySeconds), now < end {
                backoff = Backoff(forSeconds: retrySeconds)
            }
            guard mayRepeat, failure.code.isOfUnavailableCluster, !Task.isCancelled,
                let delay = backoff.next()
            else { throw failure }
            do {
                try await Task.sleep(for: delay)
            } catch {
                throw WireFailure.cancelled.failure
            }
        }
    }

    /// One try at each endpoint, from the current one.
    private func pass(
        _ path: String, body: [UInt8]?, call: Call, mayRepeat: Bool
    ) async throws(WireFailure) -> [UInt8] {
        let first = current.load(ordering: .relaxed)
        var last = WireFailure(
            failure: Failure("cluster.coordinatorUnreachable", "no coordinator"), isUnsent: true)
        for step in 0..<endpoints.count {
            let index = (first + step) % endpoints.count
            let request = WireRequest(
                url: endpoints[index] + path, body: body,
                connectTimeoutSeconds: min(Self.connectTimeoutSeconds, timeoutSeconds),
                timeoutSeconds: call.isOfCatalog
                    ? Self.catalogSeconds : timeoutSeconds + call.waitSeconds,
                maximumAnswerBytes: Self.maximumAnswerBytes)
            do throws(WireFailure) {
                let answer = try await loop.perform(request)
                guard (200..<300).contains(answer.status) else {
                    throw WireFailure(
                        failure: explained(Self.failure(answer, path), of: endpoints[index]),
                        isUnsent: false)
                }
                return answer.body
            } catch {
                // Any of them may have done it.
                last = WireFailure(
                    failure: error.failure, isUnsent: last.isUnsent && error.isUnsent)
                guard error.failure.code.isOfUnreachableCoordinator else { throw last }
                // By whoever finds it first: the others, and those that took longer, change nothing.
                _ = current.compareExchange(
                    expected: index, desired: (index + 1) % endpoints.count, ordering: .relaxed)
                guard mayRepeat || error.isUnsent else { throw last }
            }
        }
        throw last
    }

    /// Names the coordinator that refuses a token, and where that came from; or the server that seems to be none.
    private func explained(_ failure: Failure, of endpoint: String) -> Failure {
        let shown = Redaction.shown(endpoint, limit: 2_000)
        guard failure.code != "cluster.protocol" else {
            return Failure(failure.code, "\(shown): \(failure.message)")
        }
        guard failure.code == "cluster.unauthorized" else { return failure }
        let token =
            tokenSource.map { "the token is from \($0)" }
            ?? "neither DRAY_TOKEN_FILE nor DRAY_TOKEN is set"
        let message =
            failure.message.hasSuffix(".") ? failure.message.dropLast() : failure.message[...]
        return Failure(failure.code, "\(shown): \(message); \(token)")
    }

    /// What an answer that is not 2xx says, or, when something else than a coordinator answered,
    /// what its status means.
    private static func failure(_ answer: WireAnswer, _ path: String) -> Failure {
        if let said = try? JSONDecoder().decode(ErrorAnswer.self, from: Data(answer.body)) {
            return said.error
        }
        let code: FailureCode
        switch answer.status {
        case 401, 403: code = "cluster.unauthorized"
        case 413: code = "input.tooLarge"
        case 429: code = "cluster.busy"
        case 502, 503, 504: code = "cluster.coordinatorUnreachable"
        default: code = "cluster.protocol"
        }
        return Failure(
            code,
            "\(Redaction.shown(path, limit: 2_000)): status \(answer.status) without a message; is it a coordinator?"
        )
    }
}

/// Waits between tries: random between nothing and a bound that doubles ("full jitter").
struct Backoff {
    private static let firstSeconds = 0.1
    private static let longestSeconds = 5.0

    private let deadline: ContinuousClock.Instant
    private var boundSeconds = Self.firstSeconds

    init(forSeconds seconds: Double) {
        deadline = ContinuousClock.now + .seconds(seconds)
    }

    /// The next wait; nil when it would end after the deadline.
    mutating func next() -> Duration? {
        let delay = Duration.seconds(Double.random(in: 0...boundSeconds))
        boundSeconds = min(boundSeconds * 2, Self.longestSeconds)
        return ContinuousClock.now + delay < deadline ? delay : nil
    }
}
