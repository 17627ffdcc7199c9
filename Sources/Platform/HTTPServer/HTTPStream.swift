internal import Synchronization

/// The body of a response that is sent in pieces over a long time, such as server-sent events.
///
/// Safe from any thread. It ends by `end`, or when the peer leaves, does not read, or the server
/// stops; `closed` is then called once, on any thread. Unsent bytes are limited: the sender decides
/// what to do about a slow reader.
package final class HTTPStream: Sendable {
    private struct State {
        /// Nil before the response is sent, and after the end.
        var connection: (Int, ServerLoop)?
        var unsent: [UInt8] = []
        /// True if nothing more will be sent.
        var isEnded = false
        var isClosed = false
        /// True while the connection has a notice of unsent bytes before it.
        var isNotified = false
    }

    private let maximumUnsentBytes: Int
    private let closed: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - maximumUnsentBytes: maximum of bytes that wait for the socket.
    ///   - closed: called once, when nothing can be sent any more. Must not wait.
    package init(
        maximumUnsentBytes: Int = 256 << 10, closed: @escaping @Sendable () -> Void = {}
    ) {
        self.maximumUnsentBytes = maximumUnsentBytes
        self.closed = closed
    }

    /// Sends bytes later. Returns false, without sending, if the stream has ended, or if other bytes
    /// wait and all together would be too many.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        append(bytes) { state in
            !state.isEnded
                && (state.unsent.isEmpty
                    || state.unsent.count + bytes.count <= self.maximumUnsentBytes)
        }
    }

    /// Ends the body after the bytes that wait and `last`, whatever the maximum.
    package func end(_ last: [UInt8] = []) {
        append(last) { state in
            defer { state.isEnded = true }
            return !state.isEnded
        }
    }

    /// True if the peer may get more, and has read all that was sent.
    package var isWritable: Bool {
        state.withLock { $0.unsent.isEmpty && !$0.isEnded && !$0.isClosed }
    }

    @discardableResult
    private func append(_ bytes: [UInt8], if admits: (inout State) -> Bool) -> Bool {
        let (isAdmitted, connection) = state.withLock { state -> (Bool, (Int, ServerLoop)?) in
            guard !state.isClosed, admits(&state) else { return (false, nil) }
            state.unsent += bytes
            guard let connection = state.connection, !state.isNotified else { return (true, nil) }
            state.isNotified = true
            return (true, connection)
        }
        if let (id, server) = connection { server.notifyStream(id) }
        return isAdmitted
    }

    // MARK: The connection

    /// Connects it to its peer.
    func attach(_ id: Int, _ server: ServerLoop) {
        state.withLock { state in
            if !state.isClosed { state.connection = (id, server) }
        }
    }

    /// True if nothing more can be sent.
    package var isEnded: Bool { state.withLock(\.isEnded) }

    /// Bytes that the connection takes at a time.
    private static let pieceBytes = 64 << 10

    /// Returns the next bytes to send; nil if there are none.
    func take() -> [UInt8]? {
        state.withLock { state in
            state.isNotified = false
            guard !state.unsent.isEmpty else { return nil }
            guard state.unsent.count > Self.pieceBytes else {
                defer { state.unsent = [] }
                return state.unsent
            }
            defer { state.unsent.removeFirst(Self.pieceBytes) }
            return Array(state.unsent.prefix(Self.pieceBytes))
        }
    }

    /// Ends it without sending what waits. Later calls have no effect.
    func close() {
        let isFirst = state.withLock { state in
            defer { state = State(isEnded: true, isClosed: true) }
            return !state.isClosed
        }
        if isFirst { closed() }
    }
}
