import Model
import Text
import WebURL
internal import XML

/// Parses an MPD: converts libxml2's events to a `DASHManifest`. Confined to one thread.
final class DASHParser: XMLHandler {
    enum Element {
        case manifest, period, adaptationSet, representation, baseURL, steering, location
        case segmentBase, segmentList, segmentTemplate
        case timeline
        /// Its contents are ignored.
        case other
    }

    /// The result so far.
    var manifest: DASHManifest
    private(set) var failure: Failure?
    private(set) var open: [Element] = []
    var reference = OpenReference()
    var addressing = OpenAddressing()
    var late = LateAddressing()
    /// Line of the last started element.
    private(set) var line = 0
    /// Lines skipped before the document.
    private var skippedLines = 0
    private var namespaces = Namespaces()
    var amounts = Amounts()

    private init(_ manifest: DASHManifest) { self.manifest = manifest }

    /// Parses an MPD; see `DASHManifest.parse`.
    static func parse(
        _ bytes: [UInt8], url: WebURL, named: WebURL, live: LiveManifests, policy: ManifestPolicy
    ) throws(Failure) -> DASHManifest {
        var manifest = DASHManifest(
            url: url, named: named, findings: ManifestFindings(policy, of: url))
        manifest.live = live
        guard bytes.count <= DASHManifest.maximumBytes else {
            throw manifest.failure(
                .manifestTooLarge, "an MPD has at most \(DASHManifest.maximumBytes) bytes")
        }
        guard bytes.contains(where: { $0 > ASCII.space }) else {
            throw manifest.failure(.manifestEmpty, "the body is empty")
        }
        let parser = DASHParser(manifest)
        let start = policy == .strict ? 0 : parser.startOfDeclaration(bytes)
        do throws(XMLError) {
            try XMLReader.read(bytes, from: start, into: parser)
        } catch {
            let location = FailureLocation.manifest(
                "\(url)", line: error.line + parser.skippedLines)
            if let failure = parser.failure { throw failure.at(location) }
            if isPage(bytes) {
                throw manifest.failure(
                    .manifestHTML, "received an HTML page instead of an MPD")
            }
            throw Failure(.manifestMalformed, at: location, Redaction.shown(error.detail))
        }
        return parser.manifest
    }

    /// Returns the start of the document: after white space, if an XML declaration follows.
    private func startOfDeclaration(_ bytes: [UInt8]) -> Int {
        guard let start = bytes.firstIndex(where: { $0 > ASCII.space }), start > 0,
            ASCII.hasPrefix(bytes, start..<bytes.count, "<?xml ")
        else { return 0 }
        skippedLines = bytes[..<start].count { $0 == ASCII.lineFeed }
        manifest.findings.warn(.dashDeclaration, line: 1) {
            "white space comes before the XML declaration"
        }
        return start
    }

    /// Records a broken rule at the current element.
    func note(_ rule: ManifestRule, _ what: () -> String) throws(Failure) {
        try manifest.findings.note(rule, line: line, what) { Failure(.manifestMalformed, $0) }
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
        namespaces.hasUndeclaredPrefixes = true
        manifest.findings.warn(.dashPrefix, line: line + skippedLines) { Redaction.shown(what()) }
        return true
    }

    func start(_ element: borrowing XMLElement) -> Bool {
        line = element.line + skippedLines
        namespaces.start(element)
        do throws(Failure) {
            open.append(try take(element))
            return true
        } catch {
            failure = error
            return false
        }
    }

    func text(_ text: XMLText) -> Bool {
        // Of an element within a URL nothing belongs to it.
        guard open.last != .other, !reference.append(text) else { return true }
        failure = Failure(
            .manifestMalformed, "a URL is longer than \(WireLimits.urlBytes) bytes")
        return false
    }

    func end() -> Bool {
        do throws(Failure) {
            let ended = open.popLast()
            switch ended {
            case .baseURL: try endBase()
            case .steering: endSteering()
            case .location: try endLocation()
            case .adaptationSet, .period: handDown(ended)
            case .segmentBase, .segmentList, .segmentTemplate: storeAddressing()
            default: break
            }
            return true
        } catch {
            failure = error
            return false
        }
    }

    private func endSteering() {
        if let server = reference.end() { manifest.steering?.server = server.reference }
    }

    private func endLocation() throws(Failure) {
        guard let url = reference.end() else { return }
        try amounts.addBase(bytes: url.reference.utf8.count)
        manifest.locations.append(url)
    }

    private func endBase() throws(Failure) {
        guard let url = reference.end() else { return }
        try amounts.addBase(bytes: url.reference.utf8.count)
        var count = 0
        func append(_ urls: inout [DASHManifest.BaseURL]) {
            urls.append(url)
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
                .manifestTooMany,
                "more than \(DASHManifest.maximumBaseURLs) BaseURLs at one level")
        }
    }

    private func take(_ element: borrowing XMLElement) throws(Failure) -> Element {
        if element.namespace == "http://www.w3.org/2001/XInclude" {
            throw Failure(.manifestUnsupported, "XInclude is not followed")
        }
        guard let parent = open.last else {
            guard element.name == "MPD" else {
                throw Failure(
                    .manifestMalformed,
                    "the document's element is \(Redaction.shown(element.name.string)), not MPD")
            }
            try takeNamespace(element)
            try takeManifest(element)
            return .manifest
        }
        try countOther(element, in: parent)
        guard namespaces.includes(element), parent != .other else {
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
                .manifestUnsupported, "patterns of segment durations are not supported")
        case .baseURL:
            throw Failure(.manifestMalformed, "a BaseURL has an element; it must be a URL only")
        default: return .other
        }
    }

    /// Records the root's namespace if it is unknown.
    private func takeNamespace(_ element: borrowing XMLElement) throws(Failure) {
        // A strict parse finds no MPD elements in it.
        guard !manifest.findings.isStrict, !element.namespace.isEmpty,
            !namespaces.includes(element)
        else { return }
        namespaces.foreign = Array(element.namespace.bytes)
        let shown = Redaction.shown(element.namespace.string)
        try note(.dashNamespace) { "the namespace is \(shown)" }
    }

    /// Rejects unsupported rules for queries, whose parameters would be missing from every URL.
    private func refuseQueries(_ element: borrowing XMLElement) throws(Failure) {
        guard element.namespace.hasPrefix("urn:mpeg:dash:schema:urlparam"),
            element.name == "UrlQueryInfo" || element.name == "ExtUrlQueryInfo"
        else { return }
        throw Failure(
            .manifestUnsupported,
            "URL parameters (\(element.name.string)) are not supported: without them its URLs are "
                + "not those that a player requests")
    }

    /// Limits other elements, because rewriting the manifest lists elements.
    private func countOther(
        _ element: borrowing XMLElement, in parent: Element
    ) throws(Failure) {
        if parent == .timeline, element.name == "S" { return }
        if parent == .segmentList, element.name == "SegmentURL" { return }
        try amounts.addOther()
    }

    /// Returns true if xlink declares the element empty; rejects remote elements.
    func isRemote(
        _ namespace: XMLText, _ name: XMLText, _ value: XMLText
    ) throws(Failure) -> Bool {
        guard namespaces.isLink(namespace, name) else { return false }
        if value == "urn:mpeg:dash:resolve-to-zero:2013" { return true }
        throw Failure(
            .manifestUnsupported, "a remote part (xlink:href) is not supported")
    }
}

extension DASHParser {
    /// Namespaces of the document and of its current element.
    private struct Namespaces {
        /// True if an undeclared prefix was found.
        var hasUndeclaredPrefixes = false
        /// The root's namespace, if it is not from an edition of the standard.
        var foreign: [UInt8]?
        /// True if the last started element has `xlink:href` without a declaration of `xlink`.
        private var isRemoteByName = false

        mutating func start(_ element: borrowing XMLElement) {
            isRemoteByName =
                hasUndeclaredPrefixes && element.hasUndeclaredAttribute("xlink", "href")
        }

        /// Returns true for elements without a namespace, in one of the standard's editions, or in
        /// that of the root.
        func includes(_ element: borrowing XMLElement) -> Bool {
            if element.namespace.hasPrefix("urn:mpeg:dash:schema:mpd:")
                || element.namespace.hasPrefix("urn:mpeg:DASH:schema:MPD:")
            {
                return true
            }
            if element.namespace.isEmpty { return !element.hasUndeclaredPrefix }
            return foreign.map { element.namespace.bytes.elementsEqual($0) } ?? false
        }

        /// Returns true if an attribute of the current element is `xlink:href`.
        func isLink(_ namespace: XMLText, _ name: XMLText) -> Bool {
            name == "href"
                && (namespace == "http://www.w3.org/1999/xlink"
                    || namespace.isEmpty && isRemoteByName)
        }
    }

    /// The current BaseURL, or another element whose text is a URL.
    struct OpenReference {
        /// Its `serviceLocation`.
        var location = ""
        /// Its text so far; nil outside such elements.
        private var bytes: [UInt8]?

        mutating func begin() {
            bytes = []
            location = ""
        }

        /// Adds a text, unless no element is open; returns false if it is longer than URLs may be.
        mutating func append(_ text: XMLText) -> Bool {
            bytes?.append(contentsOf: text.bytes)
            return bytes?.count ?? 0 <= WireLimits.urlBytes
        }

        /// Ends a URL (xs:anyURI): white space at its ends, including line ends, is not part of it.
        mutating func end() -> DASHManifest.BaseURL? {
            guard let bytes else { return nil }
            self.bytes = nil
            let isText = { (byte: UInt8) in byte > ASCII.space }
            let first = bytes.firstIndex(where: isText) ?? 0
            let last = bytes.lastIndex(where: isText).map { $0 + 1 } ?? 0
            return DASHManifest.BaseURL(
                reference: String(decoding: bytes[first..<last], as: UTF8.self),
                location: location)
        }
    }
}

extension DASHParser {
    /// Amounts of what an MPD may have too much of. Each call throws beyond the limit.
    struct Amounts {
        /// Periods, adaptation sets and representations.
        private var elements = 0
        private var otherElements = 0
        private var baseBytes = 0
        private var timelineEntries = 0
        private var listEntries = 0

        mutating func addElement() throws(Failure) {
            elements += 1
            guard elements <= DASHManifest.maximumElements else {
                throw Failure(
                    .manifestTooMany,
                    "more than \(DASHManifest.maximumElements) periods, adaptation sets and "
                        + "representations")
            }
        }

        /// Adds an element beside those of segments.
        mutating func addOther() throws(Failure) {
            otherElements += 1
            guard otherElements <= DASHManifest.maximumOtherElements else {
                throw Failure(
                    .manifestTooMany,
                    "more than \(DASHManifest.maximumOtherElements) elements beside those of "
                        + "segments")
            }
        }

        /// Adds the text of a BaseURL.
        mutating func addBase(bytes: Int) throws(Failure) {
            baseBytes += bytes
            guard baseBytes <= DASHManifest.maximumBaseBytes / 2 else {
                throw Failure(
                    .manifestTooMany,
                    "its BaseURLs exceed \(DASHManifest.maximumBaseBytes / 2) bytes")
            }
        }

        mutating func addListEntries(_ count: Int) throws(Failure) {
            listEntries += count
            guard listEntries <= DASHManifest.maximumListEntries else {
                throw Failure(
                    .manifestTooMany,
                    "more than \(DASHManifest.maximumListEntries) segments are listed")
            }
        }

        mutating func addTimelineEntry() throws(Failure) {
            timelineEntries += 1
            guard timelineEntries <= DASHManifest.maximumTimelineEntries else {
                throw Failure(
                    .manifestTooMany,
                    "more than \(DASHManifest.maximumTimelineEntries) entries of timelines")
            }
        }
    }
}
