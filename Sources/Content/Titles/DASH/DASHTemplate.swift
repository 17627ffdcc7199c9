import Model
import Text

/// A URL template of one representation's SegmentTemplate (ISO/IEC 23009-1, 5.3.9.4.4).
///
/// `$Number$`, `$Time$` and `$SubNumber$` vary by segment; all else is inserted on creation. The
/// result has at most `WireLimits.urlBytes` bytes without these numbers.
struct DASHTemplate {
    /// The identifiers allowed beside the representation's id and bandwidth.
    enum Use {
        /// Media and index segments: all.
        case segments
        /// Initialization and bitstream switching segments: none.
        case once
    }

    struct Malformed: Error {
        let what: String
    }

    /// The template of stored files.
    struct Stored {
        var text: String
        var bandwidth: Int64
    }

    /// The format of a number.
    struct Format {
        var width = 1
        var radix: UInt64 = 10
        var isUpperCase = false
    }

    private enum Part {
        case text([UInt8])
        case number(Format)
        case time(Format)
        case subNumber(Format)
    }

    /// A broken rule of a template.
    struct Deviation {
        let rule: ManifestRule
        let what: String
    }

    /// Maximum width of a number with leading zeros.
    static let maximumWidth = 64

    private var parts: [Part] = []
    /// Parts of the template at the edge, if it differs.
    private var edgeParts: [Part] = []
    private var text: [UInt8] = []
    private var count = 0
    private(set) var hasNumber = false
    private(set) var hasTime = false
    private(set) var hasSubNumber = false
    private let isStrict: Bool
    private(set) var deviations: [Deviation] = []

    /// True if segments of the representation have different URLs.
    var tellsSegments: Bool { hasNumber || hasTime || hasSubNumber }

    /// Parses a template.
    ///
    /// - Parameters:
    ///   - isStrict: true rejects broken rules that players tolerate.
    ///   - names: the query parameters that belong to keys.
    ///   - stored: the template of the stored files, if they have other names, and the bandwidth
    ///     that it may name.
    init(
        _ template: String, _ use: Use, id: String, bandwidth: Int64, isStrict: Bool,
        names: KeyQueryRules.Names = KeyQueryRules.Names(), stored: Stored? = nil
    ) throws(Malformed) {
        let bytes = Array(template.utf8)
        try self.init(bytes[...], use, id, bandwidth, isStrict)
        let edge = Self.atEdge(stored.map { Array($0.text.utf8) } ?? bytes, names)
        let edgeBandwidth = stored?.bandwidth ?? bandwidth
        if edge != bytes || edgeBandwidth != bandwidth {
            edgeParts = try DASHTemplate(edge[...], use, id, edgeBandwidth, isStrict).parts
        }
    }

    private init(
        _ template: ArraySlice<UInt8>, _ use: Use, _ id: String, _ bandwidth: Int64,
        _ isStrict: Bool
    ) throws(Malformed) {
        self.isStrict = isStrict
        var rest = template
        while let dollar = rest.firstIndex(of: ASCII.dollar) {
            try append(rest[..<dollar])
            rest = rest[(dollar + 1)...]
            guard let end = rest.firstIndex(of: ASCII.dollar) else {
                try deviate(.dashIdentifier, "has an unclosed $; write $$")
                try append(CollectionOfOne(ASCII.dollar))
                break
            }
            if try take(rest[..<end], use, id: id, bandwidth: bandwidth) {
                rest = rest[(end + 1)...]
            } else {
                // The closing dollar may open a known identifier.
                try append(CollectionOfOne(ASCII.dollar))
            }
        }
        try append(rest)
        if !text.isEmpty { parts.append(.text(text)) }
    }

    private mutating func append(_ bytes: some Collection<UInt8>) throws(Malformed) {
        count += bytes.count
        guard count <= WireLimits.urlBytes else {
            throw Malformed(what: "exceeds \(WireLimits.urlBytes) bytes")
        }
        text += bytes
    }

    private mutating func append(_ part: Part) {
        if !text.isEmpty { parts.append(.text(text)) }
        text = []
        parts.append(part)
    }

    /// Records a broken rule, the first time.
    private mutating func deviate(
        _ rule: ManifestRule, _ what: @autoclosure () -> String
    ) throws(Malformed) {
        if isStrict { throw Malformed(what: what()) }
        if deviations.contains(where: { $0.rule == rule }) { return }
        deviations.append(Deviation(rule: rule, what: what()))
    }

    private enum Identifier: CaseIterable {
        case representationID, bandwidth, number, time, subNumber

        private var name: StaticString {
            switch self {
            case .representationID: "RepresentationID"
            case .bandwidth: "Bandwidth"
            case .number: "Number"
            case .time: "Time"
            case .subNumber: "SubNumber"
            }
        }

        /// A template may have thousands of unknown identifiers.
        init?(_ text: ArraySlice<UInt8>) {
            let known = Self.allCases.first {
                $0.name.utf8CodeUnitCount == text.count
                    && text.elementsEqual(
                        UnsafeBufferPointer(start: $0.name.utf8Start, count: text.count))
            }
            guard let known else { return nil }
            self = known
        }
    }

    /// Parses the text between two dollars; false if it is not an identifier and its dollar is
    /// literal.
    private mutating func take(
        _ identifier: ArraySlice<UInt8>, _ use: Use, id: String, bandwidth: Int64
    ) throws(Malformed) -> Bool {
        if identifier.isEmpty {
            try append(CollectionOfOne(ASCII.dollar))
            return true
        }
        if identifier.count < "Time".utf8.count, deviations.first?.rule == .dashIdentifier {
            return false
        }
        let name = identifier.prefix { $0 != ASCII.percent }
        let conversion = identifier[name.endIndex...].dropFirst()
        let hasWidth = name.count < identifier.count
        func shown() -> String {
            Redaction.shown(String(decoding: identifier.prefix(100), as: UTF8.self))
        }
        guard let known = Identifier(name) else {
            if hasWidth, isStrict { _ = try format(conversion) }
            try deviate(.dashIdentifier, "names $\(shown())$, which is not an identifier there")
            return false
        }
        let format = try hasWidth ? format(conversion) : Format()
        switch (known, use) {
        case (.representationID, _):
            if hasWidth {
                try deviate(.dashWidth, "names $\(shown())$, which is not an identifier there")
            }
            try append(id.utf8)
        case (.bandwidth, _):
            var digits: [UInt8] = []
            Self.write(bandwidth, format, to: &digits)
            try append(digits)
        case (.number, .segments):
            hasNumber = true
            append(.number(format))
        case (.time, .segments):
            hasTime = true
            append(.time(format))
        case (.subNumber, .segments):
            hasSubNumber = true
            append(.subNumber(format))
        default:
            // An unknown identifier: players request it literally.
            try deviate(.dashIdentifier, "names $\(shown())$, which is not an identifier there")
            try append([ASCII.dollar] + identifier + [ASCII.dollar])
        }
        return true
    }

    /// Parses `0NNd`, the only conversion of the standard, or another printf conversion of whole
    /// numbers, with its length modifiers.
    private mutating func format(_ text: ArraySlice<UInt8>) throws(Malformed) -> Format {
        let digits = text.prefix(while: ASCII.isDigit)
        let sizes = text[digits.endIndex...].dropLast()
        let conversion = text.count > digits.count ? text.last : nil
        var format = Format()
        switch conversion {
        case UInt8(ascii: "d"), UInt8(ascii: "i"), UInt8(ascii: "u"): break
        case UInt8(ascii: "x"): format.radix = 16
        case UInt8(ascii: "X"): (format.radix, format.isUpperCase) = (16, true)
        case UInt8(ascii: "o"): format.radix = 8
        default: throw Malformed(what: Self.badWidth)
        }
        guard digits.isEmpty || digits.first == UInt8(ascii: "0"), digits.count <= 4,
            sizes.count <= 2, sizes.allSatisfy({ "hlLqjzt".utf8.contains($0) })
        else { throw Malformed(what: Self.badWidth) }
        if conversion != UInt8(ascii: "d") || !sizes.isEmpty {
            try deviate(.dashWidth, Self.badWidth)
        }
        format.width = max(1, digits.reduce(0) { 10 * $0 + Int($1 - 0x30) })
        guard format.width <= Self.maximumWidth else {
            throw Malformed(what: "has a width of more than \(Self.maximumWidth)")
        }
        return format
    }

    private static let badWidth = "has a width that is not written as %0Nd"

    /// The template with the representation's values in place of their identifiers.
    var written: String {
        var out: [UInt8] = []
        func write(_ name: String, _ format: Format) {
            out += "$\(name)".utf8
            if format.width > 1 || format.radix != 10 {
                let conversion =
                    format.radix == 10
                    ? "d" : format.radix == 8 ? "o" : format.isUpperCase ? "X" : "x"
                out += "%0\(format.width)\(conversion)".utf8
            }
            out.append(ASCII.dollar)
        }
        for part in parts {
            switch part {
            case .text(let bytes):
                for byte in bytes { out += byte == ASCII.dollar ? [byte, byte] : [byte] }
            case .number(let format): write("Number", format)
            case .time(let format): write("Time", format)
            case .subNumber(let format): write("SubNumber", format)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Replaces the contents of `out` by the URL reference of one segment.
    func write(number: Int64, time: Int64, subNumber: Int64, into out: inout [UInt8]) {
        Self.write(parts, number: number, time: time, subNumber: subNumber, into: &out)
    }

    /// Writes the reference for the segment's key; empties `out` if it is the same.
    func writeAtEdge(number: Int64, time: Int64, subNumber: Int64, into out: inout [UInt8]) {
        Self.write(edgeParts, number: number, time: time, subNumber: subNumber, into: &out)
    }

    private static func write(
        _ parts: [Part], number: Int64, time: Int64, subNumber: Int64, into out: inout [UInt8]
    ) {
        out.removeAll(keepingCapacity: true)
        for part in parts {
            switch part {
            case .text(let bytes): out += bytes
            case .number(let format): write(number, format, to: &out)
            case .time(let format): write(time, format, to: &out)
            case .subNumber(let format): write(subNumber, format, to: &out)
            }
        }
    }

    private static func write(_ number: Int64, _ format: Format, to out: inout [UInt8]) {
        let start = out.count
        var rest = number.magnitude
        if format.radix == 10 {
            // By far the most common case.
            repeat {
                out.append(UInt8(rest % 10) + 0x30)
                rest /= 10
            } while rest > 0
        } else {
            let letters = UInt8(ascii: format.isUpperCase ? "A" : "a") - 10
            repeat {
                let digit = UInt8(rest % format.radix)
                out.append(digit + (digit < 10 ? 0x30 : letters))
                rest /= format.radix
            } while rest > 0
        }
        while out.count - start < format.width { out.append(0x30) }
        out[start...].reverse()
    }
}
