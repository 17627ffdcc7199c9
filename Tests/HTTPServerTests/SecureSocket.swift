import CSSL
import Glibc

/// The client's end of TLS over a blocking socket, for tests. One call at a time.
final class SecureSocket: @unchecked Sendable {
    struct Options: Sendable {
        var authorities: String
        /// PEM files of the client's own certificate and key.
        var certificate: String?
        var key: String?
        var maximumVersion = TLS1_3_VERSION
        /// Offered protocols in the wire's form; nil for no offer.
        var protocols: [UInt8]?

        init(authorities: String) { self.authorities = authorities }
    }

    private let context: OpaquePointer?
    private let ssl: OpaquePointer?
    private let socket: UnsafeMutablePointer<dray_tls_socket>

    init(_ descriptor: Int32, _ options: Options) {
        socket = .allocate(capacity: 1)
        socket.initialize(
            to: dray_tls_socket(
                descriptor: descriptor, is_blocked: false, is_plain: false, is_too_long: false,
                received_bytes: 0, maximum_bytes: .max))
        context = SSL_CTX_new(TLS_client_method())
        SSL_CTX_load_verify_locations(context, options.authorities, nil)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        if let certificate = options.certificate, let key = options.key {
            SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM)
            SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM)
        }
        if let protocols = options.protocols {
            SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count))
        }
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(options.maximumVersion), nil)
        ssl = SSL_new(context)
        if let ssl, let method = Self.method { _ = dray_tls_attach(ssl, method, socket) }
        SSL_set_connect_state(ssl)
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
        socket.deallocate()
    }

    /// Immutable once created.
    nonisolated(unsafe) private static let method = dray_tls_socket_method()

    /// Returns the number of sent bytes; -1 if the connection has ended.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        ERR_clear_error()
        return Int(SSL_write(ssl, bytes.baseAddress, Int32(bytes.count)))
    }

    /// Returns the number of received bytes, 0 at the end of the connection, or -1 with `errno` if
    /// nothing came in time.
    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        ERR_clear_error()
        let count = Int(SSL_read(ssl, buffer.baseAddress, Int32(buffer.count)))
        if count > 0 { return count }
        guard socket.pointee.is_blocked else { return 0 }
        errno = EAGAIN
        return -1
    }

    /// Sends close_notify.
    func finish() {
        ERR_clear_error()
        SSL_shutdown(ssl)
    }

    /// True if the peer has ended the connection by close_notify.
    var isFinishedByPeer: Bool { SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 }

    /// True if the session of an earlier connection was resumed.
    var isResumed: Bool { SSL_session_reused(ssl) == 1 }
}
