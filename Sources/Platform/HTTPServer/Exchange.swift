internal import CLinux
internal import Synchronization

/// A request at its handler until it is answered. Safe from any thread.
final class Exchange: Sendable {
    /// Number of the connection.
    private let id: Int
    private let server: ServerLoop
    private let state: Mutex<State>

    private struct State {
        /// The connection's socket; nil once it may be closed.
        var descriptor: Int32?
        var isFinished = false
        var task: Task<Void, Never>?
    }

    init(_ id: Int, descriptor: Int32, of server: ServerLoop) {
        self.id = id
        self.server = server
        state = Mutex(State(descriptor: descriptor))
    }

    /// Starts the handler's task; uses the server's own handler without a route.
    func run(_ request: HTTPRequest, _ route: ArrivingBody.Route?) {
        var request = request
        request.isPeerConnected = { self.isPeerConnected }
        let handler = route?.handler ?? server.handler
        let task = Task(executorPreference: route?.placement(request)) { [request] in
            self.finish(await handler(request))
        }
        guard server.configuration.cancelsHandlers else { return }
        state.withLock { if !$0.isFinished { $0.task = task } }
        // A shutdown before this point found no task to cancel.
        if server.active.isRefusing { task.cancel() }
    }

    func cancel() {
        state.withLock { $0.task }?.cancel()
    }

    /// Sends the response; only the first call has an effect.
    func finish(_ response: HTTPResponse) {
        let isFirst = state.withLock { state in
            defer {
                state.isFinished = true
                state.task = nil
            }
            return !state.isFinished
        }
        guard isFirst else {
            response.stream?.close()
            return
        }
        server.answer(id, response)
    }

    /// Detaches from a connection that is answered or closed: its socket is not used again.
    func detach() {
        state.withLock { state in
            state.descriptor = nil
            state.isFinished = true
            state.task = nil
        }
    }

    /// False if the peer has closed its side, or after the response. Unread bytes prove nothing:
    /// within TLS they may be the peer's close_notify.
    private var isPeerConnected: Bool {
        state.withLock { state in
            guard let descriptor = state.descriptor, !state.isFinished else { return false }
            return dray_peer_has_left(descriptor) == 0
        }
    }
}
