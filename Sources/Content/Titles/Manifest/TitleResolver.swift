package import Model
import Text
import WebURL

/// A manifest that the resolver's owner must fetch.
package struct ManifestRequest: Hashable, Sendable {
    /// Identifies the request; the title's manifest is 0.
    package let number: Int
    package let url: String
    /// The byte range of a segment index; nil for a whole manifest.
    package var range: SegmentRange?
    /// True for what may be missing, and must not hold up a reading: the clock of a live MPD, and the
    /// multivariant playlist of a recording: see `TitleResolver.receiveOptional`.
    package var isOptional = false
}

/// Resolves a title to all objects that the edge needs; a value without I/O.
///
/// The owner calls `next` for manifests, fetches them, passes each to `receive`, and repeats until
/// `isComplete`; then `segments` lists every object once. The manifest's content decides between
/// HLS and DASH, even if the list specifies the other kind.
package struct TitleResolver: Sendable {
    /// Maximum number of concurrently requested manifests, which bounds the bodies in memory.
    package static let requestsAtOnce = HLSResolver.requestsAtOnce
    /// Maximum size of a manifest in bytes.
    package static let maximumBytes = max(HLSPlaylist.maximumBytes, DASHManifest.maximumBytes)

    private enum State: Sendable {
        /// Nothing was received yet.
        case asking(isAsked: Bool)
        case hls(HLSResolver)
        case dash(DASHResolver)
        case recording(DASHRecording)
    }

    private let url: WebURL
    /// The kind in the list.
    private let listedKind: AssetKind
    private let options: TitleOptions
    private let lost: [LeftOutRendition]
    /// Time at which a live MPD is read, in seconds since 1970; nil to reject live MPDs.
    private let liveSeconds: Double?
    private let readsIndexes: Bool
    /// The MPD of a recording from which it is continued; nil for others.
    private let followed: RecordingCursor.MPD?
    private let pausedClocks: Set<String>
    private var state = State.asking(isAsked: false)

    /// Starts with the manifest's URL, or with the media playlists of a recording.
    ///
    /// - Parameter lost: files that cannot be fetched, of a title that may lack renditions.
    /// - Parameter cursor: the position from which a recording continues; nil to read the manifest.
    /// - Parameter snapshotSeconds: time at which a live MPD is captured or recorded, in seconds
    ///   since 1970; nil to reject it whatever the options are.
    /// - Parameter pausedClocks: URLs of clocks that failed before. A recording requests them only if
    ///   it would have to do without segments otherwise.
    /// - Parameter readsIndexes: true also requests segment indexes of files, so that `listing` has
    ///   their segments and sizes.
    ///
    /// Throws `input.url`, or `manifest.unsupported` for a kind without a manifest.
    package init(
        url text: String, kind: AssetKind, options: TitleOptions = TitleOptions(),
        lost: [LeftOutRendition] = [], following cursor: RecordingCursor? = nil,
        snapshotSeconds: Double? = nil,
        pausedClocks: Set<String> = [], readsIndexes: Bool = false
    ) throws(Failure) {
        guard kind != .file else {
            throw Failure(.manifestUnsupported, "an asset of kind file has no manifest")
        }
        do throws(WebURLError) {
            url = try WebURL(text)
        } catch {
            throw error.failure(given: text)
        }
        listedKind = kind
        self.options = options
        self.lost = lost
        self.readsIndexes = readsIndexes
        self.pausedClocks = pausedClocks
        let isTaken = options.takesSnapshots ?? false || options.records ?? false
        liveSeconds = isTaken ? snapshotSeconds : nil
        followed = cursor?.mpd
        if let cursor, followed == nil {
            state = .hls(try HLSResolver(url, options: options, following: cursor))
        }
    }

    /// Returns the next manifests to fetch, each once. Empty while `requestsAtOnce` are pending,
    /// and at the end.
    package mutating func next() -> [ManifestRequest] {
        switch state {
        case .asking(let isAsked):
            state = .asking(isAsked: true)
            return isAsked ? [] : [ManifestRequest(number: 0, url: followed?.location ?? url.text)]
        case .hls(var resolver):
            let requests = resolver.next()
            state = .hls(resolver)
            return requests
        case .dash(var resolver):
            let requests = resolver.indexes.next()
            state = .dash(resolver)
            return requests
        case .recording(var recording):
            let requests = recording.next()
            state = .recording(recording)
            return requests
        }
    }

    /// True if every manifest was received.
    package var isComplete: Bool {
        switch state {
        case .asking: false
        case .hls(let resolver): resolver.isComplete
        case .dash(let resolver): resolver.indexes.isComplete
        case .recording(let recording): recording.isComplete
        }
    }

    /// The kind by its content; by the list until its manifest was received.
    package var kind: AssetKind {
        switch state {
        case .asking: listedKind
        case .hls: .hls
        case .dash, .recording: .dash
        }
    }

    /// Variables of a multivariant playlist, which its media playlists may import.
    package var variables: [String: String] {
        if case .hls(let resolver) = state { resolver.variables } else { [:] }
    }

    /// Returns the manifest's content steering; nil without it. Throws `manifest.unsupported` if it
    /// cannot be followed.
    package func steering() throws(Failure) -> ContentSteering? {
        switch state {
        case .asking, .recording: nil
        case .hls(let resolver): try resolver.steering()
        case .dash(let resolver): try resolver.steering()
        }
    }

    /// URL of the manifest after redirects; nil if it was not redirected.
    package var redirectedManifest: String? {
        switch state {
        case .asking: nil
        case .hls(let resolver): resolver.redirectedManifest?.text
        case .dash(let resolver): resolver.redirectedManifest?.text
        case .recording(let recording): recording.redirectedManifest?.text
        }
    }

    /// Time of the manifest's response by the origin's clock, in seconds since 1970; nil if unknown.
    package private(set) var answeredSeconds: Double?

    /// The clocks that a live MPD names, the preferred one first.
    package var clocks: [DASHClock] {
        if case .dash(let resolver) = state { resolver.clocks } else { [] }
    }

    /// The URLs from which a live MPD is requested again; nil without a Location.
    package var reloads: BaseURLLevels? {
        if case .dash(let resolver) = state { resolver.reloads } else { nil }
    }

    /// True if a received manifest is live.
    package var isLive: Bool {
        switch state {
        case .asking: false
        case .hls(let resolver): resolver.isLive
        case .dash(let resolver): resolver.isLive
        case .recording(let recording): recording.isLive
        }
    }

    /// Adds the body of a manifest, or of a clock.
    ///
    /// - Parameters:
    ///   - request: a request of `next`; an already answered one is ignored.
    ///   - finalURL: the URL after redirects.
    ///   - body: the whole body, at most `maximumBytes`.
    ///   - sha256: the body's SHA-256, 64 lowercase hex digits.
    ///   - contentType: the response's Content-Type.
    ///   - answeredSeconds: time of the response by the origin's clock, in seconds since 1970;
    ///     replaces `snapshotSeconds` for a live MPD.
    package mutating func receive(
        _ request: ManifestRequest, finalURL: String, body: [UInt8], sha256: String,
        contentType: String? = nil, answeredSeconds: Double? = nil
    ) throws(Failure) {
        switch state {
        case .asking:
            self.answeredSeconds = answeredSeconds
            switch ManifestForm.kind(of: body, contentType: contentType, otherwise: listedKind) {
            case .dash:
                let moment = liveSeconds.map { answeredSeconds ?? $0 }
                if let recording = try self.recording(finalURL, body, answeredSeconds) {
                    state = .recording(recording)
                    return
                }
                var resolver = try DASHResolver(
                    url, finalURL: finalURL, body: body, sha256: sha256, options: options,
                    lost: lost,
                    live: moment.map { .snapshot(atSeconds: $0) } ?? .refused)
                if readsIndexes { try resolver.findIndexes() }
                state = .dash(resolver)
            case .hls, .file:
                guard followed == nil else {
                    throw Failure(
                        .manifestMalformed, at: .manifest("\(url)"),
                        "the title that is recorded was an MPD, and is none any more")
                }
                var resolver = HLSResolver(url, options: options, lost: lost)
                let first = resolver.next()
                for request in first {
                    try resolver.receive(
                        request, finalURL: finalURL, body: body, sha256: sha256,
                        contentType: contentType)
                }
                state = .hls(resolver)
            }
        case .hls(var resolver):
            // Releases the old value to avoid a copy during the change.
            state = .asking(isAsked: true)
            try resolver.receive(
                request, finalURL: finalURL, body: body, sha256: sha256, contentType: contentType)
            state = .hls(resolver)
        case .dash: try receiveIndex(request, body)
        case .recording: receiveOptional(request, body)
        }
    }

    /// Returns the reading of an MPD that is recorded; nil for others, and for one that has ended
    /// before.
    private func recording(
        _ finalURL: String, _ body: [UInt8], _ answeredSeconds: Double?
    ) throws(Failure) -> DASHRecording? {
        guard options.records ?? false, !(options.takesSnapshots ?? false), let liveSeconds else {
            return nil
        }
        let recording = try DASHRecording(
            url, finalURL: finalURL, body: body, options: options,
            answeredSeconds: answeredSeconds, machineSeconds: liveSeconds,
            pausedClocks: pausedClocks, clockFailures: followed?.clockFailures)
        return followed != nil || recording.isLive ? recording : nil
    }

    /// Adds the answer to an optional request, as `receive` does; nil if it cannot be read in time.
    /// Without a live MPD's clock the time of the MPD's answer counts; without the multivariant
    /// playlist of a recording nothing has joined it.
    package mutating func receiveOptional(_ request: ManifestRequest, _ body: [UInt8]?) {
        switch state {
        case .recording(var recording):
            recording.receive(request, clock: body)
            state = .recording(recording)
        case .hls(var resolver):
            state = .asking(isAsked: true)
            resolver.receive(offers: body)
            state = .hls(resolver)
        case .asking, .dash: break
        }
    }

    /// True if the title may lack what a request is for: see `receive(_:unavailable:)`.
    package func mayLack(_ request: ManifestRequest) -> Bool {
        if case .hls(let resolver) = state { resolver.mayLack(request) } else { false }
    }

    /// Notes that the manifest of a request cannot be fetched, which the title may lack.
    package mutating func receive(_ request: ManifestRequest, unavailable failure: Failure) {
        guard case .hls(var resolver) = state else { return }
        state = .asking(isAsked: true)
        resolver.receive(request, unavailable: failure)
        state = .hls(resolver)
    }

    /// Leaves out the renditions that list a file that cannot be fetched, of a title that may lack them.
    ///
    /// Returns true if others are selected instead, and `next` has requests for them. Throws the
    /// failure of a file that the title needs.
    package mutating func leaveOut() throws(Failure) -> Bool {
        guard case .hls(var resolver) = state else { return false }
        // Releases the old value to avoid a copy during the change.
        state = .asking(isAsked: true)
        let isAny = try resolver.leaveOut()
        state = .hls(resolver)
        return isAny
    }

    /// Adds the bytes of a segment index, as `receive` does; nil if it cannot be fetched: its file
    /// is then listed whole.
    package mutating func receiveIndex(
        _ request: ManifestRequest, _ body: [UInt8]?
    ) throws(Failure) {
        guard case .dash(var resolver) = state else { return }
        state = .asking(isAsked: true)
        // Keeps the results so far if this one is invalid.
        defer { state = .dash(resolver) }
        try resolver.indexes.receive(request, body)
    }

    /// Returns the title's contents for display: those of `segments` in order, with byte ranges and
    /// durations. Playlists that were not received count only themselves.
    ///
    /// Throws as `segments` does.
    package func listing() throws(Failure) -> ManifestListing {
        switch state {
        case .asking: preconditionFailure("listing() is for a resolver that has a manifest")
        case .hls(let resolver): try resolver.listing()
        case .dash(let resolver): try resolver.listing()
        case .recording: throw Self.isRecorded
        }
    }

    /// Returns the title's tracks as a player fetches them. Throws `manifest.…`.
    package func tracks() throws(Failure) -> [TitleTrack] {
        switch state {
        case .asking: preconditionFailure("tracks() is for a resolver that has all manifests")
        case .hls(let resolver): resolver.tracks()
        case .dash(let resolver): try resolver.tracks()
        case .recording: throw Self.isRecorded
        }
    }

    /// Returns what a recording lacks; nil for a title that is not recorded, or has ended before.
    ///
    /// - Parameter cursor: the position up to which it is recorded; nil at its beginning.
    package func recordingPass(after cursor: RecordingCursor?) throws(Failure) -> RecordingPass? {
        if case .recording(let recording) = state { return try recording.pass(after: cursor) }
        guard options.records ?? false, case .hls(let resolver) = state,
            cursor != nil || resolver.isLive
        else { return nil }
        return try resolver.recordingPass(after: cursor)
    }

    /// Requests the playlists that a recording leaves out, of a title without a `recordingPass`: it
    /// had ended before, and is stored whole.
    ///
    /// Returns false if none was left out. Throws `manifest.…`.
    package mutating func addPlaylistsLeftOut() throws(Failure) -> Bool {
        guard case .hls(var resolver) = state else { return false }
        // Releases the old value to avoid a copy during the change.
        state = .asking(isAsked: true)
        let isAny = try resolver.addPlaylistsLeftOut()
        state = .hls(resolver)
        return isAny
    }

    /// The failure of listing a title of which a recording is made instead.
    private static var isRecorded: Failure {
        Failure(.manifestLive, "the MPD is dynamic: it is recorded, and not listed as a whole")
    }

    /// Returns every object of the title, once, in the order of fetching, the manifest last.
    ///
    /// Throws `storage.pathConflict`, `storage.pathRefused`, or `manifest.…`.
    package func segments() throws(Failure) -> ResolvedSegments {
        switch state {
        case .asking: preconditionFailure("segments() is for a resolver that has all manifests")
        case .hls(let resolver): try resolver.segments()
        case .dash(let resolver): try resolver.segments()
        case .recording: throw Self.isRecorded
        }
    }
}

/// Detects the kind of manifests.
package enum ManifestForm {
    /// Returns the kind of a body, by its first bytes, then by its Content-Type.
    package static func kind(
        of body: [UInt8], contentType: String?, otherwise: AssetKind
    ) -> AssetKind {
        var start = body.starts(with: ASCII.byteOrderMark) ? 3 : 0
        while start < body.count, body[start] <= ASCII.space { start += 1 }
        let rest = start..<body.count
        if isPlaylist(body, rest) { return .hls }
        if start < body.count, body[start] == ASCII.less, isMPD(body[rest.prefix(16 << 10)]) {
            return .dash
        }
        let type = contentType?.lowercased() ?? ""
        if type.hasPrefix("application/dash+xml") { return .dash }
        let isPlaylist = ["application/vnd.apple.mpegurl", "application/x-mpegurl"]
            .contains { type.hasPrefix($0) }
        return isPlaylist ? .hls : otherwise
    }

    /// Returns true if a playlist begins in a range.
    package static func isPlaylist(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        ["#EXTM3U", "#EXT-X-", "#EXTINF:"].contains { ASCII.hasPrefix(bytes, range, $0) }
    }

    /// Returns true if an element of that name begins, with or without a prefix.
    private static func isMPD(_ head: ArraySlice<UInt8>) -> Bool {
        head.split(separator: ASCII.less).contains { element in
            let name = element.prefix { $0 > ASCII.space && $0 != 0x3E && $0 != ASCII.slash }
            return name.elementsEqual("MPD".utf8) || name.suffix(4).elementsEqual(":MPD".utf8)
        }
    }
}
