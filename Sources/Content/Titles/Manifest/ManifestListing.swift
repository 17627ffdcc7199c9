package import Model
package import WebURL

/// The contents of a title according to its manifests alone.
package struct ManifestListing: Sendable {
    package let kind: AssetKind
    package internal(set) var isLive = false
    /// The selected tracks.
    package internal(set) var renditions: [Rendition] = []
    /// Number of tracks that are not selected.
    package internal(set) var unchosenTracks = 0
    /// Number of keys that stay at the origin.
    package internal(set) var keysLeft = 0
    /// Missing segments according to the manifest (EXT-X-GAP).
    package internal(set) var gaps = 0
    /// Playlists that are listed but were not read.
    package internal(set) var unreadPlaylists = 0
    /// Broken rules that players tolerate.
    package internal(set) var warnings = ManifestWarnings()
    /// Objects to fetch, in order, without the title's manifest; each object, or byte range of one,
    /// once.
    package private(set) var segments = ManifestSegments()

    /// Listed objects and ranges as 64-bit keyed hashes. The key is new in each process, so
    /// collisions cannot be constructed; a million objects collide by chance once in 30 million
    /// titles.
    private var listed: Set<Int> = []

    static func part(_ url: WebURL, _ range: SegmentRange?) -> Int {
        var hasher = Hasher()
        hasher.combine(url)
        hasher.combine(range)
        return hasher.finalize()
    }

    init(kind: AssetKind) { self.kind = kind }

    /// Lists the direct references of one manifest: for a multivariant playlist its playlists, not
    /// their segments.
    ///
    /// - Parameters:
    ///   - bytes: the manifest, at most `TitleResolver.maximumBytes` plus one. It is emptied after
    ///     parsing to save memory; it stays unchanged on failure.
    ///   - url: the URL at which it would be served; base of its references.
    ///   - kind: its kind, if the content does not show it.
    ///   - options: the selection of tracks.
    ///   - snapshotSeconds: time at which a live MPD is captured, in seconds since 1970.
    ///
    /// Throws as `TitleResolver` does.
    package static func read(
        _ bytes: inout [UInt8], url: WebURL, kind: AssetKind,
        options: TitleOptions = TitleOptions(),
        snapshotSeconds: Double? = nil
    ) throws(Failure) -> ManifestListing {
        var resolver = try TitleResolver(
            url: url.text, kind: kind, options: options, snapshotSeconds: snapshotSeconds)
        for request in resolver.next() {
            // Only storing a manifest needs its digest.
            try resolver.receive(request, finalURL: url.text, body: bytes, sha256: "")
        }
        bytes = []
        return try resolver.listing()
    }

    /// Adds a segment that is not listed yet.
    mutating func add(_ segment: ManifestSegment, rendition: Int?) {
        let part = Self.part(segment.reference.url, segment.range)
        guard listed.insert(part).inserted else { return }
        var segment = segment
        // Not shown, and a title may have a million segments.
        segment.mirrors = []
        segment.renditionIndex = rendition.map { Int32(clamping: $0) } ?? -1
        segments.append(segment)
    }

    /// Adds all segments of a title with one playlist, without a copy if there are no duplicates.
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

    /// Totals of one rendition.
    package struct Sum: Sendable {
        /// Number of segments, without playlists.
        package var segments = 0
        package var durationSeconds = 0.0
        /// Estimated by byte ranges, otherwise by durations and the bit rate of the segment or of
        /// the rendition; nil if all are unknown.
        package var estimatedBytes: Int64?
    }

    /// Totals of each rendition, and finally of objects without one.
    package var sums: [Sum] {
        var sums = [Sum](repeating: Sum(), count: renditions.count + 1)
        var bytes = [Double?](repeating: nil, count: sums.count)
        for segment in segments where segment.role != .playlist {
            let index = segment.rendition ?? renditions.count
            sums[index].segments += 1
            sums[index].durationSeconds += segment.durationSeconds ?? 0
            guard !isWithinFile(segment), let length = estimatedBytes(segment) else { continue }
            bytes[index] = (bytes[index] ?? 0) + length
        }
        for (index, bytes) in bytes.enumerated() {
            sums[index].estimatedBytes = bytes.map { Int64(min($0.rounded(), 9e18)) }
        }
        return sums
    }

    /// Objects of unknown size, by role; the estimates exclude them.
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
        guard let index = segment.rendition,
            let rate = renditions[index].averageBandwidth ?? renditions[index].bandwidth
        else { return nil }
        return Double(rate) / 8 * seconds
    }

    /// Returns true for the head of a file with an index: it counts with the file.
    private func isWithinFile(_ segment: ManifestSegment) -> Bool {
        guard segment.range != nil, segment.role == .`init` || segment.role == .index else {
            return false
        }
        return listed.contains(Self.part(segment.reference.url, nil))
    }
}

extension ManifestForm {
    /// Returns the kind of a body by its first bytes; nil if they do not show it.
    package static func kind(of body: [UInt8]) -> AssetKind? {
        let kind = kind(of: body, contentType: nil, otherwise: .file)
        return kind == .file ? nil : kind
    }
}
