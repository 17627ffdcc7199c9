package import Curl
package import Model

/// The addresses that transfers may connect to. The socket's own address is judged, so that a
/// second name resolution or a redirect cannot evade the policy.
///
/// Link-local addresses, clouds' metadata services, "this network" and multicast are never
/// admitted. The longest prefix of the lists that contains an address decides, `denied` for equal
/// lengths. Without a match, public addresses are admitted, and others if `allowsPrivate`.
package struct AddressPolicy: Sendable, Hashable {
    /// True if private (RFC 1918, RFC 4193), shared (RFC 6598), loopback and other special-purpose
    /// addresses are admitted (`SpecialPurposeAddresses`).
    package var allowsPrivate: Bool
    package var allowed: [AddressBlock]
    package var denied: [AddressBlock]

    package init(
        allowsPrivate: Bool = true, allowed: [AddressBlock] = [], denied: [AddressBlock] = []
    ) {
        self.allowsPrivate = allowsPrivate
        self.allowed = allowed
        self.denied = denied
    }

    /// The policy's decision on one address.
    package enum Decision: Sendable, Hashable {
        case admitted
        /// Not admitted unless `--allow-addresses` contains this block of one address.
        case denied(allow: AddressBlock)
        /// Denied by this block in `--deny-addresses`: no longer prefix can allow it.
        case blocked(AddressBlock)
        /// Never admitted, independent of the lists.
        case forbidden
    }

    package func admits(_ address: PeerAddress) -> Bool { decision(on: address) == .admitted }

    package func decision(on address: PeerAddress) -> Decision {
        switch address {
        case .v4(let bytes): return decision(bytes[...], never: Self.never4, inside: Self.private4)
        case .v6(let bytes):
            let inner: [Decision]
            if let local = Self.localNAT64(bytes) {
                inner = local.map { decision($0, never: Self.never4, inside: Self.private4) }
            } else if let embedded = Self.embeddedV4(bytes) {
                inner = [decision(embedded, never: Self.never4, inside: Self.private4)]
            } else {
                inner = [decision(bytes[...], never: Self.never6, inside: Self.private6)]
            }
            if inner.contains(.forbidden) { return .forbidden }
            // A denied block of the outer form counts like one of the embedded address.
            if denied.contains(where: { $0.contains(bytes[...]) }), !isAllowed(bytes[...]) {
                return refused(bytes[...])
            }
            return inner.first { $0 != .admitted } ?? .admitted
        case .other: return .forbidden
        }
    }

    /// Returns why an address is rejected, with the option that would admit it; nil if admitted. The
    /// message contains no URL.
    package func rejection(of address: PeerAddress) -> Failure? {
        switch decision(on: address) {
        case .admitted: nil
        case .forbidden:
            Failure(
                .originAddressForbidden,
                "\(address.text) is link-local, multicast, unspecified or a metadata service, which "
                    + "no option allows")
        case .denied(let block):
            Failure(
                .originAddressDenied,
                "the address policy does not admit \(address.text); --allow-addresses "
                    + "\(block.text) would")
        case .blocked(let block):
            Failure(
                .originAddressBlocked,
                "\(address.text) is in --deny-addresses as \(block.text)")
        }
    }

    /// Returns the decision for an address that the lists do not admit.
    private func refused(_ address: ArraySlice<UInt8>) -> Decision {
        let block = AddressBlock(Array(address), address.count * 8)
        return denied.contains(block) ? .blocked(block) : .denied(allow: block)
    }

    /// Returns true if the address is allowed by a longer prefix than it is denied by.
    private func isAllowed(_ address: ArraySlice<UInt8>) -> Bool {
        let bits = { (blocks: [AddressBlock]) in
            blocks.filter { $0.contains(address) }.map(\.bits).max() ?? 0
        }
        return bits(allowed) > bits(denied)
    }

    private func decision(
        _ address: ArraySlice<UInt8>, never: [AddressBlock], inside: [AddressBlock]
    ) -> Decision {
        if never.contains(where: { $0.contains(address) }) { return .forbidden }
        let allowedBits = allowed.filter { $0.contains(address) }.map(\.bits).max()
        let deniedBits = denied.filter { $0.contains(address) }.map(\.bits).max()
        let isAdmitted =
            switch (allowedBits, deniedBits) {
            case (let allowedBits?, let deniedBits?): allowedBits > deniedBits
            case (_?, nil): true
            case (nil, _?): false
            case (nil, nil): allowsPrivate || !inside.contains { $0.contains(address) }
            }
        return isAdmitted ? .admitted : refused(address)
    }

    // MARK: Address blocks

    private static let never4 = [
        AddressBlock([169, 254], 16),  // link-local: 169.254.169.254, .170.2, …
        AddressBlock([100, 100, 100, 200], 32),  // Alibaba Cloud's metadata
        AddressBlock([192, 0, 0, 192], 32),  // Oracle Cloud's metadata
        AddressBlock([168, 63, 129, 16], 32),  // Azure's host agent
        AddressBlock([0], 8),  // "this network"; Linux takes 0.0.0.0 for loopback
        AddressBlock([224], 3),  // multicast, reserved and broadcast
    ]
    private static let private4 = SpecialPurposeAddresses.blocks4
    private static let never6 = [
        AddressBlock([0xFE, 0x80, 0, 0, 0], 10),  // link-local
        AddressBlock([0xFF, 0, 0, 0, 0], 8),  // multicast
        AddressBlock(Array(repeating: 0, count: 16), 128),
        // EC2's instance services: metadata at ::254, credentials of pods at ::23, and others.
        AddressBlock([0xFD, 0x00, 0x0E, 0xC2] + Array(repeating: 0, count: 4), 64),
        // Google Cloud's metadata.
        AddressBlock(
            [0xFD, 0x20, 0x00, 0xCE] + Array(repeating: 0, count: 10) + [0x02, 0x54], 128),
    ]
    private static let private6 =
        SpecialPurposeAddresses.blocks6 + [
            AddressBlock([0xFE, 0xC0, 0, 0, 0], 10)  // site-local, deprecated by RFC 3879
        ]

    /// Returns the possible IPv4 addresses in a prefix of 64:ff9b:1::/48, by the prefix's length
    /// (RFC 8215; RFC 6052, 2.2); nil for other addresses. Readings in 0.0.0.0/8 are omitted,
    /// except for the last four bytes.
    private static func localNAT64(_ bytes: [UInt8]) -> [ArraySlice<UInt8>]? {
        guard bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01]) else { return nil }
        let readings: [[UInt8]] = [
            [bytes[6], bytes[7], bytes[9], bytes[10]], [bytes[7], bytes[9], bytes[10], bytes[11]],
            Array(bytes[9..<13]),
        ]
        return readings.filter { $0[0] != 0 }.map { $0[...] } + [bytes[12...]]
    }

    /// Returns the IPv4 address inside a v4-mapped (::ffff:0:0/96), v4-translated
    /// (::ffff:0:0:0/96), v4-compatible (::/96, except :: and ::1), NAT64 (64:ff9b::/96) or 6to4
    /// (2002::/16) address.
    private static func embeddedV4(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        if bytes.starts(with: [0x20, 0x02]) { return bytes[2..<6] }
        if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B]) {
            return bytes[4..<12].allSatisfy { $0 == 0 } ? bytes[12...] : nil
        }
        guard bytes[..<8].allSatisfy({ $0 == 0 }) else { return nil }
        switch (bytes[8], bytes[9], bytes[10], bytes[11]) {
        case (0, 0, 0xFF, 0xFF), (0xFF, 0xFF, 0, 0): return bytes[12...]
        case (0, 0, 0, 0):
            return bytes[12..<15].allSatisfy { $0 == 0 } && bytes[15] < 2 ? nil : bytes[12...]
        default: return nil
        }
    }
}
