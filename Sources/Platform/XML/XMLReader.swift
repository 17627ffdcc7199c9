internal import CLibXML2
internal import Glibc

/// Receives a document's content in order, on the thread that reads it.
package protocol XMLHandler: AnyObject {
    /// Receives an element's start. Returns false to end the reading.
    func start(_ element: borrowing XMLElement) -> Bool
    /// Receives text of the innermost open element; it may come in several pieces. Returns false to
    /// end the reading.
    func text(_ text: XMLText) -> Bool
    /// Receives the end of the innermost open element. Returns false to end the reading.
    func end() -> Bool
    /// Receives an undeclared prefix; `what` creates libxml2's message about it. Returns false to
    /// end the reading.
    func undeclaredPrefix(_ what: () -> String, line: Int) -> Bool
}

extension XMLHandler {
    package func undeclaredPrefix(_ what: () -> String, line: Int) -> Bool { false }
}

/// A reason why a document was not read to its end.
package struct XMLError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// Not well-formed, or in an unsupported encoding.
        case malformed
        /// It has a document type declaration, or is nested too deeply.
        case refused
        /// The handler has ended it.
        case stopped
    }

    package var reason: Reason
    /// One clause; empty for `stopped`.
    package var detail: String
    /// Line number, from 1.
    package var line: Int
}

/// Reads XML 1.0 with namespaces, by libxml2, as it arrives and without storing it.
///
/// It rejects a document type declaration, so only XML's own five entities are ever expanded, and
/// nothing outside the document is read.
package enum XMLReader {
    /// Maximum nesting of elements.
    package static let depth = 64
    /// Maximum attributes of an element, and maximum namespaces in scope: libxml2 compares each
    /// with all others.
    package static let attributes = 256
    /// Approximate maximum of a start tag in bytes, for the same reason.
    package static let tagBytes = 64 << 10
    /// Maximum length of a comment or instruction in bytes, which libxml2 stores until it is
    /// complete.
    package static let silentBytes = 1 << 20

    /// Reads a whole document.
    ///
    /// - Parameter start: Its beginning in `bytes`.
    package static func read(
        _ bytes: [UInt8], from start: Int = 0, into handler: any XMLHandler
    ) throws(XMLError) {
        let feed = try XMLFeed(handler, maxSilentBytes: silentBytes)
        var start = start
        while start < bytes.count {
            let end = min(start + piece, bytes.count)
            try feed.feed(bytes[start..<end])
            start = end
        }
        try feed.finish()
    }

    /// Bytes per call of libxml2.
    private static let piece = 64 << 10
}

/// A document that arrives in pieces. Used by one thread at a time; not usable after an error.
package final class XMLFeed {
    private let reading: Reading
    private let parser: xmlParserCtxtPtr
    private let maxSilentBytes: Int
    /// Bytes since the last call of the handler.
    private var silentBytes = 0
    private var reportedBefore = 0
    /// UTF-16 and UTF-32 contain NUL bytes.
    private var isWide: Bool?
    /// Line of the input's end, from 1.
    private var fedLine = 1

    /// - Parameter maxSilentBytes: Maximum length of a comment or instruction.
    package init(
        _ handler: any XMLHandler, maxSilentBytes: Int = XMLReader.silentBytes
    ) throws(XMLError) {
        xmlInitParser()
        var calls = Self.saxHandler()
        reading = Reading(handler)
        self.maxSilentBytes = maxSilentBytes
        let context = Unmanaged.passUnretained(reading).toOpaque()
        guard let parser = xmlCreatePushParserCtxt(&calls, context, nil, 0, nil) else {
            throw XMLError(reason: .malformed, detail: "no memory to read it", line: 1)
        }
        self.parser = parser
        reading.parser = parser
        // Without NOENT, an ampersand in an attribute stays a reference. HUGE removes the limit on
        // the length of the input, which the caller limits.
        let options = XML_PARSE_NOENT.rawValue | XML_PARSE_NONET.rawValue | XML_PARSE_HUGE.rawValue
        xmlCtxtUseOptions(parser, Int32(options))
    }

    deinit { xmlFreeParserCtxt(parser) }

    /// Present line, from 1.
    package var line: Int { reading.line }

    /// Reads the next bytes of the document.
    package func feed(_ bytes: ArraySlice<UInt8>) throws(XMLError) {
        guard !bytes.isEmpty else { return }
        let isWide =
            isWide
            ?? [[0xFE, 0xFF], [0xFF, 0xFE], [0x00], [0x3C, 0x00]].contains {
                bytes.starts(with: $0)
            }
        self.isWide = isWide
        // libxml2 takes a NUL for the end of its input.
        if !isWide, let index = Self.firstZero(bytes) {
            // Earlier errors come first.
            try parse(bytes[..<index], isLast: false)
            let line = fedLine + Self.lineFeeds(bytes[..<index])
            throw XMLError(reason: .malformed, detail: "it has a NUL byte", line: line)
        }
        fedLine += Self.lineFeeds(bytes)
        try parse(bytes, isLast: false)
        if reading.reported != reportedBefore { silentBytes = 0 }
        reportedBefore = reading.reported
        silentBytes += bytes.count
        let isInTag = parser.pointee.instate == XML_PARSER_START_TAG
        let most = isInTag ? min(XMLReader.tagBytes, maxSilentBytes) : maxSilentBytes
        if silentBytes > most {
            throw XMLError(
                reason: .refused,
                detail: "a \(isInTag ? "tag" : "comment") is longer than \(most) bytes",
                line: reading.line)
        }
    }

    // All bytes pass through these two, so they process several bytes at a time.

    private static func firstZero(_ bytes: ArraySlice<UInt8>) -> Int? {
        bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress, let found = memchr(start, 0, buffer.count) else {
                return nil
            }
            return bytes.startIndex + (UnsafeRawPointer(found) - start)
        }
    }

    private static func lineFeeds(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes { buffer in
            var count = 0
            for byte in buffer { count &+= byte == 0x0A ? 1 : 0 }
            return count
        }
    }

    /// Ends the document.
    package func finish() throws(XMLError) {
        reading.isAtEnd = true
        try parse([], isLast: true)
    }

    private func parse(_ bytes: ArraySlice<UInt8>, isLast: Bool) throws(XMLError) {
        let code = withExtendedLifetime(reading) {
            bytes.withUnsafeBytes { buffer in
                xmlParseChunk(
                    parser, buffer.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(buffer.count), isLast ? 1 : 0)
            }
        }
        guard code != 0 || reading.hasStopped else { return }
        // The last error's code remains even if the handler accepted it.
        if reading.isWellFormed, code == XML_NS_ERR_UNDEFINED_NAMESPACE.rawValue { return }
        throw reading.failure
            ?? XMLError(reason: .malformed, detail: "error \(code)", line: reading.line)
    }

    private static func saxHandler() -> xmlSAXHandler {
        var calls = xmlSAXHandler()
        calls.initialized = dray_xml_sax2_magic
        calls.startElementNs = { context, name, prefix, namespace, _, _, count, _, attributes in
            guard let name else { return }
            Reading.with(context) {
                $0.start(
                    XMLElement(
                        name: name, prefix: prefix, namespace: namespace, attributes: attributes,
                        count: Int(count), line: $0.line))
            }
        }
        calls.endElementNs = { context, _, _, _ in Reading.with(context) { $0.end() } }
        calls.characters = { context, text, count in
            Reading.with(context) { $0.text(text, count) }
        }
        calls.cdataBlock = { context, text, count in
            Reading.with(context) { $0.text(text, count) }
        }
        calls.internalSubset = { context, _, _, _ in
            Reading.with(context) { $0.refuse("it has a document type declaration") }
        }
        calls.serror = { context, error in
            Reading.with(context) { $0.note(error?.pointee) }
        }
        return calls
    }
}

/// The state of one document, used only by the thread that reads it.
private final class Reading {
    private let handler: any XMLHandler
    var parser: xmlParserCtxtPtr?
    private var depth = 0
    private(set) var failure: XMLError?
    private(set) var hasStopped = false
    var isWellFormed: Bool { failure == nil && !hasStopped }
    /// Number of elements, ends and pieces of text so far.
    private(set) var reported = 0
    /// True if no more input follows.
    var isAtEnd = false

    init(_ handler: any XMLHandler) { self.handler = handler }

    /// Calls `body` without reference counting, because the parser's caller holds the object.
    static func with(_ context: UnsafeMutableRawPointer?, _ body: (Reading) -> Void) {
        guard let context else { return }
        Unmanaged<Reading>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
    }

    var line: Int { Int(parser?.pointee.input?.pointee.line ?? 1) }

    private func stop(_ error: XMLError) {
        if failure == nil { failure = error }
        hasStopped = true
        xmlStopParser(parser)
    }

    /// True if all input was read.
    private var isAtLastByte: Bool {
        guard let input = parser?.pointee.input?.pointee else { return true }
        return input.cur >= input.end
    }

    /// True if the last byte that was read is an ampersand.
    private var isAfterAmpersand: Bool {
        guard let input = parser?.pointee.input?.pointee, let cur = input.cur, cur > input.base
        else { return false }
        return cur[-1] == UInt8(ascii: "&")
    }

    func refuse(_ what: String) {
        stop(XMLError(reason: .refused, detail: what, line: line))
    }

    /// Records an error of libxml2, unless the handler accepts it; ignores warnings.
    func note(_ error: xmlError?) {
        guard let error, error.level == XML_ERR_FATAL || error.level == XML_ERR_ERROR,
            !hasStopped
        else { return }
        if error.code == XML_NS_ERR_UNDEFINED_NAMESPACE.rawValue,
            handler.undeclaredPrefix({ Self.firstLine(of: error) }, line: Int(error.line))
        {
            return
        }
        // libxml2 reports extra content, or the content that it expected.
        let isInRoot =
            reported == 0 && error.code != XML_ERR_DOCUMENT_EMPTY.rawValue
            && [XML_PARSER_START_TAG, XML_PARSER_ATTRIBUTE_VALUE].contains {
                $0 == parser?.pointee.instate
            }
        // The second code is that of any missing name.
        let isLoneAmpersand =
            error.code == XML_ERR_ENTITYREF_SEMICOL_MISSING.rawValue
            || error.code == XML_ERR_NAME_REQUIRED.rawValue && isAfterAmpersand
        let isCut = isAtEnd && (depth > 0 || isInRoot)
        let text =
            isLoneAmpersand && !(isCut && isAtLastByte)
            ? "it has a & that begins no entity; write &amp;"
            : isCut
                ? "it ends within an element, as if cut short"
                : Self.firstLine(of: error)
        stop(XMLError(reason: .malformed, detail: text, line: Int(error.line)))
    }

    private static func firstLine(of error: xmlError) -> String {
        let message = error.message.map { String(cString: $0) } ?? "it is not well-formed"
        return String(message.prefix { $0 != "\n" }.prefix(200))
    }

    // libxml2 may call once more after it was stopped.

    func start(_ element: borrowing XMLElement) {
        guard !hasStopped else { return }
        reported += 1
        depth += 1
        guard depth <= XMLReader.depth else {
            return refuse("elements are nested more than \(XMLReader.depth) deep")
        }
        // Two entries for each namespace.
        let namespaces = Int(parser?.pointee.nsNr ?? 0) / 2
        guard max(element.count, namespaces) <= XMLReader.attributes else {
            return refuse("an element has more than \(XMLReader.attributes) attributes")
        }
        if !handler.start(element) { stopByHandler() }
    }

    func text(_ bytes: UnsafePointer<xmlChar>?, _ count: Int32) {
        guard !hasStopped, let bytes else { return }
        reported += 1
        let text = UnsafeRawBufferPointer(start: bytes, count: Int(count))
        if !handler.text(XMLText(bytes: text)) { stopByHandler() }
    }

    func end() {
        guard !hasStopped else { return }
        reported += 1
        depth -= 1
        if !handler.end() { stopByHandler() }
    }

    private func stopByHandler() {
        stop(XMLError(reason: .stopped, detail: "", line: line))
    }
}
