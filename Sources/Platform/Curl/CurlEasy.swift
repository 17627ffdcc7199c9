internal import CCurl

/// One easy handle for a sequence of requests; confined to one loop.
///
/// Settings that all requests have in common are made once, at the start; a request sets only the
/// differences. With `CurlGlobal.keepsHeaderPointer`, each request has a separate underlying handle
/// with the same settings. It never follows redirects and never uses netrc or the environment's
/// proxies: the owner decides about hosts and credentials.
package final class CurlEasy {
    package enum Flow {
        case proceed
        /// The same bytes are delivered again after `resume`; nothing is received until then.
        case pause
        /// Ends the transfer with `.writeError` and closes its connection.
        case abort
    }

    private(set) var handle: UnsafeMutableRawPointer
    /// True once it has been in a multi handle.
    private var isUsed = false
    /// The owner of the running transfer; set it before, and release it after.
    package var delegate: (any CurlEasyDelegate)?
    /// Borrowed by libcurl.
    private var headers: CurlHeaders?
    private let errorText: UnsafeMutablePointer<CChar>
    /// The multi handle it is in.
    weak var multi: CurlMulti?
    private var bufferBytes: Int
    private let authorities: CurlProfile.Authorities
    private var profile: CurlProfile?
    /// Borrowed by libcurl.
    private var resolutions: CurlHeaders?
    private var connectTarget: CurlHeaders?
    /// Header bytes of the responses to the present request, and their maximum.
    fileprivate var headerBytes = 0
    fileprivate var maximumHeaderBytes = 300 << 10
    /// Bytes that libcurl has taken of a body that its delegate provides.
    var providedBytes: Int64 = 0
    /// The multi handle whose `onClose` gets the connections opened by this handle.
    private var closeUser: UnsafeMutableRawPointer?

    package struct Options: Sendable {
        package var userAgent: String
        /// 1 KiB to 512 KiB.
        package var bufferBytes = 128 << 10
        /// A PEM file of certificate authorities that replaces the system's.
        package var caFile: String?
        /// PEM files; nil for no client certificate.
        package var certificate: String?
        package var certificateKey: String?
        /// True to probe a peer that is silent for half a minute, so that a dead one is detected.
        package var keepsAlive = false

        package init(userAgent: String) { self.userAgent = userAgent }
    }

    package init(options: Options) throws(CurlError) {
        try CurlGlobal.initialize()
        guard let handle = curl_easy_init() else {
            throw CurlError(.outOfMemory, "curl_easy_init")
        }
        self.handle = handle
        authorities = CurlProfile.Authorities(of: handle)
        bufferBytes = options.bufferBytes
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let user = Unmanaged.passUnretained(self).toOpaque()
        let codes = [
            dray_easy_set_private(handle, user),
            dray_easy_set_error_buffer(handle, errorText),
            dray_easy_set_no_signal(handle, 1),
            // The end of a transfer does not wait for a name server without an answer: the
            // resolver's thread ends by itself.
            dray_easy_set_quick_exit(handle, 1),
            dray_easy_set_follow_location(handle, 0),
            dray_easy_set_http_content_decoding(handle, 0),
            dray_easy_set_protocols(handle, "http,https"),
            dray_easy_set_proxy(handle, ""),
            dray_easy_set_no_proxy(handle, ""),
            dray_easy_set_user_agent(handle, options.userAgent),
            dray_easy_set_buffer_size(handle, options.bufferBytes),
            dray_easy_set_tcp_keepalive(handle, options.keepsAlive ? 1 : 0),
            dray_easy_set_tcp_keepidle(handle, 30),
            dray_easy_set_tcp_keepintvl(handle, 10),
            options.caFile.map { dray_easy_set_ca_file(handle, $0) } ?? CURLE_OK,
            // The system's directory would be trusted in addition to the file.
            options.caFile == nil ? CURLE_OK : dray_easy_set_ca_path(handle, nil),
            dray_easy_set_certificate(handle, options.certificate),
            dray_easy_set_certificate_key(handle, options.certificateKey),
            // Without a password, OpenSSL would ask the terminal for an encrypted key's, and wait.
            dray_easy_set_key_password(handle, ""),
            dray_easy_set_write(handle, writeCallback, user),
            dray_easy_set_header_callback(handle, headerCallback, user),
            dray_easy_set_open_socket(handle, openSocketCallback, user),
            dray_easy_set_prerequest(handle, prerequestCallback, user),
        ]
        if let code = codes.first(where: { $0 != CURLE_OK }) {
            throw CurlError(CurlCode(code), "curl_easy_setopt")
        }
    }

    deinit {
        curl_easy_cleanup(handle)
        errorText.deallocate()
    }

    // MARK: Next request

    /// Sets the next request's URL. Rejects control characters, and a URL without http or https,
    /// for which libcurl would guess.
    package func setURL(_ url: String) throws(CurlError) {
        guard !url.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CurlError(.malformedURL, "control characters in a URL")
        }
        let scheme = url.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard ["http", "https"].contains(String(Substring(scheme)).lowercased()),
            url.utf8.dropFirst(scheme.count).starts(with: "://".utf8)
        else { throw CurlError(.unsupportedProtocol, "a URL that is not http or https") }
        try check(dray_easy_set_url(handle, url), "URL")
    }

    /// Sets the common settings of requests to one origin.
    package func setProfile(_ profile: CurlProfile) throws(CurlError) {
        guard profile !== self.profile else { return }
        // After a failure, the settings are incomplete.
        self.profile = nil
        try profile.apply(to: handle, builtIn: authorities)
        maximumHeaderBytes = profile.settings.maximumHeaderBytes
        self.profile = profile
    }

    /// Resolves a host and port to `address`, a literal, from the next request on.
    package func setResolution(host: String, port: Int, address: String) throws(CurlError) {
        let list = try CurlHeaders(["\(host):\(port):\(address)"])
        try check(dray_easy_set_resolve(handle, list.list), "resolution")
        resolutions = list
    }

    /// Connects to `target`, "HOST:PORT", instead of the URL's host, from the next request on; nil
    /// for that host. Headers and certificates stay those of the URL.
    package func setConnectTarget(_ target: String?) throws(CurlError) {
        guard target != nil || connectTarget != nil else { return }
        let list = try target.map { target throws(CurlError) in try CurlHeaders(["::\(target)"]) }
        try check(dray_easy_set_connect_to(handle, list?.list), "connect target")
        connectTarget = list
    }

    /// Sets the requested bytes, "0-99", or nil for all.
    package func setRange(_ range: String?) throws(CurlError) {
        try check(dray_easy_set_range(handle, range), "range")
    }

    /// Sets the request's own header lines, until they are replaced.
    package func setHeaders(_ headers: CurlHeaders?) throws(CurlError) {
        guard headers !== self.headers else { return }
        try check(dray_easy_set_headers(handle, headers?.list), "headers")
        self.headers = headers
    }

    package func setGet(head: Bool = false) throws(CurlError) {
        try check(dray_easy_set_http_get(handle, 1), "GET")
        if head { try check(dray_easy_set_no_body(handle, 1), "HEAD") }
    }

    /// Sets up a POST with a copy of `body`.
    package func setPost(_ body: UnsafeRawBufferPointer) throws(CurlError) {
        try check(dray_easy_set_post(handle, 1), "POST")
        try check(
            dray_easy_set_post_body(handle, body.baseAddress, Int64(body.count)), "POST body")
    }

    /// Sets the timeout of name lookup, connect and TLS handshake; 0 is libcurl's 300 s.
    package func setConnectTimeout(milliseconds: Int) throws(CurlError) {
        try check(dray_easy_set_connect_timeout_ms(handle, milliseconds), "connect timeout")
    }

    /// Sets the timeout of the whole request; 0 is none.
    package func setTotalTimeout(milliseconds: Int) throws(CurlError) {
        try check(dray_easy_set_timeout_ms(handle, milliseconds), "timeout")
    }

    /// Sets whether the next request opens a new connection despite idle ones; it may be reused
    /// later. Reset by `setProfile`.
    package func setOpensConnection(_ opens: Bool) throws(CurlError) {
        try check(dray_easy_set_fresh_connect(handle, opens ? 1 : 0), "fresh connection")
    }

    /// Sets the receive buffer, 1 KiB to 512 KiB; returns false if the handle keeps its old one.
    ///
    /// libcurl 7.88 keeps the buffer while others still use the connection of its last request, as
    /// with HTTP/2, and rejects another size meanwhile.
    package func setBuffer(bytes: Int) -> Bool {
        guard bytes != bufferBytes else { return true }
        guard dray_easy_set_buffer_size(handle, bytes) == CURLE_OK else { return false }
        bufferBytes = bytes
        return true
    }

    /// Reports the end of connections that are opened from now on to `multi`.
    func reportClosing(to multi: CurlMulti) throws(CurlError) {
        let user = Unmanaged.passUnretained(multi).toOpaque()
        guard user != closeUser else { return }
        try check(dray_easy_set_close_socket(handle, closeSocketCallback, user), "close socket")
        closeUser = user
    }

    private func check(_ code: CURLcode, _ context: String) throws(CurlError) {
        guard code == CURLE_OK else { throw CurlError(CurlCode(code), context) }
    }

    // MARK: Running transfers

    /// Continues a paused transfer; not inside a callback of libcurl. Bytes may be delivered before
    /// it returns. With a code other than `.ok` the transfer is over, without a call to its
    /// delegate.
    package func resume() -> CurlCode { CurlCode(dray_easy_resume(handle)) }

    /// The local port of the request's connection; nil before that. libcurl names a connection's
    /// socket only to the handle that opened it.
    package fileprivate(set) var localPort: Int32?

    /// The two ends of that connection; nil before there is one.
    package var ends: ConnectionEnds? {
        guard let local = dray_easy_local_ip(handle).flatMap({ PeerAddress(String(cString: $0)) }),
            let peer = dray_easy_peer_ip(handle).flatMap({ PeerAddress(String(cString: $0)) }),
            let localPort = UInt16(exactly: dray_easy_local_port(handle)),
            let peerPort = UInt16(exactly: dray_easy_peer_port(handle))
        else { return nil }
        return ConnectionEnds(local: local, localPort: localPort, peer: peer, peerPort: peerPort)
    }

    // MARK: Response

    /// The status of the last response; 0 before there is one.
    package var status: Int { dray_easy_response_code(handle) }

    /// The status of a proxy's response to a tunnel request; 0 without one.
    package var proxyStatus: Int { dray_easy_proxy_status(handle) }

    /// The HTTP version of the last response: "1.0", "1.1", "2", "3"; nil before one.
    package var httpVersion: String? {
        switch dray_easy_http_version(handle) {
        case Int(CURL_HTTP_VERSION_1_0): "1.0"
        case Int(CURL_HTTP_VERSION_1_1): "1.1"
        case Int(CURL_HTTP_VERSION_2_0): "2"
        case Int(CURL_HTTP_VERSION_3): "3"
        default: nil
        }
    }

    /// The `Content-Length` of the last response; nil without one.
    package var contentLength: Int64? {
        let length = dray_easy_content_length(handle)
        return length < 0 ? nil : length
    }

    /// Returns the first `name` header of the last response, without surrounding space.
    package func header(_ name: String) -> String? {
        guard let value = dray_easy_header(handle, name, 0) else { return nil }
        return String(validatingCString: value)
    }

    /// Returns all `name` headers of the last response, in order, without surrounding space.
    package func headers(_ name: String) -> [String] {
        var values: [String] = []
        while let value = dray_easy_header(handle, name, values.count) {
            values.append(String(validatingCString: value) ?? "")
        }
        return values
    }

    /// libcurl's description of a failed transfer; may contain host names, never headers.
    package var errorDetail: String { String(cString: errorText) }

    /// True if the last request opened a new connection.
    package var openedConnection: Bool { dray_easy_connects(handle) > 0 }

    /// Seconds from the start to the connection, the first byte and the end.
    package var timings: Timings {
        Timings(
            connectSeconds: Double(dray_easy_connect_microseconds(handle)) / 1e6,
            firstByteSeconds: Double(dray_easy_first_byte_microseconds(handle)) / 1e6,
            totalSeconds: Double(dray_easy_total_microseconds(handle)) / 1e6)
    }

    /// Seconds from the start until the request could be sent, with connect and handshakes; 0
    /// before that.
    package var secondsUntilSent: Double { Double(dray_easy_sent_microseconds(handle)) / 1e6 }

    package struct Timings: Sendable, Hashable {
        /// 0 if a connection was reused.
        package var connectSeconds = 0.0
        package var firstByteSeconds = 0.0
        package var totalSeconds = 0.0

        package init() {}

        package init(connectSeconds: Double, firstByteSeconds: Double, totalSeconds: Double) {
            self.connectSeconds = connectSeconds
            self.firstByteSeconds = firstByteSeconds
            self.totalSeconds = totalSeconds
        }
    }

    /// True if the response's header exceeded its maximum.
    fileprivate var hasTooLongHeader: Bool { headerBytes > maximumHeaderBytes }

    /// Returns true if a transfer that ended with `code` had too long a header. libcurl itself ends
    /// a header of 300 KiB as a receive error, before it delivers the line that exceeds it.
    package func hasTooLongHeader(_ code: CurlCode) -> Bool {
        hasTooLongHeader || code == .receiveFailed && headerBytes > Self.surelyLongHeaderBytes
    }

    /// For a transfer that ended with `.receiveFailed`: true if its chunks or trailers are invalid
    /// (RFC 9112, 7.1). libcurl has only words for it, which differ from version 8 on: its code and
    /// `errno` are those of any failed read.
    package var hasBrokenChunks: Bool {
        errorDetail.hasSuffix("in chunked-encoding") || errorDetail.hasPrefix("chunk ")
    }

    /// The maximum less the longest line.
    private static let surelyLongHeaderBytes = 200 << 10

    /// Resets the state of the previous request; called once all is set, before the handle is
    /// added.
    func begin() throws(CurlError) {
        if isUsed, CurlGlobal.keepsHeaderPointer { try renew() }
        isUsed = true
        errorText.pointee = 0
        headerBytes = 0
        localPort = nil
    }

    /// Replaces the handle by a new one with the same settings. Connections and resolved names
    /// belong to the multi handle and stay.
    private func renew() throws(CurlError) {
        guard let fresh = curl_easy_duphandle(handle) else {
            throw CurlError(.outOfMemory, "curl_easy_duphandle")
        }
        curl_easy_cleanup(handle)
        handle = fresh
        // Of the lists that it borrows, libcurl copies all but this one.
        if let resolutions {
            try check(dray_easy_set_resolve(handle, resolutions.list), "resolution")
        }
    }
}

// MARK: - Callbacks

private let writeCallback: dray_write_callback = { bytes, size, count, user in
    guard let user else { return dray_write_error() }
    let easy = Unmanaged<CurlEasy>.fromOpaque(user).takeUnretainedValue()
    let block = UnsafeRawBufferPointer(start: bytes, count: size * count)
    switch easy.delegate?.curl(easy, received: block) {
    case .proceed: return block.count
    case .pause: return dray_write_pause()
    case .abort, nil: return dray_write_error()
    }
}

private let headerCallback: dray_write_callback = { _, size, count, user in
    guard let user else { return 0 }
    let easy = Unmanaged<CurlEasy>.fromOpaque(user).takeUnretainedValue()
    if easy.headerBytes == 0 { easy.delegate?.curlBeginsAnswer(easy) }
    easy.headerBytes += size * count
    return easy.hasTooLongHeader ? 0 : size * count
}

private let openSocketCallback: dray_open_socket_callback = { user, _, address in
    guard let user else { return dray_bad_socket() }
    let easy = Unmanaged<CurlEasy>.fromOpaque(user).takeUnretainedValue()
    let delegate = easy.delegate
    guard delegate?.curl(easy, admits: PeerAddress(dray_sockaddr(address))) == true else {
        return dray_bad_socket()
    }
    let socket = dray_open_socket(address)
    if socket != dray_bad_socket() { delegate?.curl(easy, opened: socket) }
    return socket
}

private let prerequestCallback: dray_prerequest_callback = { user, _, _, _, localPort in
    guard let user else { return dray_prerequest_abort() }
    let easy = Unmanaged<CurlEasy>.fromOpaque(user).takeUnretainedValue()
    easy.localPort = localPort
    let maySend = easy.delegate?.curlMaySend(easy) == true
    return maySend ? dray_prerequest_proceed() : dray_prerequest_abort()
}
