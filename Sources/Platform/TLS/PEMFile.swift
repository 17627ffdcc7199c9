internal import CSSL
internal import FileSystem
internal import Glibc

/// The bytes of a PEM file.
struct PEMFile {
    static let maximumBytes = 1 << 20

    let path: String
    let bytes: [UInt8]
    /// True if every user of the machine can read the file.
    let isExposed: Bool

    init(_ path: String) throws(TLSError) {
        self.path = path
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.error(path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.error(path, errno) }
        isExposed = status.st_mode & S_IFMT == S_IFREG && status.st_mode & S_IROTH != 0
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try readToEnd(descriptor, maximumBytes: Self.maximumBytes)
        } catch {
            throw Self.error(path, error.code)
        }
        guard let bytes else { throw TLSError(path: path, reason: .tooLarge) }
        self.bytes = bytes
    }

    private static func error(_ path: String, _ code: Int32) -> TLSError {
        guard code != ENOENT, code != ENOTDIR else { return TLSError(path: path, reason: .missing) }
        return TLSError(path: path, reason: .unreadable(String(cString: strerror(code))))
    }

    /// Returns the certificates in the order of the file; at least one.
    func certificates() throws(TLSError) -> [Certificate] {
        var certificates: [Certificate] = []
        let failure: String? = try withBIO { bio in
            while let found = PEM_read_bio_X509(bio, nil, nil, nil) {
                certificates.append(Certificate(owning: found))
            }
            return dray_tls_is_end_of_pem() ? nil : OpenSSL.firstError
        }
        if let failure { throw error(.refused(failure)) }
        guard !certificates.isEmpty else { throw error(isPEM ? .noCertificate : .notPEM) }
        return certificates
    }

    /// Calls `body` with the file's private key.
    func withKey<Value>(_ body: (OpaquePointer) throws(TLSError) -> Value) throws(TLSError) -> Value
    {
        var isEncrypted = false
        let key = try withBIO { dray_tls_read_key($0, &isEncrypted) }
        guard let key else {
            if isEncrypted { throw error(.encryptedKey) }
            throw error(isPEM ? .noKey : .notPEM)
        }
        defer { EVP_PKEY_free(key) }
        return try body(key)
    }

    func error(_ reason: TLSError.Reason) -> TLSError { TLSError(path: path, reason: reason) }

    private var isPEM: Bool {
        let mark = Array("-----BEGIN ".utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: mark) }
    }

    private func withBIO<Value>(_ body: (OpaquePointer) -> Value) throws(TLSError) -> Value {
        OpenSSL.clearErrors()
        defer { OpenSSL.clearErrors() }
        // BIO_new_mem_buf copies nothing, so the bytes must stay while it is read.
        let result = bytes.withUnsafeBytes { buffer -> Value? in
            // An empty buffer has no address, which OpenSSL would take for an error.
            guard
                let bio = BIO_new_mem_buf(
                    buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1),
                    Int32(buffer.count))
            else { return nil }
            defer { BIO_free(bio) }
            return body(bio)
        }
        guard let result else { throw error(.refused("out of memory")) }
        return result
    }
}

/// The library's state of a process and of a thread.
enum OpenSSL {
    /// Initialises the library once; returns false if it cannot be.
    static let isReady = dray_tls_init() == 1

    static func clearErrors() { ERR_clear_error() }

    /// The first error of this thread's queue, in OpenSSL's words.
    static var firstError: String {
        let code = ERR_peek_error()
        guard code != 0, let text = ERR_reason_error_string(code) else { return "unknown error" }
        return String(cString: text)
    }
}
