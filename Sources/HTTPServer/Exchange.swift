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
        var body: [UInt8] = []
        /// More than the limit has come: the rest is dropped.
        var isTooLarge = false
        var droppedBytes = 0
        var response: HTTPResponse?
        var task: Task<Void, Never>?
    }

    init(connection: OpaquePointer) {
        self.connection = connection
        state = Mutex(State())
    }

    /// Adds to the body. False when the connection must be cut: a sender who goes on for long after
    /// the limit will not listen to an answer either.
    func receive(_ bytes: UnsafeRawBufferPointer, limit: Int) -> Bool {
        state.withLock { state in
            if state.isTooLarge || state.body.count + bytes.count > limit {
                state.isTooLarge = true
                state.body = []
                state.droppedBytes += bytes.count
                return state.droppedBytes <= max(limit, 1 << 20)
            }
            state.body.append(contentsOf: bytes)
            return true
        }
    }

    /// The response to queue now, if the handler is done.
    func takeResponse() -> HTTPResponse? {
        state.withLock { state in
            state.phase == .answered ? state.response.take() : nil
        }
    }

    /// The body, taken out; nil when it was too large.
    func takeBody() -> [UInt8]? {
        state.withLock { state in
            defer { state.body = [] }
            return state.isTooLarge ? nil : state.body
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
