internal import Glibc

/// The kernel's table of TCP sockets over IPv4, `/proc/net/tcp` (proc(5)).
package enum SocketTable {
    /// Returns the whole table. Foundation reads only its first page, some 26 sockets: each read of the
    /// file returns at most a page.
    package static func text() -> String {
        let file = open("/proc/net/tcp", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes: [UInt8] = []
        var page = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(file, &page, page.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += page[..<count]
        }
    }
}
