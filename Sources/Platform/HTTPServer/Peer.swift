internal import Glibc

/// The other end of a connection, by its address.
struct Peer: Sendable, Equatable {
    /// The numeric address without its port; empty if unknown.
    var text: String
    /// True if the peer is this machine.
    var isLoopback: Bool
    var network: Network
    /// The subject of its verified certificate; nil without one.
    var certificateSubject: String?

    /// The unit of limits per address: an IPv4 address, or an IPv6 network of 64 bits, the minimum
    /// of a site or a customer (RFC 6177).
    enum Network: Hashable, Sendable {
        /// All clients on this machine, which cannot be distinguished.
        case loopback
        case v4(UInt32)
        case v6(UInt64)
        case unknown

        /// A name for it; empty for this machine and if it is unknown.
        var text: String {
            switch self {
            case .loopback, .unknown: ""
            case .v4(let number): "4:\(number)"
            case .v6(let number): "6:\(number)"
            }
        }
    }

    static let unknown = Peer(text: "", isLoopback: false, network: .unknown)

    init(text: String, isLoopback: Bool, network: Network) {
        self.text = text
        self.isLoopback = isLoopback
        self.network = network
    }

    /// Parses the address from `accept`.
    init(_ storage: inout sockaddr_storage) {
        self = withUnsafePointer(to: &storage) { pointer in
            switch Int32(pointer.pointee.ss_family) {
            case AF_INET:
                pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    Peer(v4: $0.pointee.sin_addr)
                }
            case AF_INET6:
                pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    Peer(v6: $0.pointee.sin6_addr)
                }
            default: .unknown
            }
        }
    }

    private init(v4 address: in_addr) {
        var source = address
        let number = UInt32(bigEndian: address.s_addr)
        text = Self.text(AF_INET, &source)
        isLoopback = number >> 24 == 127
        network = isLoopback ? .loopback : .v4(number)
    }

    private init(v6 address: in6_addr) {
        var source = address
        let bytes = withUnsafeBytes(of: source) { Array($0) }
        func number(_ range: Range<Int>) -> UInt64 {
            bytes[range].reduce(0) { $0 << 8 | UInt64($1) }
        }
        text = Self.text(AF_INET6, &source)
        let (high, low) = (number(0..<8), number(8..<16))
        if high == 0, low >> 32 == 0xFFFF {
            // A mapped IPv4 address.
            let mapped = UInt32(truncatingIfNeeded: low)
            isLoopback = mapped >> 24 == 127
            network = isLoopback ? .loopback : .v4(mapped)
        } else {
            isLoopback = high == 0 && low == 1
            network = isLoopback ? .loopback : .v6(high)
        }
    }

    private static func text(_ family: Int32, _ source: UnsafeRawPointer) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            inet_ntop(family, source, buffer.baseAddress, socklen_t(buffer.count))
                .map { String(cString: $0) } ?? ""
        }
    }
}
