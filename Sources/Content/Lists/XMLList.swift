import Model
import Text
import WebURL
import XML

/// A list in XML: Metalink 4 (RFC 5854) or a sitemap, according to its root element.
final class XMLList: ListDecoder {
    private let handler: XMLListHandler
    private var xml: XMLFeed?
    private let forced: ListFormat?

    /// Number of bytes parsed at once by libxml2 before findings are passed on.
    private static let piece = 64 << 10

    /// Creates a reader; nil detects the form, otherwise `metalink` or `sitemap`.
    ///
    /// - Parameter followsIndexes: true reads a sitemap index; false rejects it.
    init(_ format: ListFormat?, followsIndexes: Bool = false) {
        forced = format
        handler = XMLListHandler(format, followsIndexes: followsIndexes)
    }

    var format: ListFormat? { handler.form ?? forced }
    private(set) var line = 1

    func feed(_ bytes: [UInt8], _ output: ListOutput) throws(Failure) {
        var start = 0
        while start < bytes.count {
            let end = min(start + Self.piece, bytes.count)
            let piece = bytes[start..<end]
            try step(output) { feed throws(XMLError) in try feed.feed(piece) }
            start = end
        }
    }

    private func feed() throws(XMLError) -> XMLFeed {
        if let xml { return xml }
        let feed = try XMLFeed(handler)
        handler.line = { [unowned feed] in feed.line }
        xml = feed
        return feed
    }

    func finish(_ output: ListOutput) throws(Failure) {
        try step(output) { feed throws(XMLError) in try feed.finish() }
    }

    private func step(
        _ output: ListOutput, _ body: (XMLFeed) throws(XMLError) -> Void
    ) throws(Failure) {
        var problem: XMLError?
        do throws(XMLError) {
            let feed = try feed()
            try body(feed)
            line = feed.line
        } catch {
            problem = error
        }
        for finding in handler.take() {
            switch finding {
            case .asset(let asset, let line): try output.add(asset, line: line)
            case .sitemap(let url, let line): try output.sitemaps.add(url, line: line)
            case .bad(let failure): try output.reject(failure)
            case .passed(let line, let message, let topic):
                output.notices.add(line, message, topic: topic)
            }
        }
        guard let problem else { return }
        if let rejection = handler.rejection { throw rejection }
        let what =
            handler.form == nil
            ? "this is HTML, or unsupported XML (\(problem.detail)); a list in XML is Metalink 4 "
                + "or a sitemap"
            : problem.detail
        throw Failure(.inputMalformed, at: .line(problem.line), what)
    }
}

/// A finding in a document, in order.
enum XMLFinding {
    case asset(AssetSubmission, line: Int)
    /// A sitemap listed in an index.
    case sitemap(WebURL, line: Int)
    case bad(Failure)
    /// A notice; without a topic it is reported each time.
    case passed(line: Int, message: String, topic: String?)
}

/// Collects the entries of one document from its elements.
final class XMLListHandler: XMLHandler {
    /// The form according to the root element.
    private(set) var form: ListFormat?
    /// The reason why parsing stopped.
    private(set) var rejection: Failure?
    /// The current line.
    var line: () -> Int = { 1 }

    private let forced: ListFormat?
    private let followsIndexes: Bool
    private var isIndex = false
    private var findings: [XMLFinding] = []
    private var depth = 0
    /// Depth of a skipped element.
    private var skipped: Int?
    /// Characters of the current text element; nil outside of one.
    private var text: [UInt8]?
    /// Meaning of the text: the name of a digest, or of the element.
    private var role = ""
    private var entryLine = 1
    /// Line of a sitemap's `url` that has no `loc` yet.
    private var openLine: Int?
    private var metalink = MetalinkFile()
    private var entry = SitemapEntry()

    private static let metalinkNamespace: StaticString = "urn:ietf:params:xml:ns:metalink"

    init(_ forced: ListFormat?, followsIndexes: Bool) {
        self.forced = forced
        self.followsIndexes = followsIndexes
    }

    func take() -> [XMLFinding] {
        defer { findings = [] }
        return findings
    }

    private func refuse(_ code: FailureCode, _ what: String) -> Bool {
        rejection = Failure(code, at: .line(line()), what)
        return false
    }

    // MARK: Elements

    func start(_ element: borrowing XMLElement) -> Bool {
        depth += 1
        if skipped != nil { return true }
        if text != nil {
            skipped = depth
            return true
        }
        guard depth > 1 else { return root(element) }
        let isKnown = form == .metalink ? metalinkElement(element) : sitemapElement(element)
        if !isKnown { skipped = depth }
        return rejection == nil
    }

    func text(_ piece: XMLText) -> Bool {
        guard skipped == nil, let count = text?.count else { return true }
        guard count + piece.bytes.count <= ListReader.lineBytes else {
            return refuse(
                .inputTooLarge, "an element's text holds at most \(ListReader.lineBytes) bytes")
        }
        text?.append(contentsOf: piece.bytes)
        return true
    }

    func end() -> Bool {
        defer { depth -= 1 }
        if let skipped {
            if depth == skipped { self.skipped = nil }
            return true
        }
        if let text {
            self.text = nil
            let range = trimmed(text)
            if form == .metalink {
                metalink.take(role, text, range, line())
            } else if role == SitemapEntry.modified {
                findings += entry.setModified(text[range])
            } else {
                location(text, range, isPage: depth == 3)
            }
            return true
        }
        if depth == 2, let openLine {
            let name = isIndex ? "sitemap" : "url"
            findings.append(
                .passed(line: openLine, message: "a \(name) without a loc is skipped", topic: nil))
            self.openLine = nil
        }
        if form == .sitemap, depth == 2 { findings += entry.end() }
        if form == .metalink, depth == 2 {
            findings += metalink.findings(entryLine)
            metalink = MetalinkFile()
        }
        return true
    }

    /// Returns the range without white space at both ends.
    private func trimmed(_ text: [UInt8]) -> Range<Int> {
        let isText = { (byte: UInt8) in byte > ASCII.space }
        guard let first = text.firstIndex(where: isText),
            let last = text.lastIndex(where: isText)
        else { return 0..<0 }
        return first..<(last + 1)
    }

    private func root(_ element: borrowing XMLElement) -> Bool {
        if element.name == "metalink" {
            guard element.namespace == Self.metalinkNamespace else {
                return refuse(
                    .inputMalformed,
                    "a Metalink of the namespace "
                        + "\"\(Redaction.shown(element.namespace.string))\", allowed Metalink 4, "
                        + "\(Self.metalinkNamespace)")
            }
            form = .metalink
        } else if element.name == "urlset" {
            form = .sitemap
        } else if element.name == "sitemapindex" {
            guard followsIndexes else {
                return refuse(
                    .inputMalformed,
                    "this is an index of sitemaps, which names no files; `dray prefetch` reads the "
                        + "sitemaps that it names")
            }
            form = .sitemap
            isIndex = true
        } else if element.name == "MPD" {
            return refuse(.inputManifest, "this is a DASH manifest (MPD), not a list of assets")
        } else {
            return refuse(
                .inputMalformed,
                "this is HTML, or unsupported XML (its root element is "
                    + "\(Redaction.shown(element.name.string))); a list in XML is Metalink 4 or a "
                    + "sitemap")
        }
        if let forced, forced != form {
            return refuse(
                .inputMalformed,
                "its root element is \(element.name.string), allowed a \(forced.rawValue)")
        }
        return true
    }

    // MARK: Metalink

    /// Returns false for ignored elements: `pieces`, `signature`, `metaurl`.
    private func metalinkElement(_ element: borrowing XMLElement) -> Bool {
        guard element.namespace == Self.metalinkNamespace else { return false }
        if depth == 2 {
            guard element.name == "file" else { return false }
            entryLine = line()
            element.forEachAttribute { namespace, name, value in
                if namespace.isEmpty, name == "name" { metalink.name = value.string }
            }
            return true
        }
        switch element.name.string {
        case "size": role = "size"
        case "url":
            role = "url"
            metalink.begin()
            element.forEachAttribute { namespace, name, value in
                if namespace.isEmpty, name == "priority" { metalink.priority = value.string }
            }
        case "hash":
            role = "hash "
            element.forEachAttribute { namespace, name, value in
                if namespace.isEmpty, name == "type" { role += value.string }
            }
        default: return false
        }
        text = []
        return true
    }

    // MARK: Sitemap

    /// Handles `url` and its `loc`, and those of images and videos.
    private func sitemapElement(_ element: borrowing XMLElement) -> Bool {
        let isImage = element.namespace.hasPrefix("http://www.google.com/schemas/sitemap-image/")
        let isVideo = element.namespace.hasPrefix("http://www.google.com/schemas/sitemap-video/")
        switch depth {
        case 2:
            let name: StaticString = isIndex ? "sitemap" : "url"
            guard element.name == name else { return false }
            openLine = line()
            return true
        case 3 where isIndex && !(element.name == "loc"): return false
        case 3 where !isImage && !isVideo:
            if element.name == "lastmod", !isIndex { break }
            guard element.name == "loc" else { return false }
            openLine = nil
        case 3:
            findings += entry.flush()
            return element.name == "image" || element.name == "video"
        case 4 where isImage:
            guard element.name == "loc" else { return false }
        case 4 where isVideo:
            guard element.name == "content_loc" || element.name == "thumbnail_loc" else {
                return false
            }
        default: return false
        }
        role = element.name.string
        entryLine = line()
        text = []
        return true
    }

    private func location(_ text: [UInt8], _ range: Range<Int>, isPage: Bool) {
        do throws(Failure) {
            let url = try ListField.url(text, range, entryLine, role)
            if isIndex {
                findings.append(.sitemap(url, line: entryLine))
                return
            }
            do throws(Failure) {
                let asset = try ListItem(url: url).asset()
                if isPage {
                    findings += entry.setPage(asset, line: entryLine)
                } else {
                    findings.append(.asset(asset, line: entryLine))
                }
            } catch {
                throw error.at(.line(entryLine, field: role))
            }
        } catch {
            findings.append(.bad(error))
        }
    }
}
