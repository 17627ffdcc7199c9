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
        switch TLSReason(detail: detail) {
        case .notTLS: return (.clusterNotTLS, "the server does not speak TLS")
        case .alert(let number):
            guard let alert = alerts[number] else { return nil }
            return (.clusterClientCertificate, "the coordinator ended the handshake: \(alert)")
        case .other, nil: return nil
        }
    }

    /// The alerts about a client's certificate (RFC 8446, 6.2).
    private static let alerts = [
        40: "handshake failure", 42: "bad certificate", 43: "unsupported certificate",
        45: "certificate expired", 46: "certificate unknown", 48: "unknown ca",
        116: "certificate required",
    ]
}
