internal import Curl
internal import Model

/// The PEM files with which a client speaks https to coordinators.
package struct CoordinatorTLS: Sendable, Equatable {
    /// Certificate authorities instead of the system's; nil for those.
    package var caFile: String?
    /// The client's own certificate and key, for coordinators that ask for one; nil for none.
    package var certificate: String?
    package var key: String?

    package init(caFile: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.caFile = caFile
        self.certificate = certificate
        self.key = key
    }
}

/// The reason why a coordinator was not reached over TLS.
enum TLSFailure {
    /// Returns the code and the message of a request that ended with `code`; nil if TLS was not the
    /// reason.
    static func explain(
        _ easy: CurlEasy, _ code: CurlCode
    ) -> (code: FailureCode, message: String)? {
        let detail = easy.errorDetail
        switch easy.certificateFailure(code) {
        case .expired: return (.clusterCertificateExpired, "the certificate has expired")
        case .notYetValid: return (.clusterCertificateExpired, "the certificate is not valid yet")
        case .otherName: return (.clusterCertificateName, detail)
        case .untrusted: return (.clusterUntrustedCertificate, detail)
        case nil: break
        }
        if detail.contains("wrong version number") {
            return (.clusterNotTLS, "the server does not speak TLS")
        }
        // The alerts about a client's certificate (RFC 8446, 6.2), in OpenSSL's words.
        let alerts = [
            "certificate required", "bad certificate", "unknown ca", "certificate expired",
            "unsupported certificate", "certificate unknown", "handshake failure",
        ]
        guard let alert = alerts.first(where: { detail.contains("alert \($0)") }) else {
            return nil
        }
        return (.clusterClientCertificate, "the coordinator ended the handshake: \(alert)")
    }
}
