import Model

/// A URL template of a SegmentTemplate (ISO/IEC 23009-1, 5.3.9.4.4) of one representation.
///
/// What differs from segment to segment is `$Number$`, `$Time$` and `$SubNumber$`; the rest is put in
/// when it is made. At most `WireLimits.urlBytes` bytes come of it, but for these numbers.
struct DASHTemplate {
    /// What may be named beside the representation's id and bandwidth.
    enum Use {
        /// Media and index segments.
        case segments
        /// Initialization and bitstream switching segments: nothing.
        case once
    }

    struct Malformed: Error {
        let what: String
    }

    private enum Part {
        case text([UInt8])
        case number(width: Int)
        case time(width: Int)
        case subNumber(width: Int)
    }

    /// Widest number with leading zeros.
    static let maximumWidth = 64

    private var parts: [Part] = []
    /// Of the template at the edge, where that is another one.
    private var edgeParts: [Part] = []
    private var text: [UInt8] = []
    private var count = 0
    private(set) var hasNumber = false
    private(set) var hasTime = false
    private(set) var hasSubNumber = false

    /// Whether two segments of the representation have different URLs.
    var tellsSegments: Bool { hasNumber || hasTime || hasSubNumber }

    init(
        _ template: String, _ use: Use, id: String, bandwidth: Int64
    ) throws(Malformed) {
        let bytes = Array(template.utf8)
        try self.init(bytes[...], use, id, bandwidth)
        let edge = Self.atEdge(bytes)
        if edge != bytes { edgeParts = try DASHTemplate(edge[...], use, id, bandwidth).parts }
    }

    private init(
        _ template: ArraySlice<UInt8>, _ use: Use, _ id: String, _ bandwidth: Int64
    ) throws(Malformed) {
        var rest = template
        while let dollar = rest.firstIndex(of: ASCII.dollar) {
            try append(rest[..<dollar])
            rest = rest[(dollar + 1)...]
            guard let end = rest.firstIndex(of: ASCII.dollar) else {
                throw Malformed(what: "has a $ that nothing closes; write $$")
            }
            try take(rest[..<end], use, id: id, bandwidth: bandwidth)
            rest = rest[(end + 1)...]
        }
        try append(rest)
        if !text.isEmpty { parts.append(.text(text)) }
    }

    private mutating func append(_ bytes: some Collection<UInt8>) throws(Malformed) {
        count += bytes.count
        guard count <= WireLimits.urlBytes else {
            throw Malformed(what: "comes to more than \(WireLimits.urlBytes) bytes")
        }
        text += bytes
    }

    private mutating func append(_ part: Part) {
        if !text.isEmpty { parts.append(.text(text)) }
        text = []
        parts.append(part)
    }

    private mutating func take(
        _ identifier: ArraySlice<UInt8>, _ use: Use, id: String, bandwidth: Int64
    ) throws(Malformed) {
        if identifier.isEmpty { return try append(CollectionOfOne(ASCII.dollar)) }
        let pieces = identifier.split(
            separator: ASCII.percent, maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(decoding: pieces[0], as: UTF8.self)
        let width = try pieces.count == 2 ? Self.width(pieces[1]) : 1
        switch (name, use) {
        case ("RepresentationID", _) where pieces.count == 1: try append(id.utf8)
        case ("Bandwidth", _):
            var digits: [UInt8] = []
            Self.write(bandwidth, width, to: &digits)
            try append(digits)
        case ("Number", .segments):
            hasNumber = true
            append(.number(width: width))
        case ("Time", .segments):
            hasTime = true
            append(.time(width: width))
        case ("SubNumber", .segments):
            hasSubNumber = true
            append(.subNumber(width: width))
        default:
            let shown = String(decoding: identifier.prefix(100), as: UTF8.self)
            throw Malformed(what: "names $\(Redaction.shown(shown))$, which is nothing there")
        }
    }

    /// Of `0NNd`, the one conversion that the standard has.
    private static func width(_ text: ArraySlice<UInt8>) throws(Malformed) -> Int {
        let digits = text.dropLast()
        guard text.last == UInt8(ascii: "d"), digits.allSatisfy(ASCII.isDigit),
            digits.isEmpty || digits.first == UInt8(ascii: "0"), digits.count <= 4
        else { throw Malformed(what: "has a width that is not written as %0Nd") }
        let width = digits.reduce(0) { 10 * $0 + Int($1 - 0x30) }
        guard width <= maximumWidth else {
            throw Malformed(what: "has a width of more than \(maximumWidth)")
        }
        return max(1, width)
    }

    /// Puts the URL reference of one segment in place of what `out` holds.
    func write(number: Int64, time: Int64, subNumber: Int64, into out: inout [UInt8]) {
        Self.write(parts, number: number, time: time, subNumber: subNumber, into: &out)
    }

    /// The same of the reference that its key is made from; leaves nothing where that is the same one.
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
            case .number(let width): write(number, width, to: &out)
            case .time(let width): write(time, width, to: &out)
            case .subNumber(let width): write(subNumber, width, to: &out)
            }
        }
    }

    private static func write(_ number: Int64, _ width: Int, to out: inout [UInt8]) {
        let start = out.count
        var rest = number.magnitude
        repeat {
            out.append(UInt8(rest % 10) + 0x30)
            rest /= 10
        } while rest > 0
        while out.count - start < width { out.append(0x30) }
        out[start...].reverse()
    }
}
