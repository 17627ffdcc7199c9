/// Measured throughput by number of workers, from a CSV file.
///
/// Lines have two or more values, separated by commas, semicolons, tabs or spaces. A header may
/// name the columns `N` and `X`; without one, or with only two columns, they are the first and the
/// second. Empty lines and lines that begin with `#` are skipped.
package struct ThroughputTable: Sendable {
    package let points: [(n: Double, x: Double)]

    /// Maximum number of points: a fit needs a few dozen.
    package static let maximumPoints = 100_000

    /// Throws with the line and the column of an invalid number.
    package init(csv text: String) throws(PlannerError) {
        var points: [(n: Double, x: Double)] = []
        var columns: (n: Int, x: Int)?
        var number = 0
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for line in lines {
            number += 1
            let cells = Self.cells(
                number == 1 && line.first == "\u{FEFF}" ? line.dropFirst() : line)
            guard let first = cells.first, !first.hasPrefix("#") else { continue }
            guard let chosen = columns else {
                guard !first.hasPrefix("<") else {
                    throw PlannerError(
                        field: "the table", given: "HTML or XML",
                        allowed: "use CSV with a line of N and X for each measurement")
                }
                columns = try Self.columns(cells, line: number)
                if Double(first) != nil {
                    points.append(try Self.point(cells, columns ?? (0, 1), line: number))
                }
                continue
            }
            guard points.count < Self.maximumPoints else {
                throw PlannerError(
                    field: "line \(number)", given: "one point too many",
                    allowed: "use at most 100,000 points")
            }
            points.append(try Self.point(cells, chosen, line: number))
        }
        guard !points.isEmpty else {
            throw PlannerError(
                field: "the table", given: "empty",
                allowed: "use a line of N and X for each measurement")
        }
        self.points = points
    }

    private static func cells(_ line: Substring) -> [Substring] {
        let separator = [",", ";", "\t"].first { line.contains($0) }
        let cells =
            separator.map { line.split(separator: $0, omittingEmptySubsequences: false) }
            ?? line.split(separator: " ")
        let trimmed = cells.map { cell in
            var cell = cell
            while let last = cell.last, last == " " || last == "\"" { cell.removeLast() }
            return cell.drop { $0 == " " || $0 == "\"" }
        }
        return trimmed.allSatisfy(\.isEmpty) ? [] : trimmed
    }

    /// Returns the columns named in a header, or the first two.
    private static func columns(
        _ cells: [Substring], line: Int
    ) throws(PlannerError) -> (n: Int, x: Int) {
        func column(_ name: String) -> Int? { cells.firstIndex { $0.lowercased() == name } }
        if let n = column("n"), let x = column("x") { return (n, x) }
        let isHeading = cells.first.map { Double($0) == nil } ?? false
        guard cells.count == 2 || !isHeading && cells.count > 1 else {
            throw PlannerError(
                field: "line \(line)", given: quoted(cells.joined(separator: ",")),
                allowed: isHeading && cells.count > 2
                    ? "name one column N and one column X" : "use two columns, N and X")
        }
        return (0, 1)
    }

    private static func point(
        _ cells: [Substring], _ columns: (n: Int, x: Int), line: Int
    ) throws(PlannerError) -> (n: Double, x: Double) {
        func value(
            _ name: String, _ column: Int, _ range: ClosedRange<Double>, _ allowed: String
        ) throws(PlannerError) -> Double {
            let cell = column < cells.count ? cells[column] : ""
            if let value = Double(cell), range.contains(value) { return value }
            throw PlannerError(
                field: "line \(line), column \(name)",
                given: cell.isEmpty ? "missing" : quoted(cell), allowed: allowed)
        }
        return (
            try value("N", columns.n, 1...1e9, "use a number from 1 to 1,000,000,000"),
            try value("X", columns.x, 1e-9...1e18, "use a number above 0, up to 1e18")
        )
    }

    private static func quoted(_ text: some StringProtocol) -> String {
        "'\(text.prefix(40))\(text.count > 40 ? "…" : "")'"
    }
}
