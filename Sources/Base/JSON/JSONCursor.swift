package import Model
import Text

/// A strict reader of JSON (RFC 8259) that returns one token after another, with positions.
///
/// It stores nothing that the caller does not keep. Rejects comments, trailing commas, duplicate
/// names in an object, lone surrogates and nesting beyond `maximumDepth`.
package struct JSONCursor {
    static let maximumDepth = 16

    let bytes: [UInt8]
    package private(set) var index: Int
    private var depth = 0
    /// Start of `bytes` in the whole input.
    private let origin: TextPosition

    package init(_ bytes: [UInt8], at origin: TextPosition) {
        self.bytes = bytes
        self.origin = origin
        index = bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0
    }

    /// Reads a whole document.
    package init(_ bytes: [UInt8]) { self.init(bytes, at: TextPosition(line: 1, column: 1)) }

    package enum Kind: String {
        case object = "an object"
        case array = "an array"
        case string = "a string"
        case number = "a number"
        case boolean = "true or false"
        case null = "null"
    }

    /// Returns the position of the byte at `offset` in the whole input.
    package func position(_ offset: Int) -> TextPosition {
        let position = TextPosition(bytes, offset)
        guard position.line == 1 else {
            return TextPosition(line: origin.line + position.line - 1, column: position.column)
        }
        return TextPosition(line: origin.line, column: origin.column + position.column - 1)
    }

    /// Returns the position of the byte at `offset`, for failures.
    package func location(_ offset: Int, field: String? = nil) -> FailureLocation {
        let position = position(offset)
        return .line(position.line, column: position.column, field: field)
    }

    /// Returns the failure of input that is not JSON, at byte `offset`.
    package func malformed(_ what: String, at offset: Int) -> Failure {
        Failure(.inputMalformed, at: location(offset), what)
    }

    /// Returns the kind of the next value; its first byte is then at `index`.
    package mutating func peek() throws(Failure) -> Kind {
        skipBlanks()
        guard index < bytes.count else {
            throw malformed("expected a value, given the end of the input", at: index)
        }
        switch bytes[index] {
        case ASCII.openBrace: return .object
        case ASCII.openBracket: return .array
        case ASCII.quote: return .string
        case ASCII.minus, 0x30...0x39: return .number
        case _ where word("true") || word("false"): return .boolean
        case _ where word("null"): return .null
        default: throw unexpected("a value")
        }
    }

    private func word(_ text: StaticString) -> Bool {
        ASCII.hasPrefix(bytes, index..<bytes.count, text)
    }

    /// Rejects anything but blanks after the value.
    package mutating func finish() throws(Failure) {
        skipBlanks()
        if index < bytes.count { throw unexpected("the end of the input") }
    }

    /// Reads an object; `member` reads each value and gets its name and the name's position.
    package mutating func object(
        _ member: (inout JSONCursor, String, Int) throws(Failure) -> Void
    ) throws(Failure) {
        var names: Set<String> = []
        try items(until: ASCII.closeBrace, "} or a name in quotes") {
            (cursor) throws(Failure) in
            let start = cursor.index
            guard cursor.bytes[start] == ASCII.quote else {
                throw cursor.unexpected("a name in quotes")
            }
            let name = try cursor.string()
            guard names.insert(name).inserted else {
                throw cursor.malformed(
                    "the field \"\(Redaction.shown(name))\" is repeated in one object", at: start)
            }
            cursor.skipBlanks()
            guard cursor.index < cursor.bytes.count, cursor.bytes[cursor.index] == ASCII.colon
            else {
                throw cursor.unexpected("a colon")
            }
            cursor.index += 1
            do throws(Failure) {
                _ = try cursor.peek()
            } catch {
                let field = Redaction.shown(name)
                throw Failure(error.code, "\(error.message) for the field \"\(field)\"")
            }
            try member(&cursor, name, start)
        }
    }

    /// Reads an array; `element` reads each value.
    package mutating func array(
        _ element: (inout JSONCursor) throws(Failure) -> Void
    ) throws(Failure) {
        try items(until: ASCII.closeBracket, "] or a value") { (cursor) throws(Failure) in
            _ = try cursor.peek()
            try element(&cursor)
        }
    }

    private mutating func items(
        until close: UInt8, _ expected: String, _ item: (inout JSONCursor) throws(Failure) -> Void
    ) throws(Failure) {
        depth += 1
        if depth > Self.maximumDepth {
            throw malformed("nested more than \(Self.maximumDepth) deep", at: index)
        }
        index += 1
        skipBlanks()
        if index < bytes.count, bytes[index] == close {
            index += 1
            depth -= 1
            return
        }
        while true {
            skipBlanks()
            guard index < bytes.count else { throw unexpected(expected) }
            try item(&self)
            skipBlanks()
            guard index < bytes.count, bytes[index] == close || bytes[index] == ASCII.comma else {
                throw unexpected(close == ASCII.closeBrace ? "a comma or }" : "a comma or ]")
            }
            index += 1
            if bytes[index - 1] == close { break }
        }
        depth -= 1
    }

    /// Reads `true` or `false`.
    package mutating func boolean(_ path: String) throws(Failure) -> Bool {
        try expect(.boolean, path)
        defer { index += word("true") ? 4 : 5 }
        return word("true")
    }

    /// Reads the next value, whatever it is, and returns nothing of it.
    package mutating func skip() throws(Failure) {
        switch try peek() {
        case .object: try object { (cursor, _, _) throws(Failure) in try cursor.skip() }
        case .array: try array { (cursor) throws(Failure) in try cursor.skip() }
        case .string: _ = try string()
        case .number: _ = try number()
        case .boolean: _ = try boolean("value")
        case .null: index += 4
        }
    }

    /// Reads the unchanged text of a number.
    package mutating func number() throws(Failure) -> String {
        let start = index
        if bytes[index] == ASCII.minus { index += 1 }
        let integer = digits()
        var isValid = integer.count == 1 || integer.count > 1 && bytes[integer.lowerBound] != 0x30
        if index < bytes.count, bytes[index] == ASCII.dot {
            index += 1
            isValid = !digits().isEmpty && isValid
        }
        if index < bytes.count, bytes[index] | 0x20 == 0x65 {
            index += 1
            if index < bytes.count, bytes[index] == 0x2B || bytes[index] == ASCII.minus {
                index += 1
            }
            isValid = !digits().isEmpty && isValid
        }
        if !isValid { throw malformed("a number is not valid JSON", at: start) }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func digits() -> Range<Int> {
        let start = index
        while index < bytes.count, ASCII.isDigit(bytes[index]) { index += 1 }
        return start..<index
    }

    /// Reads a string; `index` is at its opening quote.
    package mutating func string() throws(Failure) -> String {
        let open = index
        index += 1
        let start = index
        while index < bytes.count, bytes[index] >= 0x20, bytes[index] != ASCII.quote,
            bytes[index] != ASCII.backslash
        { index += 1 }
        var text = Array(bytes[start..<index])
        while true {
            guard index < bytes.count else {
                throw malformed("a string has no closing quote", at: open)
            }
            let byte = bytes[index]
            if byte == ASCII.quote { break }
            if byte < 0x20 {
                throw malformed("a string holds a control character; write it as \\u…", at: index)
            }
            if byte == ASCII.backslash {
                try escape(into: &text)
            } else {
                text.append(byte)
                index += 1
            }
        }
        index += 1
        guard let string = String(validating: text, as: UTF8.self) else {
            throw malformed("a string is not UTF-8", at: open)
        }
        return string
    }

    private mutating func escape(into text: inout [UInt8]) throws(Failure) {
        let start = index
        guard index + 1 < bytes.count else {
            throw malformed("the input ends within a string", at: index)
        }
        index += 2
        switch bytes[index - 1] {
        case ASCII.quote: text.append(ASCII.quote)
        case ASCII.backslash: text.append(ASCII.backslash)
        case ASCII.slash: text.append(ASCII.slash)
        case 0x62: text.append(0x08)
        case 0x66: text.append(0x0C)
        case 0x6E: text.append(ASCII.lineFeed)
        case 0x72: text.append(ASCII.carriageReturn)
        case 0x74: text.append(ASCII.tab)
        case 0x75:
            var value = try hexUnit(start)
            if (0xD800...0xDBFF).contains(value), index + 1 < bytes.count,
                bytes[index] == ASCII.backslash, bytes[index + 1] == 0x75
            {
                index += 2
                let low = try hexUnit(start)
                if (0xDC00...0xDFFF).contains(low) {
                    value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
                }
            }
            guard let scalar = Unicode.Scalar(value) else {
                throw malformed("an escape is half a surrogate pair", at: start)
            }
            text.append(contentsOf: String(scalar).utf8)
        default:
            throw malformed("a string holds an escape that JSON does not know", at: start)
        }
    }

    private mutating func hexUnit(_ start: Int) throws(Failure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard index < bytes.count, let digit = ASCII.hexValue(bytes[index]) else {
                throw malformed("\\u needs four hex digits", at: start)
            }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }

    private mutating func skipBlanks() {
        while index < bytes.count {
            switch bytes[index] {
            case ASCII.space, ASCII.tab, ASCII.lineFeed, ASCII.carriageReturn: index += 1
            default: return
            }
        }
    }

    private func unexpected(_ expected: String) -> Failure {
        guard index < bytes.count else {
            return malformed("expected \(expected), given the end of the input", at: index)
        }
        return malformed("expected \(expected), given \(Self.shown(bytes[index]))", at: index)
    }

    /// Returns a byte for a message.
    package static func shown(_ byte: UInt8) -> String {
        byte > ASCII.space && byte < ASCII.delete
            ? "\"\(Unicode.Scalar(byte))\"" : "byte 0x\(String(byte, radix: 16, uppercase: true))"
    }
}

/// A position in a text, as in editors: lines and characters from 1.
package struct TextPosition: CustomStringConvertible {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    /// Creates the position of the byte at `offset`; reads all bytes before it.
    init(_ bytes: [UInt8], _ offset: Int) {
        var line = 1
        var column = 1
        let start = bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0
        for index in start..<max(start, min(offset, bytes.count)) {
            if bytes[index] == ASCII.lineFeed {
                line += 1
                column = 1
            } else if bytes[index] & 0xC0 != 0x80 {
                column += 1
            }
        }
        self.init(line: line, column: column)
    }

    package var description: String { "line \(line), column \(column)" }
}
