import Model
import Text
import WebURL

/// Prepares the text of a parsed XML document for edits.
enum MarkupText {
    /// Returns the document for `MarkupScanner`: converts UTF-16 to UTF-8 without the XML
    /// declaration and leaves UTF-8 unchanged.
    ///
    /// Throws `manifest.unsupported` for UTF-32, and for non-ASCII characters in other encodings.
    static func utf8(_ bytes: [UInt8], of url: WebURL) throws(Failure) -> [UInt8] {
        let isBig = [[0xFE, 0xFF], [0x00, ASCII.less]].contains { bytes.starts(with: $0) }
        let isLittle = [[0xFF, 0xFE], [ASCII.less, 0x00]].contains { bytes.starts(with: $0) }
        guard isBig || isLittle || bytes.first == 0 else {
            guard isUTF8(bytes) else {
                throw Failure(
                    .manifestUnsupported, at: .manifest("\(url)"),
                    "it has non-ASCII characters, but its encoding is not UTF-8 or UTF-16"
                )
            }
            return bytes
        }
        let units = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBig ? first << 8 | second : second << 8 | first
        }
        guard let text = String(validating: units, as: UTF16.self), !text.utf8.contains(0) else {
            throw Failure(
                .manifestUnsupported, at: .manifest("\(url)"),
                "an MPD to rewrite must be UTF-8 or UTF-16")
        }
        let all = text.utf8.drop { $0 != ASCII.less }
        guard all.starts(with: "<?xml".utf8),
            let end = all.firstIndex(of: 0x3E)
        else { return Array(all) }
        return Array(all[end...].dropFirst())
    }

    /// Returns false for non-ASCII characters in a document that declares another encoding.
    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        let hasOthers = bytes.withUnsafeBufferPointer { $0.reduce(0, |) } >= 0x80
        if hasOthers {
            do {
                _ = try UTF8Span(validating: bytes.span)
            } catch {
                return false
            }
        }
        var start = bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0
        while start < bytes.count, bytes[start] <= ASCII.space { start += 1 }
        guard ASCII.hasPrefix(bytes, start..<bytes.count, "<?xml") else { return true }
        let declaration = String(decoding: bytes[start...].prefix { $0 != 0x3E }, as: UTF8.self)
        guard let encoding = declaration.split(separator: "encoding").dropFirst().first else {
            return true
        }
        let name = encoding.drop { " \t\r\n=\"'".contains($0) }.prefix { $0 != "\"" && $0 != "'" }
        if ["utf-8", "utf8"].contains(name.lowercased()) { return true }
        // These encodings include ASCII; others may have other characters in its range.
        let known = ["us-ascii", "ascii", "iso-8859-", "latin", "windows-125", "cp125", "koi8-"]
        return !hasOthers && known.contains { name.lowercased().hasPrefix($0) }
    }
}
