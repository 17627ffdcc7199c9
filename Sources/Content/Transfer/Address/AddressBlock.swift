package import Curl
package import Model

/// A range of addresses, `10.0.0.0/8` or `2001:db8::/32` (RFC 4632, 3.1); a single address is a
/// block of one.
package struct AddressBlock: Sendable, Hashable {
    /// 4 or 16 bytes; those after the prefix are 0.
    let bytes: [UInt8]
    /// Length of the prefix in bits.
    let bits: Int

    /// Throws `input.field` for invalid text. Bits after the prefix are rejected too: `10.1.2.3/8`
    /// is more likely a mistake than a block.
    package init(_ text: String) throws(Failure) {
        let halves = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var bytes: [UInt8]
        switch PeerAddress(String(halves[0])) {
        case .v4(let address): bytes = address
        case .v6(let address): bytes = address
        case .other, nil: throw Self.failure(text, "is not an address block")
        }
        var bits = bytes.count * 8
        if halves.count == 2 {
            let digits = halves[1]
            guard let given = Int(digits), String(given) == digits, (0...bits).contains(given)
            else { throw Self.failure(text, "has no prefix length from 0 to \(bits)") }
            bits = given
        }
        // The embedded IPv4 address is judged.
        if bytes.count == 16, bits >= 96, bytes.starts(with: Self.mappedPrefix) {
            bytes = Array(bytes[12...])
            bits -= 96
        }
        guard bytes.indices.allSatisfy({ bytes[$0] & ~Self.mask(bits, $0) == 0 }) else {
            throw Self.failure(text, "has bits after its prefix")
        }
        self.bytes = bytes
        self.bits = bits
    }

    /// Creates a block from known valid bytes.
    init(_ bytes: [UInt8], _ bits: Int) {
        self.bytes = bytes + Array(repeating: 0, count: (bytes.count <= 4 ? 4 : 16) - bytes.count)
        self.bits = bits
    }

    /// Text such as `10.0.0.0/8`.
    package var text: String {
        let address: PeerAddress = bytes.count == 4 ? .v4(bytes) : .v6(bytes)
        return "\(address.text)/\(bits)"
    }

    /// Returns true if the block contains an address of its own family, 4 or 16 bytes.
    func contains(_ address: some RandomAccessCollection<UInt8>) -> Bool {
        guard address.count == bytes.count else { return false }
        return zip(address, bytes).enumerated().allSatisfy { index, pair in
            (pair.0 ^ pair.1) & Self.mask(bits, index) == 0
        }
    }

    package func contains(_ address: PeerAddress) -> Bool {
        switch address {
        case .v4(let bytes), .v6(let bytes): contains(bytes[...])
        case .other: false
        }
    }

    /// Returns true if all addresses have a property that blocks of seven bits or more have as a
    /// whole. Judges the first and the last address; false for a larger block.
    package func isWholly(_ isSo: (PeerAddress) -> Bool) -> Bool {
        guard bits >= 7 else { return false }
        let last = bytes.indices.map { bytes[$0] | ~Self.mask(bits, $0) }
        return [bytes, last].allSatisfy { isSo($0.count == 4 ? .v4($0) : .v6($0)) }
    }

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// Returns the bits of byte `index` that lie in a prefix.
    private static func mask(_ bits: Int, _ index: Int) -> UInt8 {
        let left = min(max(bits - index * 8, 0), 8)
        return left == 0 ? 0 : 0xFF << UInt8(8 - left)
    }

    private static func failure(_ text: String, _ what: String) -> Failure {
        Failure(.inputField, "'\(text.prefix(100))' \(what); write 10.0.0.0/8 or 2001:db8::/32")
    }
}
