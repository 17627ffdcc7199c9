internal import CCurl

/// Why a transfer failed, besides libcurl's code.
extension CurlEasy {
    /// The `errno` of the connection's last failed system call; 0 if there was none.
    package var systemError: Int32 { Int32(truncatingIfNeeded: dray_easy_os_errno(handle)) }

    /// Why a server's certificate was refused.
    package enum CertificateFlaw: Sendable {
        case expired
        case notYetValid
        /// Its issuer is not trusted, or it cannot be verified for another reason.
        case untrusted
        /// It is for another host.
        case otherName
    }

    /// Returns the flaw of the certificate for which a transfer ended with `code`; nil for another
    /// reason.
    package func certificateFlaw(_ code: CurlCode) -> CertificateFlaw? {
        guard code == .peerFailedVerification else { return nil }
        return switch dray_easy_verify_result(handle) {
        // libcurl itself compares the names, in some versions before it has a result.
        case Int(X509_V_OK), Int(X509_V_ERR_UNSPECIFIED): .otherName
        case Int(X509_V_ERR_CERT_HAS_EXPIRED): .expired
        case Int(X509_V_ERR_CERT_NOT_YET_VALID): .notYetValid
        default: .untrusted
        }
    }
}
