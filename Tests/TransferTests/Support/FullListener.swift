import Glibc
import TestSupport

/// A listener whose queue is full, so that a further connection gets no answer at all.
final class FullListener {
    let port: UInt16
    private let listener: Int32
    private var fillers: [Int32] = []

    init() throws {
        let stream = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, stream, 0)
        listener = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        var length = size
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(descriptor, raw, size) == 0 && listen(descriptor, 0) == 0
                    && getsockname(descriptor, raw, &length) == 0
            }
        }
        guard isOpen else { throw POSIXFailure(errno, "listen") }
        port = UInt16(bigEndian: address.sin_port)
        for _ in 0..<4 {
            let filler = socket(AF_INET, stream | Int32(SOCK_NONBLOCK.rawValue), 0)
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = connect(filler, $0, size)
                }
            }
            fillers.append(filler)
        }
    }

    deinit { for descriptor in fillers + [listener] { close(descriptor) } }
}
