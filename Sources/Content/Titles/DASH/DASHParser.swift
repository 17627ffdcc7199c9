import Model
import Text
import WebURL
internal import XML

/// One reading of an MPD: libxml2's events become a `DASHManifest`. Used by the thread that reads.
final class DASHParser: XMLHandler {
    enum Element {
        case manifest, period, adaptationSet, representation, baseURL
        case segmentBase, segmentList, segmentTemplate
        case timeline
        /// Nothing below it is of interest.
        case other
    }

    /// What was read so far.
    var manifest: DASHManifest
    private(set) var failure: Failure?
    private(set) var open: [Element] = []
    /// The text of the BaseURL under way.
    var base: [UInt8]?
    /// The addressing element under way, with what it inherits.
    var addressing = DASHManifest.Addressing()
    /// What of it the element says itself.
    var own = DASHManifest.OwnAddressing()
    /// Addressing stands behind representations of the set under way, or behind sets of the period.
    var setIsLate = false
    var periodIsLate = false
    /// Of the element that began last.
    private(set) var line = 0
    /// Lines that were skipped before the document.
    private var skippedLines = 0
    /// A prefix was found that nothing declares.
    private var hasUndeclaredPrefixes = false
    /// The element that began last has `xlink:href`, and nothing declares `xlink`.
    private var isRemoteByName = false
    /// The root's namespace, where it is not one of the standard's editions.
    private var foreignNamespace: [UInt8]?
    var listIsInherited = false
    var timelineEntries = 0
    var listEntries = 0
    /// Of BaseURLs.
    private var baseBytes = 0
    private var elements = 0
    private var otherElements = 0

    private init(_ manifest: DASHManifest) { self.manifest = manifest }

    /// Reads an MPD; see `DASHManifest.parse`.
    static func parse(
        _ bytes: [UInt8], url: WebURL, named: WebURL, live: LiveManifests, policy: ManifestPolicy
    ) throws(Failure) -> DASHManifest {
        var manifest = DASHManifest(
            url: url, named: named, findings: ManifestFindings(policy, of: url))
        manifest.live = live
        guard bytes.count <= DASHManifest.maximumBytes else {
            throw manifest.failure(
                "manifest.tooLarge", "an MPD holds at most \(DASHManifest.maximumBytes) bytes")
        }
        guard bytes.contains(where: { $0 > ASCII.space }) else {
            throw manifest.failure("manifest.empty", "the body is empty")
        }
        let parser = DASHParser(manifest)
        let start = policy == .strict ? 0 : parser.startOfDeclaration(bytes)
        do throws(XMLError) {
            try XMLReader.read(bytes, from: start, into: parser)
        } catch {
            let place = "\(url) line \(error.line + parser.skippedLines)"
            if let failure = parser.failure {
                throw Failure(failure.code, "\(place): \(failure.message)")
            }
            if isPage(bytes) {
                throw manifest.failure(
                    "manifest.html", "an HTML page came where an MPD was wanted")
            }
            throw Failure("manifest.malformed", "\(place): \(Redaction.shown(error.detail))")
        }
        return parser.manifest
    }

    /// Where the document begins: behind white space, if its declaration stands there.
    private func startOfDeclaration(_ bytes: [UInt8]) -> Int {
        guard let start = bytes.firstIndex(where: { $0 > ASCII.space }), start > 0,
            ASCII.hasPrefix(bytes, start..<bytes.count, "<?xml ")
        else { return 0 }
        skippedLines = bytes[..<start].count { $0 == ASCII.lineFeed }
        manifest.findings.warn(.dashDeclaration, line: 1) {
            "white space stands before the XML declaration"
        }
        return start
    }

    /// Takes note of a rule that is broken at the element under way.
    func note(_ rule: ManifestRule, _ what: () -> String) throws(Failure) {
        try manifest.findings.note(rule, line: line, what) { Failure("manifest.malformed", $0) }
    }

    private static func isPage(_ bytes: [UInt8]) -> Bool {
        guard let start = bytes.firstIndex(where: { $0 > ASCII.space && $0 < ASCII.delete }) else {
            return false
        }
        return ["<!doctype html", "<html"].contains {
            ASCII.hasPrefixIgnoringCase(bytes, start..<bytes.count, $0)
        }
    }

    // MARK: Events

    func undeclaredPrefix(_ what: () -> String, line: Int) -> Bool {
        guard !manifest.findings.isStrict else { return false }
        hasUndeclaredPrefixes = true
        manifest.findings.warn(.dashPrefix, line: line + skippedLines) { Redaction.shown(what()) }
        return true
    }

    func start(_ element: borrowing XMLElement) -> Bool {
        line = element.line + skippedLines
        isRemoteByName =
            hasUndeclaredPrefixes && element.hasUndeclaredAttribute("xlink", "href")
        do throws(Failure) {
            open.append(try take(element))
            return true
        } catch {
            failure = error
            return false
        }
    }

    func text(_ text: XMLText) -> Bool {
        guard base != nil else { return true }
        base?.append(contentsOf: text.bytes)
        guard base?.count ?? 0 > WireLimits.urlBytes else { return true }
        failure = Failure(
            "manifest.malformed", "a BaseURL is longer than \(WireLimits.urlBytes) bytes")
        return false
    }

    func end() -> Bool {
        do throws(Failure) {
            let ended = open.popLast()
            switch ended {
            case .baseURL: try endBase()
            case .adaptationSet, .period: handDown(ended)
            case .segmentBase, .segmentList, .segmentTemplate: store(addressing)
            default: break
            }
            return true
        } catch {
            failure = error
            return false
        }
    }

    private func endBase() throws(Failure) {
        guard let bytes = base else { return }
        base = nil
        // xs:anyURI: white space at its ends, line ends among it, is none of it.
        let isText = { (byte: UInt8) in byte > ASCII.space }
        let first = bytes.firstIndex(where: isText) ?? 0
        let last = bytes.lastIndex(where: isText).map { $0 + 1 } ?? 0
        let text = String(decoding: bytes[first..<last], as: UTF8.self)
        baseBytes += text.utf8.count
        guard baseBytes <= DASHManifest.maximumBaseBytes / 2 else {
            throw Failure(
                "manifest.tooMany",
                "its BaseURLs come to more than \(DASHManifest.maximumBaseBytes / 2) bytes")
        }
        var count = 0
        func append(_ urls: inout [String]) {
            urls.append(text)
            count = urls.count
        }
        switch open.last {
        case .manifest: append(&manifest.baseURLs)
        case .period: withPeriod { append(&$0.baseURLs) }
        case .adaptationSet: withSet { append(&$0.baseURLs) }
        case .representation: withRepresentation { append(&$0.baseURLs) }
        default: break
        }
        guard count <= DASHManifest.maximumBaseURLs else {
            throw Failure(
                "manifest.tooMany",
                "more than \(DASHManifest.maximumBaseURLs) BaseURLs stand at one level")
        }
    }

    private func take(_ element: borrowing XMLElement) throws(Failure) -> Element {
        if element.namespace == "http://www.w3.org/2001/XInclude" {
            throw Failure("manifest.unsupported", "XInclude is not followed")
        }
        guard let parent = open.last else {
            guard element.name == "MPD" else {
                throw Failure(
                    "manifest.malformed",
                    "the document's element is \(Redaction.shown(element.name.string)), not MPD")
            }
            try takeNamespace(element)
            try takeManifest(element)
            return .manifest
        }
        try countOther(element, in: parent)
        guard isOurs(element), parent != .other else {
            try refuseQueries(element)
            return .other
        }
        switch parent {
        case .manifest where element.name == "Period": return try takePeriod(element)
        case .period where element.name == "AdaptationSet": return try takeSet(element)
        case .adaptationSet where element.name == "Representation":
            return try takeRepresentation(element)
        case .manifest, .period, .adaptationSet, .representation:
            return try takeCommon(element)
        case .segmentBase, .segmentList, .segmentTemplate:
            return try takePart(element, of: parent)
        case .timeline where element.name == "S":
            try takeEntry(element)
            return .other
        case .timeline where element.name == "Pattern":
            throw Failure(
                "manifest.unsupported", "patterns of segment durations are not supported")
        case .baseURL:
            throw Failure("manifest.malformed", "a BaseURL holds an element; it is a URL alone")
        default: return .other
        }
    }

    /// Without a namespace, in one of the standard's editions, or in that of the root.
    private func isOurs(_ element: borrowing XMLElement) -> Bool {
        if element.namespace.hasPrefix("urn:mpeg:dash:schema:mpd:")
            || element.namespace.hasPrefix("urn:mpeg:DASH:schema:MPD:")
        {
            return true
        }
        if element.namespace.isEmpty { return !element.hasUndeclaredPrefix }
        return foreignNamespace.map { element.namespace.bytes.elementsEqual($0) } ?? false
    }

    /// Takes note of the root's namespace, where it is an unknown one.
    private func takeNamespace(_ element: borrowing XMLElement) throws(Failure) {
        // A strict reading finds nothing of an MPD in it.
        guard !manifest.findings.isStrict, !element.namespace.isEmpty, !isOurs(element) else {
            return
        }
        foreignNamespace = Array(element.namespace.bytes)
        let shown = Redaction.shown(element.namespace.string)
        try note(.dashNamespace) { "the namespace is \(shown)" }
    }

    /// What a query is made of by rules that are not followed here would be missing from every URL.
    private func refuseQueries(_ element: borrowing XMLElement) throws(Failure) {
        guard element.namespace.hasPrefix("urn:mpeg:dash:schema:urlparam"),
            element.name == "UrlQueryInfo" || element.name == "ExtUrlQueryInfo"
        else { return }
        throw Failure(
            "manifest.unsupported",
            "URL parameters (\(element.name.string)) are not supported: without them its URLs are "
                + "not those that a player asks for")
    }

    /// What nothing else bounds is bounded here: whoever changes the manifest for the edge lists elements.
    private func countOther(
        _ element: borrowing XMLElement, in parent: Element
    ) throws(Failure) {
        if parent == .timeline, element.name == "S" { return }
        if parent == .segmentList, element.name == "SegmentURL" { return }
        otherElements += 1
        guard otherElements <= DASHManifest.maximumOtherElements else {
            throw Failure(
                "manifest.tooMany",
                "more than \(DASHManifest.maximumOtherElements) elements beside those of segments")
        }
    }

    func count() throws(Failure) {
        elements += 1
        guard elements <= DASHManifest.maximumElements else {
            throw Failure(
                "manifest.tooMany",
                "more than \(DASHManifest.maximumElements) periods, adaptation sets and "
                    + "representations")
        }
    }

    /// Whether the element is declared to be nothing by xlink; refuses what is to be fetched.
    func isRemote(
        _ namespace: XMLText, _ name: XMLText, _ value: XMLText
    ) throws(Failure) -> Bool {
        guard name == "href",
            namespace == "http://www.w3.org/1999/xlink" || namespace.isEmpty && isRemoteByName
        else { return false }
        if value == "urn:mpeg:dash:resolve-to-zero:2013" { return true }
        throw Failure(
            "manifest.unsupported", "a part that is elsewhere (xlink:href) is not followed")
    }
}
