import Model

/// The text of an XML document that `XMLReader` has taken, for those who change it.
enum MarkupText {
    /// The document as `MarkupScanner` wants it: one in UTF-16 in UTF-8 and without its XML declaration, any
    /// other as it is.
    ///
    /// Fails with `manifest.unsupported` for UTF-32.
    static func utf8(_ bytes: [UInt8], of url: WebURL) throws(Failure) -> [UInt8] {
        let isBig = [[0xFE, 0xFF], [0x00, ASCII.less]].contains { bytes.starts(with: $0) }
        let isLittle = [[0xFF, 0xFE], [ASCII.less, 0x00]].contains { bytes.starts(with: $0) }
        guard isBig || isLittle || bytes.first == 0 else { return bytes }
        let units = stride(from: 0, to: bytes.count - 1, by: 2).map { place in
            let (first, second) = (UInt16(bytes[place]), UInt16(bytes[place + 1]))
            return isBig ? first << 8 | second : second << 8 | first
        }
        guard let text = String(validating: units, as: UTF16.self), !text.utf8.contains(0) else {
            throw Failure(
                "manifest.unsupported", "\(url): an MPD that is to be changed is UTF-8 or UTF-16")
        }
        let all = text.utf8.drop { $0 != ASCII.less }
        guard all.starts(with: "<?xml".utf8),
            let end = all.firstIndex(of: 0x3E)
        else { return Array(all) }
        return Array(all[end...].dropFirst())
    }
}
