package import Model
package import WebURL

/// Resolves a DASH title to all objects that the edge needs; a value without I/O.
///
/// An MPD lists its segments itself, so no other manifest is read. Keys follow the same rule as for
/// HLS: they are made from the requests of a player at the edge, which reads the MPD as served.
///
/// A captured live MPD is parsed again as the `static` one that it becomes at the edge, see
/// `DASHLiveSnapshot`.
///
/// The first of several BaseURLs at one level is used, as by players (5.6.5); the others are
/// mirrors.
///
/// Limits: `DASHManifest.maxListedEntries` entries, `WireLimits.segmentsPerAsset` distinct objects,
/// `WireLimits.urlBytesPerAsset` bytes of their URLs.
package struct DASHResolver: Sendable {
    private let reference: ManifestReference
    private let manifest: DASHManifest
    /// URL of the manifest after redirects; nil if it was not redirected.
    let redirectedManifest: WebURL?
    private let declared: Result<ContentSteering?, Failure>
    let isLive: Bool
    /// The clocks that a live MPD names, as far as they are supported.
    let clocks: [DASHClock]
    /// The URLs from which a live MPD is requested again; nil without a Location.
    let reloads: BaseURLLevels?
    private let bytes: Int64
    private let sha256: String
    private let rules: KeyQueryRules
    /// For each representation, true if it is selected.
    private let wanted: [Bool]
    /// The representations that list a file that cannot be fetched.
    let leftOut: [LeftOutRendition]
    /// The rewritten MPD for the edge; nil if it stays as served, or the failure of rewriting.
    private let content: Result<[UInt8]?, Failure>
    /// Empty until `findIndexes`.
    var indexes = DASHIndexes()

    /// Resolves a title.
    ///
    /// - Parameters:
    ///   - url: URL of the manifest.
    ///   - finalURL: its URL after redirects.
    ///   - body: the whole body, at most `DASHManifest.maximumBytes`.
    ///   - sha256: the body's SHA-256, 64 lowercase hex digits.
    ///   - options: the selection of tracks; options for keys do not apply, as players fetch them.
    ///   - lost: files that cannot be fetched, of a title that may lack renditions.
    ///   - live: the handling of type `dynamic`.
    package init(
        _ url: WebURL, finalURL: String, body: [UInt8], sha256: String,
        options: TitleOptions = TitleOptions(), lost: [LeftOutRendition] = [],
        live: LiveManifests = .refused
    ) throws(Failure) {
        reference = ManifestReference(url: url, named: nil, line: 0)
        bytes = Int64(body.count)
        self.sha256 = sha256
        rules = KeyQueryRules(options.keyQueries)
        let final = try reference.redirected(to: finalURL)
        redirectedManifest = final == url ? nil : final
        let policy = options.policy
        var manifest = try DASHManifest.parse(
            body, url: final, named: url, live: live, policy: policy)
        do throws(Failure) { declared = .success(try manifest.contentSteering()) } catch {
            declared = .failure(error)
        }
        isLive = manifest.isLive
        clocks = manifest.clocks
        reloads = manifest.reloads
        var rejection: Failure?
        var written: [UInt8]?
        if manifest.isLive {
            do throws(Failure) {
                let snapshot = try DASHLiveSnapshot(try MarkupText.utf8(body, of: url), manifest)
                    .body()
                let findings = manifest.findings
                manifest = try DASHManifest.parse(
                    snapshot, url: final, named: url, policy: policy)
                // Warnings refer to the lines of the served MPD.
                manifest.findings = findings
                written = snapshot
            } catch {
                rejection = error
            }
        }
        manifest.keyRules = rules
        self.manifest = manifest
        var wanted = try Self.wanted(of: manifest, options).wanted
        try manifest.checkSize(wanted: wanted)
        let losses = TitleLosses(options, lost, rules)
        if !losses.isEmpty {
            if let file = losses.file(reference) { throw file.failure }
            let files = try manifest.files(lostBy: losses)
            (wanted, leftOut) = try Self.wanted(of: manifest, options, without: files, of: losses)
        } else {
            leftOut = []
        }
        self.wanted = wanted
        if let rejection {
            content = .failure(rejection)
        } else {
            var text = written ?? []
            if written == nil { text = try MarkupText.utf8(body, of: url) }
            let changed = try DASHRewriter(
                text, named: url, wanted: wanted, rules: rules
            ).body()
            content = .success(changed ?? written)
        }
    }

    /// Content steering of the manifest. Throws if it cannot be followed.
    func steering() throws(Failure) -> ContentSteering? { try declared.get() }

    /// Each period is played with its own tracks, so each is selected separately.
    ///
    /// - Parameter files: for each representation a lost file that it lists; nil for none.
    private static func wanted(
        of manifest: DASHManifest, _ options: TitleOptions,
        without files: [LeftOutRendition?] = [], of losses: TitleLosses? = nil
    ) throws(Failure) -> (wanted: [Bool], leftOut: [LeftOutRendition]) {
        var wanted: [Bool] = []
        var leftOut: [LeftOutRendition] = []
        let tracks = manifest.renditions
        for period in manifest.periods {
            let count = period.sets.reduce(0) { $0 + $1.representations.count }
            let range = wanted.count..<(wanted.count + count)
            guard let losses, files[range].contains(where: { $0 != nil }) else {
                wanted += try options.tracks.wanted(Array(tracks[range]))
                continue
            }
            let choice = try options.tracks.wanted(
                Array(tracks[range]), without: Array(files[range]), of: losses,
                names: tracks[range].map(\.id))
            wanted += choice.wanted
            leftOut += choice.leftOut
            guard leftOut.count <= WireLimits.leftOutRenditions else { throw leftOut[0].failure }
        }
        return (wanted, leftOut)
    }

    /// Returns every object of the title, once, in the order of fetching: representation by
    /// representation, initialization before media, and the manifest last. The manifest has the
    /// length and digest that were read, so that a later change is detected.
    ///
    /// Throws `storage.pathConflict` if two URLs share a key or one key is another's folder,
    /// `storage.pathRefused` for a URL without a key, `manifest.…` for a malformed one.
    package func segments() throws(Failure) -> ResolvedSegments {
        try segments(content: try content.get())
    }

    private func segments(content: [UInt8]?) throws(Failure) -> ResolvedSegments {
        var collector = SegmentCollector(
            manifests: [reference], expected: try manifest.segmentCount(), rules: rules)
        var findings = manifest.findings
        try manifest.forEachSegment(
            plain: { (base, bytes, role, rendition) throws(Failure) in
                if wanted[rendition] {
                    try collector.add(bytes, at: base, role)
                    try checkCount(collector.segments.count)
                }
                return true
            },
            itself: { track in
                guard wanted[track.index] else { return }
                findings.warn(.dashItself, line: isLive ? 0 : track.representation.line) {
                    "\(manifest.name(of: track)) names the manifest itself"
                }
            },
            { (segment) throws(Failure) in
                guard segment.rendition.map({ wanted[$0] }) ?? true else { return }
                try collector.add(segment)
                try checkCount(collector.segments.count)
            })
        guard !collector.segments.isEmpty else {
            if manifest.isLive { throw manifest.withoutSegments }
            throw Failure(
                .manifestEmpty, at: .manifest("\(reference.url)"),
                "the title lists no segment to fetch")
        }
        try collector.add(reference, bytes: bytes, sha256: sha256, content: content)
        try checkCount(collector.segments.count)
        try collector.checkFolders()
        var segments = collector.segments
        segments.warnings = findings.warnings
        segments.leftOut = leftOut
        return segments
    }

    private func checkCount(_ count: Int) throws(Failure) {
        guard count > WireLimits.segmentsPerAsset else { return }
        throw Failure(
            .manifestTooMany, at: .manifest("\(reference.url)"),
            "the title has more than \(WireLimits.segmentsPerAsset) objects")
    }
}

extension DASHResolver {
    /// Calls `body` with the segments of selected representations.
    private func forEachSegment(
        _ body: (ManifestSegment) throws(Failure) -> Void
    ) throws(Failure) {
        try manifest.forEachSegment { (segment) throws(Failure) in
            if segment.rendition.map({ wanted[$0] }) ?? true { try body(segment) }
        }
    }

    /// Returns the title's contents in the order of `segments`. Throws as that does, except for a
    /// live title.
    func listing() throws(Failure) -> ManifestListing {
        var listing = ManifestListing(kind: .dash)
        if isLive, case .failure(let failure) = content, failure.code == .manifestEmpty {
            throw failure
        }
        // A live title can be listed even if it cannot be stored.
        listing.warnings = try (isLive ? segments(content: nil) : segments()).warnings
        listing.isLive = isLive
        listing.unchosenTracks = wanted.count { !$0 }
        let tracks = manifest.renditions
        // By representation, its index among the selected ones.
        var numbers: [Int] = []
        for index in tracks.indices {
            numbers.append(listing.renditions.count)
            if wanted[index] { listing.renditions.append(tracks[index]) }
        }
        var before: ManifestSegment?
        try forEachSegment { segment in
            for part in indexes.parts(of: segment, index: before) ?? [segment] {
                listing.add(part, rendition: segment.rendition.map { numbers[$0] })
            }
            before = segment
        }
        return listing
    }

    /// Returns the track of every selected representation.
    func tracks() throws(Failure) -> [TitleTrack] {
        let renditions = manifest.renditions
        var periods: [Int] = []
        for (index, period) in manifest.periods.enumerated() {
            let count = period.sets.reduce(0) { $0 + $1.representations.count }
            periods += Array(repeating: index, count: count)
        }
        var tracks: [TitleTrack] = []
        var locations: [BaseURLLevels?] = []
        try manifest.forEachLister { _, lister in locations.append(lister.locations) }
        var last: Int?
        var before: ManifestSegment?
        try forEachSegment { segment in
            guard let index = segment.rendition else { return }
            if index != last {
                tracks.append(
                    TitleTrack(
                        rendition: renditions[index], playlist: nil, period: periods[index],
                        locations: locations[index],
                        segments: ManifestSegments()))
                last = index
            }
            for part in indexes.parts(of: segment, index: before) ?? [segment] {
                tracks[tracks.count - 1].segments.append(part)
            }
            before = segment
        }
        return tracks
    }

    /// Finds the indexes of files; `indexes` then requests them.
    mutating func findIndexes() throws(Failure) {
        var found = DASHIndexes()
        try forEachSegment { found.add($0) }
        indexes = found
    }
}

extension DASHManifest {
    /// Returns for each representation a file that it lists and that cannot be fetched; nil for none.
    fileprivate func files(lostBy losses: TitleLosses) throws(Failure) -> [LeftOutRendition?] {
        var files = [LeftOutRendition?](repeating: nil, count: renditions.count)
        try forEachSegment { segment in
            guard let index = segment.rendition, files[index] == nil else { return }
            files[index] = losses.file(segment.reference)
        }
        return files
    }
}

extension ManifestReference {
    /// Parses the final URL of a redirect.
    func redirected(to finalURL: String) throws(Failure) -> WebURL {
        do throws(WebURLError) {
            return try WebURL(finalURL)
        } catch {
            throw Failure(
                .originRedirectRefused, at: .manifest("\(url)"),
                "the redirect's URL \(error.detail)")
        }
    }
}
