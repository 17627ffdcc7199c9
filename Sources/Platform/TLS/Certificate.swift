internal import CSSL

/// One X.509 certificate. Immutable.
package final class Certificate: Sendable {
    // OpenSSL only reads it from here on, with locks of its own.
    nonisolated(unsafe) let pointer: OpaquePointer
    /// The subject in the form of RFC 4514, `CN=worker,O=Example`; may be empty.
    package let subject: String
    /// Its validity, in seconds since 1970.
    package let notBefore: Int64
    package let notAfter: Int64

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
        notBefore = dray_tls_begin(pointer)
        notAfter = dray_tls_end(pointer)
        subject = Self.subject(of: pointer)
    }

    deinit { X509_free(pointer) }

    /// Returns true from 14 days before the end on, when operators are warned, and after it.
    ///
    /// - Parameter days: whole days until it expires, rounded down.
    package static func isExpiringSoon(daysLeft days: Int) -> Bool { days <= 14 }

    /// Returns the whole days until it expires, rounded down; negative after that.
    package func daysLeft(atSeconds now: Int64) -> Int {
        Int(((Double(notAfter) - Double(now)) / 86_400).rounded(.down))
    }

    /// The DNS names that it is for, in their order; `*.example` for wildcards.
    package var names: [String] {
        var names: [String] = []
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress else { return }
            for index in 0..<Int32(1_000) {
                let length = dray_tls_dns_name(pointer, index, base, Int32(buffer.count))
                guard length >= 0 else { return }
                let bytes = UnsafeRawBufferPointer(start: base, count: Int(length))
                if length > 0 { names.append(String(decoding: bytes, as: UTF8.self)) }
            }
        }
        return names
    }

    /// Returns true if it is for that numeric address.
    package func isFor(address: String) -> Bool {
        X509_check_ip_asc(pointer, address, 0) == 1
    }

    static func subject(of pointer: OpaquePointer) -> String {
        guard let bio = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(bio) }
        var bytes: UnsafeMutablePointer<CChar>?
        guard dray_tls_print_subject(bio, pointer) else { return "" }
        let count = dray_tls_memory(bio, &bytes)
        return String(
            decoding: UnsafeRawBufferPointer(start: bytes, count: max(count, 0)), as: UTF8.self)
    }
}
