internal import CLinux
internal import EventLoop
internal import Glibc
internal import TLS

/// The bytes of one connection: those of its socket, or those within TLS. Owns the socket.
///
/// Confined to its server's loop.
struct Wire {
    /// The result of a call that receives or sends.
    enum Progress {
        case bytes(Int)
        /// Nothing for the caller yet, but a call at once may have more.
        case again
        /// The socket must be ready for this first.
        case blocked(Interest)
        /// The peer has closed its side, or the connection is broken.
        case ended
        /// The peer speaks HTTP without TLS; from now on, so does this.
        case plainHTTP
        /// TLS failed; an alert with the reason was sent to the peer.
        case failed(String)
    }

    let descriptor: Int32
    private var tls: TLSConnection?

    /// Takes over a nonblocking socket.
    init(_ descriptor: Int32, _ tls: TLSConnection? = nil) {
        self.descriptor = descriptor
        self.tls = tls
    }

    /// Receives at most `buffer.count` bytes.
    mutating func receive(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
        guard let tls else {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            return count == 0 ? .ended : progress(count, .readable)
        }
        let read = progress(tls.read(into: buffer))
        if case .plainHTTP = read { self.tls = nil }
        return read
    }

    /// Sends as many of the bytes as possible. After `blocked`, the same bytes must follow.
    func send(_ bytes: UnsafeRawBufferPointer) -> Progress {
        if let tls { return progress(tls.write(bytes)) }
        let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        return progress(count, .writable)
    }

    private func progress(_ count: Int, _ interest: Interest) -> Progress {
        if count >= 0 { return .bytes(count) }
        switch errno {
        case EINTR: return .again
        case EAGAIN: return .blocked(interest)
        default: return .ended
        }
    }

    private func progress(_ progress: TLSConnection.Progress) -> Progress {
        switch progress {
        case .bytes(let count): .bytes(count)
        case .again: .again
        case .needsInput: .blocked(.readable)
        case .needsOutput: .blocked(.writable)
        case .ended: .ended
        case .isPlain: .plainHTTP
        case .failed(let reason): .failed(reason)
        }
    }

    /// True if received bytes wait here, of which the socket reports nothing.
    var holdsInput: Bool { tls?.holdsInput ?? false }

    /// True if the socket has room for a short message.
    var isWritable: Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&watched, 1, 0) > 0 && watched.revents & Int16(POLLOUT) != 0
    }

    /// The subject of the client's certificate; nil without one.
    var peerSubject: String? { tls?.peerSubject }

    /// Frees the buffers of TLS if it was not used since the last call.
    func releaseIdleBuffers() { tls?.releaseIdleBuffers() }

    /// Notifies the peer that nothing is missing; only between two responses.
    func finish() { tls?.finish() }

    /// Ends this side. What the peer still sends can be received as it is, to be dropped.
    mutating func endSending() {
        finish()
        tls = nil
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes the socket; must be called once.
    mutating func close() {
        tls = nil
        _ = Glibc.close(descriptor)
    }
}
