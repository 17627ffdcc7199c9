internal import CCurl

/// Common settings of requests to one origin. A handle that moves to another origin is set up
/// completely, so that nothing remains of the previous one.
package final class CurlProfile: Sendable {
    package struct Settings: Sendable {
        package var userAgent: String
        /// A PEM file of certificate authorities that replaces the system's.
        package var caFile: String?
        /// PEM files; nil for no client certificate.
        package var certificate: String?
        package var certificateKey: String?
        package var keyPassword: String?
        /// A proxy's URL; nil for none, even if the environment sets one.
        package var proxy: String?
        /// The same as `caFile` for a proxy with TLS.
        package var proxyCAFile: String?
        package var http = HTTPVersion.automatic
        /// True if a transfer waits for a connection in progress instead of opening another, in
        /// case it can be shared.
        package var sharesConnections = false
        /// True if each transfer opens a new connection and closes it.
        package var usesConnectionsOnce = false
        /// Maximum for one response, including status lines.
        package var maximumHeaderBytes = 300 << 10

        package init(userAgent: String) { self.userAgent = userAgent }
    }

    package enum HTTPVersion: Sendable {
        /// HTTP/2 over TLS if the origin offers it, else HTTP/1.1.
        case automatic
        case http1
        case http2PriorKnowledge

        var value: Int {
            switch self {
            case .automatic: Int(CURL_HTTP_VERSION_2TLS)
            case .http1: Int(CURL_HTTP_VERSION_1_1)
            case .http2PriorKnowledge: Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
            }
        }
    }

    package let settings: Settings

    package init(_ settings: Settings) { self.settings = settings }

    /// Sets up `handle`; `builtIn` are the system's authorities, as in a new handle.
    func apply(to handle: UnsafeMutableRawPointer, builtIn: Authorities) throws(CurlError) {
        let isOwn = settings.caFile != nil
        let codes = [
            dray_easy_set_user_agent(handle, settings.userAgent),
            dray_easy_set_ca_file(handle, settings.caFile ?? builtIn.file),
            // The system's directory would be trusted in addition to the file.
            dray_easy_set_ca_path(handle, isOwn ? nil : builtIn.directory),
            dray_easy_set_certificate(handle, settings.certificate),
            dray_easy_set_certificate_key(handle, settings.certificateKey),
            // Without a password, OpenSSL would ask the terminal for an encrypted key's, and wait.
            dray_easy_set_key_password(handle, settings.keyPassword ?? ""),
            dray_easy_set_proxy(handle, settings.proxy ?? ""),
            dray_easy_set_proxy_ca_file(handle, settings.proxyCAFile ?? builtIn.file),
            dray_easy_set_proxy_ca_path(
                handle, settings.proxyCAFile == nil ? builtIn.directory : nil),
            // Otherwise the environment's no_proxy decides, and may cause a direct connection.
            dray_easy_set_no_proxy(handle, ""),
            dray_easy_set_http_version(handle, settings.http.value),
            dray_easy_set_pipe_wait(handle, settings.sharesConnections ? 1 : 0),
            dray_easy_set_fresh_connect(handle, settings.usesConnectionsOnce ? 1 : 0),
            dray_easy_set_forbid_reuse(handle, settings.usesConnectionsOnce ? 1 : 0),
        ]
        if let code = codes.first(where: { $0 != CURLE_OK }) {
            throw CurlError(CurlCode(code), "the settings of an origin")
        }
    }

    /// The default locations of certificate authorities in libcurl's build.
    struct Authorities {
        let file: String?
        let directory: String?

        init(of handle: UnsafeMutableRawPointer) {
            file = dray_easy_ca_file(handle).map { String(cString: $0) }
            directory = dray_easy_ca_path(handle).map { String(cString: $0) }
        }
    }
}
