package import Model
import Text

/// Additions of each viewer to its requests: a query string and headers, from a file of
/// comma-separated values.
///
/// The first line names the columns: `query`, or the name of a header, such as `Cookie` or
/// `Authorization`. An empty cell adds nothing.
package struct ViewerData: Sendable, Equatable {
    package struct Row: Sendable, Equatable {
        /// Without the question mark.
        package var query = ""
        package var headers: [RequestHeader] = []
    }

    package private(set) var rows: [Row] = []
    /// Number of shards among which the rows of a file were divided, if these are one shard's.
    package private(set) var shards = 1

    /// Maximum size of the file, in bytes.
    package static let maxBytes = 64 << 20
    package static let maxRows = 1_000_000
    /// Maximum number of columns.
    static let maxColumns = 16
    /// Maximum length of a query string in bytes.
    static let queryBytes = 8_192

    package init() {}

    init(rows: [Row], shards: Int) {
        precondition(shards > 0)
        self.rows = rows
        self.shards = shards
    }

    /// Reads a file.
    ///
    /// Throws `input.malformed`, `input.field` and `input.tooLarge` with the line; values, which
    /// may be secrets, are not repeated.
    package init(_ text: [UInt8]) throws(Failure) {
        guard text.count <= Self.maxBytes else {
            throw Failure(.inputTooLarge, "the viewers' data holds at most \(Self.maxBytes) bytes")
        }
        var names: [String] = []
        for (number, line) in Self.lines(of: text) {
            let cells = try Self.cells(line, line: number)
            if names.isEmpty {
                names = try Self.columns(cells, line: number)
                continue
            }
            guard cells.count == names.count else {
                throw Failure(
                    .inputMalformed, at: .line(number),
                    "\(cells.count) cells; the first line has \(names.count) columns")
            }
            guard rows.count < Self.maxRows else {
                throw Failure(
                    .inputTooLarge, at: .line(number),
                    "the viewers' data holds at most \(Self.maxRows) rows")
            }
            rows.append(try Self.row(cells, names, line: number))
        }
        guard !rows.isEmpty else {
            throw Failure(
                .inputMalformed,
                "the viewers' data has no row; its first line names the columns: query, Cookie, …")
        }
    }

    /// Adds the scenario's field and the file to a failure.
    package static func rejection(_ path: String, _ failure: Failure) -> Failure {
        Failure(failure.code, "viewers.data (\(Redaction.shown(path))): \(failure.message)")
    }

    /// Returns the lines that are not empty, trimmed, each with its number from 1.
    static func lines(of text: [UInt8]) -> [(number: Int, bytes: ArraySlice<UInt8>)] {
        text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false).enumerated()
            .compactMap { index, line in
                let range = ASCII.trimmed(text, line.indices)
                return range.isEmpty ? nil : (index + 1, text[range])
            }
    }

    private static func columns(_ cells: [String], line: Int) throws(Failure) -> [String] {
        guard cells.count <= maxColumns, Set(cells.map { $0.lowercased() }).count == cells.count
        else {
            throw Failure(
                .inputMalformed, at: .line(line),
                "the first line names up to \(maxColumns) columns, each once")
        }
        for name in cells where name != "query" {
            do throws(Failure) { _ = try RequestHeader(name: name, value: "-") } catch {
                throw Failure(
                    .inputField, at: .line(line),
                    "the column \(printable(name)): \(error.message); allowed: query, or a header")
            }
        }
        return cells
    }

    private static func row(
        _ cells: [String], _ names: [String], line: Int
    ) throws(Failure) -> Row {
        var row = Row()
        for (name, value) in zip(names, cells) where !value.isEmpty {
            guard name == "query" else {
                do throws(Failure) {
                    row.headers.append(try RequestHeader(name: name, value: value))
                } catch {
                    throw error.at(.line(line))
                }
                continue
            }
            let query = value.hasPrefix("?") ? String(value.dropFirst()) : value
            guard query.utf8.count <= queryBytes,
                query.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != ASCII.hash })
            else {
                throw Failure(
                    .inputField, at: .line(line),
                    "the query is longer than \(queryBytes) bytes or holds a character that is not "
                        + "allowed; percent-encode it")
            }
            row.query = query
        }
        return row
    }

    /// Splits a line; a cell in quotes may have commas, and quotes that are doubled (RFC 4180).
    private static func cells(_ text: ArraySlice<UInt8>, line: Int) throws(Failure) -> [String] {
        var cells: [String] = []
        var cell: [UInt8] = []
        var isQuoted = false
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            if byte == ASCII.quote {
                if isQuoted, index < text.endIndex, text[index] == ASCII.quote {
                    cell.append(byte)
                    index += 1
                } else {
                    isQuoted.toggle()
                }
            } else if byte == ASCII.comma, !isQuoted {
                cells.append(trimmed(cell))
                cell = []
            } else {
                cell.append(byte)
            }
        }
        guard !isQuoted else {
            throw Failure(.inputMalformed, at: .line(line), "a quote is not closed in its line")
        }
        cells.append(trimmed(cell))
        return cells
    }

    private static func trimmed(_ cell: [UInt8]) -> String {
        String(decoding: cell[ASCII.trimmed(cell, cell.indices)], as: UTF8.self)
    }
}
