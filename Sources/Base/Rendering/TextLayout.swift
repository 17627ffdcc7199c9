/// Arranges text for a terminal, by display width.
package enum TextLayout {
    /// Returns the columns of `text`: 2 for wide East Asian characters and emoji, 0 for marks.
    package static func width(_ text: String) -> Int {
        text.reduce(0) { $0 + width($1) }
    }

    /// Returns the width of a character's widest scalar: the others of a cluster are drawn over it.
    private static func width(_ character: Character) -> Int {
        var widest = 0
        for scalar in character.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format, .control: continue
            default: widest = max(widest, isWide(scalar) ? 2 : 1)
            }
        }
        return widest
    }

    /// Returns true for East Asian Wide and Fullwidth, in coarse ranges of Unicode's
    /// EastAsianWidth.txt.
    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
            0xA000...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
            0x20000...0x3FFFD:
            true
        default: false
        }
    }

    /// Truncates `text` to `width` columns; a cut shows as one `…`.
    package static func truncated(_ text: String, to width: Int) -> String {
        guard self.width(text) > width else { return text }
        guard width > 0 else { return "" }
        var result = ""
        var used = 0
        for character in text {
            let columns = self.width(character)
            if used + columns > width - 1 { break }
            result.append(character)
            used += columns
        }
        return result + "…"
    }

    /// Truncates the middle of `text`: names differ at their ends.
    package static func middleTruncated(_ text: String, to width: Int) -> String {
        guard self.width(text) > width else { return text }
        guard width > 2 else { return truncated(text, to: width) }
        let head = (width - 1) / 2
        var tail = ""
        var used = 0
        for character in text.reversed() {
            let columns = self.width(character)
            if used + columns > width - 1 - head { break }
            tail = String(character) + tail
            used += columns
        }
        return truncated(text, to: head + 1) + tail
    }

    /// Pads `text` with spaces on the right (on the left if `right`) to `width` columns.
    package static func padded(_ text: String, to width: Int, right: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - self.width(text)))
        return right ? spaces + text : text + spaces
    }

    /// Breaks `text` between words; lines after the first start with `hangingIndent` spaces.
    package static func wrapped(_ text: String, width: Int, hangingIndent: Int) -> String {
        var lines: [String] = []
        var line = ""
        // Bracketed text and arguments of options stay together: breaks only at plain spaces.
        for word in unbreakableWords(text) {
            let candidate = line.isEmpty ? word : line + " " + word
            let indent = lines.isEmpty ? 0 : hangingIndent
            if !line.isEmpty, self.width(candidate) + indent > width {
                lines.append(line)
                line = word
            } else {
                line = candidate
            }
        }
        lines.append(line)
        return lines.joined(separator: "\n" + String(repeating: " ", count: hangingIndent))
    }

    private static func unbreakableWords(_ text: String) -> [String] {
        var words: [String] = []
        var isInBrackets = false
        for word in text.split(whereSeparator: \.isWhitespace) {
            if isInBrackets, let last = words.popLast() {
                words.append(last + " " + word)
            } else {
                words.append(String(word))
            }
            if word.hasPrefix("[") { isInBrackets = true }
            if word.contains("]") { isInBrackets = false }
        }
        return words
    }

    /// Arranges terms on the left and their wrapped texts on the right, each line indented by two.
    package static func definitions(_ rows: [(String, String)], width: Int) -> String {
        let column = min(rows.map { self.width($0.0) }.max() ?? 0, 28) + 4
        var text = ""
        for (term, meaning) in rows {
            let body = wrapped(
                meaning, width: width - column, hangingIndent: 0
            ).replacingNewlines(with: "\n" + String(repeating: " ", count: column))
            if self.width(term) + 4 > column {
                text += "  \(term)\n" + String(repeating: " ", count: column)
            } else {
                text += padded("  \(term)", to: column)
            }
            text += body + "\n"
        }
        return text
    }

    /// The alignment of a column's cells.
    package enum Alignment: Sendable { case left, right }

    /// Arranges rows in columns two spaces apart under their headings, without trailing spaces.
    ///
    /// - Parameters:
    ///   - columns: maximum width; columns beyond it follow below as separate tables. Nil for no
    ///     limit.
    ///   - repeated: number of first columns that each of these tables repeats.
    package static func table(
        headings: [String], alignments: [Alignment], rows: [[String]], columns: Int? = nil,
        repeated: Int = 0
    ) -> String {
        let widths = headings.indices.map { column in
            ([headings] + rows).map { column < $0.count ? self.width($0[column]) : 0 }.max() ?? 0
        }
        return blocks(of: widths, columns: columns ?? .max, repeated: repeated).map { block in
            ([headings] + rows).map { row in
                let cells = block.filter { $0 < row.count }.map { column in
                    padded(row[column], to: widths[column], right: alignments[column] == .right)
                }
                var line = cells.joined(separator: "  ")[...]
                while line.last == " " { line.removeLast() }
                return line + "\n"
            }.joined()
        }.joined(separator: "\n")
    }

    /// Returns the groups of columns that fit side by side.
    private static func blocks(of widths: [Int], columns: Int, repeated: Int) -> [[Int]] {
        let first = Array(widths.indices.prefix(repeated))
        func width(_ block: [Int]) -> Int { block.reduce(-2) { $0 + widths[$1] + 2 } }
        var blocks: [[Int]] = []
        var block: [Int] = []
        for column in widths.indices {
            if block.count > repeated, width(block + [column]) > columns {
                blocks.append(block)
                block = first
            }
            block.append(column)
        }
        return blocks + [block]
    }
}

extension String {
    fileprivate func replacingNewlines(with replacement: String) -> String {
        split(separator: "\n", omittingEmptySubsequences: false).joined(separator: replacement)
    }
}
