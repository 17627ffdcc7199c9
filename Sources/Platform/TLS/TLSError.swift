/// A reason why the files of a certificate cannot be used. Names the file.
package struct TLSError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Reason: Sendable, Equatable {
        case missing
        /// The system's message, such as `Permission denied`.
        case unreadable(String)
        case tooLarge
        case notPEM
        case noCertificate
        case noKey
        /// The key needs a password.
        case encryptedKey
        /// The key does not belong to the first certificate of this file. `belongsTo` is the number
        /// of the certificate that it belongs to, if it belongs to another one of the file.
        case foreignKey(certificate: String, belongsTo: Int?)
        /// OpenSSL's message, such as `ee key too small`.
        case refused(String)
    }

    package let path: String
    package let reason: Reason

    package init(path: String, reason: Reason) {
        self.path = path
        self.reason = reason
    }

    package var description: String {
        switch reason {
        case .missing: "\(path) does not exist"
        case .unreadable(let message): "\(path) cannot be read: \(message)"
        case .tooLarge: "\(path) is larger than \(PEMFile.maximumBytes >> 20) MiB"
        case .notPEM:
            "\(path) is not a PEM file, with lines such as -----BEGIN CERTIFICATE-----"
        case .noCertificate: "\(path) has no certificate"
        case .noKey: "\(path) has no private key"
        case .encryptedKey:
            "the key in \(path) is encrypted; remove its password with `openssl pkey`"
        case .foreignKey(let certificate, nil):
            "the key in \(path) does not belong to the certificate in \(certificate)"
        case .foreignKey(let certificate, let number?):
            "the key in \(path) belongs to certificate \(number) in \(certificate), which must "
                + "be the first"
        case .refused(let message): "OpenSSL rejects \(path): \(message)"
        }
    }
}

/// A warning about files, which are used nevertheless.
package enum TLSWarning: Sendable, Equatable, CustomStringConvertible {
    /// Clients reject the certificate. The time is in seconds since 1970.
    case expired(path: String, seconds: Int64)
    case notYetValid(path: String, seconds: Int64)
    /// Every user of the machine can read the key.
    case exposedKey(path: String)

    package var description: String {
        switch self {
        case .expired(let path, _): "the certificate in \(path) has expired; clients reject it"
        case .notYetValid(let path, _):
            "the certificate in \(path) is not valid yet; clients reject it"
        case .exposedKey(let path): "every user can read the key in \(path); run: chmod go= on it"
        }
    }
}
