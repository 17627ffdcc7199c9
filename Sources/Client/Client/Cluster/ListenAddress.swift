package import CommandLine
import Coordinator
import Glibc
package import Model
import Services
package import TLS
import Text

/// `ADDR:PORT` of a `--listen` or `--metrics-listen` option.
package struct ListenAddress: Equatable {
    /// An IP address.
    package let address: String
    /// Port number; 0 for any free port.
    package let port: Int

    package var isLoopback: Bool { Coordinator.isLoopback(address) }

    /// Reads `127.0.0.1:7400`, `[::1]:7400` or `localhost:7400`; an address alone gets the default
    /// port.
    package init(_ text: String, option: String = "listen") throws(UsageError) {
        let isAlone = option == "listen" && Self.isAddress(text)
        let text = isAlone ? "\(text):\(ClientSettings.defaultPort)" : text
        guard let colon = text.lastIndex(of: ":"),
            let port = Int(text[text.index(after: colon)...]), (0...65_535).contains(port)
        else { throw Self.error(text, option) }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw Self.error(text, option)
        }
        guard !host.isEmpty else { throw Self.error(text, option) }
        address = host == "localhost" ? "127.0.0.1" : String(host)
        self.port = port
    }

    /// Returns true for an address without a port: `localhost`, an IPv4 address or a bracketed IPv6
    /// address, but no other name.
    private static func isAddress(_ text: String) -> Bool {
        let isIPv4 = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
        return text == "localhost" || text.hasPrefix("[") && text.hasSuffix("]")
            || isIPv4 && text.utf8.count { $0 == 0x2E } == 3
    }

    private static func error(_ text: String, _ option: String) -> UsageError {
        UsageError(
            "--\(option) is '\(printable(text))'",
            hint: "Use ADDRESS:PORT, for example 127.0.0.1:7400, with a port from 0 to 65535.")
    }

    /// Throws `cluster.portInUse` if another process listens here, before anything is started.
    /// Binding the port decides in the end.
    package func checkFree() throws(Failure) {
        guard port != 0 else { return }
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address, String(port), &hints, &found) == 0, let info = found else {
            throw Failure(
                .inputField, "--listen \(printable(address)) is not an IP address of this machine"
            )
        }
        defer { freeaddrinfo(found) }
        let probe = socket(info.pointee.ai_family, info.pointee.ai_socktype, 0)
        guard probe >= 0 else { return }
        defer { close(probe) }
        // Like the server: a port in TIME_WAIT is free.
        var yes: Int32 = 1
        setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard bind(probe, info.pointee.ai_addr, info.pointee.ai_addrlen) != 0 else { return }
        let code = errno
        if code == EADDRINUSE {
            throw Failure(
                .clusterPortInUse, "\(printable(address)):\(port) is in use by another process")
        }
        throw Failure(
            .inputField, "--listen \(printable(address)):\(port): \(systemErrorText(code))")
    }

    /// Returns the URL of a coordinator that listens here on `port`: with its certificate, an https
    /// URL of a name that the certificate has, if any.
    package func url(port: Int, certificate: Certificate? = nil) -> String {
        Coordinator.url(address: address, port: port, certificate: certificate)
    }
}
