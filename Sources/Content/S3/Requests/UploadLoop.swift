internal import Curl
internal import EventLoop
internal import FileSystem
package import Model
import Services
import Synchronization

/// The event loop that runs requests to S3 servers: one thread, many connections.
///
/// `@unchecked`: its variables are used on the loop's thread only, which `EventLoop` and
/// `CurlMulti` check.
package final class UploadLoop: @unchecked Sendable {
    private let loop: EventLoop
    private let maximumConnections: Int
    private let options: CurlEasy.Options
    private var multi: CurlMulti?
    private var idle: [CurlEasy] = []
    private var active: [ObjectIdentifier: Exchange] = [:]
    private var isClosed = false
    private var watch: LoopTimer?

    /// Seconds between looks at the leases of running requests; much less than the margin at the
    /// end of a lease.
    private static let watchSeconds = 0.1

    /// - Parameter caFile: PEM file that replaces the system's authorities; nil for those.
    package init(maximumConnections: Int = 64, caFile: String? = nil) throws(Failure) {
        do {
            try CurlGlobal.initialize()
            loop = try EventLoop(name: "s3")
        } catch {
            throw Failure(.workerInternal, "\(error)")
        }
        self.maximumConnections = maximumConnections
        var options = CurlEasy.Options(userAgent: "dray")
        options.caFile = caFile
        options.keepsAlive = true
        self.options = options
    }

    /// Performs a request; cancelling the task ends it with `worker.cancelled`. Throws
    /// `storage.unavailable` without an answer.
    func perform(_ call: HTTPCall) async throws(Failure) -> HTTPAnswer {
        let token = Token()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isQueued = loop.execute { [self] in
                    start(call, token) { continuation.resume(returning: $0) }
                }
                if !isQueued { continuation.resume(returning: .failure(Self.cancelled)) }
            }
        } onCancel: {
            token.isCancelled.store(true, ordering: .releasing)
            loop.execute { [self] in end(token, Self.cancelled) }
        }
        return try result.get()
    }

    /// Waits without a thread.
    func pause(seconds: Double) async {
        await withCheckedContinuation { continuation in
            let isQueued = loop.execute { [self] in
                loop.schedule(afterSeconds: seconds) { continuation.resume() }
            }
            if !isQueued { continuation.resume() }
        }
    }

    /// Ends every request with `worker.cancelled` and joins the thread; on the thread itself, once it
    /// is done with what it does.
    package func shutdown() {
        loop.execute { [self] in
            isClosed = true
            for exchange in Array(active.values) { end(exchange.token, Self.cancelled) }
            multi?.close()
            multi = nil
            idle.removeAll()
        }
        loop.shutdown()
    }

    /// A request's identity; its task may be cancelled before the loop receives it.
    fileprivate final class Token: Sendable {
        let isCancelled = Atomic<Bool>(false)
    }

    private static let cancelled = Failure(.workerCancelled, "the request was cancelled")
    private static let leaseLost = Failure(
        .workerLeaseLost, "the lease ended while an object was sent; it is not stored")

    // MARK: On the loop

    private func start(
        _ call: HTTPCall, _ token: Token,
        completion: @escaping (Result<HTTPAnswer, Failure>) -> Void
    ) {
        guard !isClosed, !token.isCancelled.load(ordering: .acquiring) else {
            return completion(.failure(Self.cancelled))
        }
        guard call.isWanted() else { return completion(.failure(Self.leaseLost)) }
        do throws(CurlError) {
            let easy = try takeEasy()
            let exchange = Exchange(easy, token, call) { [unowned self] result in
                active[ObjectIdentifier(token)] = nil
                idle.append(easy)
                completion(result)
            }
            try Self.prepare(easy, for: call)
            easy.delegate = exchange
            active[ObjectIdentifier(token)] = exchange
            try multiHandle().add(easy)
            watchLeases()
        } catch {
            active[ObjectIdentifier(token)]?.easy.delegate = nil
            active[ObjectIdentifier(token)] = nil
            completion(.failure(Failure(.storageUnavailable, error.description)))
        }
    }

    private func takeEasy() throws(CurlError) -> CurlEasy {
        if let easy = idle.popLast() { return easy }
        return try CurlEasy(options: options)
    }

    private static func prepare(_ easy: CurlEasy, for call: HTTPCall) throws(CurlError) {
        try easy.setURL(call.url)
        // A type of a form, and a round trip before larger bodies, are libcurl's own defaults.
        try easy.setHeaders(try CurlHeaders(call.headers + ["Expect:"]))
        switch call.body {
        case nil: try easy.setRequest(call.method, borrowing: nil)
        case .memory(let bytes):
            try easy.setRequest(call.method, borrowing: UnsafeRawBufferPointer(bytes.buffer))
        case .file(_, _, let count):
            try easy.setRequest(call.method, providing: Int64(count))
        }
        try easy.setConnectTimeout(milliseconds: Int(call.connectTimeoutSeconds * 1000))
        try easy.setTotalTimeout(milliseconds: Int(call.timeoutSeconds * 1000))
    }

    private func multiHandle() throws(CurlError) -> CurlMulti {
        if let multi { return multi }
        var limits = CurlMulti.Limits()
        limits.totalConnections = maximumConnections
        let made = try CurlMulti(loop: loop, limits: limits)
        multi = made
        return made
    }

    private func end(_ token: Token, _ failure: Failure) {
        guard let exchange = active[ObjectIdentifier(token)] else { return }
        multi?.remove(exchange.easy)
        exchange.finish(.failure(failure))
    }

    private func watchLeases() {
        guard watch == nil else { return }
        watch = loop.schedule(afterSeconds: Self.watchSeconds) { [unowned self] in
            watch = nil
            for exchange in Array(active.values) where !exchange.call.isWanted() {
                end(exchange.token, Self.leaseLost)
            }
            if !active.isEmpty { watchLeases() }
        }
    }
}

/// A running request; confined to the loop.
private final class Exchange: CurlEasyDelegate {
    let easy: CurlEasy
    let token: UploadLoop.Token
    let call: HTTPCall
    private let completion: (Result<HTTPAnswer, Failure>) -> Void
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var isStopped = false
    private var isAdmitted = false
    private var readFailure: Failure?

    init(
        _ easy: CurlEasy, _ token: UploadLoop.Token, _ call: HTTPCall,
        completion: @escaping (Result<HTTPAnswer, Failure>) -> Void
    ) {
        self.easy = easy
        self.token = token
        self.call = call
        self.completion = completion
    }

    func finish(_ result: Result<HTTPAnswer, Failure>) {
        easy.delegate = nil
        completion(result)
    }

    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        if let sink = call.sink, (200..<300).contains(easy.status) {
            if !isAdmitted, let admits = call.admits {
                isStopped = !admits(easy.header("etag"))
                guard !isStopped else { return .abort }
                isAdmitted = true
            }
            isStopped = !sink(bytes)
            return isStopped ? .abort : .proceed
        }
        guard body.count + bytes.count <= call.maximumAnswerBytes else {
            isTooLarge = true
            return .abort
        }
        body.append(contentsOf: bytes)
        return .proceed
    }

    func curl(
        _ easy: CurlEasy, provides buffer: UnsafeMutableRawBufferPointer, from offset: Int64
    ) -> Int? {
        guard case .file(let file, let start, let count) = call.body else { return nil }
        let wanted = UnsafeMutableRawBufferPointer(
            rebasing: buffer.prefix(Int(min(Int64(buffer.count), Int64(count) - offset))))
        do throws(SystemError) {
            let read = try file.read(into: wanted, at: start + offset)
            if read > 0 { return read }
            readFailure = Failure(.storageIO, "a body in the spool is cut short")
        } catch {
            readFailure = Failure(.storageIO, "a body in the spool: \(error)")
        }
        return nil
    }

    /// Admits any address: the operator chose the endpoint's.
    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool { true }

    func curlMaySend(_ easy: CurlEasy) -> Bool { call.isWanted() }

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        guard code != .ok, !isStopped else {
            var headers: [String: String] = [:]
            for name in HTTPAnswer.names { headers[name] = easy.header(name) }
            return finish(
                .success(
                    HTTPAnswer(
                        status: easy.status, body: body, headers: headers,
                        dateSeconds: easy.dateSeconds)))
        }
        guard call.isWanted() else {
            return finish(
                .failure(Failure(.workerLeaseLost, "the lease ended while an object was sent")))
        }
        if let readFailure { return finish(.failure(readFailure)) }
        let reason =
            isTooLarge
            ? "an answer of more than \(call.maximumAnswerBytes) bytes"
            : easy.errorDetail.isEmpty ? code.message : easy.errorDetail
        let url = Redaction.shown(call.url, limit: 2_000)
        finish(.failure(Failure(.storageUnavailable, "\(url): \(reason)")))
    }
}
