package import Model
package import WebURL

/// Resolves an HLS title to all objects that the edge needs; a value without I/O.
///
/// The owner calls `next` for playlists, fetches them, passes each to `receive`, and repeats until
/// `isComplete`; then `segments` lists every object once. The manifest may be a multivariant or a
/// media playlist. Playlists in a multivariant one must be media playlists, so there is no deeper
/// nesting and no cycle. Any failure ends the resolution, because a title with a missing part is
/// incomplete.
///
/// Redirects: references resolve against the final URL of a playlist. Its key is made from the URL
/// that refers to it, because a player at the edge uses that and resolves references against it.
/// Keys of those references follow the same rule: `HLSPlaylist.parse`.
///
/// Limits: `playlists` playlists, `playlistBytes` bytes and `listedObjects` entries of them
/// together, `WireLimits.segmentsPerAsset` distinct objects, `WireLimits.urlBytesPerAsset` bytes of
/// their URLs.
package struct HLSResolver: Sendable {
    /// Maximum number of concurrently requested playlists, which bounds the bodies in memory.
    package static let requestsAtOnce = 16
    /// Maximum number of playlists of one title.
    package static let playlists = 1_000
    /// Maximum size of all playlists of one title together.
    package static let playlistBytes = 256 << 20
    /// Maximum number of entries in all playlists of one title; several may list the same object.
    package static let listedObjects = 2 * WireLimits.segmentsPerAsset
    /// Maximum number of bytes of the URLs of these entries.
    static let listedBytes = 2 * WireLimits.urlBytesPerAsset

    struct Entry {
        let reference: ManifestReference
        let rendition: HLSPlaylist.Rendition
        /// Its attributes in the manifest.
        var track: Rendition?
        var playlist: HLSPlaylist?
        /// Its URL after redirects, if it was redirected.
        var redirected: WebURL?
        var bytes: Int64 = 0
        var sha256 = ""
        /// The rewritten playlist for the edge; nil if it stays as served.
        var content: [UInt8]?
        /// Its file that cannot be fetched: itself, or one that it lists.
        var lost: LeftOutRendition?
        /// The multivariant playlist for the edge, if the title is recorded.
        var text: [UInt8] = []
        /// The segments of a media playlist, if the title is recorded; a failure counts if it is live.
        var listing: Result<RecordedListing, Failure>?
    }

    /// The manifest first, then its playlists in its order.
    var entries: [Entry]
    var asked = 0
    var received = 0
    private var amounts = Amounts()
    var unchosenTracks = 0
    /// Files that cannot be fetched.
    let losses: TitleLosses
    var lacks = Lacks()
    var keysLeft = 0
    private var recorded = RecordedManifest()
    /// Indexes of the media playlists in `entries`.
    var indexes: [ManifestReference: Int] = [:]

    let options: TitleOptions
    let rules: KeyQueryRules

    /// Starts with the manifest's URL.
    ///
    /// - Parameter lost: files that cannot be fetched, of a title that may lack renditions.
    package init(
        _ url: WebURL, options: TitleOptions = TitleOptions(), lost: [LeftOutRendition] = []
    ) {
        self.options = options
        rules = KeyQueryRules(options.keyQueries)
        losses = TitleLosses(options, lost, rules)
        let reference = ManifestReference(url: url, named: nil, line: 0)
        entries = [Entry(reference: reference, rendition: .variant)]
    }

    /// Starts with the media playlists of a recording that have not ended.
    ///
    /// Throws `input.url` for a URL that no worker has reported.
    package init(
        _ url: WebURL, options: TitleOptions, following cursor: RecordingCursor
    ) throws(Failure) {
        self.init(url, options: options)
        guard cursor.isMultivariant else { return }
        var manifest = HLSPlaylist(kind: .multivariant)
        manifest.variables = cursor.variables
        entries[0].playlist = manifest
        (asked, received) = (1, 1)
        if cursor.offered != nil, cursor.unreadSeconds >= RecordingCursor.maxUnreadSeconds {
            recorded.look = .due
        }
        for playlist in cursor.playlists where !playlist.hasEnded {
            do throws(WebURLError) {
                var reference = ManifestReference(
                    url: try WebURL(playlist.url), named: nil, line: 0)
                if let named = playlist.named { reference.named = try WebURL(named) }
                entries.append(
                    Entry(
                        reference: reference,
                        rendition: HLSPlaylist.Rendition(rawValue: playlist.rendition) ?? .variant))
            } catch {
                throw error.failure(given: playlist.url)
            }
        }
    }

    /// Returns the next playlists to fetch, each once. Empty while `requestsAtOnce` are pending,
    /// and at the end.
    package mutating func next() -> [ManifestRequest] {
        let end = min(entries.count, received + Self.requestsAtOnce)
        let requests = (asked..<max(asked, end)).map { number in
            ManifestRequest(number: number, url: entries[number].reference.url.text)
        }
        asked += requests.count
        guard recorded.look == .due else { return requests }
        recorded.look = .asked
        let url = entries[0].reference.url.text
        return requests + [ManifestRequest(number: entries.count, url: url, isOptional: true)]
    }

    /// Adds the multivariant playlist that shows what has joined a recording; nil if it cannot be
    /// read.
    mutating func receive(offers body: [UInt8]?) {
        recorded.look = .answered
        let url = entries[0].reference.url
        guard let body, let playlist = try? HLSPlaylist.parse(body, url: url, takesSnapshots: true),
            playlist.kind == .multivariant
        else { return }
        recorded.offers = HLSOffers(body, options.tracks)
    }

    /// The renditions in the multivariant playlist of a recording; nil if it was not read.
    var offers: HLSOffers? { recorded.offers }

    /// True if the multivariant playlist was requested since the recording's last pass.
    var hasLooked: Bool { offers != nil || recorded.look == .answered }

    /// Variables of the manifest (EXT-X-DEFINE).
    var variables: [String: String] { entries[0].playlist?.variables ?? [:] }

    /// Content steering of the manifest. Throws if it cannot be followed.
    func steering() throws(Failure) -> ContentSteering? { try entries[0].playlist?.steering?.get() }

    /// URL of the manifest after redirects, if it was redirected.
    var redirectedManifest: WebURL? { entries[0].redirected }

    /// True if a playlist had not ended when it was read.
    var isLive: Bool { entries.contains { $0.playlist?.isLive == true } }

    /// True if every playlist was received.
    package var isComplete: Bool {
        received == entries.count && (recorded.look == nil || recorded.look == .answered)
    }

    /// Adds the body of a playlist.
    ///
    /// - Parameters:
    ///   - request: a request of `next`; an already answered one is ignored.
    ///   - finalURL: the URL after redirects.
    ///   - body: the whole body, at most `HLSPlaylist.maximumBytes`.
    ///   - sha256: the body's SHA-256, 64 lowercase hex digits.
    ///   - contentType: the response's Content-Type.
    package mutating func receive(
        _ request: ManifestRequest, finalURL: String, body: [UInt8], sha256: String,
        contentType: String? = nil
    ) throws(Failure) {
        if request.isOptional { return receive(offers: body) }
        guard entries.indices.contains(request.number),
            entries[request.number].playlist == nil
        else { return }
        let entry = entries[request.number]
        let base = try entry.reference.redirected(to: finalURL)
        try amounts.addPlaylist(bytes: body.count, of: entry.reference.url)
        var choice = HLSTracks.Choice()
        var playlist = try HLSPlaylist.parse(
            body, url: base, named: entry.reference.keyURL,
            imports: request.number == 0 ? nil : entries[0].playlist?.variables,
            rendition: entry.rendition, contentType: contentType,
            takesSnapshots: options.takesSnapshots ?? options.records ?? false,
            policy: options.policy)
        try amounts.add(playlist.segments, of: entries[0].reference.url)
        if playlist.kind == .multivariant {
            guard request.number == 0 else {
                throw Failure(
                    .manifestMalformed, at: .manifest("\(entry.reference.url)"),
                    "a multivariant playlist names another one; it may "
                        + "name media playlists only")
            }
            if !options.tracks.isEverything {
                choice = try HLSTracks(body).choice(options.tracks)
            }
            if !losses.mayLack.isEmpty { lacks.manifest = body }
            try addChildren(of: playlist, base, without: choice.droppedLines)
        }
        let leavesKeys = options.leavesKeys ?? false
        let content = try HLSRewriter(
            playlist, body, url: base, named: entry.reference.keyURL, choice: choice,
            storesKeys: !leavesKeys, replacesVariables: options.records ?? false, rules: rules
        ).body()
        if leavesKeys {
            keysLeft += playlist.segments.count { $0.role == .key }
            playlist.segments.remove(.key)
        }
        if options.records ?? false, playlist.kind == .media {
            entries[request.number].listing = Result { () throws(Failure) in
                try RecordedListing(content ?? body, of: playlist, at: base)
            }
        } else if options.records ?? false {
            entries[request.number].text = content ?? body
            recorded.offers = HLSOffers(body, options.tracks)
        }
        entries[request.number].content = content
        entries[request.number].bytes = Int64(body.count)
        entries[request.number].sha256 = sha256
        if base != entry.reference.url { entries[request.number].redirected = base }
        entries[request.number].playlist = playlist
        received += 1
    }

    private static func tooManyObjects(_ url: WebURL) -> Failure {
        Failure(
            .manifestTooMany, at: .manifest("\(url)"),
            "the title has more than "
                + "\(WireLimits.segmentsPerAsset) objects")
    }

    private mutating func addChildren(
        of playlist: HLSPlaylist, _ base: WebURL, without dropped: Set<Int32>
    ) throws(Failure) {
        let unchosen = playlist.children.filter { dropped.contains($0.reference.line) }
        unchosenTracks = Set(unchosen.map(\.reference.url)).count
        var children = playlist.children.filter { !dropped.contains($0.reference.line) }
        if options.records ?? false {
            recorded.leftOut = children.filter { $0.rendition == .iFrames }
            children.removeAll { $0.rendition == .iFrames }
        }
        try add(children, base)
    }

    /// Adds the playlists that were left out of a recording, for a title that had ended before it.
    ///
    /// Returns true if `next` has requests for them.
    mutating func addPlaylistsLeftOut() throws(Failure) -> Bool {
        precondition(isComplete, "playlists are left out until the others were received")
        try add(recorded.leftOut, entries[0].redirected ?? entries[0].reference.url)
        recorded.leftOut = []
        return !isComplete
    }

    /// - Parameter base: the manifest's URL after redirects.
    mutating func add(
        _ children: [HLSPlaylist.Child], _ base: WebURL
    ) throws(Failure) {
        let manifest = entries[0].reference
        for child in children {
            var reference = child.reference
            if [manifest.url, manifest.keyURL, base].contains(reference.url) {
                throw Failure(
                    .manifestMalformed, at: .manifest("\(manifest.url)", line: Int(reference.line)),
                    "the playlist names itself")
            }
            reference.line = 0
            if let index = indexes[reference] {
                entries[index].track?.fill(from: child.track)
                continue
            }
            indexes[reference] = entries.count
            if entries.count >= Self.playlists {
                throw Failure(
                    .manifestTooMany, at: .manifest("\(manifest.url)"),
                    "the title has more than \(Self.playlists) playlists")
            }
            entries.append(
                Entry(
                    reference: child.reference, rendition: child.rendition, track: child.track))
        }
    }

    /// Returns every object of the title, once, in the order of fetching.
    ///
    /// It goes rendition by rendition, each in playback order, with initialization sections and
    /// keys before the segments that need them. Subtitles, session data, and finally the playlists
    /// and the manifest follow. This is only the order of starts: objects are fetched in parallel.
    /// Playlists have the length and digest that were read, so that a later change is detected.
    ///
    /// Throws `storage.pathConflict` if two URLs share a key or one key is another's folder,
    /// `storage.pathRefused` for a URL without a key, `manifest.empty` without segments,
    /// `manifest.changed` if a title to record had ended, and an I-frame playlist of it has not.
    package func segments() throws(Failure) -> ResolvedSegments {
        precondition(isComplete, "segments() is for a resolver that has received every playlist")
        // The media playlists of a title to record had ended: only one that was left out can be live.
        let late = entries.first { $0.playlist?.isLive ?? false }
        if options.records ?? false, let late {
            throw Failure(
                .manifestChanged, at: .manifest("\(late.reference.url)"),
                "the I-frame playlist has no EXT-X-ENDLIST yet, but the title has ended")
        }
        return try gathered()
    }

    func gathered() throws(Failure) -> ResolvedSegments {
        var collector = SegmentCollector(
            manifests: entries.map(\.reference), expected: amounts.listed, rules: rules)
        let media = mediaIndexes.map { entries[$0] }
        let session = sessionObjects
        for object in session where object.role == .key { try collector.add(object) }
        for entry in media {
            if let playlist = entry.playlist { try collector.add(playlist.segments) }
            if collector.segments.count > WireLimits.segmentsPerAsset {
                throw Self.tooManyObjects(entries[0].reference.url)
            }
        }
        if isComplete,
            collector.segments.count == session.count(where: { $0.role == .key })
        {
            throw Failure(
                .manifestEmpty, at: .manifest("\(entries[0].reference.url)"),
                "the title lists no segment to fetch"
            )
        }
        for object in session where object.role != .key { try collector.add(object) }
        for entry in entries.dropFirst() + entries.prefix(1) {
            try collector.add(
                entry.reference, bytes: entry.bytes, sha256: entry.sha256, content: entry.content)
        }
        if collector.segments.count > WireLimits.segmentsPerAsset {
            throw Self.tooManyObjects(entries[0].reference.url)
        }
        try collector.checkFolders()
        var segments = collector.segments
        for entry in entries {
            if let playlist = entry.playlist { segments.warnings.add(playlist.warnings) }
        }
        segments.leftOut = lacks.tracks
        return segments
    }

    /// Indexes of the media playlists, in the order of fetching.
    var mediaIndexes: [Int] {
        entries.indices.filter { entries[$0].playlist?.kind == .media }
            .sorted { (entries[$0].rendition, $0) < (entries[$1].rendition, $1) }
    }

    var sessionObjects: ManifestSegments {
        guard let playlist = entries[0].playlist, playlist.kind == .multivariant else {
            return ManifestSegments()
        }
        return playlist.segments
    }
}

extension HLSResolver {
    /// Amounts of all playlists of a title so far. Each call throws beyond the limit.
    private struct Amounts {
        private var playlistBytes = 0
        /// Entries with duplicates.
        private(set) var listed = 0
        /// Bytes of their URLs.
        private var listedBytes = 0

        /// Adds a body.
        mutating func addPlaylist(bytes: Int, of url: WebURL) throws(Failure) {
            playlistBytes += bytes
            guard playlistBytes <= HLSResolver.playlistBytes else {
                throw Failure(
                    .manifestTooLarge, at: .manifest("\(url)"),
                    "the title's playlists are larger than "
                        + "\(HLSResolver.playlistBytes) bytes together")
            }
        }

        /// Adds the entries of a playlist.
        ///
        /// - Parameter url: of the title's manifest.
        mutating func add(_ segments: ManifestSegments, of url: WebURL) throws(Failure) {
            listed += segments.count
            guard listed <= HLSResolver.listedObjects else {
                throw HLSResolver.tooManyObjects(url)
            }
            listedBytes += segments.urlBytes
            guard listedBytes <= HLSResolver.listedBytes else {
                throw Failure(
                    .manifestTooMany, at: .manifest("\(url)"),
                    "the URLs that the title's playlists list total "
                        + "\(listedBytes) bytes; at most \(HLSResolver.listedBytes) are allowed")
            }
        }
    }
}
