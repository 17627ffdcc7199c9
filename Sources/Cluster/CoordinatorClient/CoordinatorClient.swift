import API
internal import Curl
internal import FoundationEssentials
package import Model
package import Services
import Synchronization

/// Sends requests to a cluster's coordinators over HTTP, to one of several endpoints.
///
/// Safe from any task. If a coordinator is down, the request goes to the next endpoint. A
/// repeatable request is retried with exponential backoff and full jitter until its time is over.
/// Cancelling the task cancels the request, with `worker.cancelled`. `shutdown` must be called
/// before a client is released.
package final class CoordinatorClient: Sendable {
    /// Maximum size of an answer in bytes: a full lease of the longest URLs and keys.
    static let maximumAnswerBytes = 64 << 20
    static let connectTimeoutSeconds = 5.0
    /// Maximum seconds of a request for a whole catalog, with for example ten million assets.
    package static let catalogSeconds = 3_600.0

    let endpoints: [String]
    /// Index of the endpoint to use first; moves on when that one is down.
    private let current = Atomic<Int>(0)
    let loop: RequestLoop
    private let retrySeconds: Double
    private let delays: RetryDelays
    let timeoutSeconds: Double
    /// Source of the token; nil without one.
    private let tokenSource: String?

    /// - Parameters:
    ///   - endpoints: http or https URLs of coordinators, separated by commas.
    ///   - token: sent as a bearer token; without one only health checks are answered. A
    ///     coordinator on this machine must run as this user, root or the owner of the token's
    ///     file.
    ///   - retrySeconds: seconds for which repeatable requests are retried by default.
    ///   - timeoutSeconds: timeout of one request, plus a long poll's wait; requests for whole
    ///     catalogs have `catalogSeconds`.
    ///   - tls: the files for https.
    ///   - trace: the trace of all its requests; nil lets the coordinator begin one for each.
    ///   - maximumConnections: maximum number of connections; further requests wait.
    ///   - isProbe: true for a client that only calls `look`.
    ///   - delays: between the attempts at a request.
    package init(
        endpoints: String, token: AccessToken? = nil, retrySeconds: Double = 30,
        timeoutSeconds: Double = 30, tls: CoordinatorTLS = CoordinatorTLS(),
        trace: TraceContext? = nil, maximumConnections: Int = 16, isProbe: Bool = false,
        delays: RetryDelays = RetryDelays(Backoff(firstSeconds: 0.1, maxSeconds: 5))
    ) throws(Failure) {
        var parsed: [String] = []
        for part in endpoints.split(separator: ",") {
            parsed.append(try Self.endpoint(String(part)))
        }
        guard !parsed.isEmpty else {
            throw Failure(.inputURL, "the coordinator's URL is empty")
        }
        self.endpoints = parsed
        self.retrySeconds = retrySeconds
        self.delays = delays
        self.timeoutSeconds = timeoutSeconds
        tokenSource = token.map { $0.source ?? "this process" }
        let types = [WireFormat.rows, .json].map(\.contentType).joined(separator: ", ")
        var lines = ["Accept: \(types)", "Expect:"]
        if let token { lines.append("Authorization: Bearer \(token.text)") }
        if let trace { lines.append("traceparent: \(trace.header)") }
        var options = CurlEasy.Options(userAgent: "dray/\(drayVersion)")
        options.bufferBytes = 64 << 10
        // A request may take an hour, and its coordinator may vanish silently.
        options.keepsAlive = true
        options.caFile = tls.caFile
        options.certificate = tls.certificate
        options.certificateKey = tls.key
        loop = try RequestLoop(
            maximumConnections: maximumConnections, options: options, headerLines: lines,
            token: token, keepsDetails: isProbe)
    }

    /// Cancels running requests and joins the thread.
    package func shutdown() { loop.shutdown() }

    /// Returns a base URL without its trailing slash.
    private static func endpoint(_ text: String) throws(Failure) -> String {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " || text.last == "/" { text.removeLast() }
        do {
            let url = try CurlURL(text)
            guard url.isHTTP, url.query == nil else {
                throw Failure(
                    .inputURL,
                    "the coordinator's URL \(Redaction.shown(text, limit: 2_000)) is not an http or https URL without query"
                )
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(
                .inputURL,
                "the coordinator's URL \(Redaction.shown(text, limit: 2_000)): \(error)")
        }
        return text
    }

    // MARK: Requests

    /// The timeouts and retries of a request.
    package struct Call: Sendable {
        /// Seconds for which retryable failures are retried; nil for the client's default. 0 for a
        /// request that must not reach a coordinator twice: then only endpoints that reject the
        /// connection are skipped.
        package var retrySeconds: Double?
        /// Seconds for which the coordinator may hold the request before it answers.
        package var waitSeconds = 0.0
        /// True for a request for a whole catalog: one attempt may take `catalogSeconds`. If it ran
        /// longer than the retry time and its answer was lost, the retry time starts again.
        package var isOfCatalog = false
        /// Takes the bytes of a stream of events; nil for other requests.
        var sink: WireRequest.Sink?
        /// The same for all attempts of a request that creates something, so that it creates it once;
        /// nil for other requests.
        package var idempotencyKey: String?

        package init(
            retrySeconds: Double? = nil, waitSeconds: Double = 0, isOfCatalog: Bool = false,
            idempotencyKey: String? = nil
        ) {
            self.idempotencyKey = idempotencyKey
            self.retrySeconds = retrySeconds
            self.waitSeconds = waitSeconds
            self.isOfCatalog = isOfCatalog
        }
    }

    /// Sends GET `path` (with its query) and decodes the answer.
    package func get<Answer: Decodable & Sendable>(
        _ path: String, as type: Answer.Type = Answer.self, call: Call = Call()
    ) async throws(Failure) -> Answer {
        try Self.decode(try await answer(path, body: nil, call: call), path)
    }

    /// Sends POST `path` with `body` and decodes the answer.
    package func post<Answer: Decodable & Sendable>(
        _ path: String, _ body: some Encodable & Sendable, as type: Answer.Type = Answer.self,
        call: Call = Call()
    ) async throws(Failure) -> Answer {
        try Self.decode(try await answer(path, body: Self.encode(body), call: call), path)
    }

    /// Sends POST `path` with `body` and decodes the answer; returns `other` for an older
    /// coordinator's empty one.
    package func post<Answer: Decodable & Sendable>(
        _ path: String, _ body: some Encodable & Sendable, or other: Answer, call: Call
    ) async throws(Failure) -> Answer {
        let answer = try await answer(path, body: Self.encode(body), call: call)
        return (try? answer.format.decode(from: answer.bytes)) ?? other
    }

    /// Sends POST `path` with `body` and ignores the answer's body.
    package func post(
        _ path: String, _ body: some Encodable & Sendable, call: Call = Call()
    ) async throws(Failure) {
        _ = try await answer(path, body: Self.encode(body), call: call)
    }

    /// Sends GET `path` and ignores the answer's body.
    package func get(_ path: String, call: Call = Call()) async throws(Failure) {
        _ = try await answer(path, body: nil, call: call)
    }

    private static func encode(_ value: some Encodable) throws(Failure) -> WireBody {
        let format = WireFormat.preferred(for: value)
        do {
            return WireBody(bytes: try format.encode(value), format: format)
        } catch {
            throw Failure(.workerInternal, "a request cannot be encoded: \(error)")
        }
    }

    static func decode<Answer: Decodable>(
        _ body: WireBody, _ path: String
    ) throws(Failure) -> Answer {
        do {
            return try body.format.decode(from: body.bytes)
        } catch {
            throw Failure(
                .clusterProtocol,
                "\(Redaction.shown(path, limit: 2_000)): the answer is not \(Answer.self)")
        }
    }

    /// Returns the body of a 2xx answer, after as many attempts as `call` allows.
    private func answer(
        _ path: String, body: WireBody?, call: Call
    ) async throws(Failure) -> WireBody {
        let retrySeconds = call.retrySeconds ?? retrySeconds
        let mayRepeat = retrySeconds > 0
        var attempts = Attempts(delays, forSeconds: retrySeconds)
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
                attempts = Attempts(delays, forSeconds: retrySeconds)
            }
            guard mayRepeat, failure.code.isOfUnavailableCluster, !Task.isCancelled,
                let delay = attempts.next()
            else { throw failure }
            do {
                try await Task.sleep(for: delay)
            } catch {
                throw WireFailure.cancelled.failure
            }
        }
    }

    /// Tries each endpoint once, from the current one on.
    func pass(
        _ path: String, body: WireBody?, call: Call, mayRepeat: Bool
    ) async throws(WireFailure) -> WireBody {
        let first = current.load(ordering: .relaxed)
        var last = WireFailure(
            failure: Failure(.clusterCoordinatorUnreachable, "no coordinator"), isUnsent: true)
        for step in 0..<endpoints.count {
            let index = (first + step) % endpoints.count
            var request = WireRequest(
                url: endpoints[index] + path, body: body,
                connectTimeoutSeconds: min(Self.connectTimeoutSeconds, timeoutSeconds),
                timeoutSeconds: call.isOfCatalog
                    ? Self.catalogSeconds : timeoutSeconds + call.waitSeconds,
                maximumAnswerBytes: Self.maximumAnswerBytes, idempotencyKey: call.idempotencyKey)
            request.sink = call.sink
            do throws(WireFailure) {
                let answer = try await loop.perform(request)
                do throws(Failure) {
                    return try accepted(answer, path, of: endpoints[index])
                } catch {
                    throw WireFailure(failure: error, isUnsent: false)
                }
            } catch {
                // Unsent only if no endpoint received it.
                last = WireFailure(
                    failure: error.failure, isUnsent: last.isUnsent && error.isUnsent)
                guard error.failure.code.isOfUnreachableCoordinator else { throw last }
                // Only the first request that finds it down moves on; the later ones change
                // nothing.
                _ = current.compareExchange(
                    expected: index, desired: (index + 1) % endpoints.count, ordering: .relaxed)
                guard mayRepeat || error.isUnsent else { throw last }
            }
        }
        throw last
    }

    /// Returns the body of a 2xx answer; throws the failure of another one.
    func accepted(
        _ answer: WireAnswer, _ path: String, of endpoint: String
    ) throws(Failure) -> WireBody {
        guard (200..<300).contains(answer.status) else {
            throw explained(Self.failure(answer, path), of: endpoint)
        }
        return answer.body
    }

    /// Adds the coordinator that rejected a token or its role, and the token's source; or the server
    /// that seems to be no coordinator.
    private func explained(_ failure: Failure, of endpoint: String) -> Failure {
        let shown = Redaction.shown(endpoint, limit: 2_000)
        guard failure.code != .clusterProtocol else {
            return failure.with(message: "\(shown): \(failure.message)")
        }
        guard [.clusterUnauthorized, .clusterForbidden, .clusterOutOfScope].contains(failure.code)
        else { return failure }
        let token =
            tokenSource.map { "the token is from \($0)" }
            ?? "neither DRAY_TOKEN_FILE nor DRAY_TOKEN is set; the token of a `dray up` is in the "
            + "file `token` of its state directory"
        let message =
            failure.message.hasSuffix(".") ? failure.message.dropLast() : failure.message[...]
        return failure.with(message: "\(shown): \(message); \(token)")
    }

    /// Returns the failure in an answer that is not 2xx, or that of its status if another server
    /// answered.
    private static func failure(_ answer: WireAnswer, _ path: String) -> Failure {
        if let said = try? JSONDecoder().decode(ErrorAnswer.self, from: Data(answer.body.bytes)) {
            guard let trace = answer.traceID else { return said.error }
            return said.error.with(message: "\(said.error.message) (trace \(trace))")
        }
        let code: FailureCode
        switch answer.status {
        case 401, 403: code = .clusterUnauthorized
        case 413: code = .inputTooLarge
        case 429: code = .clusterRateLimited
        case 502, 503, 504: code = .clusterCoordinatorUnreachable
        default: code = .clusterProtocol
        }
        return Failure(
            code,
            "\(Redaction.shown(path, limit: 2_000)): status \(answer.status) without a message; is it a coordinator?"
        )
    }
}

/// The attempts at one request, until its time is over.
private struct Attempts {
    private let delays: RetryDelays
    private let deadline: ContinuousClock.Instant
    private var count = 0

    init(_ delays: RetryDelays, forSeconds seconds: Double) {
        self.delays = delays
        deadline = ContinuousClock.now + .seconds(seconds)
    }

    /// Returns the delay before the next one; nil if it would end after the deadline.
    mutating func next() -> Duration? {
        count += 1
        let delay = Duration.seconds(delays.seconds(attempt: count))
        return ContinuousClock.now + delay < deadline ? delay : nil
    }
}
