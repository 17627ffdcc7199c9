internal import Glibc

/// The start of an element: its name and attributes. Valid within the call that receives it.
package struct XMLElement: ~Copyable {
    /// Name without its namespace.
    package let name: XMLText
    /// Its namespace's URI; empty if there is none.
    package let namespace: XMLText
    /// True if its prefix is undeclared, so that it has no namespace. Only for handlers that accept
    /// those.
    package let hasUndeclaredPrefix: Bool
    /// Line of its beginning, or of its tag's end; from 1.
    package let line: Int
    /// Five pointers each: name, prefix, namespace, start and end of the value.
    private let attributes: UnsafeMutablePointer<UnsafePointer<UInt8>?>?
    let count: Int

    init(
        name: UnsafePointer<UInt8>, prefix: UnsafePointer<UInt8>?,
        namespace: UnsafePointer<UInt8>?,
        attributes: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, count: Int, line: Int
    ) {
        self.name = XMLText(cString: name)
        hasUndeclaredPrefix = prefix != nil && namespace == nil
        self.line = line
        self.namespace = XMLText(cString: namespace)
        self.attributes = attributes
        self.count = attributes == nil ? 0 : count
    }

    /// Returns true if an attribute has this undeclared prefix and this name.
    package func hasUndeclaredAttribute(_ prefix: StaticString, _ name: StaticString) -> Bool {
        guard let attributes else { return false }
        return (0..<count).contains { index in
            let fields = attributes + 5 * index
            return fields[2] == nil && XMLText(cString: fields[1]) == prefix
                && XMLText(cString: fields[0]) == name
        }
    }

    /// Calls `body` with each attribute's namespace, name and value.
    package func forEachAttribute<Failure: Error>(
        _ body: (_ namespace: XMLText, _ name: XMLText, _ value: XMLText) throws(Failure) -> Void
    ) throws(Failure) {
        guard let attributes else { return }
        for index in 0..<count {
            let fields = attributes + 5 * index
            guard let name = fields[0], let start = fields[3], let end = fields[4] else { continue }
            let value = UnsafeRawBufferPointer(start: start, count: end - start)
            try body(XMLText(cString: fields[2]), XMLText(cString: name), XMLText(bytes: value))
        }
    }
}

/// Characters of a document in UTF-8. Valid within the call that receives them.
package struct XMLText {
    package let bytes: UnsafeRawBufferPointer

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    init(cString: UnsafePointer<UInt8>?) {
        let text = UnsafeRawPointer(cString)
        let count = text.map { strlen($0.assumingMemoryBound(to: CChar.self)) } ?? 0
        bytes = UnsafeRawBufferPointer(start: text, count: count)
    }

    package var isEmpty: Bool { bytes.isEmpty }

    /// A copy, to keep.
    package var string: String { String(decoding: bytes, as: UTF8.self) }

    package static func == (text: XMLText, constant: StaticString) -> Bool {
        let count = constant.utf8CodeUnitCount
        guard let start = text.bytes.baseAddress, text.bytes.count == count else {
            return text.bytes.count == count
        }
        return memcmp(start, constant.utf8Start, count) == 0
    }

    package func hasPrefix(_ prefix: StaticString) -> Bool {
        guard let start = bytes.baseAddress, bytes.count >= prefix.utf8CodeUnitCount else {
            return prefix.utf8CodeUnitCount == 0
        }
        return memcmp(start, prefix.utf8Start, prefix.utf8CodeUnitCount) == 0
    }
}
