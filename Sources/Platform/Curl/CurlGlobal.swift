internal import CCurl

/// libcurl's process-wide state.
package enum CurlGlobal {
    /// Initialises OpenSSL and libcurl once; every entry to this module calls it first.
    ///
    /// OpenSSL goes first, without its atexit handler, which would free memory that libcurl's
    /// threads and libpq still use when the process ends.
    package static func initialize() throws(CurlError) {
        guard result == CURLE_OK else {
            throw CurlError(CurlCode(result), "libcurl cannot be initialised")
        }
    }

    /// True if an HTTP/2 connection over plain TCP can be reused or shared. Before version 8.0,
    /// libcurl restarts it, and the second request fails (curl's issue 10634).
    package static let reusesPlainHTTP2 = dray_curl_version() >= 0x080000

    /// True if a reused handle keeps a pointer into the freed headers of its last response. A
    /// response whose first header line is folded then corrupts the heap. Affects 7.84.0, with the
    /// headers API, to 8.0.1 (curl's issue 11101; never a CVE, so distributions do not backport its
    /// fix).
    package static let keepsHeaderPointer = (0x075400..<0x080100).contains(dray_curl_version())

    /// File of the certificate authorities that libcurl trusts by default, those of the system; nil if
    /// it has none.
    package static var authorities: String? { dray_curl_authorities().map { String(cString: $0) } }

    private static let result: CURLcode = {
        guard dray_openssl_init() == 1 else { return CURLE_FAILED_INIT }
        return dray_curl_global_init()
    }()
}

/// Dates in HTTP headers.
package enum HTTPDate {
    /// Returns the seconds since 1970 of an HTTP date in any of its three forms (RFC 9110, 5.6.7);
    /// nil for other text.
    package static func seconds(_ text: String) -> Int64? {
        // libcurl's parser also accepts fragments of dates, which HTTP does not allow.
        guard text.utf8.count <= 64, text.utf8.contains(UInt8(ascii: ":")) else { return nil }
        let seconds = curl_getdate(text, nil)
        return seconds < 0 ? nil : Int64(seconds)
    }
}
