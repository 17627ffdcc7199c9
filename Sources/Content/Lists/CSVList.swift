import Model
import Text

/// Comma-separated values (RFC 4180): with a header row that names the columns, or rclone's
/// `URL,FILENAME` without one.
final class CSVList: ListDecoder {
    private var lines = LineSplitter(maxBytes: ListReader.lineBytes)
    /// Lines of the current record, which has an open quote.
    private var record: [UInt8] = []
    private var recordLine = 0
    /// True if a quote is open at the end of `record`.
    private var isOpen = false
    /// By position; nil for an ignored column. Empty before the first record.
    private var columns: [Column?] = []
    private var hasHeader = false

    private enum Column: Hashable {
        case url
        case name
        case kind
        case bytes
        case mirrors
        case digest(String)

        static let names =
            "url, name, filename, kind, bytes, size, mirrors, sha256, sha512, sha1, md5, "
            + "crc64nvme, crc32, crc32c"

        init?(_ text: String) {
            switch text.lowercased() {
            case "url": self = .url
            case "name", "filename": self = .name
            case "kind": self = .kind
            case "bytes", "size": self = .bytes
            case "mirrors": self = .mirrors
            case let name:
                guard let algorithm = ListDigests.algorithm(name) else { return nil }
                self = .digest(algorithm)
            }
        }
    }

    var format: ListFormat? { .csv }
    var line: Int { lines.number }

    func feed(_ bytes: [UInt8], _ output: ListOutput) throws(Failure) {
        var start = 0
        while let line = try lines.next(bytes, &start) { try take(line, output) }
    }

    func finish(_ output: ListOutput) throws(Failure) {
        if let line = try lines.last() { try take(line, output) }
        if isOpen {
            throw Failure(
                .inputMalformed, at: .line(recordLine),
                "a quote is not closed before the end")
        }
    }

    private func take(_ line: LineSplitter.Line, _ output: ListOutput) throws(Failure) {
        if isOpen {
            record.append(ASCII.lineFeed)
        } else {
            recordLine = line.number
        }
        record += line.bytes[line.range]
        // Quotes within quotes are doubled, so their number shows if one is open.
        let quotes = line.bytes[line.range].count { $0 == ASCII.quote }
        if !quotes.isMultiple(of: 2) { isOpen.toggle() }
        if record.count > ListReader.lineBytes {
            throw Failure(
                .inputTooLarge, at: .line(recordLine),
                "a record holds at most \(ListReader.lineBytes) bytes")
        }
        guard !isOpen else { return }
        defer { record.removeAll(keepingCapacity: true) }
        if record.last == ASCII.carriageReturn { record.removeLast() }
        guard record.contains(where: { !ASCII.isBlank($0) }) else { return }
        do throws(Failure) {
            let cells = try cells()
            if columns.isEmpty, try readHeader(cells, output) { return }
            let asset = try asset(cells)
            try output.add(asset, line: recordLine)
        } catch {
            // Without columns nothing can be read.
            if columns.isEmpty { throw error }
            try output.reject(error)
        }
    }

    // MARK: Records

    private func malformed(_ what: String, at index: Int) -> Failure {
        let before = record[..<index]
        let line = recordLine + before.count { $0 == ASCII.lineFeed }
        let start = before.lastIndex(of: ASCII.lineFeed).map { $0 + 1 } ?? 0
        let column = record[start..<index].count { $0 & 0xC0 != 0x80 } + 1
        return Failure(.inputMalformed, at: .line(line, column: column), what)
    }

    private func cells() throws(Failure) -> [[UInt8]] {
        var cells: [[UInt8]] = []
        var index = 0
        while true {
            var cell: [UInt8] = []
            if index < record.count, record[index] == ASCII.quote {
                index = try readQuoted(index, &cell)
            } else {
                let end = record[index...].firstIndex(of: ASCII.comma) ?? record.count
                cell = Array(record[ASCII.trimmed(record, index..<end)])
                if let quote = record[index..<end].firstIndex(of: ASCII.quote) {
                    throw malformed(
                        "a quote within a field that does not begin with one", at: quote)
                }
                index = end
            }
            cells.append(cell)
            guard index < record.count else { return cells }
            index += 1
        }
    }

    /// Reads the field whose opening quote is at `start`; returns the index of its comma or end.
    private func readQuoted(_ start: Int, _ cell: inout [UInt8]) throws(Failure) -> Int {
        var index = start + 1
        while index < record.count {
            let byte = record[index]
            index += 1
            guard byte == ASCII.quote else {
                cell.append(byte)
                continue
            }
            guard index < record.count else { return index }
            if record[index] == ASCII.comma { return index }
            guard record[index] == ASCII.quote else {
                throw malformed("expected a comma or the end of the line after a quote", at: index)
            }
            cell.append(ASCII.quote)
            index += 1
        }
        throw malformed("a quote is not closed", at: start)
    }

    /// Reads the columns from the first record; returns true for a header.
    private func readHeader(
        _ cells: [[UInt8]], _ output: ListOutput
    ) throws(Failure) -> Bool {
        let names = cells.map { cell in
            let trimmed = ASCII.trimmed(cell, 0..<cell.count)
            return String(decoding: cell[trimmed], as: UTF8.self)
        }
        let known = names.map { Column($0) }
        guard known.contains(.url) else {
            let isURL = cells[0].contains { !Self.isOfWord($0) }
            guard cells.count <= 2, isURL else {
                throw Failure(
                    .inputField, at: .line(recordLine),
                    "this looks like CSV, and no column is named url, allowed a header with it among "
                        + "\(Column.names), or URL,FILENAME without a header")
            }
            columns = [.url, .name]
            return false
        }
        var seen: Set<Column> = []
        for (column, name) in zip(known, names) {
            guard let column else {
                output.notices.add(
                    recordLine, "the column \(Redaction.shown(name)) is ignored" + hint(name),
                    topic: "column \(name)")
                continue
            }
            guard seen.insert(column).inserted else {
                throw ListField.failure(
                    recordLine, name, given: name, allowed: "one column for each field")
            }
        }
        columns = known
        hasHeader = true
        return true
    }

    /// Returns true for a byte of a column's name, which is no URL.
    static func isOfWord(_ byte: UInt8) -> Bool {
        ASCII.isBlank(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || (0x30...0x39).contains(byte)
    }

    /// Returns the nearest known column of a name that is none, as `; did you mean sha256?`.
    private func hint(_ name: String) -> String {
        let name = name.lowercased()
        let algorithm = ListDigests.algorithm(name + "256") == nil ? name : name + "256"
        let names = Column.names.split(separator: ", ").map(String.init)
        return suggestion(for: algorithm, from: names).map { "; \(lowercasingFirst($0))" } ?? ""
    }

    private func lowercasingFirst(_ text: String) -> String {
        text.prefix(1).lowercased() + text.dropFirst()
    }

    private func asset(_ cells: [[UInt8]]) throws(Failure) -> AssetSubmission {
        let isWhole = hasHeader ? cells.count == columns.count : cells.count <= columns.count
        guard isWhole else {
            throw Failure(
                .inputMalformed, at: .line(recordLine),
                "given \(cells.count) fields, allowed "
                    + "\(hasHeader ? "" : "1 or ")\(columns.count)")
        }
        guard let index = columns.firstIndex(of: .url), index < cells.count, !cells[index].isEmpty
        else {
            throw Failure(
                .inputField, at: .line(recordLine, field: "url"),
                "is missing, allowed an http or https URL")
        }
        let url = cells[index]
        var item = ListItem(
            url: try ListField.url(url, 0..<url.count, recordLine, "url"))
        for case (let column?, let cell) in zip(columns, cells) where !cell.isEmpty {
            try set(column, cell, &item)
        }
        if item.kind != .file, item.kind != nil,
            item.bytes != nil || !item.digests.isEmpty || !item.mirrors.isEmpty
        {
            throw Failure(
                .inputField, at: .line(recordLine, field: "kind"),
                "a length, a digest or mirrors are given too, "
                    + "allowed for kind file only")
        }
        do throws(Failure) {
            return try item.asset()
        } catch {
            throw error.at(.line(recordLine, field: "url"))
        }
    }

    private func set(
        _ column: Column, _ cell: [UInt8], _ item: inout ListItem
    ) throws(Failure) {
        guard let text = String(validating: cell, as: UTF8.self) else {
            throw Failure(.inputMalformed, at: .line(recordLine), "a field is not UTF-8")
        }
        switch column {
        case .url: break
        case .name:
            guard ListField.isName(text) else {
                throw ListField.failure(
                    recordLine, "name", given: text, allowed: ListField.allowedName)
            }
            item.name = text
        case .kind:
            guard let kind = AssetKind(rawValue: text.lowercased()) else {
                throw ListField.failure(
                    recordLine, "kind", given: text,
                    allowed: AssetKind.allCases.map(\.rawValue).joined(separator: ", "))
            }
            item.kind = kind
        case .bytes: item.bytes = try ListField.bytes(text, recordLine, "bytes")
        case .digest(let algorithm):
            if let allowed = item.digests.set(algorithm, text) {
                throw ListField.failure(recordLine, algorithm, given: text, allowed: allowed)
            }
        case .mirrors:
            let parts = cell.split { ASCII.isBlank($0) || $0 == ASCII.lineFeed }
            guard (1...WireLimits.mirrorsPerAsset).contains(parts.count) else {
                throw Failure(
                    .inputField, at: .line(recordLine, field: "mirrors"),
                    "names \(parts.count) URLs, allowed 1 to "
                        + "\(WireLimits.mirrorsPerAsset), blanks between them")
            }
            for part in parts {
                item.mirrors.append(
                    try ListField.url(
                        cell, part.startIndex..<part.endIndex, recordLine, "mirrors"))
            }
        }
    }
}
