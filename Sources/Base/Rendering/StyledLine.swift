/// The capabilities of a terminal.
package struct TerminalStyle: Equatable, Sendable {
    /// True if colours and other looks are shown.
    package var usesColor: Bool
    /// False if the locale is not UTF-8; bars are then ASCII.
    package var usesUnicode: Bool

    /// Reads the environment: `NO_COLOR` (no-color.org), and the locale's character set.
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

/// A terminal line of styled pieces, truncated as a whole.
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

    /// Columns of the full line.
    package var width: Int { pieces.reduce(0) { $0 + TextLayout.width($1.text) } }

    /// Joins `parts`; those that exceed a line of `columns` columns begin the next one, after
    /// `indent` spaces.
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

    /// Appends a bar of `width` columns, `fraction` of it filled; all dim if the fraction is
    /// unknown.
    package mutating func appendBar(_ fraction: Double?, width: Int, style: TerminalStyle) {
        guard width > 0 else { return }
        let clamped = min(max(fraction ?? 0, 0), 1)
        let filled = Int((clamped * Double(width)).rounded(.down))
        let full = style.usesUnicode ? "━" : "#"
        let empty = style.usesUnicode ? "─" : "-"
        append(String(repeating: full, count: filled), clamped == 1 ? .green : .cyan)
        append(String(repeating: empty, count: width - filled), .dim)
    }

    /// Returns the line in at most `columns` columns, with looks if `usesColor`.
    package func rendered(columns: Int, usesColor: Bool) -> String {
        let isCut = width > columns
        var left = columns
        var result = ""
        for (text, look) in pieces {
            guard left > 0 else { break }
            // Truncation shows one `…`, even at the end of a piece.
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
