import API
internal import Curl
internal import EventLoop
internal import Model
import Synchronization

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

/// What `CoordinatorClient.probe` reads of an answer, besides its body.
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

/// The event loop that runs a client's requests.
///
/// `@unchecked`: its variables are used on the loop's thread only, which `EventLoop` and
/// `CurlMulti` check.
final class RequestLoop: @unchecked Sendable {
    private let loop: EventLoop
    private let maximumConnections: Int
    private let options: CurlEasy.Options
    private let keepsDetails: Bool
    private var headers: RequestHeaders
    private var peers: PeerCheck
    private var multi: CurlMulti?
    private var idle: [CurlEasy] = []
    private var active: [ObjectIdentifier: Exchange] = [:]
    private var isClosed = false

    /// - Parameter keepsDetails: true for answers with their `details`.
    init(
        maximumConnections: Int, options: CurlEasy.Options, headerLines: [String],
        peers: PeerCheck, keepsDetails: Bool = false
    ) throws(Failure) {
        do {
            try CurlGlobal.initialize()
            loop = try EventLoop(name: "coordinator")
        } catch {
            throw Failure(.workerInternal, "\(error)")
        }
        self.maximumConnections = maximumConnections
        self.options = options
        headers = RequestHeaders(headerLines)
        self.keepsDetails = keepsDetails
        self.peers = peers
    }

    /// Performs a request; cancelling the task ends it with `worker.cancelled`.
    func perform(_ request: WireRequest) async throws(WireFailure) -> WireAnswer {
        let call = Call()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isQueued = loop.execute { [self] in
                    start(request, call) { continuation.resume(returning: $0) }
                }
                if !isQueued { continuation.resume(returning: .failure(.cancelled)) }
            }
        } onCancel: {
            call.isCancelled.store(true, ordering: .releasing)
            loop.execute { [self] in cancel(call) }
        }
        return try result.get()
    }

    /// Ends every request with `worker.cancelled` and joins the thread. Must not be called on it.
    func shutdown() {
        loop.execute { [self] in
            isClosed = true
            for exchange in Array(active.values) { end(exchange, .failure(.cancelled)) }
            multi?.close()
            multi = nil
            idle.removeAll()
        }
        loop.shutdown()
    }

    /// A request's identity; its task may be cancelled before the loop receives it.
    private final class Call: Sendable {
        let isCancelled = Atomic<Bool>(false)
    }

    // MARK: On the loop

    private func start(
        _ request: WireRequest, _ call: Call,
        completion: @escaping (Result<WireAnswer, WireFailure>) -> Void
    ) {
        guard !isClosed, !call.isCancelled.load(ordering: .acquiring) else {
            return completion(.failure(.cancelled))
        }
        do throws(CurlError) {
            let easy = try takeEasy()
            let exchange = Exchange(
                easy, maximumBytes: request.maximumAnswerBytes, url: request.url,
                wantsDetails: keepsDetails, sink: request.sink,
                check: { [unowned self] in peers.refusal(of: $0, url: request.url) }
            ) { [unowned self] result in
                active[ObjectIdentifier(call)] = nil
                idle.append(easy)
                completion(result)
            }
            try prepare(easy, for: request)
            easy.delegate = exchange
            active[ObjectIdentifier(call)] = exchange
            try multiHandle().add(easy)
        } catch {
            active[ObjectIdentifier(call)]?.easy.delegate = nil
            active[ObjectIdentifier(call)] = nil
            let code: FailureCode =
                error.code == .malformedURL ? .inputURL : .workerInternal
            completion(
                .failure(WireFailure(failure: Failure(code, error.description), isUnsent: true)))
        }
    }

    private func takeEasy() throws(CurlError) -> CurlEasy {
        if let easy = idle.popLast() { return easy }
        let easy = try CurlEasy(options: options)
        if keepsDetails { try easy.keepCertificate() }
        return easy
    }

    private func prepare(_ easy: CurlEasy, for request: WireRequest) throws(CurlError) {
        try easy.setURL(request.url)
        try easy.setHeaders(try headers.of(request))
        if let body = request.body {
            var refusal: CurlError?
            body.bytes.withUnsafeBytes { bytes in
                do throws(CurlError) { try easy.setPost(bytes) } catch { refusal = error }
            }
            if let refusal { throw refusal }
        } else {
            try easy.setGet()
        }
        try easy.setConnectTimeout(milliseconds: Int(request.connectTimeoutSeconds * 1000))
        try easy.setTotalTimeout(milliseconds: Int(request.timeoutSeconds * 1000))
    }

    private func multiHandle() throws(CurlError) -> CurlMulti {
        if let multi { return multi }
        var limits = CurlMulti.Limits()
        limits.totalConnections = maximumConnections
        let made = try CurlMulti(loop: loop, limits: limits)
        multi = made
        return made
    }

    private func cancel(_ call: Call) {
        guard let exchange = active[ObjectIdentifier(call)] else { return }
        end(exchange, .failure(.cancelled))
    }

    private func end(_ exchange: Exchange, _ result: Result<WireAnswer, WireFailure>) {
        multi?.remove(exchange.easy)
        exchange.finish(result)
    }
}

extension WireFailure {
    static let cancelled = WireFailure(
        failure: Failure(.workerCancelled, "the request was cancelled"), isUnsent: true)
}

/// A running request; confined to the loop.
private final class Exchange: CurlEasyDelegate {
    let easy: CurlEasy
    private let maximumBytes: Int
    private let url: String
    private let wantsDetails: Bool
    private let sink: WireRequest.Sink?
    /// True if the sink wants no more.
    private var isStopped = false
    private let completion: (Result<WireAnswer, WireFailure>) -> Void
    private var body: [UInt8] = []
    private var isTooLarge = false
    private let check: (CurlEasy) -> Failure?
    /// Failure of the peer's check; nothing was sent.
    private var refusal: Failure?

    init(
        _ easy: CurlEasy, maximumBytes: Int, url: String, wantsDetails: Bool,
        sink: WireRequest.Sink?,
        check: @escaping (CurlEasy) -> Failure?,
        completion: @escaping (Result<WireAnswer, WireFailure>) -> Void
    ) {
        self.easy = easy
        self.maximumBytes = maximumBytes
        self.url = url
        self.wantsDetails = wantsDetails
        self.sink = sink
        self.check = check
        self.completion = completion
    }

    func finish(_ result: Result<WireAnswer, WireFailure>) {
        easy.delegate = nil
        completion(result)
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
        refusal = check(easy)
        return refusal == nil
    }

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        if let refusal {
            return finish(.failure(WireFailure(failure: refusal, isUnsent: true)))
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
