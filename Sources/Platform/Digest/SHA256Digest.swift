/// A SHA-256 digest (FIPS 180-4): 32 bytes.
///
/// `==` takes constant time, so that a digest may stand for a secret.
package struct SHA256Digest: Sendable {
    package static let byteCount = 32

    // Words rather than an array, to avoid an allocation per digest.
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// Fills the 32 bytes with `body`.
    init(filling body: (UnsafeMutableRawBufferPointer) -> Void) {
        withUnsafeMutableBytes(of: &words, body)
    }

    /// Creates the digest of `bytes`.
    package init(hashing bytes: UnsafeRawBufferPointer) {
        var hasher = SHA256Hasher()
        hasher.update(bytes)
        self = hasher.finish()
    }

    /// Creates the digest of `bytes`.
    package init(hashing bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { SHA256Digest(hashing: $0) }
    }

    /// Parses 64 hex digits of either case; returns nil for other text.
    package init?(hex: some StringProtocol) {
        let digits = Array(hex.utf8)
        guard digits.count == Self.byteCount * 2 else { return nil }
        var bytes = [UInt8]()
        bytes.reserveCapacity(Self.byteCount)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(ofHexDigit: digits[index]),
                let low = Self.value(ofHexDigit: digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(filling: { $0.copyBytes(from: bytes) })
    }

    /// Passes the 32 bytes in order to `body`.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        Swift.withUnsafeBytes(of: words, body)
    }

    private static func value(ofHexDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension SHA256Digest: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        let difference =
            (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1)
            | (left.words.2 ^ right.words.2) | (left.words.3 ^ right.words.3)
        return difference == 0
    }

    package func hash(into hasher: inout Hasher) {
        withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension SHA256Digest: CustomStringConvertible {
    /// 64 lower-case hex digits.
    package var description: String {
        let digits = StaticString("0123456789abcdef")
        return withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: Self.byteCount * 2) { output in
                for (index, byte) in bytes.enumerated() {
                    output[2 * index] = digits.utf8Start[Int(byte >> 4)]
                    output[2 * index + 1] = digits.utf8Start[Int(byte & 15)]
                }
                return Self.byteCount * 2
            }
        }
    }
}
