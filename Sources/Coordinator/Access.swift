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
            let host = Self.hostName(request.header("host") ?? "")
            guard ["localhost", "127.0.0.1", "[::1]"].contains(host) else {
                throw Failure(
                    "cluster.hostRefused",
                    "Without a token only loopback names are answered; allowed: localhost, "
                        + "127.0.0.1, [::1].")
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

    /// The Host header without its port, in lower case.
    private static func hostName(_ header: String) -> String {
        let host = header.lowercased()
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
        return String(host.prefix { $0 != ":" })
    }
}
