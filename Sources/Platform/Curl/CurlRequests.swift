import EventLoop
import Synchronization

/// Sends requests on a thread of its own and keeps connections open, for tasks that wait for answers.
///
/// Safe from any task; `shutdown` must be called before it is released.
///
/// `@unchecked`: its variables are used on the loop's thread only, which `EventLoop` and `CurlMulti`
/// check.
package final class CurlRequests<Context, Answer: Sendable>: @unchecked Sendable {
    private let loop: EventLoop
    private let limits: CurlMulti.Limits
    private let context: Context
    private let ended: Answer
    private let makeEasy: @Sendable () throws(CurlError) -> CurlEasy
    private var multi: CurlMulti?
    private var idle: [CurlEasy] = []
    private var running: [ObjectIdentifier: Running] = [:]
    private var isClosed = false
    private var watch: LoopTimer?

    /// One request.
    package struct Request: Sendable {
        /// Sets up the handle for the request, on the loop, and returns its delegate, which passes
        /// the answer on, once.
        package typealias Begin =
            @Sendable (Context, CurlEasy, @escaping (Answer) -> Void) throws(CurlError) ->
            any CurlEasyDelegate

        private(set) var begin: Begin
        private(set) var failed: @Sendable (CurlError) -> Answer
        private(set) var stop: (@Sendable () -> Answer?)?

        /// - Parameters:
        ///   - failed: answer of a request that could not be started.
        ///   - stop: called before the request and ten times a second during it; an answer ends it.
        package init(
            _ begin: @escaping Begin, failed: @escaping @Sendable (CurlError) -> Answer,
            stop: (@Sendable () -> Answer?)? = nil
        ) {
            self.begin = begin
            self.failed = failed
            self.stop = stop
        }
    }

    /// A request's identity; its task may be cancelled before the loop receives it.
    private final class Token: Sendable {
        let isCancelled = Atomic<Bool>(false)
    }

    private struct Running {
        let token: Token
        let easy: CurlEasy
        let stop: (@Sendable () -> Answer?)?
        let finish: (Answer) -> Void
    }

    /// Between two calls of `stop`: much less than the margin at the end of a lease.
    private static var watchSeconds: Double { 0.1 }

    /// Starts the thread. Throws an error of the system or of libcurl.
    ///
    /// - Parameters:
    ///   - name: the thread's.
    ///   - context: what requests have in common, for use on the loop only.
    ///   - ended: answer of requests that end by `shutdown` or with their task.
    ///   - makeEasy: makes a handle, which is used for one request after another.
    package init(
        name: String, limits: CurlMulti.Limits = CurlMulti.Limits(), context: sending Context,
        ended: Answer, makeEasy: @escaping @Sendable () throws(CurlError) -> CurlEasy
    ) throws {
        try CurlGlobal.initialize()
        loop = try EventLoop(name: name)
        self.limits = limits
        self.context = context
        self.ended = ended
        self.makeEasy = makeEasy
    }

    /// Sends a request.
    ///
    /// - Parameter endsWithTask: false for a request that continues when its task is cancelled.
    package func answer(to request: Request, endsWithTask: Bool = true) async -> Answer {
        let token = Token()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isQueued = loop.execute { [self] in
                    start(request, token) { continuation.resume(returning: $0) }
                }
                if !isQueued { continuation.resume(returning: ended) }
            }
        } onCancel: {
            guard endsWithTask else { return }
            token.isCancelled.store(true, ordering: .releasing)
            loop.execute { [self] in end(token, ended) }
        }
    }

    /// Ends every request and joins the thread; on the thread itself, once it is done with what it
    /// does.
    package func shutdown() {
        loop.execute { [self] in
            isClosed = true
            for request in Array(running.values) { end(request.token, ended) }
            multi?.close()
            multi = nil
            idle.removeAll()
        }
        loop.shutdown()
    }

    // MARK: On the loop

    private func start(
        _ request: Request, _ token: Token, _ completion: @escaping (Answer) -> Void
    ) {
        guard !isClosed, !token.isCancelled.load(ordering: .acquiring) else {
            return completion(ended)
        }
        if let answer = request.stop?() { return completion(answer) }
        let key = ObjectIdentifier(token)
        do throws(CurlError) {
            let easy = try takeEasy()
            let finish: (Answer) -> Void = { [unowned self] answer in
                easy.delegate = nil
                running[key] = nil
                idle.append(easy)
                completion(answer)
            }
            easy.delegate = try request.begin(context, easy, finish)
            running[key] = Running(
                token: token, easy: easy, stop: request.stop, finish: finish)
            try multiHandle().add(easy)
            if request.stop != nil { watchRequests() }
        } catch {
            running.removeValue(forKey: key)?.easy.delegate = nil
            completion(request.failed(error))
        }
    }

    private func takeEasy() throws(CurlError) -> CurlEasy {
        if let easy = idle.popLast() { return easy }
        return try makeEasy()
    }

    private func multiHandle() throws(CurlError) -> CurlMulti {
        if let multi { return multi }
        let made = try CurlMulti(loop: loop, limits: limits)
        multi = made
        return made
    }

    private func end(_ token: Token, _ answer: Answer) {
        guard let request = running[ObjectIdentifier(token)] else { return }
        multi?.remove(request.easy)
        request.finish(answer)
    }

    private func watchRequests() {
        guard watch == nil else { return }
        watch = loop.schedule(afterSeconds: Self.watchSeconds) { [unowned self] in
            watch = nil
            for request in Array(running.values) {
                if let answer = request.stop?() { end(request.token, answer) }
            }
            if running.values.contains(where: { $0.stop != nil }) { watchRequests() }
        }
    }
}

extension CurlEasy {
    /// Sets up a POST with a copy of `body`.
    package func setPost(_ body: [UInt8]) throws(CurlError) {
        var failure: CurlError?
        body.withUnsafeBytes { bytes in
            do throws(CurlError) { try setPost(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
