package import Digest

/// Encodes base64 (RFC 4648, 4), independently of the tested code.
package func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        let value = (0..<3).reduce(0) { $0 << 8 | ($1 < group.count ? Int(group[start + $1]) : 0) }
        for index in 0..<4 {
            text.append(
                index <= group.count
                    ? alphabet[value >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
        }
    }
    return String(decoding: text, as: UTF8.self)
}

/// Returns a digest; nil for an algorithm that this host lacks.
package func digest(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) -> ExpectedDigest? {
    var set = DigestSet([algorithm])
    bytes.withUnsafeBytes { set.update($0) }
    let (sha256, others) = set.finish()
    return (others + [ExpectedDigest(sha256)]).first { $0.algorithm == algorithm }
}
