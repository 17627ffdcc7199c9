import Model

/// Draws charts in the page's colours.
package enum SVG {
    /// Width in units; the page scales it.
    package static let width = 880.0

    /// Returns a drawing of that height; `label` is for screen readers.
    package static func svg(_ height: Double, _ label: String, _ content: String) -> String {
        "<svg viewBox=\"0 0 \(number(width)) \(number(height))\" role=\"img\" aria-label=\""
            + "\(HTMLText.escaped(label))\">\n\(content)</svg>\n"
    }

    /// Formats a coordinate with at most one decimal.
    package static func number(_ value: Double) -> String {
        value == value.rounded() ? "\(Int(saturating: value))" : HumanFormat.fixed(value, places: 1)
    }

    /// Returns a text at a point; `name` is its class.
    package static func label(
        _ x: Double, _ y: Double, _ text: String, anchor: String = "start", name: String = ""
    ) -> String {
        "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\""
            + (name.isEmpty ? "" : " class=\"\(name)\"") + ">\(HTMLText.escaped(text))</text>\n"
    }

    /// Returns a bar in a colour of the page, with a tooltip.
    package static func rectangle(
        _ x: Double, _ y: Double, _ width: Double, _ height: Double, color: Int, tip: String
    ) -> String {
        "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(max(width, 1)))\" height=\""
            + "\(number(height))\" rx=\"2\" fill=\"var(--s\(color % 8))\"><title>"
            + "\(HTMLText.escaped(tip))</title></rect>\n"
    }

    /// Returns a line of the class `name`.
    package static func line(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ name: String
    ) -> String {
        "<line x1=\"\(number(x1))\" y1=\"\(number(y1))\" x2=\"\(number(x2))\" y2=\"\(number(y2))\" "
            + "class=\"\(name)\"/>\n"
    }

    /// Returns the width that a text of so many characters needs at most, with its distance.
    package static func room(characters: Int) -> Double { 8 * Double(characters) + 12 }

    /// Returns horizontal bars, one per row: name, length, text at the end.
    package static func bars(
        _ title: String, _ rows: [(name: String, value: Double, text: String)], color: Int = 0
    ) -> String {
        let (left, step) = (250.0, 30.0)
        let right = max(110, room(characters: rows.map(\.text.count).max() ?? 0))
        let most = rows.map { abs($0.value) }.max() ?? 1
        var content = ""
        for (index, row) in rows.enumerated() {
            let y = Double(index) * step
            let length = most > 0 ? abs(row.value) / most * (width - left - right) : 0
            content += label(left - 10, y + 19, row.name, anchor: "end")
            content += rectangle(
                left, y + 5, length, 20, color: row.value < 0 ? 1 : color,
                tip: "\(row.name): \(row.text)")
            content += label(left + length + 8, y + 19, row.text, name: "v")
        }
        return svg(Double(rows.count) * step + 4, title, content)
    }

    /// Returns a line through points, in a colour of the page.
    package static func polyline(
        _ points: [(x: Double, y: Double)], color: Int, width: Double = 2
    ) -> String {
        let text = points.map { "\(number($0.x)),\(number($0.y))" }.joined(separator: " ")
        return "<polyline points=\"\(text)\" fill=\"none\" stroke=\"var(--s\(color % 8))\" "
            + "stroke-width=\"\(number(width))\" stroke-linejoin=\"round\"/>\n"
    }
}
