internal import Glibc

/// A reason why a server did not start.
package enum HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Another process, or this one, listens there.
    case addressInUse(String)
    /// Not an address of this machine, or a name that does not resolve.
    case addressUnavailable(String)
    /// A port below 1024 without the right to it.
    case permissionDenied(String)
    /// Another failure: the call and its error.
    case failed(String)

    package var description: String {
        switch self {
        case .addressInUse(let endpoint): "\(endpoint) is in use by another process"
        case .addressUnavailable(let endpoint): "\(endpoint) is not an address of this machine"
        case .permissionDenied(let endpoint): "no permission to listen on \(endpoint)"
        case .failed(let reason): reason
        }
    }
}

/// Opens listening sockets.
enum ListenSocket {
    /// Linux's maximum of unaccepted connections; a client beyond it retries after a second.
    private static let backlog: Int32 = 4_096

    /// Returns a nonblocking, close-on-exec socket that listens on `address`, and its port.
    static func open(
        _ address: String, port: UInt16
    ) throws(HTTPServerError) -> (descriptor: Int32, port: UInt16) {
        let endpoint = address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address, String(port), &hints, &found) == 0, let target = found else {
            throw .addressUnavailable(endpoint)
        }
        defer { freeaddrinfo(found) }
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(target.pointee.ai_family, Int32(kind), 0)
        guard descriptor >= 0 else { throw failure("socket", endpoint) }
        var yes: Int32 = 1
        // A restarted server may listen again although connections of the old one linger.
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor, target.pointee.ai_addr, target.pointee.ai_addrlen) == 0,
            listen(descriptor, backlog) == 0
        else {
            let error = failure("bind", endpoint)
            close(descriptor)
            throw error
        }
        return (descriptor, boundPort(of: descriptor))
    }

    private static func failure(_ call: String, _ endpoint: String) -> HTTPServerError {
        switch errno {
        case EADDRINUSE: .addressInUse(endpoint)
        case EADDRNOTAVAIL, EAFNOSUPPORT: .addressUnavailable(endpoint)
        case EACCES: .permissionDenied(endpoint)
        case let code: .failed("\(call) \(endpoint): \(String(cString: strerror(code)))")
        }
    }

    private static func boundPort(of descriptor: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = getsockname(descriptor, $0, &length)
            }
            // The port has the same offset in both families.
            return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt16(bigEndian: $0.pointee.sin_port)
            }
        }
    }
}
