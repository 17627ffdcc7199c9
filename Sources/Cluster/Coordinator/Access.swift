import HTTPServer
import Model

/// Checks the access token before a request's body is read. Every request but the health checks
/// must carry it.
///
/// The Host header is not checked: a web page that rebinds its own name to this address has no
/// token, and browsers add none.
struct Access: Sendable {
    private let expected: [UInt8]

    init(token: AccessToken) { expected = Array(token.text.utf8) }

    /// Throws `cluster.unauthorized`.
    func check(_ request: HTTPRequest) throws(Failure) {
        guard let given = request.header("authorization") else {
            throw Failure(.clusterUnauthorized, "The request carries no token.")
        }
        guard let token = Self.token(in: given), Self.areEqual(token, expected) else {
            throw Failure(.clusterUnauthorized, "The request carries a wrong token.")
        }
    }

    /// Returns the credentials of the Bearer scheme, whose name may have any case (RFC 9110, 11.1).
    private static func token(in authorization: String) -> [UInt8]? {
        let bytes = Array(authorization.utf8)
        let scheme = Array("bearer ".utf8)
        guard bytes.count > scheme.count,
            zip(bytes, scheme).allSatisfy({ $0 == $1 || $0 | 0x20 == $1 && $0 >= 0x41 })
        else { return nil }
        return Array(bytes.dropFirst(scheme.count))
    }

    /// Compares in time that depends on the lengths only.
    private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        var difference = left.count ^ right.count
        for index in left.indices { difference |= Int(left[index] ^ right[index % right.count]) }
        return difference == 0
    }
}
