internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// One request and its answer, from the request line until libmicrohttpd has done with it.
final class Exchange: Sendable {
    /// Used by libmicrohttpd's thread, and by `finish` to resume, which libmicrohttpd allows from
    /// any thread while the connection is suspended.
    nonisolated(unsafe) private let connection: OpaquePointer
    private let state: Mutex<State>

    /// Each phase can only move to the next one.
    enum Phase {
        /// The body arrives.
        case receiving
        /// The connection is suspended and the handler runs.
        case handling
        /// The response is set, and the connection resumed.
        case answered
    }

    private struct State {
        var phase = Phase.receiving
        /// Without its body until all of that is there.
        var request: HTTPRequest?
        var body: [UInt8] = []
        /// Of the body, as it counts against the budget.
        var heldBytes = 0
        /// Why there will be no request; what comes of the body is dropped.
        var obstacle: Arrival?
        var droppedBytes = 0
        var response: HTTPResponse?
        var task: Task<Void, Never>?
    }

    init(connection: OpaquePointer) {
        self.connection = connection
        state = Mutex(State())
    }

    /// What has become of a request when the last of it has arrived.
    enum Arrival {
        case whole(HTTPRequest)
        case refused(HTTPResponse)
        case tooLarge
        case tooMuchAtOnce
    }

    /// The headers are there. With a refusal, or without a request, the body will be dropped.
    func begin(_ request: HTTPRequest?, refusal: HTTPResponse?) {
        state.withLock { state in
            state.request = request
            state.obstacle = refusal.map(Arrival.refused)
        }
    }

    /// Adds to the body. False when the connection must be cut: a sender who goes on for long after
    /// the limit will not listen to an answer either.
    func receive(_ bytes: UnsafeRawBufferPointer, _ budget: BodyBudget) -> Bool {
        state.withLock { state in
            let count = state.body.count + bytes.count
            if state.obstacle == nil {
                if count > budget.maximumBodyBytes {
                    state.obstacle = .tooLarge
                } else if !budget.hold(count, &state.heldBytes) {
                    state.obstacle = .tooMuchAtOnce
                }
            }
            guard state.obstacle == nil else {
                state.body = []
                budget.letGo(&state.heldBytes)
                state.droppedBytes += bytes.count
                return state.droppedBytes <= max(budget.maximumBodyBytes, 1 << 20)
            }
            state.body.append(contentsOf: bytes)
            return true
        }
    }

    /// The request is done with.
    func letGo(_ budget: BodyBudget) {
        state.withLock { budget.letGo(&$0.heldBytes) }
    }

    /// The response to queue now, if the handler is done.
    func takeResponse() -> HTTPResponse? {
        state.withLock { state in
            state.phase == .answered ? state.response.take() : nil
        }
    }

    /// The request with its body, taken out, or why there is none.
    func takeRequest() -> Arrival {
        state.withLock { state in
            if let obstacle = state.obstacle { return obstacle }
            guard var request = state.request.take() else { return .tooLarge }
            request.body = state.body
            state.body = []
            return .whole(request)
        }
    }

    /// Suspends the connection; runs on libmicrohttpd's thread, within its callback.
    func suspend() {
        state.withLock { $0.phase = .handling }
        MHD_suspend_connection(connection)
    }

    /// False when the peer has closed its side, or after the answer was given.
    var isPeerConnected: Bool {
        state.withLock { state in
            // The socket is this connection's for as long as it is suspended.
            guard state.phase == .handling else { return false }
            var byte: UInt8 = 0
            let count = recv(
                dray_mhd_socket(connection), &byte, 1,
                Self.peekFlags)
            return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))
        }
    }

    private static let peekFlags = Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)

    func setTask(_ task: Task<Void, Never>) {
        state.withLock { $0.task = task }
    }

    func cancel() {
        state.withLock { $0.task }?.cancel()
    }

    /// Sets the response and resumes the connection; only the first call has an effect.
    func finish(_ response: HTTPResponse) {
        state.withLock { state in
            guard state.phase == .handling else { return }
            state.phase = .answered
            state.response = response
            state.task = nil
            // Under the lock: after it, the connection belongs to libmicrohttpd again.
            MHD_resume_connection(connection)
        }
    }
}
