/// What a terminal can show.
package struct TerminalStyle: Equatable, Sendable {
    /// Whether looks are shown.
    package var usesColor: Bool
    /// False where the locale is not UTF-8: bars are made of ASCII then.
    package var usesUnicode: Bool

    /// By the conventions: `NO_COLOR` (no-color.org), and the locale's character set.
    package init(environment: [String: String]) {
        usesColor = (environment["NO_COLOR"] ?? "").isEmpty
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy
            .compactMap { environment[$0] }.first { !$0.isEmpty }
        let name = (locale ?? "").lowercased()
        usesUnicode = name.contains("utf-8") || name.contains("utf8")
    }

    package init(usesColor: Bool, usesUnicode: Bool) {
        self.usesColor = usesColor
        self.usesUnicode = usesUnicode
    }
}

/// One line of a terminal, made of pieces in different looks and cut to a width as a whole.
package struct StyledLine {
    /// Select Graphic Rendition codes (ECMA-48).
    package enum Look: String {
        case plain = ""
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case cyan = "36"
    }

    package private(set) var pieces: [(text: String, look: Look)] = []

    package init() {}

    /// Columns that it takes when it is not cut.
    package var width: Int { pieces.reduce(0) { $0 + TextLayout.width($1.text) } }

    /// `parts` one behind the other; those that a line of `columns` columns has no room for begin the next one,
    /// behind `indent` spaces.
    package static func flowing(_ parts: [StyledLine], columns: Int, indent: Int) -> [StyledLine] {
        var lines: [StyledLine] = []
        for part in parts {
            if var last = lines.last, last.width + part.width <= columns {
                last.pieces += part.pieces
                lines[lines.count - 1] = last
            } else {
                var line = StyledLine()
                if !lines.isEmpty { line.append(String(repeating: " ", count: indent)) }
                line.pieces += part.pieces
                lines.append(line)
            }
        }
        return lines
    }

    /// Adds a piece in one look.
    package mutating func append(_ text: String, _ look: Look = .plain) {
        if !text.isEmpty { pieces.append((text, look)) }
    }

    /// A bar of `width` columns, `fraction` of it filled; all of it dim when nothing is known.
    package mutating func appendBar(_ fraction: Double?, width: Int, style: TerminalStyle) {
        guard width > 0 else { return }
        let clamped = min(max(fraction ?? 0, 0), 1)
        let filled = Int((clamped * Double(width)).rounded(.down))
        let full = style.usesUnicode ? "━" : "#"
        let empty = style.usesUnicode ? "─" : "-"
        append(String(repeating: full, count: filled), clamped == 1 ? .green : .cyan)
        append(String(repeating: empty, count: width - filled), .dim)
    }

    /// The line in at most `columns` columns, with the looks when `usesColor`.
    package func rendered(columns: Int, usesColor: Bool) -> String {
        let isCut = width > columns
        var left = columns
        var result = ""
        for (text, look) in pieces {
            guard left > 0 else { break }
            // What is cut shows as one `…`, also where a piece ends just there.
            let isLast = isCut && TextLayout.width(text) >= left
            let shown = isLast ? TextLayout.truncated(text + "…", to: left) : text
            left -= TextLayout.width(shown)
            result +=
                usesColor && look != .plain
                ? "\u{1B}[\(look.rawValue)m\(shown)\u{1B}[0m" : shown
        }
        return result
    }
}
