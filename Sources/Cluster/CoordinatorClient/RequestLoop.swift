import API
internal import Curl
internal import Model

/// One HTTP request to a coordinator.
struct WireRequest: Sendable {
    var url: String
    /// Body of a POST; nil for a GET.
    var body: WireBody?
    var connectTimeoutSeconds: Double
    var timeoutSeconds: Double
    var maximumAnswerBytes: Int
    /// Value of `Idempotency-Key`; nil without.
    var idempotencyKey: String?
    /// Takes the body of a 2xx answer as it arrives, on the loop; returns false to end the request.
    /// Such a request asks for a stream of events.
    var sink: Sink?

    typealias Sink = @Sendable (UnsafeRawBufferPointer) -> Bool
}

struct WireAnswer: Sendable {
    var status: Int
    var body: WireBody
    /// Trace of a failure, as the coordinator names it in its log; nil for none.
    var traceID: String?
    /// Nil unless the loop keeps them.
    var details: WireDetails?
}

/// Details of an answer besides its body, for `CoordinatorClient.probe`.
struct WireDetails: Sendable {
    var dateSeconds: Int64?
    var certificateEnd: Int64?
    var totalSeconds: Double
}

/// A body with its format.
struct WireBody: Sendable {
    var bytes: [UInt8]
    var format: WireFormat
}

/// The reason for which there is no answer.
struct WireFailure: Error, Sendable {
    var failure: Failure
    /// True if the request cannot have reached a coordinator.
    var isUnsent: Bool
}

/// Sends a client's requests on one thread.
final class RequestLoop: Sendable {
    private typealias Requests = CurlRequests<Context, Result<WireAnswer, WireFailure>>
    private let requests: Requests
    private let keepsDetails: Bool

    /// State that requests share; confined to the loop.
    private final class Context {
        var headers: RequestHeaders
        var peers: PeerCheck

        init(_ headers: RequestHeaders, _ peers: PeerCheck) {
            self.headers = headers
            self.peers = peers
        }
    }

    /// - Parameters:
    ///   - token: what the peers are checked for; nil if there is nothing to protect.
    ///   - keepsDetails: true for answers with their `details`.
    init(
        maximumConnections: Int, options: CurlEasy.Options, headerLines: [String],
        token: AccessToken?, keepsDetails: Bool = false
    ) throws(Failure) {
        self.keepsDetails = keepsDetails
        var limits = CurlMulti.Limits()
        limits.totalConnections = maximumConnections
        do {
            requests = try Requests(
                name: "coordinator", limits: limits,
                context: Context(RequestHeaders(headerLines), PeerCheck(token: token)),
                ended: .failure(.cancelled)
            ) { () throws(CurlError) in
                let easy = try CurlEasy(options: options)
                if keepsDetails { try easy.keepCertificate() }
                return easy
            }
        } catch {
            throw Failure(.workerInternal, "\(error)")
        }
    }

    /// Performs a request; cancelling the task ends it with `worker.cancelled`.
    func perform(_ request: WireRequest) async throws(WireFailure) -> WireAnswer {
        let call = Requests.Request(
            { [keepsDetails] context, easy, finish throws(CurlError) in
                try Self.prepare(easy, for: request, &context.headers)
                return Exchange(
                    maximumBytes: request.maximumAnswerBytes, url: request.url,
                    wantsDetails: keepsDetails, sink: request.sink,
                    check: { context.peers.rejection(of: $0, url: request.url) }, finish: finish)
            },
            failed: { error in
                let code: FailureCode =
                    error.code == .malformedURL ? .inputURL : .workerInternal
                return .failure(
                    WireFailure(failure: Failure(code, error.description), isUnsent: true))
            })
        return try await requests.answer(to: call).get()
    }

    /// Ends every request with `worker.cancelled` and joins the thread. Must not be called on it.
    func shutdown() { requests.shutdown() }

    private static func prepare(
        _ easy: CurlEasy, for request: WireRequest, _ headers: inout RequestHeaders
    ) throws(CurlError) {
        try easy.setURL(request.url)
        try easy.setHeaders(try headers.of(request))
        if let body = request.body { try easy.setPost(body.bytes) } else { try easy.setGet() }
        try easy.setConnectTimeout(milliseconds: Int(request.connectTimeoutSeconds * 1000))
        try easy.setTotalTimeout(milliseconds: Int(request.timeoutSeconds * 1000))
    }
}

extension WireFailure {
    static let cancelled = WireFailure(
        failure: Failure(.workerCancelled, "the request was cancelled"), isUnsent: true)
}

/// A running request; confined to the loop.
private final class Exchange: CurlEasyDelegate {
    private let maximumBytes: Int
    private let url: String
    private let wantsDetails: Bool
    private let sink: WireRequest.Sink?
    /// True if the sink wants no more.
    private var isStopped = false
    private let finish: (Result<WireAnswer, WireFailure>) -> Void
    private var body: [UInt8] = []
    private var isTooLarge = false
    private let check: (CurlEasy) -> Failure?
    /// Failure of the peer's check; nothing was sent.
    private var rejection: Failure?

    init(
        maximumBytes: Int, url: String, wantsDetails: Bool, sink: WireRequest.Sink?,
        check: @escaping (CurlEasy) -> Failure?,
        finish: @escaping (Result<WireAnswer, WireFailure>) -> Void
    ) {
        self.maximumBytes = maximumBytes
        self.url = url
        self.wantsDetails = wantsDetails
        self.sink = sink
        self.check = check
        self.finish = finish
    }

    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        if let sink, (200..<300).contains(easy.status) {
            isStopped = !sink(bytes)
            return isStopped ? .abort : .proceed
        }
        guard body.count + bytes.count <= maximumBytes else {
            isTooLarge = true
            return .abort
        }
        body.append(contentsOf: bytes)
        return .proceed
    }

    /// Admits any address: the operator chose the coordinator's, and the peer is checked before a
    /// request.
    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool { true }

    func curlMaySend(_ easy: CurlEasy) -> Bool {
        rejection = check(easy)
        return rejection == nil
    }

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        if let rejection {
            return finish(.failure(WireFailure(failure: rejection, isUnsent: true)))
        }
        if code == .ok || isStopped {
            let format = easy.header("content-type").flatMap { WireFormat(contentType: $0) }
            let answer = WireBody(bytes: body, format: format ?? .json)
            let details =
                wantsDetails
                ? WireDetails(
                    dateSeconds: easy.dateSeconds, certificateEnd: easy.certificateEnd,
                    totalSeconds: easy.timings.totalSeconds) : nil
            // Of a failure of the coordinator itself, whose log has more.
            let trace = easy.status == 500 ? easy.header("trace-id") : nil
            return finish(
                .success(
                    WireAnswer(
                        status: easy.status, body: answer,
                        traceID: trace.flatMap { TraceContext.isTraceID($0) ? $0 : nil },
                        details: details)))
        }
        let failure: Failure
        if isTooLarge {
            failure = Failure(
                .clusterProtocol,
                "\(Redaction.shown(url, limit: 2_000)): an answer of more than \(maximumBytes) bytes"
            )
        } else if let reason = TLSFailure.explain(easy, code) {
            failure = Failure(
                reason.code, "\(Redaction.shown(url, limit: 2_000)): \(reason.message)")
        } else {
            let detail = easy.errorDetail.isEmpty ? code.message : easy.errorDetail
            failure = Failure(
                .clusterCoordinatorUnreachable, "\(Redaction.shown(url, limit: 2_000)): \(detail)"
            )
        }
        let isUnsent =
            [.couldNotConnect, .couldNotResolveHost, .tlsConnect, .peerFailedVerification]
            .contains(code)
        finish(.failure(WireFailure(failure: failure, isUnsent: isUnsent)))
    }
}
