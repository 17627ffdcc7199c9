/// Converts the body of an entry to a statement, in one pass over its bytes. Every process parses
/// each file at the first use of one of its statements, so this is part of a cluster's start-up
/// time.
struct SQLScanner {
    private let name: String
    private let placeholders: SQLPlaceholders
    private var text: [UInt8] = []
    private var parameters: [String] = []
    private var depth = 0

    init(_ name: String, _ placeholders: SQLPlaceholders) {
        self.name = name
        self.placeholders = placeholders
    }

    var statement: SQLStatement {
        var end = text.count
        while end > 0, Self.isSpace(text[end - 1]) { end -= 1 }
        return SQLStatement(
            name: name, text: String(decoding: text[..<end], as: UTF8.self),
            parameters: parameters)
    }

    /// - Parameter fills: true to fill placeholders.
    mutating func scan(
        _ body: ArraySlice<UInt8>, fills: Bool = true
    ) throws(SQLFile.Malformed) {
        text.reserveCapacity(text.count + body.count)
        var index = body.startIndex
        /// Returns the byte at `index + offset`; 0 past the end.
        func byte(_ offset: Int) -> UInt8 {
            index + offset < body.endIndex ? body[index + offset] : 0
        }
        while index < body.endIndex {
            let current = body[index]
            switch current {
            case UInt8(ascii: "-") where byte(1) == current:
                index = body[index...].firstIndex(of: UInt8(ascii: "\n")) ?? body.endIndex
                while text.last == UInt8(ascii: " ") { text.removeLast() }
                // Leaves no empty line.
                if text.last.map({ $0 == UInt8(ascii: "\n") }) ?? true { index += 1 }
            case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"):
                guard let end = Self.end(of: "*/", in: body[(index + 2)...]) else {
                    throw .unfinished(name)
                }
                index = end
            case UInt8(ascii: "'"), UInt8(ascii: "\""):
                index = try quoted(body[index...], fills: fills)
            case UInt8(ascii: "$"):
                index = try dollar(body[index...], fills: fills)
            case UInt8(ascii: "{") where fills && byte(1) == current:
                index = try placeholder(body[index...], isQuoted: false)
            case UInt8(ascii: "@") where Self.isLetter(byte(1)) && !endsInOperator:
                let rest = body[(index + 1)...]
                let end = rest.firstIndex { !Self.isWord($0) } ?? body.endIndex
                add(parameter: String(decoding: rest[..<end], as: UTF8.self))
                index = end
            default:
                text.append(current)
                index += 1
            }
        }
    }

    private mutating func add(parameter: String) {
        let number = parameters.firstIndex(of: parameter) ?? parameters.count
        if number == parameters.count { parameters.append(parameter) }
        text += "$\(number + 1)".utf8
    }

    /// Skips a string or an identifier, up to its closing quote. A doubled quote counts as two
    /// adjacent strings, with the same result.
    private mutating func quoted(
        _ body: ArraySlice<UInt8>, fills: Bool
    ) throws(SQLFile.Malformed) -> Int {
        let quote = body[body.startIndex]
        // E'…' has escapes, unless the E is the end of a word.
        let isEscaped =
            quote == UInt8(ascii: "'")
            && (text.last == UInt8(ascii: "E") || text.last == UInt8(ascii: "e"))
            && !(text.dropLast().last.map(Self.isWord) ?? false)
        text.append(quote)
        var index = body.startIndex + 1
        while index < body.endIndex {
            let current = body[index]
            if fills, current == UInt8(ascii: "{"), body[index...].starts(with: "{{".utf8) {
                index = try placeholder(body[index...], isQuoted: true)
                continue
            }
            text.append(current)
            index += 1
            if current == quote { return index }
            if isEscaped, current == UInt8(ascii: "\\"), index < body.endIndex {
                text.append(body[index])
                index += 1
            }
        }
        throw .unfinished(name)
    }

    /// Skips `$$ … $$` and `$tag$ … $tag$` unchanged, but for placeholders: a function's body has
    /// its own parameters.
    private mutating func dollar(
        _ body: ArraySlice<UInt8>, fills: Bool
    ) throws(SQLFile.Malformed) -> Int {
        let rest = body.dropFirst()
        guard let first = rest.first, !Self.isDigit(first) else { throw .positional(name) }
        guard let close = rest.firstIndex(where: { !Self.isWord($0) }),
            rest[close] == UInt8(ascii: "$")
        else {
            text.append(UInt8(ascii: "$"))
            return body.startIndex + 1
        }
        let tag = String(decoding: body[...close], as: UTF8.self)
        guard let end = Self.end(of: tag, in: body[(close + 1)...]) else { throw .unfinished(name) }
        guard fills else {
            text += body[..<end]
            return end
        }
        var index = body.startIndex
        while index < end {
            if body[index] == UInt8(ascii: "{"), body[index..<end].starts(with: "{{".utf8) {
                index = try placeholder(body[index..<end], isQuoted: true)
            } else {
                text.append(body[index])
                index += 1
            }
        }
        return end
    }

    private mutating func placeholder(
        _ body: ArraySlice<UInt8>, isQuoted: Bool
    ) throws(SQLFile.Malformed) -> Int {
        guard let end = Self.end(of: "}}", in: body) else { throw .unfinished(name) }
        let key = String(decoding: body[(body.startIndex + 2)..<(end - 2)], as: UTF8.self)
        if let value = placeholders.texts[key] {
            if isQuoted {
                text += value.utf8
            } else {
                try scan(Array(value.utf8)[...], fills: false)
            }
        } else if let fragment = placeholders.fragments[key] {
            guard depth < 8 else { throw .endless(key) }
            depth += 1
            try scan(fragment[...])
            depth -= 1
            while let last = text.last, Self.isSpace(last) { text.removeLast() }
        } else {
            throw .unknown(key)
        }
        return end
    }

    /// Returns the index after the first `mark`; nil without one.
    private static func end(of mark: String, in body: ArraySlice<UInt8>) -> Int? {
        let mark = Array(mark.utf8)
        var rest = body
        while let start = rest.firstIndex(of: mark[0]) {
            rest = rest[start...]
            if rest.starts(with: mark) { return start + mark.count }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// True if an `@` there belongs to an operator: `<@`, `@@`.
    private var endsInOperator: Bool {
        text.last.map { "+-*/<>=~!@#%^&|`?".utf8.contains($0) } ?? false
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0a }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }
    private static func isWord(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "_")
    }
}
