/// A header line that Dray sends on a user's behalf: one line, and none of those that Dray itself
/// sets (RFC 9110, 5).
package struct RequestHeader: Hashable, Sendable {
    /// The name as given; compare without regard to case.
    package let name: String
    package let value: String

    /// Maximum bytes of name and value together.
    package static let maximumBytes = 8_192

    /// Headers that define the request and the framing of the response, which the transfer itself
    /// sets.
    private static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-length", "expect", "host", "if-match",
        "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive",
        "proxy-authorization", "proxy-connection", "range", "te", "trailer", "transfer-encoding",
        "upgrade",
    ]

    /// Throws `input.field`; the message never repeats the value, which may be a secret.
    package init(name: String, value: String) throws(Failure) {
        let value = value.trimmingBlanks()
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
            throw Failure(.inputField, "a header's name holds letters, digits and hyphens")
        }
        guard !Self.reserved.contains(name.lowercased()) else {
            throw Failure(.inputField, "the header \(name) is set by Dray")
        }
        guard !value.isEmpty else { throw Failure(.inputField, "the header \(name) is empty") }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw Failure(.inputField, "the header \(name) holds a control character")
        }
        guard name.utf8.count + value.utf8.count <= Self.maximumBytes else {
            throw Failure(
                .inputField, "the header \(name) is longer than \(Self.maximumBytes) bytes")
        }
        self.name = name
        self.value = value
    }

    /// Parses `Name: value`.
    package init(line: String) throws(Failure) {
        guard let colon = line.firstIndex(of: ":") else {
            throw Failure(.inputField, "write a header as 'Name: value'")
        }
        try self.init(
            name: String(line[..<colon]), value: String(line[line.index(after: colon)...]))
    }

    package var line: String { "\(name): \(value)" }

    /// Returns true for a `tchar` (RFC 9110, 5.6.2).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension String {
    fileprivate func trimmingBlanks() -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}
