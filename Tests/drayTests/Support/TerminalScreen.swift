/// A terminal as far as live lines use one: cursor up, clearing, and no wrapping.
struct TerminalScreen {
    /// All lines that were ever on it, from the top.
    var lines: [String] { rows.map { row in String(row.map(Character.init)) } }

    private var rows: [[Unicode.Scalar]] = [[]]
    private var row = 0
    private var column = 0

    init(_ text: String) {
        var scalars = text.unicodeScalars[...]
        while let scalar = scalars.popFirst() {
            switch scalar {
            case "\r": column = 0
            case "\n": moveDown()
            case "\u{1B}": escape(&scalars)
            default: put(scalar)
            }
        }
    }

    private mutating func moveDown() {
        row += 1
        if row == rows.count { rows.append([]) }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        while rows[row].count <= column { rows[row].append(" ") }
        rows[row][column] = scalar
        column += 1
    }

    private mutating func escape(_ scalars: inout Substring.UnicodeScalarView) {
        guard scalars.popFirst() == "[" else { return }
        var parameter = ""
        while let scalar = scalars.popFirst() {
            guard scalar.properties.isAlphabetic else {
                parameter.unicodeScalars.append(scalar)
                continue
            }
            switch scalar {
            case "A": row = max(row - (Int(parameter) ?? 1), 0)
            case "K": clearLine()
            case "J":
                clearLine()
                for below in rows.indices where below > row { rows[below] = [] }
            default: break
            }
            return
        }
    }

    private mutating func clearLine() {
        rows[row] = Array(rows[row].prefix(column))
    }
}
