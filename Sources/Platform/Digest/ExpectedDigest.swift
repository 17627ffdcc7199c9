/// A digest stated by a list, a manifest or an origin.
package struct ExpectedDigest: Hashable, Sendable {
    package let algorithm: DigestAlgorithm
    /// `algorithm.byteCount` bytes.
    package let bytes: [UInt8]

    /// Returns nil unless the length is the algorithm's.
    package init?(_ algorithm: DigestAlgorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Parses hex digits of either case; returns nil for other text and for another length.
    package init?(_ algorithm: DigestAlgorithm, hex: some StringProtocol) {
        let digits = Array(hex.utf8)
        guard digits.count == algorithm.byteCount * 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(algorithm.byteCount)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(ofHexDigit: digits[index]),
                let low = Self.value(ofHexDigit: digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(algorithm, bytes: bytes)
    }

    package init(_ digest: SHA256Digest) {
        algorithm = .sha256
        bytes = digest.withUnsafeBytes { Array($0) }
    }

    /// Lower-case hex digits.
    package var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self)
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

extension ExpectedDigest: CustomStringConvertible {
    /// `md5=` and the hex digits.
    package var description: String { "\(algorithm.rawValue)=\(hex)" }

    /// Parses `md5=` and hex digits; returns nil for other text.
    package init?(_ text: some StringProtocol) {
        let halves = text.split(separator: "=", omittingEmptySubsequences: false)
        guard halves.count == 2, let algorithm = DigestAlgorithm(rawValue: String(halves[0]))
        else { return nil }
        self.init(algorithm, hex: halves[1])
    }
}
