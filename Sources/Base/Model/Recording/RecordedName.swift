/// Names of files that a live origin uses again, or that are a byte range of one there.
package enum RecordedName {
    /// What a name is written in.
    package enum Form: Sendable {
        /// A path in a playlist, percent-encoded.
        case uri
        /// A key of storage, not encoded.
        case key
        /// A template of an MPD; its names are not known here, and not shortened.
        case template
    }

    /// Marks the name of a byte range: `v/all.ts` becomes `v/all~b0-99.ts`.
    package static func marked(
        _ name: String, as form: Form, offset: Int64, length: Int64
    ) -> String {
        marked(name, as: form, "b\(offset)-\(offset + length - 1)")
    }

    /// Inserts a mark before the extension of a file name: `v/seg1.ts` becomes `v/seg1~17.ts`.
    ///
    /// A file name that is longer than `maxBytes` with its mark is cut and gets a hash of what it
    /// was: the same one in a URI and in its key. It stays longer if the mark and what follows it
    /// alone are longer than 221 bytes.
    ///
    /// - Parameter name: a key, or a path in a playlist; a query, or what stands for it in an
    ///   encoded name (`%3F`), stays at the end.
    package static func marked(_ name: String, as form: Form, _ mark: String) -> String {
        // In bytes: a combining mark after a full stop is one character with it.
        let path = name.utf8[..<queryStart(of: name.utf8, form)]
        let slash = path.lastIndex(of: UInt8(ascii: "/"))
        let first = slash.map(path.index(after:)) ?? path.startIndex
        let file = path[first...]
        let dot = file.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 == first ? nil : $0 }
        let index = dot ?? file.endIndex
        let rest = "~\(mark)\(name[index...])"
        let stem = name[first..<index]
        return name[..<first] + shortened(stem, before: rest, form) + rest
    }

    /// Maximum length of a file name on ext4, XFS and tmpfs, in bytes.
    package static let maxBytes = 255
    /// Hexadecimal digits of a hash, and a tilde.
    private static let hashBytes = 33

    /// Returns the part of a name before its mark, cut if the whole is too long.
    private static func shortened(_ stem: Substring, before rest: String, _ form: Form) -> String {
        // Decoded names are not longer.
        guard stem.utf8.count + rest.utf8.count > maxBytes, form != .template else {
            return String(stem)
        }
        let bytes = decoded(Array(stem.utf8), form)
        let left = maxBytes - decoded(Array(rest.utf8), form).count
        guard bytes.count > left, left > hashBytes else { return String(stem) }
        var count = left - hashBytes
        // Between two characters.
        while count > 0, bytes[count].byte & 0xC0 == 0x80 { count -= 1 }
        let kept = stem.utf8.prefix(count == 0 ? 0 : bytes[count].start)
        let hash = StableHash.hex(bytes.map(\.byte)[...])
        return String(decoding: Array(kept) + Array("~".utf8) + hash, as: UTF8.self)
    }

    /// Returns the bytes of the file's name, each with its index in `text`.
    private static func decoded(
        _ text: [UInt8], _ form: Form
    ) -> [(byte: UInt8, start: Int)] {
        var bytes: [(byte: UInt8, start: Int)] = []
        var index = 0
        while index < text.count {
            if form == .uri, text[index] == UInt8(ascii: "%"), index + 2 < text.count,
                let high = hexValue(text[index + 1]), let low = hexValue(text[index + 2])
            {
                bytes.append((high << 4 | low, index))
                index += 3
            } else {
                bytes.append((text[index], index))
                index += 1
            }
        }
        return bytes
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        Character(Unicode.Scalar(digit)).hexDigitValue.map(UInt8.init)
    }

    /// Returns the start of a query, or the end. In a key `%3F` is text.
    private static func queryStart(of name: String.UTF8View, _ form: Form) -> String.Index {
        name.indices.first { index in
            switch name[index] {
            case UInt8(ascii: "?"): true
            case UInt8(ascii: "%") where form != .key:
                name[index...].starts(with: "%3F".utf8) || name[index...].starts(with: "%3f".utf8)
            default: false
            }
        } ?? name.endIndex
    }
}
