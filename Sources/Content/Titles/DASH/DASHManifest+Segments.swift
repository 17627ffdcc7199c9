package import Model
import WebURL

/// Lists the segments of a manifest.
extension DASHManifest {
    /// A representation with its context.
    struct Track {
        let period: Int
        let set: AdaptationSet
        /// Index in the period.
        let setNumber: Int
        let representation: Representation
        let span: Span
        /// Index among all representations.
        let index: Int
    }

    /// The base of references at one level.
    private struct Base {
        let base: ReferenceBase
        /// Base of keys.
        let named: ReferenceBase
        /// Mirrors of the base.
        var others: [ReferenceBase] = []
        var locations: BaseURLLevels?
    }

    /// The bases of the current levels, shared by all that is below them.
    private struct Levels {
        var all: Base?
        var period: (number: Int, base: Base)?
        var set: (number: Int, base: Base)?
        /// Bytes resolved for BaseURLs so far.
        var bytes = 0
    }

    /// All representations in the manifest's order.
    package var renditions: [Rendition] {
        periods.flatMap { period in
            period.sets.flatMap { set in set.representations.map { $0.rendition(in: set) } }
        }
    }

    /// Returns the number of segments that `forEachSegment` lists, or slightly more. It is
    /// calculated in time and memory proportional to the manifest.
    ///
    /// Throws `manifest.tooMany`, beyond `maxListedEntries`, and `.malformed`.
    func segmentCount() throws(Failure) -> Int {
        var count: Int64 = 0
        var visits = 0
        try forEachTrack { (track) throws(Failure) in
            let addressing = track.representation.addressing
            // Entries without segments are visited too, by each representation that inherits them.
            visits += addressing.timeline?.count ?? 0
            guard visits <= Self.maximumTimelineVisits else {
                throw failure(
                    .manifestTooMany,
                    "the segment timelines of its representations have more than "
                        + "\(Self.maximumTimelineVisits) entries together")
            }
            // Initialization, bitstream switching, index.
            count += 3
            switch addressing.kind {
            case .none, .base: count += 1
            case .list:
                count += Int64(addressing.list.count + addressing.list.indexes)
            case .template:
                try timeline(of: track).forEachRun { run in
                    count += run.count * run.sequence * (addressing.index == nil ? 1 : 2)
                    return count <= Self.maxListedEntries
                }
            }
            guard count <= Self.maxListedEntries else {
                throw failure(
                    .manifestTooMany,
                    "\(name(of: track)) makes more than \(Self.maxListedEntries) segments of the "
                        + "title")
            }
        }
        return Int(count)
    }

    /// Lists every segment: rendition by rendition in the manifest's order, each with its
    /// initialization and index segments first, then in playback order. An object occurs several
    /// times if renditions or periods share it.
    ///
    /// A representation of one file with an index (SegmentBase) is listed as its initialization and
    /// index, which are byte ranges, and then the whole file.
    ///
    /// Throws `manifest.malformed`, `.empty` or `.uriRefused`, and failures of `body`.
    package func forEachSegment(
        _ body: (ManifestSegment) throws(Failure) -> Void
    ) throws(Failure) {
        try forEachSegment(plain: { _, _, _, _ in false }, body)
    }

    /// Lists every segment, but `plain` may accept objects instead.
    ///
    /// - Parameter itself: called with tracks that refer to the manifest, which is not a segment.
    func forEachSegment(
        plain: TakesPlain, itself: (Track) -> Void = { _ in },
        _ body: (ManifestSegment) throws(Failure) -> Void
    ) throws(Failure) {
        try forEachLister { (track, lister) throws(Failure) in
            try list(track, with: &lister, plain, body)
            if lister.namesManifest { itself(track) }
        }
    }

    /// Calls `body` with every representation and its lister.
    func forEachLister(
        _ body: (Track, inout Lister) throws(Failure) -> Void
    ) throws(Failure) {
        var levels = Levels()
        var resolvedBytes = 0
        try forEachTrack { (track) throws(Failure) in
            let outer = try base(ofSetOf: track, &levels)
            let base = try resolve(track.representation.baseURLs, in: outer, track, &levels.bytes)
            var lister = Lister(
                base: base.base, others: base.others,
                namingBase: base.named.url == base.base.url ? nil : base.named,
                role: track.representation.rendition(in: track.set).kind.segmentRole,
                rendition: track.index, manifest: url, isStrict: findings.isStrict,
                rules: keyRules, resolvedBytes: resolvedBytes, locations: base.locations
            ) { failure($0, "\(name(of: track)): \($1)") }
            try body(track, &lister)
            resolvedBytes = lister.resolvedBytes
        }
    }

    private func base(ofSetOf track: Track, _ levels: inout Levels) throws(Failure) -> Base {
        if let set = levels.set, set.number == track.setNumber,
            levels.period?.number == track.period
        {
            return set.base
        }
        var base: Base
        if let period = levels.period, period.number == track.period {
            base = period.base
        } else {
            let all: Base
            if let known = levels.all {
                all = known
            } else {
                let outermost = Base(base: ReferenceBase(url), named: ReferenceBase(named))
                all = try resolve(baseURLs, in: outermost, track, &levels.bytes)
                levels.all = all
            }
            base = try resolve(periods[track.period].baseURLs, in: all, track, &levels.bytes)
            levels.period = (track.period, base)
        }
        base = try resolve(track.set.baseURLs, in: base, track, &levels.bytes)
        levels.set = (track.setNumber, base)
        return base
    }

    func forEachTrack(
        _ body: (Track) throws(Failure) -> Void
    ) throws(Failure) {
        var index = 0
        for (number, span) in try spans().enumerated() {
            for (setNumber, set) in periods[number].sets.enumerated() {
                for representation in set.representations {
                    try body(
                        Track(
                            period: number, set: set, setNumber: setNumber,
                            representation: representation, span: span, index: index))
                    index += 1
                }
            }
        }
    }

    func name(of track: Track) -> String {
        "the representation \(Redaction.shown(track.representation.id)) of "
            + name(ofPeriod: track.period)
    }

    func timeline(of track: Track) -> DASHTimeline {
        DASHTimeline(addressing: track.representation.addressing, span: track.span) {
            failure(.manifestMalformed, "\(name(of: track)): \($0)")
        }
    }

    /// Resolves base URLs: the first one is effective, the others are mirrors (5.6.5). Their number
    /// is limited over all levels; invalid mirrors are skipped.
    private func resolve(
        _ references: [BaseURL], in base: Base, _ track: Track, _ bytes: inout Int
    ) throws(Failure) -> Base {
        guard let first = references.first?.reference else { return base }
        var looked = bytes
        defer { bytes = looked }
        func url(_ reference: String, in outer: ReferenceBase) throws(WebURLError) -> WebURL {
            looked += outer.folder.count + reference.utf8.count
            guard looked <= Self.maximumBaseBytes else {
                throw WebURLError(
                    reason: .tooLong,
                    detail:
                        "is one of many that exceed \(Self.maximumBaseBytes) bytes when each "
                        + "is resolved against its outer ones", offset: 0)
            }
            let text = [UInt8](reference.utf8)
            return try outer.resolve(text, text.indices)
        }
        do throws(WebURLError) {
            let inner = ReferenceBase(try url(first, in: base.base))
            let named =
                base.named.url == base.base.url
                ? inner : ReferenceBase(try url(first, in: base.named))
            var resolved = Base(base: inner, named: named)
            resolved.locations = BaseURLLevels(
                references, below: base.locations, at: base.base.url, base: inner.url)
            guard references.count > 1 || !base.others.isEmpty else { return resolved }
            for reference in references.lazy.map(\.reference) {
                for outer in [base.base] + base.others
                where resolved.others.count < WireLimits.mirrorsPerSegment {
                    guard let other = try? url(reference, in: outer), other != resolved.base.url,
                        !resolved.others.contains(where: { $0.url == other })
                    else { continue }
                    resolved.others.append(ReferenceBase(other))
                }
            }
            // The first one is never skipped because of the limit.
            if looked > Self.maximumBaseBytes { _ = try url(first, in: base.base) }
            return resolved
        } catch {
            throw failure(
                looked <= Self.maximumBaseBytes ? error.rejection : .manifestTooMany,
                "\(name(of: track)): the BaseURL \(error.detail), given "
                    + Redaction.shown(first))
        }
    }

    func list(
        _ track: Track, with lister: inout Lister, _ plain: TakesPlain,
        _ body: (ManifestSegment) throws(Failure) -> Void
    ) throws(Failure) {
        let addressing = track.representation.addressing
        let templates = try Templates(
            track.representation, isStrict: findings.isStrict, names: lister.names(ofTemplate:),
            lister.failure)
        if let template = templates.initialization {
            try lister.add(template, .`init`, plain, body)
        } else if let source = addressing.initialization {
            try lister.add(source, .`init`, plain, body)
        }
        if let template = templates.bitstreamSwitching {
            try lister.add(template, .`init`, plain, body)
        } else if let source = addressing.bitstreamSwitching {
            try lister.add(source, .`init`, plain, body)
        }
        if let source = addressing.representationIndex {
            try lister.add(source, .index, plain, body)
        } else if addressing.kind == .base, let range = addressing.indexRange {
            try lister.add(Source(url: nil, range: range), .index, plain, body)
        }
        switch addressing.kind {
        case .none, .base:
            let seconds = track.span.isOpen ? nil : track.span.length.map { Double($0) / 1e9 }
            try lister.add(Source(), lister.role, seconds: seconds, plain, body)
        case .list: try lister.add(addressing, plain, body)
        case .template:
            guard let media = templates.media else {
                throw lister.failure(.manifestMalformed, "its SegmentTemplate has no media")
            }
            try lister.add(
                timeline(of: track), media, index: templates.index, plain, body)
        }
    }
}

extension DASHManifest.Representation {
    fileprivate func rendition(in set: DASHManifest.AdaptationSet) -> Rendition {
        Rendition(
            id: id, kind: kind(in: set), bandwidth: bandwidth > 0 ? bandwidth : nil,
            width: common.width, height: common.height, codecs: common.codecs,
            language: common.language, isTrickMode: set.isTrickMode)
    }

    private func kind(in set: DASHManifest.AdaptationSet) -> Rendition.Kind {
        let type = common.mimeType ?? ""
        let content = set.contentType ?? ""
        let codecs = common.codecs ?? ""
        func isA(_ name: String) -> Bool { content == name || type.hasPrefix("\(name)/") }
        if isA("image") { return .image }
        let isText =
            isA("text") || type == "application/ttml+xml"
            || ["stpp", "wvtt", "tx3g"].contains { codecs.hasPrefix($0) }
        if isText { return .subtitles }
        if isA("video") { return .video }
        return isA("audio") ? .audio : .other
    }
}

extension Rendition.Kind {
    /// The role of its segments.
    var segmentRole: SegmentRole {
        switch self {
        case .video, .audio, .other: .media
        case .subtitles: .subtitles
        case .image: .image
        }
    }
}

extension WebURLError {
    /// The code of a rejected reference in a manifest.
    var rejection: FailureCode {
        switch reason {
        case .scheme, .userInformation, .climb: .manifestURIRefused
        default: .manifestMalformed
        }
    }
}
