import HTTPServer
import Model

/// Decides who may ask, before a request's body is looked at: every request but the health checks
/// carries the token.
///
/// The Host header does not matter: a web page that rebinds its own name to this address has no token,
/// and a browser adds none.
struct Access: Sendable {
    private let expected: [UInt8]

    init(token: AccessToken) { expected = Array("Bearer \(token.text)".utf8) }

    /// Throws `cluster.unauthorized`.
    func check(_ request: HTTPRequest) throws(Failure) {
        guard let given = request.header("authorization") else {
            throw Failure("cluster.unauthorized", "The request carries no token.")
        }
        guard Self.areEqual(Array(given.utf8), expected) else {
            throw Failure("cluster.unauthorized", "The request carries a wrong token.")
        }
    }

    /// Compares in time that depends on the lengths only.
    private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        var difference = left.count ^ right.count
        for index in left.indices { difference |= Int(left[index] ^ right[index % right.count]) }
        return difference == 0
    }
}
