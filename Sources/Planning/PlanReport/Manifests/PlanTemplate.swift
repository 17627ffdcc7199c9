import Rendering

/// A file of `deploy/` with values of an example, which a plan replaces by its own.
///
/// A comment at the end of a line names the values of this line and the texts that they replace:
///
///     replicas: 3  # plan: workers=3
///     # 10 GB of tables; 2 cores.  # plan: tableBytes=10 GB; cores=2
///
/// So the file is valid as it is. A filled template has neither these comments nor the lines that
/// begin with `##`, which document the values. Each text occurs once in its line as a whole word.
/// A column that follows a value keeps its position.
struct PlanTemplate: Sendable {
    enum Malformed: Error, Equatable {
        /// An entry without `=`, or with an empty name or text.
        case entry(String)
        /// A text that occurs never or more than once in its line, or overlaps another.
        case ambiguous(name: String, line: String)
        /// Values without a name in the template, or names without a value.
        case values(Set<String>)
    }

    private enum Piece {
        case text(String)
        /// `width` is that of the replaced text with its padding, if a column follows.
        case value(name: String, width: Int?)
    }

    private static let marker = "  # plan: "
    private var pieces: [Piece] = []
    private(set) var names: Set<String> = []

    init(_ bytes: [UInt8]) throws(Malformed) {
        var lines = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        for line in lines where !line.hasPrefix("##") {
            try append(line)
            pieces.append(.text("\n"))
        }
    }

    /// Returns the text with these values; `values` has exactly the names of the template.
    func filled(_ values: [String: String]) throws(Malformed) -> String {
        let different = names.symmetricDifference(values.keys)
        guard different.isEmpty else { throw .values(different) }
        return pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .value(let name, let width):
                TextLayout.padded(values[name] ?? "", to: width ?? 0)
            }
        }.joined()
    }

    private mutating func append(_ line: Substring) throws(Malformed) {
        let parts = line.split(separator: Self.marker, maxSplits: 1)
        guard parts.count == 2 else {
            pieces.append(.text(String(line)))
            return
        }
        let body = parts[0]
        var found: [(name: String, range: Range<Substring.Index>)] = []
        for entry in parts[1].split(separator: "; ") {
            let (name, range) = try Self.value(entry, in: body)
            found.append((name, range))
        }
        found.sort { $0.range.lowerBound < $1.range.lowerBound }
        var rest = body
        for (name, range) in found {
            guard range.lowerBound >= rest.startIndex else {
                throw .ambiguous(name: name, line: String(body))
            }
            let padding = body[range.upperBound...].prefix { $0 == " " }
            let isColumn = padding.count >= 2
            pieces.append(.text(String(body[rest.startIndex..<range.lowerBound])))
            // One space of the padding stays if the value is longer than the column.
            let width = isColumn ? body[range].count + padding.count - 1 : nil
            pieces.append(.value(name: name, width: width))
            names.insert(name)
            rest = body[(isColumn ? body.index(before: padding.endIndex) : range.upperBound)...]
        }
        pieces.append(.text(String(rest)))
    }

    /// Returns an entry's name, and the range of its text in a line.
    private static func value(
        _ entry: Substring, in line: Substring
    ) throws(Malformed) -> (String, Range<Substring.Index>) {
        let parts = entry.split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else { throw .entry(String(entry)) }
        let (name, text) = (String(parts[0]), parts[1])
        let ranges = line.ranges(of: text).filter { isWord($0, of: line) }
        guard ranges.count == 1 else { throw .ambiguous(name: name, line: String(line)) }
        return (name, ranges[0])
    }

    /// Returns true if no letter or digit continues the text on either side.
    private static func isWord(_ range: Range<Substring.Index>, of line: Substring) -> Bool {
        func continues(_ character: Character?) -> Bool {
            character.map { $0.isLetter || $0.isNumber } ?? false
        }
        return !continues(line[..<range.lowerBound].last)
            && !continues(line[range.upperBound...].first)
    }
}
