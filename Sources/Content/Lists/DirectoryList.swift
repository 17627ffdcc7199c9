import JSON
import Model
import Text
import WebURL

/// A directory as a web server lists it: nginx (autoindex, HTML and JSON), Apache httpd (autoindex),
/// Python's `http.server`.
///
/// Only links below the directory are followed. Links with a query, by which servers sort, are
/// skipped. Each entry is a file, whatever its extension, and each directory is one more document.
enum DirectoryList {
    /// Returns the decoder for a document by its start; nil if more of it is needed. Throws
    /// `input.malformed` for what is no listing.
    static func decoder(
        of held: [UInt8], isWhole: Bool, _ output: ListOutput
    ) throws(Failure) -> (any ListDecoder)? {
        let first = held.first { !ASCII.isBlank($0) && $0 != ASCII.lineFeed && $0 != 0x0D }
        guard let first else {
            guard isWhole else { return nil }
            throw notListing(1)
        }
        switch first {
        case ASCII.openBracket: return JSONDirectoryList(try links(output))
        case ASCII.less: return HTMLDirectoryList(try links(output))
        default: throw notListing(1)
        }
    }

    private static func links(_ output: ListOutput) throws(Failure) -> DirectoryLinks {
        guard let base = output.base, let url = try? WebURL(base) else {
            throw Failure(
                .inputMalformed,
                "a directory listing has relative links, and its URL is not known; use its URL")
        }
        return try DirectoryLinks(url.withoutQuery, output)
    }

    static func notListing(_ line: Int) -> Failure {
        Failure(
            .inputMalformed, at: .line(line),
            "this is not a directory listing; allowed are those of nginx (HTML, JSON), Apache "
                + "httpd and Python's http.server")
    }
}

/// Turns the names and links of one directory into assets and further directories.
struct DirectoryLinks {
    private let base: ReferenceBase
    private let folder: [UInt8]

    /// Throws `input.malformed` if the document does not lie below the first directory, because of a
    /// redirect.
    init(_ url: WebURL, _ output: ListOutput) throws(Failure) {
        base = ReferenceBase(url)
        folder = base.folder
        let root = output.root.map { ReferenceBase($0).folder } ?? folder
        if output.root == nil { output.root = url }
        guard folder.starts(with: root) else {
            throw Failure(
                .inputMalformed,
                "the directory was redirected to \(Redaction.shown(url.text)), which is not below "
                    + "the first one")
        }
    }

    /// True if a segment is `.` or `..` once a server has decoded it.
    private static func namesParent(_ path: ArraySlice<UInt8>) -> Bool {
        String(decoding: path, as: UTF8.self).lowercased().replacing("%2e", with: ".")
            .replacing("%2f", with: "/").split(separator: "/")
            .contains { $0 == "." || $0 == ".." }
    }

    /// Adds what a reference points to: a directory if it ends with a slash. Skips everything that is
    /// not below this directory.
    func add(
        _ reference: [UInt8], bytes: Int64? = nil, line: Int, _ output: ListOutput
    ) throws(Failure) {
        guard !reference.isEmpty, !reference.contains(ASCII.question),
            !reference.contains(ASCII.hash),
            let url = try? base.resolve(reference, 0..<reference.count)
        else { return }
        let text = Array(url.text.utf8)
        guard text.count > folder.count, text.starts(with: folder),
            !Self.namesParent(text.dropFirst(folder.count))
        else { return }
        if text.last == ASCII.slash {
            return try output.sitemaps.add(url, line: line)
        }
        do throws(Failure) {
            try output.add(
                try ListItem(url: url, kind: .file, bytes: bytes).asset(), line: line)
        } catch {
            try output.reject(error.at(.line(line)))
        }
    }
}

/// A listing in HTML. Servers write an entry per line.
private final class HTMLDirectoryList: ListDecoder {
    private let links: DirectoryLinks
    private var lines = LineSplitter(maxBytes: ListReader.lineBytes)
    /// True after the heading that distinguishes a listing from any other page.
    private var isListing = false
    /// True after the end of the page: a listing that was cut must not count as whole.
    private var isWhole = false

    private static let headings: [StaticString] = ["index of", "directory listing for"]

    var format: ListFormat? { .directory }
    var line: Int { max(lines.number, 1) }

    init(_ links: DirectoryLinks) { self.links = links }

    func feed(_ bytes: [UInt8], _ output: ListOutput) throws(Failure) {
        var start = 0
        while let line = try lines.next(bytes, &start) { try take(line, output) }
    }

    func finish(_ output: ListOutput) throws(Failure) {
        if let line = try lines.last() { try take(line, output) }
        guard isListing else { throw DirectoryList.notListing(line) }
        guard isWhole else {
            throw Failure(
                .inputMalformed, at: .line(line), "the listing ends without </html>: it was cut")
        }
    }

    private func take(_ line: LineSplitter.Line, _ output: ListOutput) throws(Failure) {
        let (bytes, range) = (line.bytes, line.range)
        isListing = isListing || Self.headings.contains { find($0, bytes, range) != nil }
        isWhole = isWhole || find("</html", bytes, range) != nil
        var start = range.lowerBound
        while let tag = find("<a ", bytes, start..<range.upperBound) {
            start = tag + 3
            guard let name = find("href=\"", bytes, start..<range.upperBound) else { return }
            let open = name + 6
            guard let close = bytes[open..<range.upperBound].firstIndex(of: ASCII.quote) else {
                return
            }
            start = close
            guard isListing else { throw DirectoryList.notListing(line.number) }
            try links.add(decoded(bytes[open..<close]), line: line.number, output)
        }
    }

    /// Returns the index of a text in lower case, whatever the case in `bytes`.
    private func find(_ text: StaticString, _ bytes: [UInt8], _ range: Range<Int>) -> Int? {
        let count = text.utf8CodeUnitCount
        guard range.count >= count else { return nil }
        return (range.lowerBound...(range.upperBound - count)).first {
            ASCII.hasPrefixIgnoringCase(bytes, $0..<range.upperBound, text)
        }
    }

    private static let entities: [(name: String, byte: UInt8)] = [
        ("&amp;", 0x26), ("&lt;", 0x3C), ("&gt;", 0x3E), ("&quot;", 0x22), ("&#39;", 0x27),
        ("&#x27;", 0x27), ("&#34;", 0x22), ("&#38;", 0x26),
    ]

    /// Decodes the references to characters that servers write.
    private func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.contains(0x26) else { return Array(text) }
        var decoded: [UInt8] = []
        var rest = text
        while let first = rest.first {
            if first == 0x26,
                let entity = Self.entities.first(where: { rest.starts(with: $0.name.utf8) })
            {
                decoded.append(entity.byte)
                rest = rest.dropFirst(entity.name.utf8.count)
            } else {
                decoded.append(first)
                rest = rest.dropFirst()
            }
        }
        return decoded
    }
}

/// A listing in JSON, as nginx writes it: an array of objects without nested ones.
private final class JSONDirectoryList: ListDecoder {
    private enum Phase {
        case start, entryOrEnd, entry, commaOrEnd, end
    }

    private let links: DirectoryLinks
    private var phase = Phase.start
    /// The incomplete entry, and whether its end is inside a string, behind a backslash.
    private var held: [UInt8] = []
    private var isInString = false
    private var isEscaped = false
    private(set) var line = 1

    var format: ListFormat? { .directory }

    init(_ links: DirectoryLinks) { self.links = links }

    func feed(_ bytes: [UInt8], _ output: ListOutput) throws(Failure) {
        for byte in bytes {
            if byte == ASCII.lineFeed { line += 1 }
            if held.isEmpty { try begin(byte) } else { try hold(byte, output) }
        }
    }

    func finish(_ output: ListOutput) throws(Failure) {
        guard phase == .end else {
            throw Failure(
                .inputMalformed, at: .line(line), "the listing ends before its ]: it was cut")
        }
    }

    private func begin(_ byte: UInt8) throws(Failure) {
        if ASCII.isBlank(byte) || byte == ASCII.lineFeed || byte == 0x0D { return }
        switch (phase, byte) {
        case (.start, ASCII.openBracket): phase = .entryOrEnd
        case (.entryOrEnd, ASCII.closeBracket), (.commaOrEnd, ASCII.closeBracket): phase = .end
        case (.entryOrEnd, ASCII.openBrace), (.entry, ASCII.openBrace): held = [byte]
        case (.commaOrEnd, ASCII.comma): phase = .entry
        default: throw DirectoryList.notListing(line)
        }
    }

    private func hold(_ byte: UInt8, _ output: ListOutput) throws(Failure) {
        held.append(byte)
        guard held.count <= ListReader.lineBytes else {
            throw Failure(
                .inputTooLarge, at: .line(line),
                "an entry of a listing holds at most \(ListReader.lineBytes) bytes")
        }
        if isEscaped {
            isEscaped = false
        } else if isInString {
            isEscaped = byte == ASCII.backslash
            isInString = byte != ASCII.quote
        } else if byte == ASCII.quote {
            isInString = true
        } else if byte == ASCII.closeBrace {
            var cursor = JSONCursor(held, at: TextPosition(line: line, column: 1))
            held = []
            phase = .commaOrEnd
            try entry(&cursor, output)
        }
    }

    private func entry(_ cursor: inout JSONCursor, _ output: ListOutput) throws(Failure) {
        var name: String?
        var type: String?
        var size: Int64?
        try cursor.object { (cursor, field, _) throws(Failure) in
            switch field {
            case "name": name = try cursor.plainText(field, limit: 4_096)
            case "type": type = try cursor.plainText(field, limit: 100)
            case "size": size = try cursor.wholeNumber(field, ListField.byteRange)
            default: try skip(&cursor, field)
            }
        }
        try cursor.finish()
        guard let name, let type else { throw DirectoryList.notListing(line) }
        guard type == "file" || type == "directory", !name.isEmpty, name != ".", name != "..",
            !name.contains("/")
        else { return }
        let reference = "./\(Self.encoded(name))" + (type == "directory" ? "/" : "")
        try links.add(
            Array(reference.utf8), bytes: type == "file" ? size : nil, line: line, output)
    }

    /// Skips a plain value; a nested one does not occur in a listing.
    private func skip(_ cursor: inout JSONCursor, _ field: String) throws(Failure) {
        switch try cursor.peek() {
        case .string: _ = try cursor.string()
        case .number: _ = try cursor.number()
        case .boolean: _ = try cursor.boolean(field)
        default: throw DirectoryList.notListing(line)
        }
    }

    /// Encodes a file's name as one segment of a path.
    private static func encoded(_ name: String) -> String {
        var text = ""
        for byte in name.utf8 {
            let isPlain =
                ASCII.isAlphanumeric(byte) || byte == ASCII.minus || byte == ASCII.dot
                || byte == 0x5F || byte == 0x7E
            if isPlain {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return text
    }
}
