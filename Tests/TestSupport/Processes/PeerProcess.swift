internal import Foundation
internal import Glibc

/// The process at the other end of a loopback connection.
enum PeerProcess {
    /// Kills it if it is a child of this process.
    static func kill(at descriptor: Int32) {
        guard let port = peerPort(of: descriptor), let inode = inode(ofLocalPort: port) else {
            return
        }
        for child in children() where owns(child, inode) { Glibc.kill(child, SIGKILL) }
    }

    private static func peerPort(of descriptor: Int32) -> UInt16? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getpeername(descriptor, $0, &length)
            }
        }
        return result == 0 ? UInt16(bigEndian: address.sin_port) : nil
    }

    /// Returns the inode of the socket with this local port: the tenth column of `/proc/net/tcp`
    /// (proc(5)).
    private static func inode(ofLocalPort port: UInt16) -> String? {
        let hex = String(port, radix: 16, uppercase: true)
        let end = ":" + String(repeating: "0", count: 4 - hex.count) + hex
        for line in SocketTable.text().split(separator: "\n").dropFirst() {
            let columns = line.split(separator: " ")
            // An established connection.
            if columns.count > 9, columns[1].hasSuffix(end), columns[3] == "01" {
                return String(columns[9])
            }
        }
        return nil
    }

    private static func children() -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { pid in
            let status = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
            // After the command's name, which may contain anything: the state, then the parent.
            let rest = status.split(separator: ")").last?.split(separator: " ") ?? []
            return rest.count > 1 && pid_t(rest[1]) == getpid()
        }
    }

    private static func owns(_ pid: pid_t, _ inode: String) -> Bool {
        let folder = "/proc/\(pid)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.contains { name in
            let link = try? FileManager.default.destinationOfSymbolicLink(
                atPath: folder + "/" + name)
            return link == "socket:[\(inode)]"
        }
    }
}
