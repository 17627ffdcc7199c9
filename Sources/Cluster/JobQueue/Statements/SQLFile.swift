/// A statement for PostgreSQL, with the names of its parameters.
package struct SQLStatement: Sendable, Equatable {
    package let name: String
    /// The text with `$1`, `$2`, … for the parameters' names, and without comments.
    let text: String
    /// Names in the order of their numbers.
    let parameters: [String]
    /// Otherwise PostgreSQL plans it each time it runs.
    var isPrepared = true
    /// Events that change states of rows, by table and event: `asset.cancel`.
    var raises: [String] = []
}

/// A file of statements, such as `SQL/reporting.sql`.
///
/// An entry begins with a line `-- name: settle`, and ends before the next one:
///
///     -- name: settle
///     -- Why, and what @jobs are.
///     DELETE FROM job WHERE id = ANY(@jobs::bigint[]) AND {{isHeld}}
///
/// Parameters are named, `@jobs`. `{{isHeld}}` is a fragment: an entry `-- fragment: isHeld` of
/// this file or of `common.sql`, or a text given to the parser. An entry `-- template: page` is a
/// statement whose remaining placeholders are filled at its use.
///
/// Statements are prepared. One that reads or writes a whole catalog is an entry
/// `-- unprepared: cancel`: PostgreSQL plans it at each execution, for its values and the current
/// sizes of tables. Who fills a template decides which of both it is.
///
/// A statement that changes a state names the events of the state's `StateMachine` by the row's
/// table, in a line `-- raises: asset.cancel, catalog.cancel` below its name.
package struct SQLFile: Sendable {
    /// The reason why a file cannot be read.
    enum Malformed: Error, Equatable {
        /// Text other than comments before the first entry.
        case noEntry
        case duplicate(String)
        /// A placeholder that is neither a fragment nor given.
        case unknown(String)
        /// Fragments that contain each other.
        case endless(String)
        /// An unterminated quote, comment or placeholder.
        case unfinished(String)
        /// `$1`: parameters must be named.
        case positional(String)
    }

    private(set) var statements: [String: SQLStatement] = [:]
    /// Names in the order of the file.
    private(set) var names: [String] = []
    private(set) var templates: [String: [UInt8]] = [:]
    /// Fragments and given texts, by name.
    private(set) var placeholders: SQLPlaceholders

    init(_ bytes: [UInt8], _ shared: SQLPlaceholders = SQLPlaceholders()) throws(Malformed) {
        placeholders = shared
        let entries = try Self.entries(of: bytes)
        var taken: Set<String> = []
        for entry in entries {
            guard taken.insert(entry.name).inserted else { throw .duplicate(entry.name) }
            switch entry.kind {
            case .name, .unprepared: continue
            case .template: templates[entry.name] = Array(entry.body)
            case .fragment:
                guard placeholders.texts[entry.name] == nil,
                    placeholders.fragments.updateValue(Array(entry.body), forKey: entry.name) == nil
                else { throw .duplicate(entry.name) }
            }
        }
        for entry in entries where [.name, .unprepared].contains(entry.kind) {
            statements[entry.name] = try Self.statement(
                entry.name, entry.body, placeholders, isPrepared: entry.kind == .name)
            statements[entry.name]?.raises = entry.raises
            names.append(entry.name)
        }
    }

    /// Fills a template's placeholders with these texts.
    func filled(
        _ template: String, _ texts: [String: String], isPrepared: Bool = false
    ) throws(Malformed) -> SQLStatement {
        guard let body = templates[template] else { throw .unknown(template) }
        var placeholders = placeholders
        placeholders.texts.merge(texts) { $1 }
        return try Self.statement(template, body[...], placeholders, isPrepared: isPrepared)
    }

    private static func statement(
        _ name: String, _ body: ArraySlice<UInt8>, _ placeholders: SQLPlaceholders,
        isPrepared: Bool
    ) throws(Malformed) -> SQLStatement {
        var scanner = SQLScanner(name, placeholders)
        try scanner.scan(body)
        var statement = scanner.statement
        statement.isPrepared = isPrepared
        return statement
    }

    // MARK: Entries

    private enum Kind: String, CaseIterable { case name, unprepared, fragment, template }

    private struct Entry {
        var kind: Kind
        var name: String
        var body: ArraySlice<UInt8>
        var raises: [String] = []
    }

    private static let raises = Array("-- raises: ".utf8)

    private static let marks = Kind.allCases.map { (kind: $0, bytes: Array("-- \($0): ".utf8)) }

    private static func entries(of bytes: [UInt8]) throws(Malformed) -> [Entry] {
        var entries: [Entry] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            let next = min(end + 1, bytes.count)
            let line = bytes[start..<end]
            if let mark = mark(of: line) {
                let name = String(decoding: line.dropFirst(mark.bytes.count), as: UTF8.self)
                entries.append(Entry(kind: mark.kind, name: name, body: bytes[next..<next]))
            } else if let last = entries.indices.last {
                // Without its comments, so that a fragment begins with its first word.
                let isComment = entries[last].body.isEmpty && line.starts(with: "--".utf8)
                if isComment, line.starts(with: raises) {
                    entries[last].raises += String(
                        decoding: line.dropFirst(raises.count), as: UTF8.self
                    ).split(separator: ", ").map(String.init)
                }
                let begin = isComment ? next : entries[last].body.startIndex
                entries[last].body = bytes[begin..<next]
            } else if !line.isEmpty, !line.starts(with: "--".utf8) {
                throw .noEntry
            }
            start = next
        }
        return entries
    }

    private static func mark(of line: ArraySlice<UInt8>) -> (kind: Kind, bytes: [UInt8])? {
        guard line.starts(with: "-- ".utf8) else { return nil }
        return marks.first { line.starts(with: $0.bytes) }
    }
}

/// Replacements of `{{name}}`.
struct SQLPlaceholders: Sendable {
    /// SQL that may have parameters, comments and placeholders.
    var fragments: [String: [UInt8]] = [:]
    /// Texts that are inserted unchanged, also within quotes; they may have parameters.
    var texts: [String: String] = [:]
}
