import Model
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
    private var base: [UInt8]?
    /// The addressing element under way, with what it inherits.
    var addressing = DASHManifest.Addressing()
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
        _ bytes: [UInt8], url: WebURL, named: WebURL, live: LiveManifests
    ) throws(Failure) -> DASHManifest {
        var manifest = DASHManifest(url: url, named: named)
        manifest.live = live
        guard bytes.count <= DASHManifest.maximumBytes else {
            throw manifest.failure(
                "manifest.tooLarge", "an MPD holds at most \(DASHManifest.maximumBytes) bytes")
        }
        guard bytes.contains(where: { $0 > ASCII.space }) else {
            throw manifest.failure("manifest.empty", "the body is empty")
        }
        let parser = DASHParser(manifest)
        do throws(XMLError) {
            try XMLReader.read(bytes, into: parser)
        } catch {
            let place = "\(url) line \(error.line)"
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

    private static func isPage(_ bytes: [UInt8]) -> Bool {
        guard let start = bytes.firstIndex(where: { $0 > ASCII.space && $0 < ASCII.delete }) else {
            return false
        }
        return ["<!doctype html", "<html"].contains {
            ASCII.hasPrefixIgnoringCase(bytes, start..<bytes.count, $0)
        }
    }

    // MARK: Events

    func start(_ element: borrowing XMLElement) -> Bool {
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
            switch open.popLast() {
            case .baseURL: try endBase()
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

    /// Without a namespace, or in one of the standard's editions.
    private func isOurs(_ element: borrowing XMLElement) -> Bool {
        element.namespace.isEmpty || element.namespace.hasPrefix("urn:mpeg:dash:schema:mpd:")
            || element.namespace.hasPrefix("urn:mpeg:DASH:schema:MPD:")
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

    // MARK: Levels

    private func takeManifest(_ element: borrowing XMLElement) throws(Failure) {
        try element.forEachAttribute { (_, name, value) throws(Failure) in
            if name == "type" {
                manifest.isLive = value == "dynamic"
            } else if name == "mediaPresentationDuration" {
                manifest.duration = try duration(value, name)
            } else if name == "availabilityStartTime" {
                manifest.availabilityStart = try date(value, name)
            } else if name == "timeShiftBufferDepth" {
                manifest.timeShiftBufferDepth = try duration(value, name)
            }
        }
        if manifest.isLive, manifest.live == .refused {
            throw Failure("manifest.live", "the MPD is dynamic: it is live")
        }
    }

    private func takePeriod(_ element: borrowing XMLElement) throws(Failure) -> Element {
        var period = DASHManifest.Period()
        var isNothing = false
        try element.forEachAttribute { (namespace, name, value) throws(Failure) in
            if try isRemote(namespace, name, value) {
                isNothing = true
            } else if name == "id" {
                period.id = try text(value, name)
            } else if name == "start" {
                period.start = try duration(value, name)
            } else if name == "duration" {
                period.duration = try duration(value, name)
            }
        }
        if isNothing { return .other }
        try count()
        manifest.periods.append(period)
        return .period
    }

    private func takeSet(_ element: borrowing XMLElement) throws(Failure) -> Element {
        var set = DASHManifest.AdaptationSet()
        var isNothing = false
        try element.forEachAttribute { (namespace, name, value) throws(Failure) in
            if try isRemote(namespace, name, value) {
                isNothing = true
            } else if name == "contentType" {
                set.contentType = try text(value, name)
            } else {
                try take(name, value, into: &set.common)
            }
        }
        if isNothing { return .other }
        try count()
        withPeriod { period in
            set.addressing = period.addressing
            period.sets.append(set)
        }
        return .adaptationSet
    }

    private func takeRepresentation(_ element: borrowing XMLElement) throws(Failure) -> Element {
        var representation = DASHManifest.Representation()
        withSet { set in
            representation.common = set.common
            representation.addressing = set.addressing
        }
        try element.forEachAttribute { (namespace, name, value) throws(Failure) in
            if try isRemote(namespace, name, value) { return }
            if name == "id" {
                representation.id = try text(value, name)
            } else if name == "bandwidth" {
                representation.bandwidth = try number(value, name)
            } else {
                try take(name, value, into: &representation.common)
            }
        }
        try count()
        withSet { $0.representations.append(representation) }
        return .representation
    }

    private func take(
        _ name: XMLText, _ value: XMLText, into common: inout DASHManifest.Common
    ) throws(Failure) {
        if name == "mimeType" {
            common.mimeType = try text(value, name)
        } else if name == "codecs" {
            common.codecs = try text(value, name)
        } else if name == "lang" {
            common.language = try text(value, name)
        } else if name == "width" {
            common.width = try number(value, name)
        } else if name == "height" {
            common.height = try number(value, name)
        }
    }

    /// Takes what stands at several levels.
    private func takeCommon(_ element: borrowing XMLElement) throws(Failure) -> Element {
        if element.name == "BaseURL" {
            base = []
            return .baseURL
        }
        if open.last == .manifest { return .other }
        if element.name == "SegmentBase" {
            try takeAddressing(element, .base)
            return .segmentBase
        }
        if element.name == "SegmentList" {
            try takeAddressing(element, .list)
            return .segmentList
        }
        if element.name == "SegmentTemplate" {
            try takeAddressing(element, .template)
            return .segmentTemplate
        }
        if element.name == "ImportedMPD" {
            throw Failure("manifest.unsupported", "an ImportedMPD is not followed")
        }
        if element.name == "RequestParam" { try refuseParameters(element) }
        if element.name == "ContentComponent" || element.name == "EssentialProperty"
            || element.name == "SupplementalProperty"
        {
            try takeProperty(element)
        }
        return .other
    }

    /// What the 6th edition has in place of UrlQueryInfo.
    private func refuseParameters(_ element: borrowing XMLElement) throws(Failure) {
        var isOfSegments = true
        element.forEachAttribute { _, name, value in
            if name == "includeInRequests" { isOfSegments = value.string.contains("segment") }
        }
        guard isOfSegments else { return }
        throw Failure(
            "manifest.unsupported",
            "URL parameters (RequestParam) are not supported: without "
                + "them its URLs are not those that a player asks for")
    }

    private func takeProperty(_ element: borrowing XMLElement) throws(Failure) {
        guard open.last == .adaptationSet else { return }
        let isComponent = element.name == "ContentComponent"
        try element.forEachAttribute { (_, name, value) throws(Failure) in
            if isComponent, name == "contentType" {
                // A set of several, multiplexed, is named for the first, its video as a rule.
                let type = try text(value, name)
                withSet { $0.contentType = $0.contentType ?? type }
            } else if name == "schemeIdUri", value == "http://dashif.org/guidelines/trickmode" {
                withSet { $0.isTrickMode = true }
            }
        }
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

    private func count() throws(Failure) {
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
        guard name == "href", namespace == "http://www.w3.org/1999/xlink" else { return false }
        if value == "urn:mpeg:dash:resolve-to-zero:2013" { return true }
        throw Failure(
            "manifest.unsupported", "a part that is elsewhere (xlink:href) is not followed")
    }
}
