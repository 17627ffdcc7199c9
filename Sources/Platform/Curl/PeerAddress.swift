internal import CCurl
internal import Glibc

/// The address that a socket is about to connect to.
package enum PeerAddress: Hashable, Sendable {
    /// Four bytes, most significant first.
    case v4([UInt8])
    /// Sixteen bytes.
    case v6([UInt8])
    case other

    init(_ address: UnsafePointer<sockaddr>) {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            self = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                .v4(withUnsafeBytes(of: $0.pointee.sin_addr) { Array($0) })
            }
        case AF_INET6:
            self = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                .v6(withUnsafeBytes(of: $0.pointee.sin6_addr) { Array($0) })
            }
        default: self = .other
        }
    }

    /// Parses a literal, "192.0.2.1" or "2001:db8::1"; returns nil for other text.
    package init?(_ literal: String) {
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, literal, &v4) == 1 {
            self = .v4(withUnsafeBytes(of: v4) { Array($0) })
        } else if inet_pton(AF_INET6, literal, &v6) == 1 {
            self = .v6(withUnsafeBytes(of: v6) { Array($0) })
        } else {
            return nil
        }
    }

    /// The literal, as parsed by `init?(_:)`.
    package var text: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        switch self {
        case .v4(let bytes): inet_ntop(AF_INET, bytes, &text, socklen_t(text.count))
        case .v6(let bytes): inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count))
        case .other: return "an address that is neither IPv4 nor IPv6"
        }
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    package var isLoopback: Bool {
        switch self {
        case .v4(let bytes): bytes.first == 127
        case .v6(let bytes):
            bytes == Array(repeating: 0, count: 15) + [1]
                || bytes.starts(with: Array(repeating: 0, count: 10) + [0xFF, 0xFF, 127])
        case .other: false
        }
    }
}
