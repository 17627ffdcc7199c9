import Planner
import Testing

/// Tables whose header names their columns.
@Suite struct NamedTableTests {
    private static let columns = [
        NamedTable.Column("time", names: ["time", "Date hour YYYYMMDDHH"], isRequired: true),
        NamedTable.Column("users", names: ["users", "active users"]),
    ]

    private static func read(_ text: String, chunk: Int = 5) throws -> [[String?]] {
        var table = NamedTable(Self.columns, maxRows: 3)
        var rows: [[String?]] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: chunk) {
            try table.read(Array(bytes[start..<min(start + chunk, bytes.count)])) {
                rows.append($0.cells)
            }
        }
        try table.finish { rows.append($0.cells) }
        return rows
    }

    @Test(arguments: [
        "time,users\n1,2\n3,\n", "\u{FEFF}Users;TIME\r\n2;1\r\n;3\r\n",
        "# Export\n\n# 20261001\nActive users\tother\tdate hour YYYYMMDDHH\n2\tx\t1\n\tx\t3\n",
        "\"time\", \"active users\"\n\"1\",2\n 3 , \n",
        "Report;Users by time\nTime\n\"open\n\nname,Time,Users\nx,1,2\ny,3,\n",
    ])
    func columnsAreFoundByName(text: String) throws {
        #expect(try Self.read(text) == [["1", "2"], ["3", nil]])
    }

    /// A table of one column that is read.
    @Test func theRequiredColumnIsEnough() throws {
        #expect(try Self.read("Report\ntime,x\n1,2\n3,4\n") == [["1", nil], ["3", nil]])
        var table = NamedTable(Self.columns, maxRows: 1_000)
        var rows: [Row] = []
        let lines = (0..<200).map { "\($0),x\n" }.joined()
        try table.read(Array("time,x\n\(lines)".utf8)) { rows.append(Row($0)) }
        // It does not wait for the end.
        #expect(rows == (0..<200).map { Row(line: $0 + 2, time: "\($0)") })
        try table.finish { rows.append(Row($0)) }
        #expect(rows.count == 200)
    }

    private struct Row: Equatable {
        var line: Int
        var time: String?

        init(line: Int, time: String?) { (self.line, self.time) = (line, time) }

        init(_ row: NamedTable.Row) { self.init(line: row.line, time: row.cells[0]) }
    }

    @Test func quotedCellsMayHoldSeparators() throws {
        #expect(try Self.read("users,time\n\"1,234\",\"a \"\"b\"\"\"\n") == [["a \"b\"", "1,234"]])
    }

    @Test(arguments: [
        ("users\n1\n", "the header is users: name a column for the time"),
        ("Report,1.0\nusers,x\n1,2\n", "the header is users, x: name a column for the time"),
        ("", "the table is without a record"), ("time\n", "the table is without a record"),
        ("time\n\"1\n", "line 2 is a quote that is not closed"),
        ("time\n1\n2\n3\n4\n", "line 5 is record 4: use at most 3 records"),
    ])
    func badTablesAreNamed(text: String, says: String) {
        do throws {
            _ = try Self.read(text)
            Issue.record("no error")
        } catch {
            #expect("\(error)".contains(says), "\(error)")
        }
    }
}
