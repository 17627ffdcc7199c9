/// A complete request, or, during its admission, one without its body.
package struct HTTPRequest: Sendable {
    /// The sender's `X-Request-Id` if it is at most 128 visible ASCII characters, else random. It is
    /// in the answer.
    package let id: String
    /// The method as sent: `GET`, `POST`, …
    package let method: String
    /// The path as sent, with its percent escapes and without the query.
    package let path: String
    /// The decoded parts between slashes: `/a/b%2Fc/` has `a`, `b/c` and an empty one; `/` has
    /// none.
    package let segments: [String]
    /// The decoded query in order; a name without `=` has an empty value.
    package let query: [(name: String, value: String)]
    package let headers: [(name: String, value: String)]
    package internal(set) var body: [UInt8]
    /// The peer's numeric address without its port; empty if unknown. Behind a proxy, it is the
    /// proxy's.
    package let remoteAddress: String
    /// True if the peer is this machine.
    package let isLoopbackPeer: Bool
    /// The unit of limits per address: the IPv4 address, or the first 64 bits of the IPv6 address.
    /// Empty on this machine, whose senders cannot be distinguished, and if unknown.
    package let remoteNetwork: String
    /// The subject of the client's verified certificate in the form of RFC 4514, `CN=worker`; nil
    /// without one.
    package internal(set) var certificateSubject: String?
    /// Checks with the socket whether the peer is still connected. A handler calls it after a wait,
    /// before it returns something that would be lost. Cheap; safe from any thread.
    package var isPeerConnected: @Sendable () -> Bool = { true }

    /// Creates a request for tests of handlers; a running server creates its own.
    package init(
        method: String, path: String, segments: [String],
        query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        remoteAddress: String = "", isLoopbackPeer: Bool = false, remoteNetwork: String = "",
        id: String? = nil
    ) {
        self.id = id ?? RequestID.random()
        self.method = method
        self.path = path
        self.segments = segments
        self.query = query
        self.headers = headers
        self.body = body
        self.remoteAddress = remoteAddress
        self.isLoopbackPeer = isLoopbackPeer
        self.remoteNetwork = remoteNetwork
    }

    /// Returns the value of the first header of that name, case-insensitively.
    package func header(_ name: String) -> String? {
        headers.first { Self.areEqualIgnoringCase($0.name, name) }?.value
    }

    /// Returns the value of the first query item of that name.
    package func queryValue(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    private static func areEqualIgnoringCase(_ one: String, _ other: String) -> Bool {
        one.utf8.count == other.utf8.count
            && zip(one.utf8, other.utf8).allSatisfy { lowercased($0) == lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}

/// Strict percent decoding (RFC 3986, 2.1).
enum PercentCoding {
    /// Returns the decoded text; nil for an invalid escape, a NUL byte or invalid UTF-8.
    static func decode(_ text: some StringProtocol) -> String? {
        let utf8 = Array(text.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        var index = 0
        while index < utf8.count {
            var byte = utf8[index]
            if byte == UInt8(ascii: "%") {
                guard index + 2 < utf8.count, let high = digit(utf8[index + 1]),
                    let low = digit(utf8[index + 2])
                else { return nil }
                byte = high << 4 | low
                index += 2
            }
            guard byte != 0 else { return nil }
            bytes.append(byte)
            index += 1
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Returns the decoded segments of a path; nil if one of them is invalid.
    static func segments(of path: String) -> [String]? {
        guard path.hasPrefix("/") else { return path == "*" ? ["*"] : nil }
        guard path != "/" else { return [] }
        var decoded: [String] = []
        for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let segment = decode(part) else { return nil }
            decoded.append(segment)
        }
        return decoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
