internal import Curl
internal import Glibc

/// System calls on a TCP socket; errors are `errno` values.
enum HTTP1Socket {
    enum Connecting {
        case connected(Int32)
        case underWay(Int32)
        case failed
    }

    /// Starts to connect a nonblocking socket.
    static func connect(_ address: PeerAddress, port: UInt16) -> Connecting {
        switch address {
        case .v4(let bytes):
            var target = sockaddr_in()
            target.sin_family = sa_family_t(AF_INET)
            target.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &target.sin_addr) { $0.copyBytes(from: bytes) }
            return connect(AF_INET, target)
        case .v6(let bytes):
            var target = sockaddr_in6()
            target.sin6_family = sa_family_t(AF_INET6)
            target.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &target.sin6_addr) { $0.copyBytes(from: bytes) }
            return connect(AF_INET6, target)
        case .other: return .failed
        }
    }

    private static func connect<Address>(_ family: Int32, _ address: Address) -> Connecting {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, Int32(IPPROTO_TCP))
        guard descriptor >= 0 else { return .failed }
        var isOn: Int32 = 1
        setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        if result == 0 { return .connected(descriptor) }
        if errno == EINPROGRESS || errno == EINTR { return .underWay(descriptor) }
        close(descriptor)
        return .failed
    }

    /// Returns true if a pending connection is established.
    static func isConnected(_ descriptor: Int32) -> Bool {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code == 0
    }

    enum Sent {
        case all
        /// Part of the bytes; the socket accepts more when it is writable.
        case some(Int)
        case failed
    }

    static func send(_ bytes: some Collection<UInt8>, to descriptor: Int32) -> Sent {
        var sent = 0
        let isWhole = bytes.withContiguousStorageIfAvailable { bytes -> Bool in
            while sent < bytes.count {
                let count = Glibc.send(
                    descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
                if count > 0 {
                    sent += count
                } else if count < 0, errno == EINTR {
                    continue
                } else {
                    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
                }
            }
            return true
        }
        guard isWhole == true else { return .failed }
        return sent == bytes.count ? .all : .some(sent)
    }

    enum Received {
        case bytes(Int)
        /// The peer has closed its end.
        case end
        case nothingYet
        case failed
    }

    static func receive(_ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32) -> Received
    {
        received { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
    }

    /// Receives and discards bytes in the kernel (tcp(7), MSG_TRUNC).
    static func discard(_ count: Int, from descriptor: Int32) -> Received {
        received { recv(descriptor, nil, count, Int32(MSG_TRUNC)) }
    }

    /// Returns true if no unread byte has arrived and the peer has not closed its end.
    static func isQuiet(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
    }

    private static func received(_ call: () -> Int) -> Received {
        while true {
            let count = call()
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if errno == EINTR { continue }
            return errno == EAGAIN || errno == EWOULDBLOCK ? .nothingYet : .failed
        }
    }
}
