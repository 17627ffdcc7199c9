package import Model
package import WebURL

/// What a title comes to before anything of it is fetched but its manifests.
package struct ManifestListing: Sendable {
    package let kind: AssetKind
    package internal(set) var isLive = false
    /// The tracks that are wanted.
    package internal(set) var renditions: [Rendition] = []
    /// Tracks that are not wanted.
    package internal(set) var unchosenTracks = 0
    /// Keys that are left with the origin.
    package internal(set) var keysLeft = 0
    /// Segments that the manifest says are not there (EXT-X-GAP).
    package internal(set) var gaps = 0
    /// Playlists that are listed and were not read.
    package internal(set) var unreadPlaylists = 0
    /// Rules that its manifests break, and that players read past.
    package internal(set) var warnings = ManifestWarnings()
    /// What would be fetched, in order, the title's own manifest aside; each object, or byte range of
    /// one, once.
    package private(set) var segments = ManifestSegments()

    /// Of what is listed, an object and its range in 64 bits of keyed hash, new with each process: nobody
    /// can make two that differ look the same, and by chance a million do once in 30 million titles.
    private var listed: Set<Int> = []

    static func part(_ url: WebURL, _ range: SegmentRange?) -> Int {
        var hasher = Hasher()
        hasher.combine(url)
        hasher.combine(range)
        return hasher.finalize()
    }

    init(kind: AssetKind) { self.kind = kind }

    /// Lists what one manifest names itself: of a multivariant playlist the playlists, not what stands
    /// in them.
    ///
    /// - Parameters:
    ///   - bytes: the manifest, at most `TitleResolver.maximumBytes` and one; empty once it was read, so that
    ///     it takes no room while it is listed, and as it was where it cannot be read.
    ///   - url: where it would be served; what its references resolve against.
    ///   - kind: what it is, where its content does not tell.
    ///   - options: what is wanted of it.
    ///   - snapshotSeconds: when a live MPD is taken for what it lists, in seconds since 1970.
    ///
    /// Fails as `TitleResolver` does.
    package static func read(
        _ bytes: inout [UInt8], url: WebURL, kind: AssetKind,
        options: TitleOptions = TitleOptions(),
        snapshotSeconds: Double? = nil
    ) throws(Failure) -> ManifestListing {
        var resolver = try TitleResolver(
            url: url.text, kind: kind, options: options, snapshotSeconds: snapshotSeconds)
        for request in resolver.next() {
            // Its digest is for whoever stores it.
            try resolver.receive(request, finalURL: url.text, body: bytes, sha256: "")
        }
        bytes = []
        return try resolver.listing()
    }

    /// Adds what was not there before.
    mutating func add(_ segment: ManifestSegment, rendition: Int?) {
        let part = Self.part(segment.reference.url, segment.range)
        guard listed.insert(part).inserted else { return }
        var segment = segment
        // Nobody is shown them, and a title may have a million segments.
        segment.mirrors = []
        segment.renditionPlace = rendition.map { Int32(clamping: $0) } ?? -1
        segments.append(segment)
    }

    /// Adds all of a title that has one playlist; where nothing stands there twice, as it is held.
    mutating func add(_ all: ManifestSegments) {
        let isEachNew =
            segments.isEmpty
            && all.allSatisfy { listed.insert(Self.part($0.reference.url, $0.range)).inserted }
        if isEachNew {
            segments = all
            return
        }
        if segments.isEmpty { listed.removeAll() }
        for segment in all { add(segment, rendition: nil) }
    }

    // MARK: Sums

    /// What is listed of one rendition.
    package struct Sum: Sendable {
        /// Without playlists.
        package var segments = 0
        package var durationSeconds = 0.0
        /// By byte ranges, or else by durations at the bit rate of the segment or of the rendition; nil where neither is known of any.
        package var estimatedBytes: Int64?
    }

    /// Of each rendition, and at the end of what belongs to none.
    package var sums: [Sum] {
        var sums = [Sum](repeating: Sum(), count: renditions.count + 1)
        var bytes = [Double?](repeating: nil, count: sums.count)
        for segment in segments where segment.role != .playlist {
            let place = segment.rendition ?? renditions.count
            sums[place].segments += 1
            sums[place].durationSeconds += segment.durationSeconds ?? 0
            guard !isWithinFile(segment), let length = estimatedBytes(segment) else { continue }
            bytes[place] = (bytes[place] ?? 0) + length
        }
        for (place, bytes) in bytes.enumerated() {
            sums[place].estimatedBytes = bytes.map { Int64(min($0.rounded(), 9e18)) }
        }
        return sums
    }

    /// Objects whose size nothing tells, by role; they are not in the estimates.
    package var unknownSizes: [SegmentRole: Int] {
        var counts: [SegmentRole: Int] = [:]
        for segment in segments where segment.role != .playlist {
            guard !isWithinFile(segment), estimatedBytes(segment) == nil else { continue }
            counts[segment.role, default: 0] += 1
        }
        return counts
    }

    private func estimatedBytes(_ segment: ManifestSegment) -> Double? {
        if let length = segment.range?.length { return Double(length) }
        guard let seconds = segment.durationSeconds else { return nil }
        if segment.kilobits > 0 { return Double(segment.kilobits) * 125 * seconds }
        guard let place = segment.rendition,
            let rate = renditions[place].averageBandwidth ?? renditions[place].bandwidth
        else { return nil }
        return Double(rate) / 8 * seconds
    }

    /// The head of a file with an index: it is counted with the file.
    private func isWithinFile(_ segment: ManifestSegment) -> Bool {
        guard segment.range != nil, segment.role == .`init` || segment.role == .index else {
            return false
        }
        return listed.contains(Self.part(segment.reference.url, nil))
    }
}

extension ManifestForm {
    /// What a body is by its first bytes; nil where these do not tell.
    package static func kind(of body: [UInt8]) -> AssetKind? {
        let kind = kind(of: body, contentType: nil, otherwise: .file)
        return kind == .file ? nil : kind
    }
}
