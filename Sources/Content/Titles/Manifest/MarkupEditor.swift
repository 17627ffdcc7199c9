import Text

/// Collects changes to the elements of an XML document.
struct MarkupEditor {
    let bytes: [UInt8]
    let elements: MarkupScanner
    var edits = ManifestEdits()

    /// - Parameters:
    ///   - names: names of the elements that are listed.
    ///   - attributes: names of their attributes that are listed.
    init(_ bytes: [UInt8], _ names: [String], attributes: [String]) {
        self.bytes = bytes
        elements = MarkupScanner(bytes, names, attributes: attributes)
    }

    /// Indexes of the elements of a name.
    func all(_ name: String) -> [Int] { elements.indices.filter { elements[$0].name == name } }

    /// Returns the prefix of an element's name, with its colon; empty for none.
    func prefix(of index: Int) -> String {
        let element = elements[index]
        let name = bytes[(element.bytes.lowerBound + 1)..<element.nameEnd]
        return name.lastIndex(of: ASCII.colon).map { String(decoding: name[...$0], as: UTF8.self) }
            ?? ""
    }

    mutating func remove(_ index: Int) { edits.append(ManifestEdit(elements[index].bytes)) }

    /// Inserts text before an element.
    mutating func insert(_ text: [UInt8], before index: Int) {
        let start = elements[index].bytes.lowerBound
        edits.append(ManifestEdit(start..<start, text))
    }

    /// Inserts text after an element's start tag, or before its end tag.
    mutating func insert(_ text: [UInt8], into index: Int, atStart: Bool = false) {
        let element = elements[index]
        if element.content.lowerBound < element.bytes.upperBound {
            let end = atStart ? element.content.lowerBound : element.content.upperBound
            edits.append(ManifestEdit(end..<end, text))
        } else {
            let end = element.bytes.upperBound
            let name = bytes[(element.bytes.lowerBound + 1)..<element.nameEnd]
            let close = Array("</".utf8) + name + [0x3E]
            edits.append(ManifestEdit((end - 2)..<end, [0x3E] + text + close))
        }
    }

    // MARK: Attributes

    /// Returns the namespaces that an element's start tag declares, as written.
    func namespaces(of position: Int) -> [(name: String, text: [UInt8])] {
        var found: [(name: String, text: [UInt8])] = []
        let end = elements[position].content.lowerBound
        var index = elements[position].nameEnd
        while index < end {
            while index < end, bytes[index] <= ASCII.space { index += 1 }
            let start = index
            while index < end, bytes[index] > ASCII.space, bytes[index] != ASCII.equals {
                index += 1
            }
            let name = String(decoding: bytes[start..<index], as: UTF8.self)
            while index < end, bytes[index] != ASCII.quote, bytes[index] != 0x27 { index += 1 }
            guard index < end else { break }
            let last = ASCII.index(of: bytes[index], in: bytes, from: index + 1)
            index = min(last + 1, end)
            if name == "xmlns" || name.hasPrefix("xmlns:") {
                found.append((name, Array(bytes[start..<index])))
            }
        }
        return found
    }

    /// Adds the namespaces of an outer element, except those that an element declares itself.
    mutating func declareNamespaces(of outer: Int, in index: Int) {
        let own = Set(namespaces(of: index).map(\.name))
        let text = namespaces(of: outer).filter { !own.contains($0.name) }
            .flatMap { [ASCII.space] + $0.text }
        let end = elements[index].nameEnd
        if !text.isEmpty { edits.append(ManifestEdit(end..<end, text)) }
    }

    /// Returns the value of an attribute; nil without it, or if it is no number.
    func number(_ index: Int, _ name: String) -> Int64? {
        elements[index].attribute(name).flatMap {
            Int64(String(decoding: bytes[$0], as: UTF8.self))
        }
    }

    mutating func set(_ index: Int, _ name: String, _ value: String) {
        if let range = elements[index].attribute(name) {
            edits.append(ManifestEdit(range, Array(value.utf8)))
        } else {
            let end = elements[index].nameEnd
            edits.append(ManifestEdit(end..<end, Array(" \(name)=\"\(value)\"".utf8)))
        }
    }

    mutating func remove(_ index: Int, _ name: String) {
        guard let value = elements[index].attribute(name) else { return }
        var start = value.lowerBound - 1
        // Back over the equals sign, blanks, and the name with its prefix.
        while start > 0, bytes[start - 1] <= ASCII.space || bytes[start - 1] == ASCII.equals {
            start -= 1
        }
        while start > 0, bytes[start - 1] > ASCII.space { start -= 1 }
        edits.append(ManifestEdit(start..<min(value.upperBound + 1, bytes.count)))
    }
}

/// Changes of the root of a live MPD.
extension MarkupEditor {
    /// Attributes of live MPDs only.
    static let liveAttributes = [
        "mediaPresentationDuration", "minimumUpdatePeriod", "timeShiftBufferDepth",
        "suggestedPresentationDelay", "availabilityStartTime", "availabilityEndTime",
    ]

    /// Changes the type to `static`, and removes what belongs to live MPDs.
    mutating func makeStatic(_ root: Int, duration: String) {
        for name in Self.liveAttributes { remove(root, name) }
        guard let type = elements[root].attribute("type"), type.upperBound < bytes.count else {
            return
        }
        // The value has its own quotes.
        let quote = [bytes[type.upperBound]]
        let text = Array("static".utf8) + quote + Array(" mediaPresentationDuration=".utf8)
        edits.append(ManifestEdit(type, text + quote + Array(duration.utf8)))
    }
}
