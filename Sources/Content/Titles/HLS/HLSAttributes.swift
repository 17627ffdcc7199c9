import Model
import Text

/// The attribute list of an HLS tag (RFC 8216, section 4.2): `NAME=value,NAME="quoted, value"`.
///
/// It stores ranges of the playlist's bytes without copies. At most 64 attributes.
struct HLSAttributes {
    static let maximumCount = 64

    struct Attribute {
        let name: Range<Int>
        /// Without the quotes.
        let value: Range<Int>
        let isQuoted: Bool

        /// End of the value with its quotes.
        var end: Int { value.upperBound + (isQuoted ? 1 : 0) }
    }

    private let bytes: [UInt8]
    private var attributes: [Attribute] = []
    /// The first repeated name with equal values; nil for none.
    private(set) var repeated: String?

    /// Attributes that determine which bytes a tag refers to, and how they are read.
    private static let decisive: Set = [
        "URI", "METHOD", "KEYFORMAT", "BYTERANGE", "NAME", "VALUE", "IMPORT", "QUERYPARAM",
        "SERVER-URI",
    ]

    /// Describes a malformed list.
    struct Malformed: Error {
        let what: String
    }

    init(_ bytes: [UInt8], _ range: Range<Int>) throws(Malformed) {
        self.bytes = bytes
        var index = range.lowerBound
        while true {
            while index < range.upperBound,
                ASCII.isBlank(bytes[index]) || bytes[index] == ASCII.comma
            { index += 1 }
            guard index < range.upperBound else { return }
            let nameStart = index
            while index < range.upperBound, bytes[index] != ASCII.equals,
                bytes[index] != ASCII.comma
            { index += 1 }
            let name = ASCII.trimmed(bytes, nameStart..<index)
            // Words without a value have no meaning in any tag and are ignored.
            guard index < range.upperBound, bytes[index] == ASCII.equals else { continue }
            index += 1
            let value = try Self.value(bytes, &index, range.upperBound)
            if let known = find(name) {
                let text = String(decoding: bytes[name], as: UTF8.self)
                let isSame = bytes[known.value].elementsEqual(bytes[value.range])
                // With different values the bytes are ambiguous.
                guard isSame || !Self.decisive.contains(text) else {
                    throw Malformed(what: "the attribute \(Redaction.shown(text)) occurs twice")
                }
                repeated = repeated ?? text
                continue
            }
            if attributes.count == Self.maximumCount {
                throw Malformed(what: "a tag has more than \(Self.maximumCount) attributes")
            }
            attributes.append(Attribute(name: name, value: value.range, isQuoted: value.isQuoted))
        }
    }

    private static func value(
        _ bytes: [UInt8], _ index: inout Int, _ end: Int
    ) throws(Malformed) -> (range: Range<Int>, isQuoted: Bool) {
        if index < end, bytes[index] == ASCII.quote {
            let start = index + 1
            index = start
            while index < end, bytes[index] != ASCII.quote { index += 1 }
            guard index < end else { throw Malformed(what: "a quoted value has no closing quote") }
            let value = start..<index
            while index < end, bytes[index] != ASCII.comma { index += 1 }
            return (value, true)
        }
        let start = index
        while index < end, bytes[index] != ASCII.comma { index += 1 }
        return (ASCII.trimmed(bytes, start..<index), false)
    }

    private func find(_ name: Range<Int>) -> Attribute? {
        // Most names differ in length or at their ends.
        attributes.first {
            $0.name.count == name.count
                && (name.isEmpty
                    || bytes[$0.name.lowerBound] == bytes[name.lowerBound]
                        && bytes[$0.name.upperBound - 1] == bytes[name.upperBound - 1]
                        && bytes[$0.name].elementsEqual(bytes[name]))
        }
    }

    /// Returns the attribute of this name, or nil.
    subscript(name: StaticString) -> Attribute? {
        attributes.first { ASCII.equal(bytes, $0.name, name) }
    }

    /// Returns true if the attribute exists and has this value.
    func has(_ name: StaticString, _ value: StaticString) -> Bool {
        guard let attribute = self[name] else { return false }
        return ASCII.equal(bytes, attribute.value, value)
    }
}
