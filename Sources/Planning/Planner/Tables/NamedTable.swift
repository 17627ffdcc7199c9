/// Reads a table whose header names its columns, in chunks: CSV with commas, semicolons or tabs.
///
/// Lines that begin with `#` and empty ones are skipped, before the header too. The header is the
/// first of 50 lines that names all required columns and another one, since reports of CDNs begin with
/// lines about themselves (`Granularity,HOURLY`); else the one that names most. Names are compared without
/// case, blanks and punctuation: `Page views` is `pageviews`.
package struct NamedTable: Sendable {
    /// A column that is read.
    package struct Column: Sendable {
        /// Its content, for messages.
        package var name: String
        /// Names in headers, the preferred one first.
        package var names: [String]
        package var isRequired: Bool
        /// The option that names another column, without its `=NAME`; nil for none.
        package var option: String?

        package init(
            _ name: String, names: [String], isRequired: Bool = false, option: String? = nil
        ) {
            self.name = name
            self.names = names
            self.isRequired = isRequired
            self.option = option
        }
    }

    /// A record.
    package struct Row: Sendable {
        package let line: Int
        /// By index of the column; nil for one that is missing or empty.
        package let cells: [String?]

        package func failure(
            _ column: Column, _ given: String?, _ allowed: String
        ) -> PlannerError {
            PlannerError(
                field: "line \(line), column \(column.name)",
                given: given.map { "'\(NamedTable.cut($0))'" } ?? "missing", allowed: allowed)
        }
    }

    private static let maxLinesToHeader = 50

    private let columns: [Column]
    private let maxRows: Int
    private var lines = LogLines()
    /// Lines that are read before it is known which one is the header.
    private var held: [(number: Int, text: String)] = []
    private var number = 0
    private var separator = Character(",")
    /// The column of each position; nil before the header.
    private var positions: [Int?]?
    /// Names of the header, as they are written.
    package private(set) var header: [String] = []
    package private(set) var rows = 0

    package init(_ columns: [Column], maxRows: Int) {
        self.columns = columns
        self.maxRows = maxRows
    }

    package mutating func read(
        _ piece: [UInt8], _ take: (Row) throws(PlannerError) -> Void
    ) throws(PlannerError) {
        var lines = LogLines()
        swap(&lines, &self.lines)
        try lines.read(piece) { line throws(PlannerError) in try read(line: line, take) }
        swap(&lines, &self.lines)
    }

    /// Ends the table. Throws if it has no record.
    package mutating func finish(
        _ take: (Row) throws(PlannerError) -> Void
    ) throws(PlannerError) {
        var lines = LogLines()
        swap(&lines, &self.lines)
        try lines.finish { line throws(PlannerError) in try read(line: line, take) }
        try readHeld(take)
        guard rows == 0 else { return }
        throw PlannerError(
            field: "the table", given: "without a record",
            allowed: "use CSV with a header that names the columns \(needed), and records below")
    }

    private mutating func read(
        line: ArraySlice<UInt8>?, _ take: (Row) throws(PlannerError) -> Void
    ) throws(PlannerError) {
        // `LogLines` leaves empty lines out, so numbers count the others.
        number += 1
        guard let line, let text = String(validating: line, as: UTF8.self) else {
            throw PlannerError(
                field: "line \(number)", given: "too long or not UTF-8",
                allowed: "use lines of at most 64 KiB")
        }
        var content = Substring(text)
        if number == 1, content.first == "\u{FEFF}" { content = content.dropFirst() }
        guard content.first != "#", content.contains(where: { !$0.isWhitespace }) else { return }
        guard positions == nil else { return try readRecord(content, line: number, take) }
        held.append((number, String(content)))
        if isCertain(namedColumns(content)) || held.count == Self.maxLinesToHeader {
            try readHeld(take)
        }
    }

    private mutating func readRecord(
        _ text: Substring, line: Int, _ take: (Row) throws(PlannerError) -> Void
    ) throws(PlannerError) {
        let cells = try Self.cells(text, separator, line: line)
        guard cells.contains(where: { !$0.isEmpty }) else { return }
        guard rows < maxRows else {
            throw PlannerError(
                field: "line \(line)", given: "record \(maxRows + 1)",
                allowed: "use at most \(maxRows) records")
        }
        rows += 1
        var found = [String?](repeating: nil, count: columns.count)
        for (position, cell) in zip(positions ?? [], cells) {
            if let position, !cell.isEmpty { found[position] = cell }
        }
        try take(Row(line: line, cells: found))
    }

    // MARK: The header

    /// Indexes of the columns that a line names, if it is the header.
    private func namedColumns(_ text: Substring) -> Set<Int> {
        let cells = try? Self.cells(text, Self.separator(of: text), line: 0)
        let plain = Set((cells ?? []).map(Self.plain))
        return Set(
            columns.indices.filter { !plain.isDisjoint(with: columns[$0].names.map(Self.plain)) })
    }

    private func hasRequired(_ named: Set<Int>) -> Bool {
        columns.indices.allSatisfy { !columns[$0].isRequired || named.contains($0) }
    }

    private func isCertain(_ named: Set<Int>) -> Bool {
        hasRequired(named) && (named.count >= 2 || named.count == columns.count)
    }

    /// Reads the held lines: the one that names most columns is the header, those after it are records.
    private mutating func readHeld(
        _ take: (Row) throws(PlannerError) -> Void
    ) throws(PlannerError) {
        guard positions == nil, !held.isEmpty else { return }
        let scores = held.map { line in
            let named = namedColumns(line.text[...])
            return named.count + (hasRequired(named) ? columns.count : 0)
        }
        let index = scores.firstIndex(of: scores.max() ?? 0) ?? 0
        let lines = held
        held = []
        try readHeader(lines[index].text[...], line: lines[index].number)
        for line in lines[(index + 1)...] {
            try readRecord(line.text[...], line: line.number, take)
        }
    }

    private static func separator(of text: Substring) -> Character {
        [Character("\t"), ";", ","].first { text.contains($0) } ?? ","
    }

    private mutating func readHeader(_ text: Substring, line: Int) throws(PlannerError) {
        separator = Self.separator(of: text)
        header = try Self.cells(text, separator, line: line)
        let plain = header.map(Self.plain)
        var positions = [Int?](repeating: nil, count: plain.count)
        for (index, column) in columns.enumerated() {
            let names = column.names.map(Self.plain)
            let position = names.lazy.compactMap { name in plain.firstIndex(of: name) }.first
            if let position, positions[position] == nil {
                positions[position] = index
            } else if column.isRequired {
                throw PlannerError(
                    field: "the header",
                    given: header.isEmpty
                        ? "empty" : Self.cut(header.joined(separator: ", "), at: 200),
                    allowed: "name a column for the \(column.name): "
                        + column.names.prefix(6).joined(separator: ", ")
                        + (column.option.map { option in
                            ", or map one with \(option)=\(header.first.map { Self.cut($0) } ?? "NAME")"
                        } ?? ""))
            }
        }
        self.positions = positions
    }

    private var needed: String {
        columns.filter(\.isRequired).map { $0.names.first ?? $0.name }.joined(separator: " and ")
    }

    private static func plain(_ name: String) -> String {
        String(name.lowercased().filter { $0.isLetter || $0.isNumber })
    }

    static func cut(_ text: String, at length: Int = 40) -> String {
        text.count > length ? "\(text.prefix(length))…" : text
    }

    /// Splits a record; quoted cells may hold separators and doubled quotes, but no line breaks.
    private static func cells(
        _ text: Substring, _ separator: Character, line: Int
    ) throws(PlannerError) -> [String] {
        var cells: [String] = []
        var rest = text
        while true {
            rest = rest.drop { $0 == " " }
            if rest.first == "\"" {
                var cell = ""
                rest = rest.dropFirst()
                while true {
                    guard let quote = rest.firstIndex(of: "\"") else {
                        throw PlannerError(
                            field: "line \(line)", given: "a quote that is not closed",
                            allowed: "close it on the same line")
                    }
                    cell += rest[..<quote]
                    rest = rest[rest.index(after: quote)...]
                    guard rest.first == "\"" else { break }
                    cell.append("\"")
                    rest = rest.dropFirst()
                }
                cells.append(cell)
                rest = rest.drop { $0 != separator }
            } else {
                let end = rest.firstIndex(of: separator) ?? rest.endIndex
                var cell = rest[..<end]
                while cell.last == " " { cell.removeLast() }
                cells.append(String(cell))
                rest = rest[end...]
            }
            guard !rest.isEmpty else { return cells }
            rest = rest.dropFirst()
        }
    }
}
