internal import Glibc

/// Loopback TCP and unix sockets with blocking calls, for scripted servers.
enum Socket {
    /// Listens on 127.0.0.1; port 0 lets the system choose. Returns the descriptor and the port.
    static func listen(port: UInt16 = 0) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure(errno, "socket") }
        setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, Int32(1))
        // Connections inherit it: see `receiveStamped`.
        setOption(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, Int32(1))
        var address = loopback(port)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withSockaddr(&address) { bind(descriptor, $0, size) }
        guard bound == 0, Glibc.listen(descriptor, 1024) == 0 else {
            let code = errno
            close(descriptor)
            throw POSIXFailure(code, "listen on port \(port)")
        }
        var length = size
        _ = withSockaddr(&address) { getsockname(descriptor, $0, &length) }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// Returns a port without a listener at this moment.
    static func freePort() throws -> UInt16 {
        let (descriptor, port) = try listen()
        close(descriptor)
        return port
    }

    /// Connects to a loopback port.
    static func connect(port: UInt16) throws -> Int32 {
        var address = loopback(port)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return try connect(AF_INET, "port \(port)") { descriptor in
            withSockaddr(&address) { Glibc.connect(descriptor, $0, size) }
        }
    }

    /// Connects to a unix socket.
    static func connect(path: String) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count < capacity else { throw POSIXFailure("\(path) is too long") }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        return try connect(AF_UNIX, path) { descriptor in
            withSockaddr(&address) { Glibc.connect(descriptor, $0, size) }
        }
    }

    /// Accepts the next connection; nil once the listener is shut down.
    static func accept(_ listener: Int32) -> Int32? {
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            if descriptor >= 0 {
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
                return descriptor
            }
            if errno != EINTR && errno != ECONNABORTED { return nil }
        }
    }

    /// Sends all bytes; false if the peer has closed.
    static func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = Glibc.send(
                descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done,
                Int32(MSG_NOSIGNAL))
            if count > 0 {
                done += count
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Receives up to `limit` bytes; empty at the end or on an error.
    static func receive(from descriptor: Int32, limit: Int = 65_536) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var received = recv(descriptor, buffer.baseAddress, limit, 0)
            while received < 0, errno == EINTR {
                received = recv(descriptor, buffer.baseAddress, limit, 0)
            }
            count = max(0, received)
        }
    }

    /// Receives up to `limit` bytes, with the seconds since the system received the last of them:
    /// the reading thread may have waited for a processor.
    static func receiveStamped(
        from descriptor: Int32, limit: Int = 65_536
    ) -> (bytes: [UInt8], age: Double) {
        // A control message of socket(7): its length, level and type, and a timespec.
        var control = [UInt8](repeating: 0, count: 64)
        var age = 0.0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            control.withUnsafeMutableBytes { control in
                var part = iovec(iov_base: buffer.baseAddress, iov_len: limit)
                count = withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    var received = recvmsg(descriptor, &message, 0)
                    while received < 0, errno == EINTR {
                        message.msg_controllen = control.count
                        received = recvmsg(descriptor, &message, 0)
                    }
                    if received > 0, message.msg_controllen >= 32 {
                        age = ageOfStamp(UnsafeRawBufferPointer(control))
                    }
                    return max(0, received)
                }
            }
        }
        return (bytes, age)
    }

    private static func ageOfStamp(_ control: UnsafeRawBufferPointer) -> Double {
        let level = control.loadUnaligned(fromByteOffset: 8, as: Int32.self)
        let type = control.loadUnaligned(fromByteOffset: 12, as: Int32.self)
        guard level == SOL_SOCKET, type == SO_TIMESTAMPNS else { return 0 }
        let stamp = control.loadUnaligned(fromByteOffset: 16, as: timespec.self)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let seconds = Double(now.tv_sec - stamp.tv_sec) + Double(now.tv_nsec - stamp.tv_nsec) / 1e9
        return max(0, seconds)
    }

    /// Returns true if neither side has closed a connection.
    static func isEstablished(_ descriptor: Int32) -> Bool {
        var info = tcp_info()
        var length = socklen_t(MemoryLayout<tcp_info>.size)
        let result = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length)
        return result == 0 && Int(info.tcpi_state) == TCP_ESTABLISHED
    }

    /// Waits until the peer has closed, at most for so long; returns true if it has.
    static func waitForHangUp(of descriptor: Int32, atMostSeconds seconds: Double) -> Bool {
        // POLLRDHUP of poll(2), which only _GNU_SOURCE declares.
        var watched = pollfd(fd: descriptor, events: 0x2000, revents: 0)
        return poll(&watched, 1, Int32(seconds * 1_000)) > 0
    }

    /// Makes the next close send a reset.
    static func resetOnClose(_ descriptor: Int32) {
        setOption(descriptor, SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    private static func connect(
        _ family: Int32, _ name: String, _ call: (Int32) -> Int32
    ) throws -> Int32 {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure(errno, "socket") }
        guard call(descriptor) == 0 else {
            let code = errno
            close(descriptor)
            throw POSIXFailure(code, "connect to \(name)")
        }
        return descriptor
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private static func withSockaddr<Address, Result>(
        _ address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }

    private static func setOption<Value: BitwiseCopyable>(
        _ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Value
    ) {
        var value = value
        setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Value>.size))
    }
}
