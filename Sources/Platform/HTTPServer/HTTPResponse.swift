internal import FoundationEssentials

/// The response of a handler. The server adds Content-Length, Date and Connection.
package struct HTTPResponse: Sendable {
    package var status: Int
    /// Headers; a name or value that HTTP does not allow, such as a line break, turns the response
    /// into a 500.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// Follows `body` until it ends, on a connection that is closed then; nil for a response of known
    /// length. Not sent for HEAD.
    package var stream: HTTPStream?
    /// True if no other request is read from the connection.
    var closesConnection = false

    package init(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package static func text(_ status: Int, _ text: String) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: [("Content-Type", "text/plain; charset=utf-8")],
            body: Array(text.utf8))
    }

    /// Creates a response with encoded JSON.
    package static func json(_ status: Int = 200, bytes: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: [("Content-Type", "application/json")], body: bytes)
    }

    /// Creates a response with `value` as JSON with sorted keys.
    package static func json(
        _ status: Int = 200, _ value: some Encodable
    ) throws -> HTTPResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return .json(status, bytes: Array(try encoder.encode(value)))
    }

    /// The same response as the last one of its connection.
    var closing: HTTPResponse {
        var copy = self
        copy.closesConnection = true
        return copy
    }

    /// True if every header can be sent unchanged: a token as the name, and no control character
    /// but a tab in the value (RFC 9110, 5.1 and 5.5).
    var hasValidHeaders: Bool {
        headers.allSatisfy { header in
            !header.name.isEmpty && header.name.utf8.allSatisfy(isTokenByte)
                && header.value.utf8.allSatisfy { $0 == 9 || ($0 >= 32 && $0 != 127) }
        }
    }
}

/// Returns true if a method or a field's name may contain a byte (RFC 9110, 5.6.2).
func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}
