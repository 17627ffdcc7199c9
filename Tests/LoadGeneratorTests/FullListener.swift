import Glibc
import TestSupport

/// A port on loopback that accepts no more connections: clients get no answer.
final class FullListener {
    let port: UInt16
    private var sockets: [Int32] = []

    /// At 127.0.0.`address`; port 0 lets the system choose.
    init(address last: UInt32 = 1, port wanted: UInt16 = 0) throws {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let listener = socket(AF_INET, kind, 0)
        guard listener >= 0 else { throw POSIXFailure(errno, "socket") }
        sockets = [listener]
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = (0x7F00_0000 | last).bigEndian
        address.sin_port = wanted.bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        func with(_ call: (UnsafeMutablePointer<sockaddr>) -> Int32) -> Int32 {
            withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1, call)
            }
        }
        guard with({ bind(listener, $0, size) }) == 0, listen(listener, 0) == 0 else {
            throw POSIXFailure(errno, "listen")
        }
        _ = with { getsockname(listener, $0, &size) }
        port = UInt16(bigEndian: address.sin_port)
        // Its queue holds one, and on some systems one more.
        for _ in 0..<3 {
            let filler = socket(AF_INET, kind, 0)
            sockets.append(filler)
            _ = with { connect(filler, $0, size) }
        }
    }

    deinit { for socket in sockets { close(socket) } }
}
