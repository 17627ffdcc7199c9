internal import Glibc
package import Model

/// Checks a request's body before it is decoded. The decoder's memory grows with the number of
/// values, many bytes each, and it would accept a repeated name.
///
/// One pass, no recursion; keeps the names of open objects. The decoder checks the contents of
/// strings and numbers.
package enum JSONShape {
    /// Maximum nesting, far deeper than any request.
    package static let maximumDepth = 16
    /// Maximum number of values, without the names in objects: twice those of the largest request.
    package static let maximumValues = 100_000

    /// Throws `input.malformed` with line and column, and `input.tooLarge`.
    ///
    /// - Parameter what: the checked text, for the message.
    package static func check(
        _ body: [UInt8], _ what: String = "The request's body"
    ) throws(Failure) {
        let problem = body.withUnsafeBufferPointer { bytes in
            var scan = Scan(bytes: bytes)
            return scan.run()
        }
        guard let problem else { return }
        if case .tooMany = problem.kind {
            throw Failure(
                .inputTooLarge,
                "\(what) has more than \(maximumValues) values; send fewer at once.")
        }
        let before = body[..<problem.offset]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        throw Failure(
            .inputMalformed,
            "\(what), line \(line), column \(problem.offset - lineStart + 1): "
                + problem.kind.description)
    }

    private struct Problem {
        var kind: Kind
        var offset: Int
    }

    private enum Kind {
        case tooMany, tooDeep, ends, notJSON, repeated, escapedName

        var description: String {
            switch self {
            case .tooMany: "too many values."
            case .tooDeep: "nested more than \(maximumDepth) deep."
            case .ends: "it ends here."
            case .notJSON: "not JSON."
            case .repeated: "a name appears twice in one object."
            case .escapedName: "a name with an escape."
            }
        }
    }

    /// The tokens that may come next.
    private enum Expected {
        /// A value; `valueOrEnd` also allows `]`, after `[`.
        case value, valueOrEnd
        /// A name; `nameOrEnd` also allows `}`, after `{`.
        case name, nameOrEnd
        case colon
        /// A comma or the container's end; nothing at depth 0.
        case more
    }

    private struct Scan {
        let bytes: UnsafeBufferPointer<UInt8>
        var index = 0
        var values = 0
        var expected = Expected.value
        /// Open containers: an object's names so far, nil for an array.
        var open: [Set<String>?] = []

        init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

        mutating func run() -> Problem? {
            while index < bytes.count {
                let start = index
                let byte = bytes[index]
                index += 1
                let kind: Kind? =
                    switch byte {
                    case 0x20, 0x09, 0x0A, 0x0D: nil
                    case UInt8(ascii: "\""): string()
                    case UInt8(ascii: "{"): begin(names: [])
                    case UInt8(ascii: "["): begin(names: nil)
                    case UInt8(ascii: "}"), UInt8(ascii: "]"): end(byte)
                    case UInt8(ascii: ","): comma()
                    case UInt8(ascii: ":"): colon()
                    default: scalar(byte)
                    }
                if let kind { return Problem(kind: kind, offset: start) }
            }
            let isWhole = open.isEmpty && expected == .more
            return isWhole ? nil : Problem(kind: .ends, offset: bytes.count)
        }

        /// Counts a value, if one is allowed here.
        private mutating func value() -> Kind? {
            guard expected == .value || expected == .valueOrEnd else { return .notJSON }
            values += 1
            expected = .more
            return values <= maximumValues ? nil : .tooMany
        }

        private mutating func begin(names: Set<String>?) -> Kind? {
            if let problem = value() { return problem }
            guard open.count < maximumDepth else { return .tooDeep }
            open.append(names)
            expected = names == nil ? .valueOrEnd : .nameOrEnd
            return nil
        }

        private mutating func end(_ byte: UInt8) -> Kind? {
            guard let names = open.last else { return .notJSON }
            let isObject = names != nil
            guard isObject == (byte == UInt8(ascii: "}")),
                expected == .more || expected == (isObject ? .nameOrEnd : .valueOrEnd)
            else { return .notJSON }
            open.removeLast()
            expected = .more
            return nil
        }

        private mutating func comma() -> Kind? {
            guard expected == .more, let names = open.last else { return .notJSON }
            expected = names == nil ? .value : .name
            return nil
        }

        private mutating func colon() -> Kind? {
            guard expected == .colon else { return .notJSON }
            expected = .value
            return nil
        }

        private mutating func string() -> Kind? {
            let start = index
            guard let end = stringEnd() else { return .ends }
            index = end + 1
            guard expected == .name || expected == .nameOrEnd else { return value() }
            expected = .colon
            let name = UnsafeBufferPointer(rebasing: bytes[start..<end])
            // Two spellings of one name would not be recognized as equal.
            guard !name.contains(UInt8(ascii: "\\")) else { return .escapedName }
            let isNew = open[open.count - 1]?.insert(String(decoding: name, as: UTF8.self)).inserted
            return isNew == true ? nil : .repeated
        }

        /// Returns the index of the quote that closes the string at `index`.
        private func stringEnd() -> Int? {
            var from = index
            while from < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + from, Int32(UInt8(ascii: "\"")), bytes.count - from)
            {
                let quote = UnsafeRawPointer(found) - UnsafeRawPointer(base)
                var slash = quote
                while slash > index, bytes[slash - 1] == UInt8(ascii: "\\") { slash -= 1 }
                if (quote - slash).isMultiple(of: 2) { return quote }
                from = quote + 1
            }
            return nil
        }

        /// Skips a number, `true`, `false` or `null`, up to the first byte that none contains.
        private mutating func scalar(_ first: UInt8) -> Kind? {
            switch first {
            case 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "t"), UInt8(ascii: "f"),
                UInt8(ascii: "n"):
                break
            default: return .notJSON
            }
            while index < bytes.count {
                switch bytes[index] {
                case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "-"),
                    UInt8(ascii: "."), UInt8(ascii: "E"):
                    index += 1
                default: return value()
                }
            }
            return value()
        }
    }
}
