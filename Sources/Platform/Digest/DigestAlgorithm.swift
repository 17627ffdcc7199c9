/// A digest that Dray computes; the raw value is its name in lists and reports.
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

    /// The common name.
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

    /// libcrypto's name for it; nil if it is computed here.
    var libcryptoName: String? {
        switch self {
        case .sha512: "SHA512"
        case .sha256: "SHA256"
        case .sha1: "SHA1"
        case .md5: "MD5"
        case .crc64nvme, .crc32, .crc32c: nil
        }
    }

    /// True if it detects damage but not manipulation: a collision is easy to find.
    package var isChecksum: Bool { libcryptoName == nil }

    /// True if this host computes it: a libcrypto in FIPS 140 mode may have no MD5.
    package var isAvailable: Bool { DigestContext.isAvailable(self) }

    /// Orders the strongest first.
    package static func < (left: Self, right: Self) -> Bool { left.byteCount > right.byteCount }
}
