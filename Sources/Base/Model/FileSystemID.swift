/// Identity of a file system, stable across mounts and reboots: its type and its UUID or `f_fsid`, 1
/// to 64 hexadecimal digits and colons.
package struct FileSystemID: Hashable, Sendable, LosslessStringConvertible {
    package let description: String

    /// Returns nil for text of another form.
    package init?(_ text: String) {
        let isIdentity = text.utf8.allSatisfy {
            UInt8(ascii: "0")...UInt8(ascii: ":") ~= $0
                || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
        }
        guard isIdentity, 1...64 ~= text.utf8.count else { return nil }
        description = text
    }
}

extension FileSystemID: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let id = Self(text) else {
            throw InvalidValue(
                given: "\(text.utf8.count) bytes", allowed: "1 to 64 hexadecimal digits and colons"
            ).decodingError(at: decoder)
        }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
