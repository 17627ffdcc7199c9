package import Curl

/// Which addresses transfers may connect to, judged on the socket itself: a name that resolves to
/// another address the second time, or a redirect, is judged like any other.
package struct AddressPolicy: Sendable, Hashable {
    /// Private (RFC 1918, RFC 4193), shared (RFC 6598) and loopback addresses.
    package var allowsPrivate: Bool

    package init(allowsPrivate: Bool = true) { self.allowsPrivate = allowsPrivate }

    /// Link-local addresses and clouds' metadata services are never admitted.
    package func admits(_ address: PeerAddress) -> Bool {
        switch address {
        case .v4(let bytes): admits(v4: bytes[...])
        case .v6(let bytes): admits(v6: bytes)
        case .other: false
        }
    }

    private func admits(v4 bytes: ArraySlice<UInt8>) -> Bool {
        let address = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let denied: [(network: UInt32, bits: UInt32)] = [
            (0xA9FE_0000, 16),  // 169.254.0.0/16, link-local: 169.254.169.254, .170.2, …
            (0x6464_64C8, 32),  // 100.100.100.200, Alibaba Cloud's metadata
            (0xC000_00C0, 32),  // 192.0.0.192, Oracle Cloud's metadata
            (0xA83F_8110, 32),  // 168.63.129.16, Azure's host agent
            (0x0000_0000, 8),  // "this network"; Linux takes 0.0.0.0 for loopback
            (0xE000_0000, 3),  // multicast, reserved and broadcast
        ]
        if Self.isIn(address, denied) { return false }
        if allowsPrivate { return true }
        return !Self.isIn(
            address,
            [
                (0x0A00_0000, 8), (0xAC10_0000, 12), (0xC0A8_0000, 16), (0x7F00_0000, 8),
                (0x6440_0000, 10),
            ])
    }

    private func admits(v6 bytes: [UInt8]) -> Bool {
        if let embedded = Self.embeddedV4(bytes) { return admits(v4: embedded) }
        if bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 { return false }  // fe80::/10
        if bytes[0] == 0xFF { return false }  // multicast
        if bytes.allSatisfy({ $0 == 0 }) { return false }
        if let metadata = PeerAddress("fd00:ec2::254"), metadata == .v6(bytes) { return false }
        if allowsPrivate { return true }
        let isLoopback = bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
        return !isLoopback && bytes[0] & 0xFE != 0xFC  // fc00::/7
    }

    /// The IPv4 address inside a v4-mapped (::ffff:0:0/96), v4-compatible (::/96, but not :: and
    /// ::1), NAT64 (64:ff9b::/96 and 64:ff9b:1::/48) or 6to4 (2002::/16) address.
    private static func embeddedV4(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        if bytes.starts(with: [0x20, 0x02]) { return bytes[2..<6] }
        if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B]) {
            let middle = bytes[4..<12]
            let isWellKnown = middle.allSatisfy { $0 == 0 }
            let isLocal = bytes[4] == 0 && bytes[5] == 1
            return isWellKnown || isLocal ? bytes[12...] : nil
        }
        guard bytes[..<10].allSatisfy({ $0 == 0 }) else { return nil }
        if bytes[10] == 0xFF && bytes[11] == 0xFF { return bytes[12...] }
        let isCompatible = bytes[10] == 0 && bytes[11] == 0
        return isCompatible && bytes[12] != 0 ? bytes[12...] : nil
    }

    private static func isIn(
        _ address: UInt32, _ networks: [(network: UInt32, bits: UInt32)]
    ) -> Bool {
        networks.contains { (address ^ $0.network) >> (32 - $0.bits) == 0 }
    }
}
