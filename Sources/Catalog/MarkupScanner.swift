/// Finds the elements of an XML document in its bytes, for documents that `XMLReader` has taken: well
/// formed, UTF-8, without a document type.
struct MarkupScanner {
    struct Element {
        /// Without its prefix.
        var name: String
        /// Place of the element that it stands in; -1 for the root.
        var parent: Int
        /// All of it, from its first angle bracket to its last.
        var bytes: Range<Int>
        /// Between its tags; empty for one without content.
        var content: Range<Int>
        /// Where its name ends, which may have a prefix.
        var nameEnd: Int
        /// Values by local name, without their quotes, as they are written.
        var attributes: [(name: String, value: Range<Int>)] = []

        func attribute(_ name: String) -> Range<Int>? {
            attributes.first { $0.name == name }?.value
        }
    }

    private let bytes: [UInt8]
    private let names: Set<String>
    private let isListed: ([UInt8], Element) -> Bool
    private var open: [(name: String, place: Int?)] = []
    private(set) var elements: [Element] = []

    /// - Parameters:
    ///   - names: of the elements to list; the others are passed over, with what stands in them listed as if
    ///     it stood in what they stand in.
    ///   - isListed: of those, by their attributes.
    init(
        _ bytes: [UInt8], _ names: Set<String>, where isListed: @escaping ([UInt8], Element) -> Bool
    ) {
        self.bytes = bytes
        self.names = names
        self.isListed = isListed
        var place = 0
        while let start = bytes[place...].firstIndex(of: ASCII.less) {
            place = markup(at: start)
        }
    }

    /// Takes the markup that begins at `start`; answers where it ends.
    private mutating func markup(at start: Int) -> Int {
        let rest = start..<bytes.count
        if ASCII.hasPrefix(bytes, rest, "<!--") { return end(of: "-->", from: start + 4) }
        if ASCII.hasPrefix(bytes, rest, "<![CDATA[") { return end(of: "]]>", from: start + 9) }
        if ASCII.hasPrefix(bytes, rest, "<?") { return end(of: "?>", from: start + 2) }
        if ASCII.hasPrefix(bytes, rest, "</") {
            let end = bytes[start...].firstIndex(of: 0x3E) ?? bytes.count - 1
            if let closed = open.popLast(), let element = closed.place {
                let content = elements[element].content.lowerBound
                elements[element].content = content..<max(content, start)
                elements[element].bytes = elements[element].bytes.lowerBound..<(end + 1)
            }
            return end + 1
        }
        return tag(at: start)
    }

    private func end(of text: StaticString, from start: Int) -> Int {
        var place = start
        while place < bytes.count {
            if ASCII.hasPrefix(bytes, place..<bytes.count, text) {
                return place + text.utf8CodeUnitCount
            }
            place += 1
        }
        return bytes.count
    }

    private mutating func tag(at start: Int) -> Int {
        var place = start + 1
        let name = self.name(&place)
        var element = Element(
            name: name, parent: open.last { $0.place != nil }?.place ?? -1, bytes: start..<start,
            content: start..<start, nameEnd: place)
        let isWanted = names.contains(name)
        while place < bytes.count, bytes[place] != 0x3E, bytes[place] != ASCII.slash {
            if bytes[place] <= ASCII.space {
                place += 1
                continue
            }
            let attribute = self.name(&place)
            while place < bytes.count, bytes[place] != ASCII.quote, bytes[place] != 0x27 {
                place += 1
            }
            guard place < bytes.count else { return place }
            let first = place + 1
            let last = bytes[first...].firstIndex(of: bytes[place]) ?? bytes.count
            if isWanted { element.attributes.append((attribute, first..<last)) }
            place = min(last + 1, bytes.count)
        }
        let isEmpty = place < bytes.count && bytes[place] == ASCII.slash
        let end = min((bytes[place...].firstIndex(of: 0x3E) ?? bytes.count - 1) + 1, bytes.count)
        element.bytes = start..<end
        element.content = end..<end
        let isKept = isWanted && isListed(bytes, element)
        if isKept { elements.append(element) }
        if !isEmpty { open.append((name, isKept ? elements.count - 1 : nil)) }
        return end
    }

    /// A name without its prefix.
    private func name(_ place: inout Int) -> String {
        var start = place
        while place < bytes.count, bytes[place] > ASCII.space, bytes[place] != 0x3E,
            bytes[place] != ASCII.slash, bytes[place] != ASCII.equals
        {
            if bytes[place] == ASCII.colon { start = place + 1 }
            place += 1
        }
        return String(decoding: bytes[start..<place], as: UTF8.self)
    }
}
