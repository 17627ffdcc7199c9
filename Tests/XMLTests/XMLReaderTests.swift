import Testing

@testable import XML

@Suite("Reading XML")
struct XMLReaderTests {
    private final class Log: XMLHandler {
        var lines: [String] = []
        var stopAt: String?

        func start(_ element: borrowing XMLElement) -> Bool {
            var line = "<\(element.name.string)"
            if !element.namespace.isEmpty { line += " in \(element.namespace.string)" }
            element.forEachAttribute { namespace, name, value in
                line += " \(namespace.string)|\(name.string)=\(value.string)"
            }
            lines.append(line)
            return stopAt.map { !(element.name.string == $0) } ?? true
        }

        func text(_ text: XMLText) -> Bool {
            lines.append(text.string)
            return true
        }

        func end() -> Bool {
            lines.append(">")
            return true
        }
    }

    private func read(_ text: String, stopAt: String? = nil) throws(XMLError) -> [String] {
        let log = Log()
        log.stopAt = stopAt
        try XMLReader.read(Array(text.utf8), into: log)
        return log.lines
    }

    @Test("names, namespaces, attributes and text, in order")
    func events() throws {
        let lines = try read(
            "<?xml version='1.0'?><a xmlns='urn:x' b='1&amp;2&lt;&#65;' xmlns:y='urn:y' y:h='z'>"
                + "<y:c/><![CDATA[x<y]]></a>")
        #expect(
            lines == ["<a in urn:x |b=1&2<A urn:y|h=z", "<c in urn:y", ">", "x<y", ">"])
    }

    @Test("a document type declaration is rejected before any entity is expanded")
    func entities() {
        let lines = [
            "<!DOCTYPE a [<!ENTITY b 'cc'><!ENTITY c '&b;&b;'>]><a>&c;</a>",
            "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
            "\n<!DOCTYPE a [<!ENTITY x SYSTEM 'http://127.0.0.1:1/'>]><a>&x;</a>",
        ]
        for text in lines {
            let error = #expect(throws: XMLError.self) { try read(text) }
            #expect(error?.reason == .refused)
        }
        let unknown = #expect(throws: XMLError.self) { try read("<a>&b;</a>") }
        #expect(unknown?.reason == .malformed)
    }

    @Test(
        "what is not well-formed is rejected with its line",
        arguments: [
            ("", 1), ("<a>\n<b></a>", 2), ("<a/>\n<b/>", 2), ("text", 1), ("<a b='1' b='2'/>", 1),
            ("<a>\n\n\0</a>", 3), ("<a>", 1), ("<a>\n&#0;</a>", 2),
        ])
    func malformed(text: String, line: Int) {
        let error = #expect(throws: XMLError.self) { try read(text) }
        #expect(error?.reason == .malformed)
        #expect(error?.line == line)
        #expect(error?.detail.isEmpty == false)
    }

    @Test(
        "a document that ends too early differs from one that is too long",
        arguments: [
            "<abc d", "<a b='c", "<abc>", "<a>\n<b", "<a>x", "<a><!-- ", "<a><b/>", "<a></a",
            "<a>x&am",
        ])
    func cut(text: String) {
        let error = #expect(throws: XMLError.self) { try read(text) }
        #expect(error?.detail == "it ends within an element, as if cut short")
        let whole = #expect(throws: XMLError.self) { try read("<a/>" + text) }
        #expect(whole?.detail.contains("cut short") == false)
    }

    @Test(
        "a lone & is reported with its line", arguments: ["<a>\nx?a=1&b=2</a>", "<a>\na & b</a>"])
    func ampersand(text: String) {
        let error = #expect(throws: XMLError.self) { try read(text) }
        #expect(error?.detail == "it has a & that begins no entity; write &amp;")
        #expect(error?.line == 2)
    }

    @Test("nesting has a bound, and the handler may stop")
    func bounds() throws {
        let deep = { (count: Int) in
            String(repeating: "<a>", count: count) + String(repeating: "</a>", count: count)
        }
        #expect(try read(deep(XMLReader.depth)).count == 2 * XMLReader.depth)
        let tooDeep = #expect(throws: XMLError.self) { try read(deep(XMLReader.depth + 1)) }
        #expect(tooDeep?.reason == .refused)
        let stopped = #expect(throws: XMLError.self) { try read("<a>\n<b/></a>", stopAt: "b") }
        #expect(stopped == XMLError(reason: .stopped, detail: "", line: 2))
    }

    @Test("a document is read however it arrives", arguments: [1, 2, 7])
    func pieces(piece: Int) throws {
        let text = Array("<?xml version='1.0'?>\n<a b='1&amp;2'><!-- c --><c>ä</c>\n</a>".utf8)
        let log = Log()
        let feed = try XMLFeed(log)
        var start = 0
        while start < text.count {
            try feed.feed(text[start..<min(start + piece, text.count)])
            start += piece
        }
        try feed.finish()
        #expect(log.lines.joined() == "<a |b=1&2<cä>\n>")
    }

    @Test(
        "a tag, a comment and an attribute are bounded",
        arguments: ["<a ", "<!--", "<a b='", "<?x "])
    func longTag(start: String) throws {
        let feed = try XMLFeed(Log())
        try feed.feed(ArraySlice(("<x>" + start).utf8))
        let piece = ArraySlice([UInt8](repeating: 0x61, count: 64 << 10))
        let error = #expect(throws: XMLError.self) {
            for _ in 0..<20 { try feed.feed(piece) }
        }
        #expect(error?.reason == .refused)
    }

    @Test(
        "attributes and namespaces are bounded, so that comparing them takes no time",
        arguments: ["a", "xmlns:a"])
    func manyAttributes(name: String) throws {
        func tag(_ count: Int) -> String {
            "<x \((0..<count).map { "\(name)\($0)='u' " }.joined())/>"
        }
        #expect(try read("<a>\(tag(XMLReader.attributes))</a>").count == 4)
        let error = #expect(throws: XMLError.self) {
            try read("<a>\(tag(XMLReader.attributes + 1))</a>")
        }
        #expect(error?.reason == .refused)
        // More than there is time for, were they compared.
        let most = #expect(throws: XMLError.self) { try read("<a>\(tag(200_000))</a>") }
        #expect(most?.detail.contains("tag is longer") == true)
    }

    @Test("UTF-16 is read")
    func wide() throws {
        var bytes: [UInt8] = [0xFF, 0xFE]
        for unit in "<a b='ä'/>".utf16 { bytes += [UInt8(unit & 0xFF), UInt8(unit >> 8)] }
        let log = Log()
        try XMLReader.read(bytes, into: log)
        #expect(log.lines == ["<a |b=ä", ">"])
    }
}
