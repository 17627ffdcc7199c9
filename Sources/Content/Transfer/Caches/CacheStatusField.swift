internal import Model

/// A member of a `Cache-Status` field: one cache on the way (RFC 9211, section 2).
struct CacheStatusMember: Equatable {
    var name: String
    /// Parameters by name, in lower case; "?1" for one without a value.
    var parameters: [String: String]

    var isHit: Bool { parameters["hit"].map { $0 != "?0" } ?? false }
    /// The reason for a request to the origin: `uri-miss`, `stale`, `bypass`, …; nil if there was
    /// none.
    var forward: String? { parameters["fwd"] }
    /// Nil if it is not stated.
    var isStored: Bool? { parameters["stored"].map { $0 != "?0" } }

    private static let maxMembers = 32
    private static let maxBytes = 8_192

    /// Parses the members of all lines, the cache next to the origin first. A structured field
    /// that is malformed has none (RFC 8941, section 4.2).
    static func parse(_ lines: [String]) -> [CacheStatusMember] {
        let bytes = Array(lines.joined(separator: ",").utf8)
        guard bytes.count <= maxBytes else { return [] }
        var reader = Reader(rest: bytes[...])
        var members: [CacheStatusMember] = []
        while true {
            reader.skipSpace()
            if reader.rest.isEmpty { return members }
            guard let member = reader.member(), members.count < maxMembers else { return [] }
            members.append(member)
            reader.skipSpace()
            if reader.rest.isEmpty { return members }
            guard reader.take(UInt8(ascii: ",")) else { return [] }
        }
    }

    /// Reads the structure of the field. A value.
    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func skipSpace() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

        mutating func take(_ byte: UInt8) -> Bool {
            guard rest.first == byte else { return false }
            rest.removeFirst()
            return true
        }

        mutating func member() -> CacheStatusMember? {
            guard let name = item(), !name.isEmpty else { return nil }
            var member = CacheStatusMember(name: name, parameters: [:])
            while true {
                let before = rest
                skipSpace()
                guard take(UInt8(ascii: ";")) else {
                    rest = before
                    return member
                }
                skipSpace()
                let key = token()
                guard !key.isEmpty else { return nil }
                if take(UInt8(ascii: "=")) {
                    guard let value = item() else { return nil }
                    member.parameters[key.lowercased()] = value
                } else {
                    member.parameters[key.lowercased()] = "?1"
                }
            }
        }

        private mutating func item() -> String? {
            take(UInt8(ascii: "\"")) ? string() : token()
        }

        private mutating func string() -> String? {
            var value: [UInt8] = []
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: value, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let escaped = rest.popFirst() else { return nil }
                    value.append(escaped)
                default: value.append(byte)
                }
            }
            return nil
        }

        /// A token, number or Boolean: all up to a delimiter.
        private mutating func token() -> String {
            let token = rest.prefix { $0 > 0x20 && $0 != 0x7F && !";,=\"".utf8.contains($0) }
            rest = rest.dropFirst(token.count)
            return String(decoding: token, as: UTF8.self)
        }
    }
}
