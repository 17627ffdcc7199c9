internal import CCurl

/// The details of a failed transfer besides libcurl's code.
extension CurlEasy {
    /// The `errno` of the connection's last failed system call; 0 if there was none.
    package var systemError: Int32 { Int32(truncatingIfNeeded: dray_easy_os_errno(handle)) }

    /// Keeps what `certificateEnd` returns, for all requests from now on.
    package func keepCertificate() throws(CurlError) {
        let code = dray_easy_set_certificate_info(handle, 1)
        guard code == CURLE_OK else { throw CurlError(CurlCode(code), "certificate info") }
    }

    /// The end of the certificate of the request's connection, in seconds since 1970; nil without
    /// TLS, for a reused connection, or if the handle does not keep it.
    package var certificateEnd: Int64? {
        let seconds = dray_easy_certificate_end(handle)
        return seconds < 0 ? nil : seconds
    }

    /// The `Date` of the last response (RFC 9110, 6.6.1), in seconds since 1970; nil without one.
    package var dateSeconds: Int64? {
        guard let text = header("date") else { return nil }
        let seconds = dray_http_date(text)
        return seconds < 0 ? nil : seconds
    }

    /// The reason why a server's certificate was rejected.
    package enum CertificateFailure: Sendable {
        case expired
        case notYetValid
        /// Its issuer is not trusted, or it cannot be verified for another reason.
        case untrusted
        /// It is for another host.
        case otherName
    }

    /// Returns the failure of the certificate for which a transfer ended with `code`; nil for another
    /// reason.
    package func certificateFailure(_ code: CurlCode) -> CertificateFailure? {
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
