/// The state of SHA-256 after the first blocks of a message (FIPS 180-4, 6.2), from which it continues
/// without them.
///
/// It exists only on processors with SHA instructions; libcrypto has no way to read it.
package struct SHA256State: Hashable, Sendable {
    /// 8 words.
    let words: [UInt32]
    /// A multiple of 64.
    package let byteCount: UInt64

    init(words: [UInt32], byteCount: UInt64) {
        precondition(words.count == 8 && byteCount % 64 == 0)
        self.words = words
        self.byteCount = byteCount
    }

    /// Parses the words as 64 hex digits; returns nil for other text, and for a number of bytes that
    /// ends within a block.
    package init?(hex: some StringProtocol, byteCount: Int64) {
        guard byteCount >= 0, byteCount % 64 == 0, let digest = SHA256Digest(hex: hex) else {
            return nil
        }
        words = digest.withUnsafeBytes { bytes in
            (0..<8).map {
                UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self))
            }
        }
        self.byteCount = UInt64(byteCount)
    }

    /// The words as 64 hex digits.
    package var hex: String {
        SHA256Digest { output in
            for word in 0..<8 {
                output.storeBytes(
                    of: words[word].bigEndian, toByteOffset: 4 * word, as: UInt32.self)
            }
        }.description
    }
}
