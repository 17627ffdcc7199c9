import Glibc
import TestSupport

/// A listener that must get no connection; the kernel accepts connections for it, so that one shows
/// even when it was closed at once.
final class Canary {
    let port: UInt16
    private let descriptor: Int32

    /// - Parameters:
    ///   - address: an IPv4 or IPv6 literal of this machine.
    ///   - port: 0 takes a free one.
    init(_ address: String = "127.0.0.1", port: UInt16 = 0) throws {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address, "\(port)", &hints, &found) == 0, let info = found else {
            throw POSIXFailure("no address: \(address)")
        }
        defer { freeaddrinfo(found) }
        let listener = socket(
            info.pointee.ai_family,
            Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(
            listener, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes,
            socklen_t(MemoryLayout<Int32>.size))
        var bound = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isOpen =
            bind(listener, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0
            && listen(listener, 16) == 0
            && withUnsafeMutablePointer(to: &bound) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getsockname(listener, $0, &length) == 0
                }
            }
        guard isOpen else {
            let code = errno
            close(listener)
            throw POSIXFailure(code, "listen on \(address)")
        }
        descriptor = listener
        // The port lies at the same place for both families.
        self.port = withUnsafeBytes(of: bound) { UInt16($0[2]) << 8 | UInt16($0[3]) }
    }

    deinit { close(descriptor) }

    /// Whether anybody has connected since this was asked last.
    var wasMet: Bool {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return false }
        close(connection)
        return true
    }
}
