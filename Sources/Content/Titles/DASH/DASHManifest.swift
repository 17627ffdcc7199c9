package import Model
package import WebURL

/// A parsed MPD (ISO/IEC 23009-1) with the addressing of its segments.
///
/// `forEachSegment` lists them. It omits objects that a player does not fetch from the edge or does
/// not need for the title: `Location` and `PatchLocation` (of a live manifest), licence servers of
/// content protection, event callbacks and reporting.
///
/// Times are nanoseconds unless a timescale is given. Inherited attributes (5.3.9.1) are already
/// filled in.
package struct DASHManifest: Sendable {
    /// Maximum size of a manifest in bytes.
    package static let maximumBytes = 22 << 20
    /// Maximum number of periods, adaptation sets and representations together.
    static let maximumElements = 30_000
    /// Maximum number of elements of any kind, except entries of timelines and lists.
    static let maximumOtherElements = 500_000
    /// Maximum number of segment timeline entries in the whole manifest.
    static let maximumTimelineEntries = 700_000
    /// Maximum number of these entries, counted per inheriting representation.
    static let maximumTimelineVisits = 4_000_000
    /// Maximum number of segment list entries in the whole manifest.
    static let maximumListEntries = WireLimits.segmentsPerAsset / 2
    /// Maximum number of base URLs of one level.
    static let maximumBaseURLs = 16
    /// Maximum number of bytes resolved for base URLs over all levels.
    static let maximumBaseBytes = 16 << 20
    /// Maximum number of bytes of segment references, counted per mirror.
    static let maximumReferenceBytes = WireLimits.urlBytesPerAsset
    /// Maximum number of segments; several may be parts of one object.
    package static let maxListedEntries = 2 * WireLimits.segmentsPerAsset
    /// Maximum number of segments of one sequence (S@k).
    static let maximumSequence: Int64 = 10_000

    /// Its final URL; relative references resolve against it.
    package internal(set) var url: WebURL
    /// Its URL before a redirect; otherwise equal to `url`. See `ManifestReference.named`.
    package internal(set) var named: WebURL
    /// True for a live manifest.
    package internal(set) var isLive = false
    /// The handling of a live manifest.
    var live = LiveManifests.refused
    var duration: Int64?
    /// In seconds since 1970.
    var availabilityStart: Double?
    var availabilityEnd: Double?
    var timeShiftBufferDepth: Int64?
    /// minimumUpdatePeriod and suggestedPresentationDelay.
    var minimumUpdate: Int64?
    var suggestedDelay: Int64?
    /// The clocks that are supported, `DASHClock.maxClocks` at most; the first is preferred.
    var clocks: [DASHClock] = []
    /// publishTime, in seconds since 1970.
    var publishedSeconds: Double?
    /// The URLs from which it is to be reloaded (Location), the preferred one first.
    var locations: [BaseURL] = []
    var baseURLs: [BaseURL] = []
    var steering: Steering?
    var periods: [Period] = []

    /// Broken rules.
    var findings: ManifestFindings
    /// The query parameters that belong to keys of segments.
    var keyRules = KeyQueryRules()

    /// A ContentSteering element; the URLs are as written.
    struct Steering: Sendable {
        var server = ""
        var proxy: String?
        var firstLocations: [String] = []
        var asksBeforeStart = false
    }

    /// A BaseURL element as written.
    struct BaseURL: Sendable {
        var reference: String
        /// Its `serviceLocation`; empty without one.
        var location = ""
    }

    struct Period: Sendable {
        var id: String?
        var line = 0
        var start: Int64?
        var duration: Int64?
        var baseURLs: [BaseURL] = []
        var addressing = Addressing()
        var own = OwnAddressing()
        var sets: [AdaptationSet] = []
    }

    struct AdaptationSet: Sendable {
        var contentType: String?
        var common = Common()
        var isTrickMode = false
        var baseURLs: [BaseURL] = []
        var addressing = Addressing()
        var own = OwnAddressing()
        var representations: [Representation] = []
    }

    struct Representation: Sendable {
        var id = ""
        var line = 0
        var bandwidth: Int64 = 0
        var common = Common()
        var baseURLs: [BaseURL] = []
        var addressing = Addressing()
        var own = OwnAddressing()
    }

    /// Attributes that an adaptation set may set for all its representations.
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

    /// SegmentBase, SegmentList or SegmentTemplate of one level with inherited attributes.
    struct Addressing: Equatable, Sendable {
        enum Kind: Sendable { case none, base, list, template }

        var kind = Kind.none
        /// Units per second.
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

    /// Parses an MPD.
    ///
    /// - Parameters:
    ///   - bytes: the body as received.
    ///   - url: its final URL.
    ///   - named: its URL before a redirect to `url`.
    ///   - live: the handling of type `dynamic`.
    ///   - policy: the handling of broken rules that players tolerate.
    ///
    /// Throws `manifest.…`; the message has the URL (without its query), and the line or the
    /// representation. Segments are counted here, not listed, so that a manifest with too many is
    /// rejected early.
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

    /// Broken rules that players tolerate, except tracks that refer to the manifest itself.
    package var warnings: ManifestWarnings { findings.warnings }

    /// Makes a failure with the manifest's URL.
    func failure(_ code: FailureCode, _ what: String) -> Failure {
        Failure(code, at: .manifest("\(url)"), what)
    }
}
