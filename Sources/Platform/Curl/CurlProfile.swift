internal import CCurl

/// What requests to one origin have in common; a handle that is used for another origin next is set
/// anew as a whole, so that nothing of one is left for the other.
package final class CurlProfile: Sendable {
    package struct Settings: Sendable {
        package var userAgent: String
        /// A PEM file of certificate authorities in place of the system's.
        package var caFile: String?
        /// PEM files; nil for no client certificate.
        package var certificate: String?
        package var certificateKey: String?
        package var keyPassword: String?
        /// A proxy's URL; nil for none, whatever the environment says.
        package var proxy: String?
        /// The same as `caFile` for a proxy that speaks TLS.
        package var proxyCAFile: String?
        package var http = HTTPVersion.automatic
        /// A transfer waits for a connection that is being made rather than to make another, in case
        /// it can be shared.
        package var sharesConnections = false
        /// Each transfer has a new connection, and closes it.
        package var usesConnectionsOnce = false
        /// Of one answer, status lines included.
        package var maximumHeaderBytes = 300 << 10

        package init(userAgent: String) { self.userAgent = userAgent }
    }

    package enum HTTPVersion: Sendable {
        /// HTTP/2 over TLS where the origin offers it, else HTTP/1.1.
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

    /// Sets `handle`; `builtIn` are the system's authorities, as a new handle has them.
    func apply(to handle: UnsafeMutableRawPointer, builtIn: Authorities) throws(CurlError) {
        let isOwn = settings.caFile != nil
        let codes = [
            dray_easy_set_user_agent(handle, settings.userAgent),
            dray_easy_set_ca_file(handle, settings.caFile ?? builtIn.file),
            // The system's directory would be trusted beside the file.
            dray_easy_set_ca_path(handle, isOwn ? nil : builtIn.directory),
            dray_easy_set_certificate(handle, settings.certificate),
            dray_easy_set_certificate_key(handle, settings.certificateKey),
            // Of a key that has one, and none is set: OpenSSL would ask the terminal, and wait.
            dray_easy_set_key_password(handle, settings.keyPassword ?? ""),
            dray_easy_set_proxy(handle, settings.proxy ?? ""),
            dray_easy_set_proxy_ca_file(handle, settings.proxyCAFile ?? builtIn.file),
            dray_easy_set_proxy_ca_path(
                handle, settings.proxyCAFile == nil ? builtIn.directory : nil),
            // Else the environment's no_proxy decides, and the origin is connected to after all.
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

    /// Where libcurl was built to look for certificate authorities.
    struct Authorities {
        let file: String?
        let directory: String?

        init(of handle: UnsafeMutableRawPointer) {
            file = dray_easy_ca_file(handle).map { String(cString: $0) }
            directory = dray_easy_ca_path(handle).map { String(cString: $0) }
        }
    }
}
