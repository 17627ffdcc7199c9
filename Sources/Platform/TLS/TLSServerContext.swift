internal import CSSL

/// The files of a server's certificate, in PEM.
package struct TLSServerFiles: Sendable, Equatable {
    /// The server's certificate, then those that lead to its authority.
    package var certificate: String
    package var key: String
    package var clients: TLSClientCertificates

    package init(
        certificate: String, key: String, clients: TLSClientCertificates = .ignored
    ) {
        self.certificate = certificate
        self.key = key
        self.clients = clients
    }

    /// All files.
    package var paths: [String] { [certificate, key] + [clients.authorities].compactMap(\.self) }
}

/// Which certificates a server asks clients for; `authorities` is a PEM file of their issuers.
package enum TLSClientCertificates: Sendable, Equatable {
    /// None are asked for.
    case ignored
    /// Clients without a certificate are served too.
    case optional(authorities: String)
    case required(authorities: String)

    var authorities: String? {
        switch self {
        case .ignored: nil
        case .optional(let path), .required(let path): path
        }
    }
}

/// Shared by a server's TLS connections: certificate, key, versions and ciphers. TLS 1.2 and 1.3,
/// with forward secrecy and authenticated ciphers only.
///
/// Immutable and safe from any thread. Connections keep the context that they began with.
package final class TLSServerContext: Sendable {
    // Nothing changes it after `init`; OpenSSL counts its references atomically.
    nonisolated(unsafe) let pointer: OpaquePointer
    /// The server's own certificate.
    package let certificate: Certificate
    /// True if every user of the machine can read the key.
    private let isKeyExposed: Bool
    package let files: TLSServerFiles
    /// A hash of the files' bytes, to notice changes.
    let fingerprint: Int

    /// Reads the files.
    package convenience init(_ files: TLSServerFiles) throws(TLSError) {
        try self.init(TLSFileContents(files))
    }

    init(_ contents: TLSFileContents) throws(TLSError) {
        files = contents.files
        fingerprint = contents.fingerprint
        isKeyExposed = contents.key.isExposed
        let chain = try contents.certificate.certificates()
        certificate = chain[0]
        OpenSSL.clearErrors()
        guard OpenSSL.isReady, let context = SSL_CTX_new(TLS_server_method()) else {
            throw contents.certificate.error(.refused(OpenSSL.firstError))
        }
        // `deinit` frees it, also if a later step throws.
        pointer = context
        guard dray_tls_prepare(context) else {
            throw contents.certificate.error(.refused(OpenSSL.firstError))
        }
        try use(chain, contents.certificate)
        try contents.key.withKey { key throws(TLSError) in
            try use(key, of: chain, contents)
        }
        if let authorities = contents.authorities { try ask(authorities, files.clients) }
        OpenSSL.clearErrors()
    }

    deinit { SSL_CTX_free(pointer) }

    private func use(_ chain: [Certificate], _ file: PEMFile) throws(TLSError) {
        guard SSL_CTX_use_certificate(pointer, chain[0].pointer) == 1 else {
            throw file.error(.refused(OpenSSL.firstError))
        }
        for link in chain.dropFirst() {
            X509_up_ref(link.pointer)
            guard dray_tls_add_to_chain(pointer, link.pointer) else {
                X509_free(link.pointer)
                throw file.error(.refused(OpenSSL.firstError))
            }
        }
    }

    private func use(
        _ key: OpaquePointer, of chain: [Certificate], _ contents: TLSFileContents
    ) throws(TLSError) {
        guard X509_check_private_key(chain[0].pointer, key) == 1 else {
            let owner = chain.firstIndex { X509_check_private_key($0.pointer, key) == 1 }
            throw contents.key.error(
                .foreignKey(
                    certificate: contents.files.certificate, belongsTo: owner.map { $0 + 1 }))
        }
        guard SSL_CTX_use_PrivateKey(pointer, key) == 1 else {
            throw contents.key.error(.refused(OpenSSL.firstError))
        }
    }

    /// Asks clients for a certificate of these authorities.
    private func ask(_ file: PEMFile, _ clients: TLSClientCertificates) throws(TLSError) {
        let store = SSL_CTX_get_cert_store(pointer)
        for authority in try file.certificates() {
            guard X509_STORE_add_cert(store, authority.pointer) == 1,
                SSL_CTX_add_client_CA(pointer, authority.pointer) == 1
            else { throw file.error(.refused(OpenSSL.firstError)) }
        }
        var mode = SSL_VERIFY_PEER
        if case .required = clients { mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT }
        SSL_CTX_set_verify(pointer, mode, nil)
    }

    /// The judgement of a client on the certificate.
    package enum Verdict: Sendable, Equatable {
        case trusted
        case expired
        /// OpenSSL's message, such as `self-signed certificate`.
        case untrusted(String)
    }

    /// Verifies the certificate as a client does, but for its name.
    ///
    /// - Parameter authorities: a PEM file of those that the client trusts; nil for OpenSSL's own.
    package func verdict(trusting authorities: String?) -> Verdict {
        OpenSSL.clearErrors()
        defer { OpenSSL.clearErrors() }
        let code = dray_tls_verify(pointer, authorities)
        switch code {
        case X509_V_OK: return .trusted
        case X509_V_ERR_CERT_HAS_EXPIRED: return .expired
        default:
            return .untrusted(String(cString: X509_verify_cert_error_string(Int(code))))
        }
    }

    /// Returns the warnings about the files at a time, in seconds since 1970.
    package func warnings(atSeconds now: Int64) -> [TLSWarning] {
        var warnings: [TLSWarning] = []
        let path = files.certificate
        if certificate.notAfter <= now {
            warnings.append(.expired(path: path, seconds: certificate.notAfter))
        }
        if certificate.notBefore > now {
            warnings.append(.notYetValid(path: path, seconds: certificate.notBefore))
        }
        if isKeyExposed { warnings.append(.exposedKey(path: files.key)) }
        return warnings
    }
}

/// The bytes of a server's files, read together.
struct TLSFileContents {
    let files: TLSServerFiles
    let certificate: PEMFile
    let key: PEMFile
    let authorities: PEMFile?

    init(_ files: TLSServerFiles) throws(TLSError) {
        self.files = files
        certificate = try PEMFile(files.certificate)
        key = try PEMFile(files.key)
        if let path = files.clients.authorities {
            authorities = try PEMFile(path)
        } else {
            authorities = nil
        }
    }

    var fingerprint: Int {
        var hasher = Hasher()
        hasher.combine(certificate.bytes)
        hasher.combine(key.bytes)
        hasher.combine(authorities?.bytes)
        return hasher.finalize()
    }
}
