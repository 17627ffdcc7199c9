/// A statement as PostgreSQL takes it, with the names of its parameters.
struct SQLStatement: Sendable, Equatable {
    let name: String
    /// With `$1`, `$2`, … in place of the parameters' names, and without comments.
    let text: String
    /// In the order of their numbers.
    let parameters: [String]
}

/// A file of statements: `SQL/reporting.sql`, say.
///
/// An entry begins with a line `-- name: settle`, and reaches to the next one:
///
///     -- name: settle
///     -- Why, and what @jobs are.
///     DELETE FROM job WHERE id = ANY(@jobs::bigint[]) AND {{isHeld}}
///
/// Parameters are named, `@jobs`. `{{isHeld}}` is a fragment, an entry `-- fragment: isHeld` of this file or of
/// `common.sql`, or a text that is given to the parser. An entry `-- template: page` is a statement some of whose
/// placeholders are filled where it is used.
struct SQLFile: Sendable {
    /// Why a file cannot be read.
    enum Malformed: Error, Equatable {
        /// Something else than comments is before the first entry.
        case noEntry
        case duplicate(String)
        /// A placeholder that is neither a fragment nor given.
        case unknown(String)
        /// Fragments that contain each other.
        case endless(String)
        /// A quote, a comment or a placeholder that does not end.
        case unfinished(String)
        /// `$1`: parameters are named.
        case positional(String)
    }

    private(set) var statements: [String: SQLStatement] = [:]
    /// In the order of the file.
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
            case .name: continue
            case .template: templates[entry.name] = Array(entry.body)
            case .fragment:
                guard placeholders.texts[entry.name] == nil,
                    placeholders.fragments.updateValue(Array(entry.body), forKey: entry.name) == nil
                else { throw .duplicate(entry.name) }
            }
        }
        for entry in entries where entry.kind == .name {
            statements[entry.name] = try Self.statement(entry.name, entry.body, placeholders)
            names.append(entry.name)
        }
    }

    /// A template with these texts in its placeholders.
    func filled(
        _ template: String, _ texts: [String: String]
    ) throws(Malformed) -> SQLStatement {
        guard let body = templates[template] else { throw .unknown(template) }
        var placeholders = placeholders
        placeholders.texts.merge(texts) { $1 }
        return try Self.statement(template, body[...], placeholders)
    }

    private static func statement(
        _ name: String, _ body: ArraySlice<UInt8>, _ placeholders: SQLPlaceholders
    ) throws(Malformed) -> SQLStatement {
        var scanner = SQLScanner(name, placeholders)
        try scanner.scan(body)
        return scanner.statement
    }

    // MARK: Entries

    private enum Kind: String, CaseIterable { case name, fragment, template }

    private struct Entry {
        var kind: Kind
        var name: String
        var body: ArraySlice<UInt8>
    }

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
                // Its comments are not part of it, so that a fragment begins with its first word.
                let isComment = entries[last].body.isEmpty && line.starts(with: "--".utf8)
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

/// What `{{name}}` can stand for.
struct SQLPlaceholders: Sendable {
    /// SQL that may have parameters, comments and placeholders of its own.
    var fragments: [String: [UInt8]] = [:]
    /// As they are, also within quotes; they may have parameters.
    var texts: [String: String] = [:]
}
