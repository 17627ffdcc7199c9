package import Model
package import WebURL

/// An MPD that was read (ISO/IEC 23009-1): what its segments' addresses are made from.
///
/// `forEachSegment` lists them. What is not listed, because a player does not ask the edge for it or
/// does not need it for the title: `Location` and `PatchLocation` (of a live manifest), licence
/// servers of content protection, event callbacks and reporting.
///
/// Times are nanoseconds unless a timescale is named. What a level of the manifest inherits from the
/// one above (5.3.9.1) is filled in already.
package struct DASHManifest: Sendable {
    /// Largest manifest in bytes.
    package static let maximumBytes = 22 << 20
    /// Most periods, adaptation sets and representations together.
    static let maximumElements = 30_000
    /// Most elements of whatever kind, but for entries of timelines and lists.
    static let maximumOtherElements = 500_000
    /// Most entries of segment timelines, of the whole manifest.
    static let maximumTimelineEntries = 700_000
    /// The same, as often as representations inherit them.
    static let maximumTimelineVisits = 4_000_000
    /// Most entries of segment lists, of the whole manifest.
    static let maximumListEntries = WireLimits.segmentsPerAsset / 2
    /// Most base URLs of one level.
    static let maximumBaseURLs = 16
    /// Most bytes of what these are resolved against, and of themselves, over all levels.
    static let maximumBaseBytes = 16 << 20
    /// Most bytes of references of segments, that of each mirror counted as well.
    static let maximumReferenceBytes = WireLimits.urlBytesPerAsset
    /// Most segments, where several may be parts of the same object.
    package static let maximumSegments = 2 * WireLimits.segmentsPerAsset
    /// Most segments of one sequence (S@k).
    static let maximumSequence: Int64 = 10_000

    /// Where it was received from in the end; relative references resolve against it.
    package internal(set) var url: WebURL
    /// The URL that names it; not `url` where a redirect led there. See `ManifestReference.named`.
    package internal(set) var named: WebURL
    /// It is still being written.
    package internal(set) var isLive = false
    /// Whom a live manifest is taken for.
    var live = LiveManifests.refused
    var duration: Int64?
    /// In seconds since 1970.
    var availabilityStart: Double?
    var timeShiftBufferDepth: Int64?
    var baseURLs: [String] = []
    var periods: [Period] = []

    /// Rules that it breaks.
    var findings: ManifestFindings
    /// Which query parameters belong to keys of segments.
    var keyRules = KeyQueryRules()

    struct Period: Sendable {
        var id: String?
        var line = 0
        var start: Int64?
        var duration: Int64?
        var baseURLs: [String] = []
        var addressing = Addressing()
        var own = OwnAddressing()
        var sets: [AdaptationSet] = []
    }

    struct AdaptationSet: Sendable {
        var contentType: String?
        var common = Common()
        var isTrickMode = false
        var baseURLs: [String] = []
        var addressing = Addressing()
        var own = OwnAddressing()
        var representations: [Representation] = []
    }

    struct Representation: Sendable {
        var id = ""
        var line = 0
        var bandwidth: Int64 = 0
        var common = Common()
        var baseURLs: [String] = []
        var addressing = Addressing()
        var own = OwnAddressing()
    }

    /// What an adaptation set may say for all its representations.
    struct Common: Sendable {
        var mimeType: String?
        var codecs: String?
        var language: String?
        var width: Int64?
        var height: Int64?
    }

    /// An Initialization, RepresentationIndex or BitstreamSwitching element.
    struct Source: Hashable, Sendable {
        var url: String?
        var range: SegmentRange?
    }

    /// SegmentBase, SegmentList and SegmentTemplate of one level with what it inherits.
    struct Addressing: Equatable, Sendable {
        enum Kind: Sendable { case none, base, list, template }

        var kind = Kind.none
        /// Units a second.
        var timescale: Int64 = 1
        var presentationTimeOffset: Int64 = 0
        var duration: Int64?
        var startNumber: Int64 = 1
        var endNumber: Int64?
        var eptDelta: Int64 = 0
        var indexRange: SegmentRange?
        var initialization: Source?
        var representationIndex: Source?
        var bitstreamSwitching: Source?
        // Templates:
        var media: String?
        var index: String?
        var initializationTemplate: String?
        var bitstreamSwitchingTemplate: String?
        var timeline: Timeline?
        var list = SegmentList()
    }

    /// Reads an MPD.
    ///
    /// - Parameters:
    ///   - bytes: the body as it was received.
    ///   - url: where it was received from in the end.
    ///   - named: the URL that names it, when a redirect led from there to `url`.
    ///   - live: what becomes of one of type `dynamic`.
    ///   - policy: what becomes of one that breaks a rule which players read past.
    ///
    /// Fails with `manifest.…`; the message names the URL (without its query), and the line or the
    /// representation. Segments are counted here, not listed, so a manifest that has more than are
    /// taken is refused without them.
    package static func parse(
        _ bytes: [UInt8], url: WebURL, named: WebURL? = nil, live: LiveManifests = .refused,
        policy: ManifestPolicy = .lenient
    ) throws(Failure) -> DASHManifest {
        var manifest = try DASHParser.parse(
            bytes, url: url, named: named ?? url, live: live, policy: policy)
        _ = try manifest.segmentCount()
        try manifest.warnOfTimes()
        return manifest
    }

    /// Rules that it breaks, and that players read past; but for tracks that name the manifest itself.
    package var warnings: ManifestWarnings { findings.warnings }

    /// The failure of what is said with `manifest.…`.
    func failure(_ code: FailureCode, _ what: String) -> Failure {
        Failure(code, "\(url): \(what)")
    }
}
