import Text

/// Reads a strict subset of TOML 1.0: comments, tables, bare and quoted keys, one-line strings,
/// integers, decimal numbers, booleans and arrays.
///
/// Everything else of TOML (dotted keys, inline tables, arrays of tables, multi-line strings, dates,
/// other bases, inf and nan) is rejected by name.
struct TOMLReader {
    private let bytes: [UInt8]
    private var index = 0
    private var line = 1

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: ASCII.byteOrderMark) { index = 3 }
    }

    /// Returns the entries in their order.
    static func read(_ bytes: [UInt8]) throws(ConfigurationSyntaxError)
        -> [ConfigurationEntry]
    {
        var reader = TOMLReader(bytes)
        return try reader.entries()
    }

    private mutating func entries() throws(ConfigurationSyntaxError) -> [ConfigurationEntry] {
        var entries: [ConfigurationEntry] = []
        var table: [String] = []
        var seen: Set<[String]> = [[]]
        var keys: Set<[String]> = []
        while true {
            skipLines()
            guard let byte = peek else { return entries }
            if byte == ASCII.openBracket {
                table = try header()
                guard seen.insert(table).inserted else {
                    throw failure("the table [\(shown(table))] is repeated")
                }
            } else {
                let start = line
                let key = try self.key()
                skipBlanks()
                guard peek != ASCII.dot else {
                    throw failure("a dotted key; use a table: [\(printable(key))]")
                }
                try expect(0x3D, "= after the key \(printable(key))")
                skipBlanks()
                let value = try self.value()
                guard keys.insert(table + [key]).inserted else {
                    throw failure("the key \(printable(key)) is repeated")
                }
                entries.append(
                    ConfigurationEntry(table: table, key: key, value: value, line: start))
            }
            try endLine()
        }
    }

    /// Reads `[name.name]`.
    private mutating func header() throws(ConfigurationSyntaxError) -> [String] {
        index += 1
        if peek == ASCII.openBracket { throw failure("an array of tables is not supported") }
        var names: [String] = []
        while true {
            skipBlanks()
            names.append(try key())
            skipBlanks()
            guard let byte = peek, byte == ASCII.dot || byte == ASCII.closeBracket else {
                throw failure("expected ] after the table's name")
            }
            index += 1
            if byte == ASCII.closeBracket { return names }
        }
    }

    private mutating func key() throws(ConfigurationSyntaxError) -> String {
        if peek == ASCII.quote || peek == 0x27 { return try string() }
        let start = index
        while let byte = peek, isBare(byte) { index += 1 }
        guard index > start else { throw failure("expected a key") }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private func isBare(_ byte: UInt8) -> Bool {
        ASCII.isDigit(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x5F
            || byte == ASCII.minus
    }

    private mutating func value() throws(ConfigurationSyntaxError) -> ConfigurationValue {
        switch peek {
        case ASCII.quote, 0x27: return .text(try string())
        case ASCII.openBracket: return .array(try array())
        case ASCII.openBrace: throw failure("an inline table is not supported")
        case nil, ASCII.lineFeed: throw failure("expected a value")
        default: break
        }
        let start = index
        while let byte = peek, isBare(byte) || "+.:".utf8.contains(byte) { index += 1 }
        let word = String(decoding: bytes[start..<index], as: UTF8.self)
        if word == "true" || word == "false" { return .boolean(word == "true") }
        let digits = word.replacing("_", with: "")
        let isNumber =
            word.wholeMatch(
                of: /[+-]?(0|[1-9](_?[0-9])*)(\.[0-9](_?[0-9])*)?([eE][+-]?[0-9](_?[0-9])*)?/)
            != nil
        guard isNumber else {
            let given = word.isEmpty ? "this" : printable(String(word.prefix(40)))
            throw failure("\(given) is not a value; write text in quotes")
        }
        return .number(digits.hasPrefix("+") ? String(digits.dropFirst()) : digits)
    }

    private mutating func array() throws(ConfigurationSyntaxError) -> [ConfigurationValue] {
        index += 1
        var values: [ConfigurationValue] = []
        while true {
            skipLines()
            if peek == ASCII.closeBracket { break }
            if peek == ASCII.openBracket { throw failure("an array in an array is not supported") }
            values.append(try value())
            skipLines()
            if peek == ASCII.comma {
                index += 1
            } else if peek != ASCII.closeBracket {
                throw failure("expected a comma or ] in the array")
            }
        }
        index += 1
        return values
    }

    /// Reads a basic or a literal string of one line.
    private mutating func string() throws(ConfigurationSyntaxError) -> String {
        let quote = bytes[index]
        if index + 2 < bytes.count, bytes[index + 1] == quote, bytes[index + 2] == quote {
            throw failure("a string of several lines is not supported")
        }
        index += 1
        var text: [UInt8] = []
        while let byte = peek, byte != quote {
            guard byte >= 0x20 && byte != ASCII.delete || byte == ASCII.tab else {
                throw failure("a string has no closing quote, or a control character")
            }
            index += 1
            if byte == ASCII.backslash, quote == ASCII.quote {
                text += try escape().utf8
            } else {
                text.append(byte)
            }
        }
        try expect(quote, "the closing quote of a string")
        guard let string = String(validating: text, as: UTF8.self) else {
            throw failure("a string is not UTF-8")
        }
        return string
    }

    private mutating func escape() throws(ConfigurationSyntaxError) -> String {
        guard let byte = peek else { throw failure("a string has no closing quote") }
        index += 1
        switch byte {
        case 0x62: return "\u{08}"
        case 0x74: return "\t"
        case 0x6E: return "\n"
        case 0x66: return "\u{0C}"
        case 0x72: return "\r"
        case ASCII.quote: return "\""
        case ASCII.backslash: return "\\"
        case 0x75, 0x55:
            let count = byte == 0x75 ? 4 : 8
            let digits = bytes[index..<min(index + count, bytes.count)]
            guard digits.count == count, digits.allSatisfy({ ASCII.hexValue($0) != nil }),
                let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
                let scalar = Unicode.Scalar(value)
            else { throw failure("an escape is not a character") }
            index += count
            return String(scalar)
        default: throw failure("a string has an escape that TOML does not know")
        }
    }

    // MARK: Bytes

    private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipBlanks() {
        while let byte = peek, byte == ASCII.space || byte == ASCII.tab { index += 1 }
    }

    /// Skips blanks, comments and line feeds.
    private mutating func skipLines() {
        while let byte = peek {
            switch byte {
            case ASCII.lineFeed:
                line += 1
                index += 1
            case ASCII.space, ASCII.tab, ASCII.carriageReturn: index += 1
            case 0x23: while let byte = peek, byte != ASCII.lineFeed { index += 1 }
            default: return
            }
        }
    }

    private mutating func endLine() throws(ConfigurationSyntaxError) {
        skipBlanks()
        guard let byte = peek, byte != 0x23, byte != ASCII.lineFeed, byte != ASCII.carriageReturn
        else { return }
        throw failure("unexpected text after the value")
    }

    private mutating func expect(
        _ byte: UInt8, _ what: String
    ) throws(ConfigurationSyntaxError) {
        guard peek == byte else { throw failure("expected \(what)") }
        index += 1
    }

    private func shown(_ table: [String]) -> String { printable(table.joined(separator: ".")) }

    private func failure(_ message: String) -> ConfigurationSyntaxError {
        ConfigurationSyntaxError(line: line, message: message)
    }
}
