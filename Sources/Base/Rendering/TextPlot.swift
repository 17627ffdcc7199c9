/// A plot of a curve and measured points in characters, for a terminal.
package struct TextPlot: Sendable {
    /// Columns and rows of the drawing without its scales.
    package var width = 60
    package var height = 14

    package init() {}

    /// Draws `points` as ● over `curve` as ·, from 0 to the largest values, with scales on the left
    /// and below; `number` formats the scales.
    package func draw(
        points: [(x: Double, y: Double)], curve: (Double) -> Double, number: (Double) -> String
    ) -> String {
        let right = points.map(\.x).max() ?? 1
        let columns = (0..<width).map { column in
            curve(right * Double(column) / Double(width - 1))
        }
        let top = max(points.map(\.y).max() ?? 1, columns.max() ?? 1)
        guard top > 0, right > 0, top.isFinite, right.isFinite else { return "" }
        var rows = [[Character]](
            repeating: [Character](repeating: " ", count: width), count: height)
        func row(_ y: Double) -> Int {
            height - 1 - min(height - 1, max(0, Int((y / top * Double(height - 1)).rounded())))
        }
        for (column, y) in columns.enumerated() where y.isFinite { rows[row(y)][column] = "·" }
        for point in points {
            let column = Int((point.x / right * Double(width - 1)).rounded())
            rows[row(point.y)][min(width - 1, max(0, column))] = "●"
        }
        let scale = [0: number(top), height / 2: number(top / 2), height - 1: "0"]
        let margin = scale.values.map(\.count).max() ?? 0
        var text = ""
        for (index, row) in rows.enumerated() {
            let label = scale[index] ?? ""
            var line = String(repeating: " ", count: margin - label.count) + label
            line += (label.isEmpty ? " │" : " ┤") + String(row)
            while line.last == " " { line.removeLast() }
            text += line + "\n"
        }
        text +=
            String(repeating: " ", count: margin + 1) + "└"
            + String(repeating: "─", count: width) + "\n"
        let end = number(right)
        text +=
            String(repeating: " ", count: margin + 2) + "0"
            + String(repeating: " ", count: max(1, width - 1 - end.count)) + end + "\n"
        return text
    }
}
