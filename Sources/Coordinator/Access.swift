import HTTPServer
import Model

/// Who may ask, decided before a request's body is looked at.
///
/// With a token, every request but the health checks must carry it. Without one the coordinator
/// listens on loopback only, and a request must name a loopback host: a web page that rebinds its
/// own name to 127.0.0.1 is refused.
struct Access: Sendable {
    let token: String?

    func check(_ request: HTTPRequest) throws(Failure) {
        if let token {
            let given = request.header("authorization") ?? ""
            guard Self.areEqual(given, "Bearer \(token)") else {
                throw Failure(
                    "cluster.unauthorized", "The request carries no token or a wrong one.")
            }
        } else {
            guard Self.isLoopback(host: request.header("host") ?? "") else {
                throw Failure(
                    "cluster.hostRefused",
                    "Without a token only loopback names are answered; allowed: localhost, "
                        + "127.0.0.0/8, [::1], each with or without a port.")
            }
        }
    }

    /// Compares in time that depends on the lengths only.
    private static func areEqual(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        var difference = left.count ^ right.count
        for index in left.indices {
            difference |= Int(left[index] ^ (right.isEmpty ? 0 : right[index % right.count]))
        }
        return difference == 0
    }

    /// Tells whether a Host header names this machine by a name that nobody else can give an
    /// address to: a name or an address, then nothing or a port (RFC 9110, 7.2).
    static func isLoopback(host header: String) -> Bool {
        let bytes = Array(header.utf8)
        let isBracketed = bytes.first == UInt8(ascii: "[")
        let end =
            isBracketed
            ? bytes.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 }
            : bytes.firstIndex(of: UInt8(ascii: ":"))
        let host = String(decoding: bytes[..<(end ?? bytes.count)], as: UTF8.self).lowercased()
        guard isPort(bytes[(end ?? bytes.count)...]) else { return false }
        return host == "localhost" || host == "[::1]" || isLoopbackIPv4(host)
    }

    /// Nothing, or a colon and up to five digits; there may be none.
    private static func isPort(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let first = bytes.first else { return true }
        let digits = bytes.dropFirst()
        return first == UInt8(ascii: ":") && digits.count <= 5
            && digits.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Tells an address of 127.0.0.0/8 in four decimal numbers: of other spellings a resolver may
    /// make another.
    private static func isLoopbackIPv4(_ host: String) -> Bool {
        let parts = host.utf8.split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0].elementsEqual("127".utf8)
            && parts.allSatisfy { part in
                (1...3).contains(part.count) && part.allSatisfy { (0x30...0x39).contains($0) }
                    && (part.count == 1 || part.first != 0x30)
                    && part.reduce(0) { $0 * 10 + Int($1) - 0x30 } <= 255
            }
    }
}
