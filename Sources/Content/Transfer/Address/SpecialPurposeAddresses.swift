/// The blocks of IANA's registries of special-purpose addresses (RFC 6890); no public Internet
/// server uses them.
///
/// It has all rows of both registries, including globally reachable ones. Those are services of the
/// local network (port control, relays, AS112), not origins. Blocks that embed an IPv4 address are
/// judged by that address first (`AddressPolicy`).
enum SpecialPurposeAddresses {
    struct Row: Sendable {
        let block: String
        let name: String

        init(_ block: String, _ name: String) {
            self.block = block
            self.name = name
        }
    }

    // Of IANA's registries `iana-ipv4-special-registry` and `iana-ipv6-special-registry`, last changed on
    // 2025-10-09.
    static let rows4 = [
        Row("0.0.0.0/8", "\"this network\", RFC 791"),
        Row("0.0.0.0/32", "\"this host on this network\", RFC 1122"),
        Row("10.0.0.0/8", "private use, RFC 1918"),
        Row("100.64.0.0/10", "shared address space, RFC 6598"),
        Row("127.0.0.0/8", "loopback, RFC 1122"),
        Row("169.254.0.0/16", "link-local, RFC 3927"),
        Row("172.16.0.0/12", "private use, RFC 1918"),
        Row("192.0.0.0/24", "IETF protocol assignments, RFC 6890"),
        Row("192.0.0.0/29", "IPv4 service continuity, RFC 7335"),
        Row("192.0.0.8/32", "dummy address, RFC 7600"),
        Row("192.0.0.9/32", "port control protocol anycast, RFC 7723"),
        Row("192.0.0.10/32", "TURN anycast, RFC 8155"),
        Row("192.0.0.170/32", "NAT64 and DNS64 discovery, RFC 8880"),
        Row("192.0.0.171/32", "NAT64 and DNS64 discovery, RFC 8880"),
        Row("192.0.2.0/24", "documentation, RFC 5737"),
        Row("192.31.196.0/24", "AS112, RFC 7535"),
        Row("192.52.193.0/24", "AMT, RFC 7450"),
        Row("192.88.99.0/24", "6to4 relay anycast, deprecated by RFC 7526"),
        Row("192.88.99.2/32", "6a44 relay anycast, RFC 6751"),
        Row("192.168.0.0/16", "private use, RFC 1918"),
        Row("192.175.48.0/24", "AS112 by direct delegation, RFC 7534"),
        Row("198.18.0.0/15", "benchmarking, RFC 2544"),
        Row("198.51.100.0/24", "documentation, RFC 5737"),
        Row("203.0.113.0/24", "documentation, RFC 5737"),
        Row("240.0.0.0/4", "reserved, RFC 1112"),
        Row("255.255.255.255/32", "limited broadcast, RFC 919"),
    ]

    static let rows6 = [
        Row("::1/128", "loopback, RFC 4291"),
        Row("::/128", "unspecified, RFC 4291"),
        Row("::ffff:0:0/96", "IPv4-mapped, RFC 4291"),
        Row("64:ff9b::/96", "IPv4-IPv6 translation, RFC 6052"),
        Row("64:ff9b:1::/48", "local IPv4-IPv6 translation, RFC 8215"),
        Row("100::/64", "discard only, RFC 6666"),
        Row("100:0:0:1::/64", "dummy prefix, RFC 9780"),
        Row("2001::/23", "IETF protocol assignments, RFC 2928"),
        Row("2001::/32", "Teredo, RFC 4380"),
        Row("2001:1::1/128", "port control protocol anycast, RFC 7723"),
        Row("2001:1::2/128", "TURN anycast, RFC 8155"),
        Row("2001:1::3/128", "DNS-SD registration anycast, RFC 9665"),
        Row("2001:2::/48", "benchmarking, RFC 5180"),
        Row("2001:3::/32", "AMT, RFC 7450"),
        Row("2001:4:112::/48", "AS112, RFC 7535"),
        Row("2001:10::/28", "ORCHID, deprecated, RFC 4843"),
        Row("2001:20::/28", "ORCHIDv2, RFC 7343"),
        Row("2001:30::/28", "drone remote identification, RFC 9374"),
        Row("2001:db8::/32", "documentation, RFC 3849"),
        Row("2002::/16", "6to4, RFC 3056"),
        Row("2620:4f:8000::/48", "AS112 by direct delegation, RFC 7534"),
        Row("3fff::/20", "documentation, RFC 9637"),
        Row("5f00::/16", "segment routing identifiers, RFC 9602"),
        Row("fc00::/7", "unique local, RFC 4193"),
        Row("fe80::/10", "link-local, RFC 4291"),
    ]

    static let blocks4 = rows4.compactMap { try? AddressBlock($0.block) }
    /// Omits the block of mapped IPv4 addresses, which are judged as IPv4.
    static let blocks6 = rows6.compactMap { try? AddressBlock($0.block) }
        .filter { $0.bytes.count == 16 }
}
