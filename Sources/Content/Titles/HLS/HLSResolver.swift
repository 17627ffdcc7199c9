package import Model
package import WebURL

/// Finds everything that an HLS title needs at the edge; a value that does no I/O.
///
/// The owner asks `next` for playlists, fetches them, hands each to `receive`, asks again, until
/// `isComplete`; then `segments` lists every object once. The manifest may be a multivariant or a media
/// playlist; those that a multivariant playlist names must be media playlists, so nothing nests
/// deeper and nothing goes in circles. Any failure ends the resolution: a title with a part missing is
/// not whole.
///
/// Redirects: references resolve against the URL that a playlist came from in the end, but a
/// playlist's key is made from the URL that names it, because a player at the edge looks there, and
/// resolves the references against that. Their keys are made so as well: `HLSPlaylist.parse`.
///
/// Bounds: `playlists` playlists, `playlistBytes` bytes and `listedObjects` entries of them together,
/// `WireLimits.segmentsPerAsset` distinct objects, `WireLimits.urlBytesPerAsset` bytes of their URLs.
package struct HLSResolver: Sendable {
    /// Most playlists that are awaited at a time, so that an owner that holds their bodies holds few.
    package static let requestsAtOnce = 16
    /// Most playlists of one title.
    package static let playlists = 1_000
    /// Most bytes of all playlists of one title together.
    package static let playlistBytes = 256 << 20
    /// Most entries of all playlists of one title, where several may list the same object.
    package static let listedObjects = 2 * WireLimits.segmentsPerAsset
    /// Most bytes of the URLs of these entries.
    static let listedBytes = 2 * WireLimits.urlBytesPerAsset

    private struct Entry {
        let reference: ManifestReference
        let rendition: HLSPlaylist.Rendition
        /// What the manifest says of it.
        var track: Rendition?
        var playlist: HLSPlaylist?
        var bytes: Int64 = 0
        var sha256 = ""
        /// What is to lie at the edge, where that is not what was served.
        var content: [UInt8]?
    }

    /// The manifest first, then the playlists it names, in its order.
    private var entries: [Entry]
    private var asked = 0
    private var received = 0
    private var totalBytes = 0
    /// Entries of all playlists so far, with what several of them list.
    private var listed = 0
    /// Bytes of their URLs.
    private var listedBytes = 0
    private var unchosenTracks = 0
    private var keysLeft = 0

    private let options: TitleOptions
    private let rules: KeyQueryRules

    /// Starts with the manifest's URL.
    package init(_ url: WebURL, options: TitleOptions = TitleOptions()) {
        self.options = options
        rules = KeyQueryRules(options.keyQueries)
        let reference = ManifestReference(url: url, named: nil, line: 0)
        entries = [Entry(reference: reference, rendition: .variant)]
    }

    /// The playlists to fetch now; each is handed out once. Empty while `requestsAtOnce` are awaited,
    /// and at the end.
    package mutating func next() -> [ManifestRequest] {
        let end = min(entries.count, received + Self.requestsAtOnce)
        let requests = (asked..<max(asked, end)).map { number in
            ManifestRequest(number: number, url: entries[number].reference.url.text)
        }
        asked += requests.count
        return requests
    }

    /// True when every playlist was received.
    package var isComplete: Bool { received == entries.count }

    /// Takes the body of a playlist.
    ///
    /// - Parameters:
    ///   - request: what `next` handed out; one that was answered before is ignored.
    ///   - finalURL: where the body came from after redirects.
    ///   - body: the whole body, at most `HLSPlaylist.maximumBytes`.
    ///   - sha256: the body's SHA-256, 64 lower-case hex digits.
    ///   - contentType: the answer's Content-Type.
    package mutating func receive(
        _ request: ManifestRequest, finalURL: String, body: [UInt8], sha256: String,
        contentType: String? = nil
    ) throws(Failure) {
        guard entries.indices.contains(request.number),
            entries[request.number].playlist == nil
        else { return }
        let entry = entries[request.number]
        let base = try entry.reference.redirected(to: finalURL)
        totalBytes += body.count
        if totalBytes > Self.playlistBytes {
            throw Failure(
                "manifest.tooLarge",
                "\(entry.reference.url): the title's playlists are larger than "
                    + "\(Self.playlistBytes) bytes together")
        }
        var choice = HLSTracks.Choice()
        var playlist = try HLSPlaylist.parse(
            body, url: base, named: entry.reference.keyURL,
            imports: request.number == 0 ? nil : entries[0].playlist?.variables,
            rendition: entry.rendition, contentType: contentType,
            takesSnapshots: options.takesSnapshots ?? false, policy: options.policy)
        listed += playlist.segments.count
        if listed > Self.listedObjects { throw tooManyObjects() }
        listedBytes += playlist.segments.urlBytes
        if listedBytes > Self.listedBytes {
            throw Failure(
                "manifest.tooMany",
                "\(entries[0].reference.url): the URLs that the title's playlists list come to "
                    + "\(listedBytes) bytes; \(Self.listedBytes) are taken")
        }
        if playlist.kind == .multivariant {
            guard request.number == 0 else {
                throw Failure(
                    "manifest.malformed",
                    "\(entry.reference.url): a multivariant playlist names another one; it may "
                        + "name media playlists only")
            }
            if !options.tracks.isEverything {
                choice = try HLSTracks(body).choice(options.tracks)
            }
            try addChildren(of: playlist, base: base, without: choice.droppedLines)
        }
        let leavesKeys = options.leavesKeys ?? false
        entries[request.number].content = try HLSEdge(
            playlist, body, url: base, named: entry.reference.keyURL, choice: choice,
            storesKeys: !leavesKeys, rules: rules
        ).body()
        if leavesKeys {
            keysLeft += playlist.segments.count { $0.role == .key }
            playlist.segments.remove(.key)
        }
        entries[request.number].bytes = Int64(body.count)
        entries[request.number].sha256 = sha256
        entries[request.number].playlist = playlist
        received += 1
    }

    private func tooManyObjects() -> Failure {
        Failure(
            "manifest.tooMany",
            "\(entries[0].reference.url): the title has more than "
                + "\(WireLimits.segmentsPerAsset) objects")
    }

    private mutating func addChildren(
        of playlist: HLSPlaylist, base: WebURL, without dropped: Set<Int32>
    ) throws(Failure) {
        let manifest = entries[0].reference
        var places: [ManifestReference: Int] = [:]
        let unchosen = playlist.children.filter { dropped.contains($0.reference.line) }
        unchosenTracks = Set(unchosen.map(\.reference.url)).count
        for child in playlist.children where !dropped.contains(child.reference.line) {
            var reference = child.reference
            if [manifest.url, manifest.keyURL, base].contains(reference.url) {
                throw Failure(
                    "manifest.malformed",
                    "\(manifest.url) line \(reference.line): the playlist names itself")
            }
            reference.line = 0
            if let place = places[reference] {
                entries[place].track?.fill(from: child.track)
                continue
            }
            places[reference] = entries.count
            if entries.count >= Self.playlists {
                throw Failure(
                    "manifest.tooMany",
                    "\(manifest.url): the title has more than \(Self.playlists) playlists")
            }
            entries.append(
                Entry(
                    reference: child.reference, rendition: child.rendition, track: child.track))
        }
    }

    /// Every object of the title, once, in the order of fetching.
    ///
    /// Rendition after rendition, each in playback order, with its initialization sections and keys
    /// before what needs them; subtitles; session data; then the playlists and the manifest last. It
    /// is the order of beginning only: objects are fetched in parallel. Playlists carry the length
    /// and digest that were read, so that a change in between is found.
    ///
    /// Fails with `storage.pathConflict` when two URLs share a key or one's key is another's folder,
    /// `storage.pathRefused` for a URL without a key, `manifest.empty` when there is no segment.
    package func segments() throws(Failure) -> ResolvedSegments {
        precondition(isComplete, "segments() is for a resolver that has received every playlist")
        return try gathered()
    }

    private func gathered() throws(Failure) -> ResolvedSegments {
        var collector = SegmentCollector(
            manifests: entries.map(\.reference), expected: listed, rules: rules)
        let media = mediaPlaces.map { entries[$0] }
        let session = sessionObjects
        for object in session where object.role == .key { try collector.add(object) }
        for entry in media {
            if let playlist = entry.playlist { try collector.add(playlist.segments) }
            if collector.segments.count > WireLimits.segmentsPerAsset { throw tooManyObjects() }
        }
        if isComplete,
            collector.segments.count == session.count(where: { $0.role == .key })
        {
            throw Failure(
                "manifest.empty", "\(entries[0].reference.url): the title lists no segment to fetch"
            )
        }
        for object in session where object.role != .key { try collector.add(object) }
        for entry in entries.dropFirst() + entries.prefix(1) {
            try collector.add(
                entry.reference, bytes: entry.bytes, sha256: entry.sha256, content: entry.content)
        }
        if collector.segments.count > WireLimits.segmentsPerAsset { throw tooManyObjects() }
        try collector.checkFolders()
        var segments = collector.segments
        for entry in entries {
            if let playlist = entry.playlist { segments.warnings.add(playlist.warnings) }
        }
        return segments
    }

    /// Places of the media playlists, in the order of fetching.
    private var mediaPlaces: [Int] {
        entries.indices.filter { entries[$0].playlist?.kind == .media }
            .sorted { (entries[$0].rendition, $0) < (entries[$1].rendition, $1) }
    }

    private var sessionObjects: ManifestSegments {
        guard let playlist = entries[0].playlist, playlist.kind == .multivariant else {
            return ManifestSegments()
        }
        return playlist.segments
    }

    /// Every playlist's own way through the title.
    func tracks() -> [TitleTrack] {
        entries.enumerated().compactMap { place, entry in
            guard let playlist = entry.playlist, playlist.kind == .media else { return nil }
            return TitleTrack(
                rendition: entry.track ?? Rendition(id: "", kind: .other),
                playlist: place == 0 ? nil : entry.reference.url, period: 0,
                segments: playlist.segments)
        }
    }

    /// What the title comes to, in the order of `segments`; of playlists that were not received
    /// nothing but themselves. Fails as `segments` does.
    func listing() throws(Failure) -> ManifestListing {
        var listing = ManifestListing(kind: .hls)
        listing.warnings = try gathered().warnings
        listing.isLive = entries.contains { $0.playlist?.isLive == true }
        listing.unchosenTracks = unchosenTracks
        listing.keysLeft = keysLeft
        listing.gaps = entries.reduce(0) { $0 + ($1.playlist?.gaps ?? 0) }
        listing.unreadPlaylists = entries.count { $0.playlist == nil }
        listing.renditions = entries.dropFirst().compactMap(\.track)
        let session = sessionObjects
        for object in session where object.role == .key { listing.add(object, rendition: nil) }
        for place in mediaPlaces {
            let segments = entries[place].playlist?.segments ?? ManifestSegments()
            guard place > 0 else {
                listing.add(segments)
                continue
            }
            for segment in segments { listing.add(segment, rendition: place - 1) }
        }
        for object in session where object.role != .key { listing.add(object, rendition: nil) }
        for (place, entry) in entries.enumerated().dropFirst() {
            listing.add(ManifestSegment(entry.reference, .playlist), rendition: place - 1)
        }
        return listing
    }
}
