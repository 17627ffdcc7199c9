import Text

/// Finds the elements of an XML document in its bytes. The document must have passed `XMLReader`:
/// well formed, UTF-8, without a document type, smaller than 2³² bytes.
struct MarkupScanner {
    /// A listed element.
    private struct Row {
        /// Index of its name among the listed ones.
        var name: UInt16
        var attributes: UInt16
        var firstAttribute: UInt32
        var parent: Int32
        var nameEnd: UInt32
        var start: UInt32
        var end: UInt32
        var contentStart: UInt32
        var contentEnd: UInt32
    }

    fileprivate struct Attribute {
        var nameStart: UInt32
        var nameEnd: UInt32
        var valueStart: UInt32
        var valueEnd: UInt32
    }

    private let bytes: [UInt8]
    private let names: [String]
    private let nameBytes: [[UInt8]]
    private let attributeNames: [[UInt8]]
    private let leaf: (name: [UInt8], isListed: (ArraySlice<UInt8>) -> Bool)?
    /// Index of each open element; nil if it is not listed, like all its contents.
    private var open: [Int32?] = []
    private var rows: [Row] = []
    private var attributes: [Attribute] = []
    /// Attributes of the current tag.
    private var tagAttributes: [Attribute] = []
    private(set) var leafValues: [LeafValue] = []

    /// The value of an attribute of an element that may occur a million times.
    struct LeafValue {
        private let lower: UInt32
        private let upper: UInt32
        private let parentIndex: Int32

        fileprivate init(_ attribute: Attribute, parent: Int32) {
            lower = attribute.valueStart
            upper = attribute.valueEnd
            parentIndex = parent
        }

        /// Without its quotes, as written.
        var range: Range<Int> { Int(lower)..<Int(upper) }
        /// Index of its element's parent; -1 for none.
        var parent: Int { Int(parentIndex) }
    }

    /// Scans a document.
    ///
    /// - Parameters:
    ///   - names: names of the elements to list; others are ignored with their contents.
    ///   - attributes: names of the attributes to list.
    ///   - leaf: name of elements that are not listed themselves; of their attributes, the values
    ///     that satisfy `isListed` are.
    init(
        _ bytes: [UInt8], _ names: [String], attributes: [String],
        leaf: (name: String, isListed: (ArraySlice<UInt8>) -> Bool)? = nil
    ) {
        self.bytes = bytes
        self.names = names
        nameBytes = names.map { Array($0.utf8) }
        attributeNames = attributes.map { Array($0.utf8) }
        self.leaf = leaf.map { (Array($0.name.utf8), $0.isListed) }
        var index = 0
        while let start = find(ASCII.less, from: index) {
            index = markup(at: start)
        }
    }

    private func find(_ byte: UInt8, from start: Int) -> Int? {
        let found = ASCII.index(of: byte, in: bytes, from: start)
        return found < bytes.count ? found : nil
    }

    /// Reads the markup at `start` and returns its end.
    private mutating func markup(at start: Int) -> Int {
        let rest = start..<bytes.count
        if ASCII.hasPrefix(bytes, rest, "<!--") { return end(of: "-->", from: start + 4) }
        if ASCII.hasPrefix(bytes, rest, "<![CDATA[") { return end(of: "]]>", from: start + 9) }
        if ASCII.hasPrefix(bytes, rest, "<?") { return end(of: "?>", from: start + 2) }
        guard ASCII.hasPrefix(bytes, rest, "</") else { return tag(at: start) }
        let end = find(0x3E, from: start) ?? bytes.count - 1
        if let closed = open.popLast(), let closed {
            let element = Int(closed)
            rows[element].contentEnd = Swift.max(rows[element].contentStart, UInt32(start))
            rows[element].end = UInt32(end + 1)
        }
        return end + 1
    }

    private func end(of text: StaticString, from start: Int) -> Int {
        var index = start
        while let next = find(text.utf8Start[0], from: index) {
            if ASCII.hasPrefix(bytes, next..<bytes.count, text) {
                return next + text.utf8CodeUnitCount
            }
            index = next + 1
        }
        return bytes.count
    }

    private mutating func tag(at start: Int) -> Int {
        var index = start + 1
        let name = self.name(&index)
        let nameEnd = index
        let isSeen = open.isEmpty || open[open.count - 1] != nil
        let number = isSeen ? nameBytes.firstIndex { isNamed($0, name) } : nil
        let isLeaf = isSeen && leaf.map { isNamed($0.name, name) } ?? false
        tagAttributes.removeAll(keepingCapacity: true)
        while index < bytes.count, bytes[index] != 0x3E, bytes[index] != ASCII.slash {
            if bytes[index] <= ASCII.space {
                index += 1
                continue
            }
            let attribute = self.name(&index)
            while index < bytes.count, bytes[index] != ASCII.quote, bytes[index] != 0x27 {
                index += 1
            }
            guard index < bytes.count else { return index }
            let first = index + 1
            let last = find(bytes[index], from: first) ?? bytes.count
            let isOfInterest =
                (number != nil || isLeaf) && attributeNames.contains { isNamed($0, attribute) }
            if isOfInterest {
                tagAttributes.append(
                    Attribute(
                        nameStart: UInt32(attribute.lowerBound),
                        nameEnd: UInt32(attribute.upperBound), valueStart: UInt32(first),
                        valueEnd: UInt32(last)))
            }
            index = Swift.min(last + 1, bytes.count)
        }
        let isEmpty = index < bytes.count && bytes[index] == ASCII.slash
        let end = Swift.min((find(0x3E, from: index) ?? bytes.count - 1) + 1, bytes.count)
        let parent = open.last.flatMap { $0 } ?? -1
        if let number {
            rows.append(
                Row(
                    name: UInt16(number), attributes: UInt16(clamping: tagAttributes.count),
                    firstAttribute: UInt32(attributes.count), parent: parent,
                    nameEnd: UInt32(nameEnd), start: UInt32(start), end: UInt32(end),
                    contentStart: UInt32(end), contentEnd: UInt32(end)))
            attributes += tagAttributes
        } else if isLeaf, let leaf {
            for attribute in tagAttributes {
                let value = LeafValue(attribute, parent: parent)
                if leaf.isListed(bytes[value.range]) { leafValues.append(value) }
            }
        }
        if !isEmpty {
            open.append(number == nil ? nil : Int32(rows.count - 1))
        }
        return end
    }

    private func isNamed(_ name: [UInt8], _ range: Range<Int>) -> Bool {
        name.count == range.count && bytes[range].elementsEqual(name)
    }

    /// Reads a name and returns it without its prefix.
    private func name(_ index: inout Int) -> Range<Int> {
        var start = index
        while index < bytes.count, bytes[index] > ASCII.space, bytes[index] != 0x3E,
            bytes[index] != ASCII.slash, bytes[index] != ASCII.equals
        {
            if bytes[index] == ASCII.colon { start = index + 1 }
            index += 1
        }
        return start..<index
    }
}

/// The listed elements in the order of their starts.
extension MarkupScanner: RandomAccessCollection {
    var startIndex: Int { 0 }
    var endIndex: Int { rows.count }

    struct Element {
        /// Without its prefix.
        let name: String
        /// Index of its parent; -1 for the root.
        let parent: Int
        /// The whole element, from its first angle bracket to its last.
        let bytes: Range<Int>
        /// Contents between its tags; empty for an empty element.
        let content: Range<Int>
        /// End of its name, which may have a prefix.
        let nameEnd: Int
        fileprivate let document: [UInt8]
        fileprivate let attributes: ArraySlice<Attribute>

        /// Returns the value by local name, without its quotes, as written.
        func attribute(_ name: String) -> Range<Int>? {
            attributes.first { attribute in
                document[Int(attribute.nameStart)..<Int(attribute.nameEnd)]
                    .elementsEqual(name.utf8)
            }.map { Int($0.valueStart)..<Int($0.valueEnd) }
        }
    }

    subscript(index: Int) -> Element {
        let row = rows[index]
        let first = Int(row.firstAttribute)
        return Element(
            name: names[Int(row.name)], parent: Int(row.parent),
            bytes: Int(row.start)..<Int(row.end),
            content: Int(row.contentStart)..<Int(row.contentEnd), nameEnd: Int(row.nameEnd),
            document: bytes, attributes: attributes[first..<(first + Int(row.attributes))])
    }
}
