internal import CCurl

/// The reason why OpenSSL ended a TLS connection, by its error code.
package enum TLSReason: Hashable, Sendable {
    /// The peer does not speak TLS.
    case notTLS
    /// The peer sent this alert (RFC 8446, 6).
    case alert(Int)
    /// Another one of OpenSSL's `SSL_R_…`.
    case other(Int)

    /// Reads the error code in a detail of libcurl, such as `error:0A00010B:…`; nil without one.
    /// libcurl has no other way to pass it on.
    package init?(detail: String) {
        guard let code = Self.code(in: Array(detail.utf8)) else { return nil }
        let reason = Int(dray_tls_reason(code))
        switch reason {
        case 0: return nil
        case Int(SSL_R_WRONG_VERSION_NUMBER): self = .notTLS
        case Self.alerts: self = .alert(reason - Self.alerts.lowerBound)
        default: self = .other(reason)
        }
    }

    /// The reasons of alerts; an alert's number is one byte.
    private static let alerts = Int(SSL_AD_REASON_OFFSET)...Int(SSL_AD_REASON_OFFSET) + 255

    /// Returns the first code as `ERR_error_string` formats it: `error:`, eight digits, a colon.
    private static func code(in detail: [UInt8]) -> UInt? {
        let mark = Array("error:".utf8)
        let length = mark.count + 8
        var rest = detail[...]
        while rest.count > length {
            if rest.starts(with: mark), rest[rest.startIndex + length] == UInt8(ascii: ":"),
                let code = UInt(
                    String(decoding: rest.dropFirst(mark.count).prefix(8), as: UTF8.self),
                    radix: 16)
            {
                return code
            }
            rest.removeFirst()
        }
        return nil
    }
}
