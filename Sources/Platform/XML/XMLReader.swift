internal import CLibXML2
internal import Glibc

/// What is told of a document, in its order, on the thread that reads it.
package protocol XMLHandler: AnyObject {
    /// An element begins. False ends the reading.
    func start(_ element: borrowing XMLElement) -> Bool
    /// Text of the element that began last; it may come in several pieces. False ends the reading.
    func text(_ text: XMLText) -> Bool
    /// The element that began last, of those that have not ended, ends. False ends the reading.
    func end() -> Bool
    /// A prefix that nothing declares, with what makes libxml2's words about it. False ends the reading.
    func undeclaredPrefix(_ what: () -> String, line: Int) -> Bool
}

extension XMLHandler {
    package func undeclaredPrefix(_ what: () -> String, line: Int) -> Bool { false }
}

/// Why a document was not read to its end.
package struct XMLError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// Not well-formed, or in an encoding that is not read.
        case malformed
        /// It has a document type declaration, or is nested too deeply.
        case refused
        /// The handler has ended it.
        case stopped
    }

    package var reason: Reason
    /// One clause; empty for `stopped`.
    package var detail: String
    /// From 1.
    package var line: Int
}

/// Reads XML 1.0 with namespaces, by libxml2, as it comes and without keeping it.
///
/// A document type declaration is refused, so no entity but XML's own five is ever there to be
/// expanded, and nothing outside the document is read.
package enum XMLReader {
    /// Deepest nesting of elements.
    package static let depth = 64
    /// Most attributes of an element, and most namespaces that are declared at a place: libxml2 compares
    /// each with all others.
    package static let attributes = 256
    /// About the longest start tag in bytes, for the same reason.
    package static let tagBytes = 64 << 10
    /// Longest comment or instruction in bytes, which libxml2 keeps until it is whole.
    package static let silentBytes = 1 << 20

    /// Reads a whole document.
    ///
    /// - Parameter start: where it begins in `bytes`.
    package static func read(
        _ bytes: [UInt8], from start: Int = 0, into handler: any XMLHandler
    ) throws(XMLError) {
        let feed = try XMLFeed(handler, mostSilentBytes: silentBytes)
        var start = start
        while start < bytes.count {
            let end = min(start + piece, bytes.count)
            try feed.feed(bytes[start..<end])
            start = end
        }
        try feed.finish()
    }

    /// Bytes that libxml2 is given at once.
    private static let piece = 64 << 10
}

/// A document that comes in pieces. Used by one thread at a time; after an error it is done.
package final class XMLFeed {
    private let reading: Reading
    private let parser: xmlParserCtxtPtr
    private let mostSilentBytes: Int
    /// Bytes since something was last told of them.
    private var silentBytes = 0
    private var toldBefore = 0
    /// UTF-16 and UTF-32 hold NUL bytes.
    private var isWide: Bool?
    /// Line feeds in what was given, from 1.
    private var fedLine = 1

    /// `mostSilentBytes`: the longest comment or instruction.
    package init(
        _ handler: any XMLHandler, mostSilentBytes: Int = XMLReader.silentBytes
    ) throws(XMLError) {
        xmlInitParser()
        var calls = Self.saxHandler()
        reading = Reading(handler)
        self.mostSilentBytes = mostSilentBytes
        let context = Unmanaged.passUnretained(reading).toOpaque()
        guard let parser = xmlCreatePushParserCtxt(&calls, context, nil, 0, nil) else {
            throw XMLError(reason: .malformed, detail: "no memory to read it", line: 1)
        }
        self.parser = parser
        reading.parser = parser
        // Without NOENT an ampersand in an attribute stays a reference. HUGE lifts the bound on the
        // length of what has been read, which whoever has the bytes bounds.
        let options = XML_PARSE_NOENT.rawValue | XML_PARSE_NONET.rawValue | XML_PARSE_HUGE.rawValue
        xmlCtxtUseOptions(parser, Int32(options))
    }

    deinit { xmlFreeParserCtxt(parser) }

    /// Where the reading is, from 1.
    package var line: Int { reading.line }

    /// The next bytes of the document.
    package func feed(_ bytes: ArraySlice<UInt8>) throws(XMLError) {
        guard !bytes.isEmpty else { return }
        let isWide =
            isWide
            ?? [[0xFE, 0xFF], [0xFF, 0xFE], [0x00], [0x3C, 0x00]].contains {
                bytes.starts(with: $0)
            }
        self.isWide = isWide
        // libxml2 takes a NUL for the end of what it was given.
        if !isWide, let place = Self.firstZero(bytes) {
            // What is wrong before it comes first.
            try parse(bytes[..<place], isLast: false)
            let line = fedLine + Self.lineFeeds(bytes[..<place])
            throw XMLError(reason: .malformed, detail: "it has a NUL byte", line: line)
        }
        fedLine += Self.lineFeeds(bytes)
        try parse(bytes, isLast: false)
        if reading.told != toldBefore { silentBytes = 0 }
        toldBefore = reading.told
        silentBytes += bytes.count
        let isInTag = parser.pointee.instate == XML_PARSER_START_TAG
        let most = isInTag ? min(XMLReader.tagBytes, mostSilentBytes) : mostSilentBytes
        if silentBytes > most {
            throw XMLError(
                reason: .refused,
                detail: "a \(isInTag ? "tag" : "comment") is longer than \(most) bytes",
                line: reading.line)
        }
    }

    // All bytes pass through these two: they are written so that several are looked at at a time.

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

    /// The end of the document.
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
        // The last error's code stays, where the handler took it.
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

/// One document under way. Used by the thread that reads alone.
private final class Reading {
    private let handler: any XMLHandler
    var parser: xmlParserCtxtPtr?
    private var depth = 0
    private(set) var failure: XMLError?
    private(set) var hasStopped = false
    var isWellFormed: Bool { failure == nil && !hasStopped }
    /// Elements, ends and pieces of text so far.
    private(set) var told = 0
    /// Nothing comes any more.
    var isAtEnd = false

    init(_ handler: any XMLHandler) { self.handler = handler }

    /// Whoever parses holds it, so nothing is counted for the call.
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

    /// Nothing is left of what was given.
    private var isAtLastByte: Bool {
        guard let input = parser?.pointee.input?.pointee else { return true }
        return input.cur >= input.end
    }

    func refuse(_ what: String) {
        stop(XMLError(reason: .refused, detail: what, line: line))
    }

    /// What libxml2 finds wrong; warnings, and what it passes over, are nothing here.
    func note(_ error: xmlError?) {
        guard let error, error.level == XML_ERR_FATAL || error.level == XML_ERR_ERROR,
            !hasStopped
        else { return }
        if error.code == XML_NS_ERR_UNDEFINED_NAMESPACE.rawValue,
            handler.undeclaredPrefix({ Self.firstLine(of: error) }, line: Int(error.line))
        {
            return
        }
        let message = error.message.map { String(cString: $0) } ?? "it is not well-formed"
        // libxml2 calls it extra content, or by what it waited for.
        let isInRoot =
            told == 0 && error.code != XML_ERR_DOCUMENT_EMPTY.rawValue
            && [XML_PARSER_START_TAG, XML_PARSER_ATTRIBUTE_VALUE].contains {
                $0 == parser?.pointee.instate
            }
        let isLoneAmpersand =
            error.code == XML_ERR_ENTITYREF_SEMICOL_MISSING.rawValue
            || message.hasPrefix("xmlParseEntityRef: no name")
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
        told += 1
        depth += 1
        guard depth <= XMLReader.depth else {
            return refuse("elements are nested more than \(XMLReader.depth) deep")
        }
        // Two for each namespace.
        let namespaces = Int(parser?.pointee.nsNr ?? 0) / 2
        guard max(element.count, namespaces) <= XMLReader.attributes else {
            return refuse("an element has more than \(XMLReader.attributes) attributes")
        }
        if !handler.start(element) { stopByHandler() }
    }

    func text(_ bytes: UnsafePointer<xmlChar>?, _ count: Int32) {
        guard !hasStopped, let bytes else { return }
        told += 1
        let text = UnsafeRawBufferPointer(start: bytes, count: Int(count))
        if !handler.text(XMLText(bytes: text)) { stopByHandler() }
    }

    func end() {
        guard !hasStopped else { return }
        told += 1
        depth -= 1
        if !handler.end() { stopByHandler() }
    }

    private func stopByHandler() {
        stop(XMLError(reason: .stopped, detail: "", line: line))
    }
}
