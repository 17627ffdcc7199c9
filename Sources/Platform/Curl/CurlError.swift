internal import CCurl

/// libcurl's result of a transfer, a `CURLcode`; `.ok` is 0.
package struct CurlCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }
    init(_ code: CURLcode) { rawValue = code.rawValue }

    package static let ok = CurlCode(CURLE_OK)
    package static let unsupportedProtocol = CurlCode(CURLE_UNSUPPORTED_PROTOCOL)
    package static let malformedURL = CurlCode(CURLE_URL_MALFORMAT)
    package static let couldNotResolveProxy = CurlCode(CURLE_COULDNT_RESOLVE_PROXY)
    package static let couldNotResolveHost = CurlCode(CURLE_COULDNT_RESOLVE_HOST)
    package static let couldNotConnect = CurlCode(CURLE_COULDNT_CONNECT)
    package static let partialFile = CurlCode(CURLE_PARTIAL_FILE)
    package static let writeError = CurlCode(CURLE_WRITE_ERROR)
    package static let outOfMemory = CurlCode(CURLE_OUT_OF_MEMORY)
    package static let timedOut = CurlCode(CURLE_OPERATION_TIMEDOUT)
    /// A failure of a SOCKS proxy.
    package static let proxy = CurlCode(CURLE_PROXY)
    package static let tlsConnect = CurlCode(CURLE_SSL_CONNECT_ERROR)
    package static let peerFailedVerification = CurlCode(CURLE_PEER_FAILED_VERIFICATION)
    package static let gotNothing = CurlCode(CURLE_GOT_NOTHING)
    package static let sendFailed = CurlCode(CURLE_SEND_ERROR)
    package static let receiveFailed = CurlCode(CURLE_RECV_ERROR)
    /// An HTTP/2 connection that the peer ended or that violated the protocol.
    package static let http2 = CurlCode(CURLE_HTTP2)
    /// An HTTP/2 stream that the peer ended.
    package static let http2Stream = CurlCode(CURLE_HTTP2_STREAM)
    package static let badContentEncoding = CurlCode(CURLE_BAD_CONTENT_ENCODING)
    package static let failedInit = CurlCode(CURLE_FAILED_INIT)

    /// True for codes about certificates, ciphers and the TLS library.
    package var isTLS: Bool {
        let codes = [
            CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
            CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
            CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT,
        ]
        return codes.contains { $0.rawValue == rawValue }
    }

    /// libcurl's sentence for the code.
    package var message: String { String(cString: curl_easy_strerror(CURLcode(rawValue))) }
}

/// A call of libcurl that failed.
package struct CurlError: Error, Sendable, CustomStringConvertible {
    package let code: CurlCode
    /// The operation, or libcurl's own detail.
    package let context: String

    package init(_ code: CurlCode, _ context: String) {
        self.code = code
        self.context = context
    }

    package var description: String { "\(context): \(code.message)" }
}
