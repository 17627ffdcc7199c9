internal import CSSL

/// The server's end of a TLS connection over a nonblocking socket. It handshakes within the first
/// calls of `read`.
///
/// Confined to one thread at a time. It neither closes the socket nor waits for it.
package final class TLSConnection {
    /// The result of a read or a write.
    package enum Progress: Equatable {
        /// So many bytes were read or written.
        case bytes(Int)
        /// A record without a request's bytes was handled: call again.
        case again
        /// Call again when the socket is readable.
        case needsInput
        /// Call again when the socket is writable.
        case needsOutput
        /// The peer has ended the connection.
        case ended
        /// The peer does not speak TLS but, it seems, HTTP. Nothing was sent to it.
        case isPlain
        /// The peer was sent an alert, if there is one for it. OpenSSL's message.
        case failed(String)
    }

    /// Maximum of bytes that a client may send during the handshake.
    package static let maximumHandshakeBytes = 64 << 10

    private let ssl: OpaquePointer
    private let context: TLSServerContext
    private let socket: UnsafeMutablePointer<dray_tls_socket>
    /// True after the handshake.
    package private(set) var isEstablished = false
    /// True after an error, when nothing can be sent any more.
    private var isBroken = false
    private var hasReleasedBuffers = false
    /// True if it was used since the last call of `releaseIdleBuffers`.
    private var wasUsed = true
    /// The subject of the client's certificate; nil if it sent none.
    package private(set) lazy var peerSubject: String? = {
        guard isEstablished, let certificate = SSL_get0_peer_certificate(ssl) else { return nil }
        return Certificate.subject(of: certificate)
    }()

    /// Immutable once created.
    nonisolated(unsafe) private static let method = dray_tls_socket_method()

    /// Returns nil for lack of memory.
    package init?(_ context: TLSServerContext, descriptor: Int32) {
        guard let method = Self.method, let ssl = SSL_new(context.pointer) else { return nil }
        socket = .allocate(capacity: 1)
        socket.initialize(
            to: dray_tls_socket(
                descriptor: descriptor, is_blocked: false, is_plain: false, is_too_long: false,
                received_bytes: 0, maximum_bytes: Int64(Self.maximumHandshakeBytes)))
        self.ssl = ssl
        self.context = context
        guard dray_tls_attach(ssl, method, socket) else { return nil }
        SSL_set_accept_state(ssl)
    }

    deinit {
        SSL_free(ssl)
        socket.deallocate()
    }

    // MARK: Bytes

    /// Reads at most a record's bytes; continues the handshake first.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
        guard !isBroken else { return .ended }
        begin()
        var count = 0
        let result = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
        if !isEstablished, SSL_is_init_finished(ssl) == 1 {
            isEstablished = true
            socket.pointee.maximum_bytes = .max
        }
        return result == 1 ? .bytes(count) : failure(result)
    }

    /// Writes at most a record's bytes. After `needsInput` and `needsOutput` the next call must
    /// begin with the same bytes.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Progress {
        guard !isBroken else { return .ended }
        guard !bytes.isEmpty else { return .bytes(0) }
        begin()
        var count = 0
        let result = SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count)
        return result == 1 ? .bytes(count) : failure(result)
    }

    /// True if received bytes wait here, of which the socket reports nothing.
    package var holdsInput: Bool { !isBroken && SSL_has_pending(ssl) == 1 }

    private func begin() {
        OpenSSL.clearErrors()
        socket.pointee.is_blocked = false
        wasUsed = true
        hasReleasedBuffers = false
    }

    private func failure(_ result: Int32) -> Progress {
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return socket.pointee.is_blocked ? .needsInput : .again
        case SSL_ERROR_WANT_WRITE: return .needsOutput
        case SSL_ERROR_ZERO_RETURN: return .ended
        case SSL_ERROR_SYSCALL:
            isBroken = true
            if socket.pointee.is_plain { return .isPlain }
            return socket.pointee.is_too_long
                ? .failed("a handshake of more than \(Self.maximumHandshakeBytes) bytes") : .ended
        default:
            isBroken = true
            return .failed(OpenSSL.firstError)
        }
    }

    // MARK: Ending

    /// Sends close_notify, so that the peer knows that nothing is missing. Does not wait for the
    /// peer's. Not between two writes of one message.
    package func finish() {
        guard isEstablished, !isBroken else { return }
        OpenSSL.clearErrors()
        _ = SSL_shutdown(ssl)
        isBroken = true
    }

    /// Frees the buffers of a connection that was not used since the last call. They are allocated
    /// again when needed, so a busy connection never allocates.
    package func releaseIdleBuffers() {
        defer { wasUsed = false }
        guard !wasUsed, !hasReleasedBuffers, Self.freesBuffers else { return }
        hasReleasedBuffers = SSL_free_buffers(ssl) == 1
    }

    private static let freesBuffers = dray_tls_frees_buffers()
}
