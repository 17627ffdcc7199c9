/// A digest that Dray computes; the raw value is the name that lists and reports use.
package enum DigestAlgorithm: String, CaseIterable, Comparable, Sendable {
    case sha512
    case sha256
    case sha1
    case md5
    /// CRC-64/NVME.
    case crc64nvme
    case crc32
    case crc32c

    /// Length of the digest in bytes.
    package var byteCount: Int {
        switch self {
        case .sha512: 64
        case .sha256: 32
        case .sha1: 20
        case .md5: 16
        case .crc64nvme: 8
        case .crc32, .crc32c: 4
        }
    }

    /// As people write it.
    package var title: String {
        switch self {
        case .sha512: "SHA-512"
        case .sha256: "SHA-256"
        case .sha1: "SHA-1"
        case .md5: "MD5"
        case .crc64nvme: "CRC64NVME"
        case .crc32: "CRC32"
        case .crc32c: "CRC32C"
        }
    }

    /// libcrypto's name for it; nil for what is computed here.
    var libcryptoName: String? {
        switch self {
        case .sha512: "SHA512"
        case .sha256: "SHA256"
        case .sha1: "SHA1"
        case .md5: "MD5"
        case .crc64nvme, .crc32, .crc32c: nil
        }
    }

    /// Tells damage, and not intent: other bytes with the same one are found at once.
    package var isChecksum: Bool { libcryptoName == nil }

    /// Whether this host computes it: a libcrypto that is bound to FIPS 140 may have no MD5.
    package var isAvailable: Bool { DigestContext.isAvailable(self) }

    /// The strongest comes first.
    package static func < (left: Self, right: Self) -> Bool { left.byteCount > right.byteCount }
}
