import JSON
import Model
import Text

/// A JSON catalog, parsed incrementally: assets are emitted as soon as they are complete, and none
/// is kept.
///
/// Either an object, `{"name": "…", "priority": 0 to 9, "assets": […]}`, with only `assets`
/// required, or the array alone. `JSONAsset` describes assets.
final class JSONList: ListDecoder {
    /// Maximum length of one asset's text in bytes.
    static let valueBytes = 1 << 20
    private static let fields = "name, priority, assets"

    /// The next token expected by the grammar.
    private enum Phase {
        case start
        case nameOrEnd
        case name
        case colon
        case value
        case commaOrEnd
        case assetOrEnd
        case asset
        case commaOrEndOfAssets
        case end
    }

    private(set) var catalogName: String?
    private(set) var priority: Int?

    private var phase = Phase.start
    private var isObject = false
    private var scan: ValueScan?
    /// The incomplete value, and its start.
    private var held: [UInt8] = []
    private var heldAt = TextPosition(line: 1, column: 1)
    private var start = TextPosition(line: 1, column: 1)
    private var field = ""
    private var seen: Set<String> = []
    private var position = 0
    private(set) var line = 1
    private var column = 1

    var format: ListFormat? { .json }

    func feed(_ bytes: [UInt8], _ output: ListOutput) throws(Failure) {
        var index = 0
        while index < bytes.count {
            if scan != nil {
                try hold(bytes, &index, output)
            } else {
                try step(bytes[index], output)
                // The first byte of a value belongs to it.
                if scan == nil {
                    advance(bytes[index])
                    index += 1
                }
            }
        }
    }

    func finish(_ output: ListOutput) throws(Failure) {
        // Report the incomplete value; a number may be complete.
        if let scan { try value(output, isWhole: scan.endsBeforeDelimiter) }
        guard phase == .end else { throw unexpected(nil) }
        if isObject, !seen.contains("assets") {
            throw Failure(
                .inputField, at: .line(start.line, column: start.column, field: "assets"),
                "is missing",
                allowed: "an array of objects or of URLs")
        }
    }

    private func advance(_ byte: UInt8) {
        if byte == ASCII.lineFeed {
            line += 1
            column = 1
        } else if byte & 0xC0 != 0x80 {
            column += 1
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        ASCII.isBlank(byte) || byte == ASCII.lineFeed || byte == ASCII.carriageReturn
    }

    // MARK: Grammar

    /// Handles one byte outside of values; sets `scan` at the start of a value.
    private func step(_ byte: UInt8, _ output: ListOutput) throws(Failure) {
        if Self.isBlank(byte) { return }
        switch (phase, byte) {
        case (.start, ASCII.openBrace):
            isObject = true
            start = TextPosition(line: line, column: column)
            phase = .nameOrEnd
        case (.start, ASCII.openBracket): phase = .assetOrEnd
        case (.nameOrEnd, ASCII.closeBrace): phase = .end
        case (.nameOrEnd, ASCII.quote), (.name, ASCII.quote):
            phase = .name
            begin(byte)
        case (.colon, ASCII.colon): phase = .value
        case (.value, ASCII.openBracket) where field == "assets":
            phase = .assetOrEnd
        case (.value, ASCII.comma), (.value, ASCII.closeBrace), (.value, ASCII.closeBracket):
            throw unexpected(byte)
        case (.value, _): begin(byte)
        case (.commaOrEnd, ASCII.comma): phase = .name
        case (.commaOrEnd, ASCII.closeBrace): phase = .end
        case (.assetOrEnd, ASCII.closeBracket), (.commaOrEndOfAssets, ASCII.closeBracket):
            phase = isObject ? .commaOrEnd : .end
        case (.assetOrEnd, ASCII.comma), (.assetOrEnd, ASCII.closeBrace),
            (.asset, ASCII.comma), (.asset, ASCII.closeBrace), (.asset, ASCII.closeBracket):
            throw unexpected(byte)
        case (.assetOrEnd, _), (.asset, _):
            phase = .asset
            begin(byte)
        case (.commaOrEndOfAssets, ASCII.comma): phase = .asset
        default: throw unexpected(byte)
        }
    }

    private func unexpected(_ byte: UInt8?) -> Failure {
        let expected =
            switch phase {
            case .start: "{ or ["
            case .nameOrEnd: "} or a name in quotes"
            case .name: "a name in quotes"
            case .colon: "a colon"
            case .value, .asset: "a value"
            case .commaOrEnd: "a comma or }"
            case .assetOrEnd: "] or a value"
            case .commaOrEndOfAssets: "a comma or ]"
            case .end: "the end of the input"
            }
        let given = byte.map { JSONCursor.shown($0) } ?? "the end of the input"
        return Failure(
            .inputMalformed, at: .line(line, column: column),
            "expected \(expected), given \(given)")
    }

    // MARK: Values

    private func begin(_ byte: UInt8) {
        scan = ValueScan(byte)
        heldAt = TextPosition(line: line, column: column)
        held.removeAll(keepingCapacity: true)
    }

    /// Buffers bytes of the current value, up to its end.
    private func hold(
        _ bytes: [UInt8], _ index: inout Int, _ output: ListOutput
    ) throws(Failure) {
        guard var scan else { return }
        let start = index
        var isWhole = false
        while index < bytes.count {
            let verdict = scan.take(bytes[index])
            if verdict == .endsBefore {
                isWhole = true
                break
            }
            advance(bytes[index])
            index += 1
            if verdict == .endsHere {
                isWhole = true
                break
            }
        }
        self.scan = scan
        held += bytes[start..<index]
        if held.count > Self.valueBytes {
            throw Failure(
                .inputTooLarge, "\(heldAt): a value holds at most \(Self.valueBytes) bytes")
        }
        if isWhole { try value(output, isWhole: true) }
    }

    /// Reads the buffered value. `isWhole` is false if the list ends within it, which throws.
    private func value(_ output: ListOutput, isWhole: Bool) throws(Failure) {
        var cursor = JSONCursor(held, at: heldAt)
        if isWhole { scan = nil }
        switch phase {
        case .name:
            let name = try cursor.string()
            guard seen.insert(name).inserted else {
                throw cursor.malformed(
                    "the field \"\(Redaction.shown(name))\" is repeated in one object", at: 0)
            }
            guard ["name", "priority", "assets"].contains(name) else {
                throw cursor.fieldFailure(
                    at: 0, Redaction.shown(name), "is not known here", allowed: Self.fields)
            }
            field = name
            phase = .colon
        case .value:
            _ = try cursor.peek()
            switch field {
            case "name": catalogName = try cursor.name(field, limit: 200)
            case "priority": priority = Int(try cursor.wholeNumber(field, 0...9))
            default: try cursor.expect(.array, field)
            }
            try cursor.finish()
            phase = .commaOrEnd
        default:
            try asset(&cursor, output, isWhole: isWhole)
            phase = .commaOrEndOfAssets
        }
    }

    private func asset(
        _ cursor: inout JSONCursor, _ output: ListOutput, isWhole: Bool
    ) throws(Failure) {
        let path = "\(isObject ? "assets" : "")[\(position)]"
        position += 1
        do throws(Failure) {
            let asset = try JSONAsset.read(&cursor, path, output.rules)
            try cursor.finish()
            if isWhole { try output.add(asset, line: heldAt.line) }
        } catch {
            // After malformed JSON the following values cannot be separated.
            guard isWhole, error.code != .inputMalformed, error.code != .inputTooLarge else {
                throw error
            }
            try output.reject(error)
        }
    }
}

/// Finds the end of a JSON value without parsing it.
private struct ValueScan {
    enum Verdict {
        case goesOn
        case endsHere
        /// A number or a word ends before the next token.
        case endsBefore
    }

    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// True for a number or a word.
    let endsBeforeDelimiter: Bool

    init(_ first: UInt8) {
        endsBeforeDelimiter =
            first != ASCII.quote && first != ASCII.openBrace && first != ASCII.openBracket
    }

    mutating func take(_ byte: UInt8) -> Verdict {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == ASCII.backslash {
                isEscaped = true
            } else if byte == ASCII.quote {
                isInString = false
                if depth == 0 { return .endsHere }
            }
            return .goesOn
        }
        if endsBeforeDelimiter {
            switch byte {
            case ASCII.comma, ASCII.closeBracket, ASCII.closeBrace, ASCII.space, ASCII.tab,
                ASCII.lineFeed, ASCII.carriageReturn:
                return .endsBefore
            default: return .goesOn
            }
        }
        switch byte {
        case ASCII.quote: isInString = true
        case ASCII.openBrace, ASCII.openBracket: depth += 1
        case ASCII.closeBrace, ASCII.closeBracket:
            depth -= 1
            if depth <= 0 { return .endsHere }
        default: break
        }
        return .goesOn
    }
}
