/// A table as CSV (RFC 4180): lines end with CR LF, the first one has the columns' names.
///
/// Spreadsheets run a cell that begins with `=`, `+`, `-` or `@` as a formula, and names come from
/// origins and lists of others. Such text begins with an apostrophe instead, which makes it text.
package struct CSVText {
    package enum Cell: Hashable, Sendable {
        case text(String)
        /// A number or a time, written by Dray.
        case number(String)
        case none

        package static func integer(_ value: (some BinaryInteger)?) -> Cell {
            value.map { .number("\($0)") } ?? .none
        }

        package static func optional(_ text: String?) -> Cell { text.map { .text($0) } ?? .none }
    }

    /// The whole text.
    package private(set) var text = ""

    package init(_ columns: [String], _ rows: [[Cell]] = []) {
        append(columns.map { .text($0) })
        for row in rows { append(row) }
    }

    package mutating func append(_ cells: [Cell]) {
        text += cells.map(Self.written).joined(separator: ",") + "\r\n"
    }

    private static func written(_ cell: Cell) -> String {
        switch cell {
        case .none: return ""
        case .number(let number): return number
        case .text(let text):
            // By byte: a sign with a combining mark is another Character.
            let isFormula = text.utf8.first.map { "=+-@\t\r".utf8.contains($0) } == true
            let safe = isFormula ? "'" + text : text
            let isPlain = safe.utf8.allSatisfy { !"\",\r\n".utf8.contains($0) }
            return isPlain ? safe : "\"" + safe.replacing("\"", with: "\"\"") + "\""
        }
    }
}
