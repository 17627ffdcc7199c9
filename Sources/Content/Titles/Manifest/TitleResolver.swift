package import Model
import Text
import WebURL

/// A manifest that the owner of a resolver is to fetch.
package struct ManifestRequest: Hashable, Sendable {
    /// Tells the resolver which one was received; the title's own is 0.
    package let number: Int
    package let url: String
    /// The bytes that are wanted of it, of a segment index; nil for a manifest, which is wanted whole.
    package var range: SegmentRange?
}

/// Finds everything that a title needs at the edge; a value that does no I/O.
///
/// The owner asks `next` for manifests, fetches them, hands each to `receive`, asks again, until
/// `isComplete`; then `segments` lists every object once. Whether the title is HLS or DASH its manifest
/// tells when it is there, whatever the list took it for by its name.
package struct TitleResolver: Sendable {
    /// Most manifests that are awaited at a time, so that an owner that holds their bodies holds few.
    package static let requestsAtOnce = HLSResolver.requestsAtOnce
    /// Largest manifest in bytes.
    package static let maximumBytes = max(HLSPlaylist.maximumBytes, DASHManifest.maximumBytes)

    private enum State: Sendable {
        /// Nothing has come yet.
        case asking(isAsked: Bool)
        case hls(HLSResolver)
        case dash(DASHResolver)
    }

    private let url: WebURL
    /// What the list took it for.
    private let kind: AssetKind
    private let options: TitleOptions
    /// When a live MPD is taken for what it lists, in seconds since 1970; nil where none is.
    private let snapshotSeconds: Double?
    private let readsIndexes: Bool
    private var state = State.asking(isAsked: false)

    /// Starts with the manifest's URL.
    ///
    /// - Parameter snapshotSeconds: when a live MPD is taken for what it lists, in seconds since 1970;
    ///   nil where it is refused whatever the options say.
    /// - Parameter readsIndexes: asks for the segment indexes of files too, so that `listing` has their
    ///   segments, with what they are in bytes.
    ///
    /// Fails with `input.url`, or `manifest.unsupported` for a kind that has no manifest.
    package init(
        url text: String, kind: AssetKind, options: TitleOptions = TitleOptions(),
        snapshotSeconds: Double? = nil, readsIndexes: Bool = false
    ) throws(Failure) {
        guard kind != .file else {
            throw Failure("manifest.unsupported", "an asset of kind file has no manifest")
        }
        do throws(WebURLError) {
            url = try WebURL(text)
        } catch {
            throw error.failure(given: text)
        }
        self.kind = kind
        self.options = options
        self.readsIndexes = readsIndexes
        self.snapshotSeconds = options.takesSnapshots ?? false ? snapshotSeconds : nil
    }

    /// The manifests to fetch now; each is handed out once. Empty while `requestsAtOnce` are awaited,
    /// and at the end.
    package mutating func next() -> [ManifestRequest] {
        switch state {
        case .asking(let isAsked):
            state = .asking(isAsked: true)
            return isAsked ? [] : [ManifestRequest(number: 0, url: url.text)]
        case .hls(var resolver):
            let requests = resolver.next()
            state = .hls(resolver)
            return requests
        case .dash(var resolver):
            let requests = resolver.indexes.next()
            state = .dash(resolver)
            return requests
        }
    }

    /// True when every manifest was received.
    package var isComplete: Bool {
        switch state {
        case .asking: false
        case .hls(let resolver): resolver.isComplete
        case .dash(let resolver): resolver.indexes.isComplete
        }
    }

    /// Takes the body of a manifest.
    ///
    /// - Parameters:
    ///   - request: what `next` handed out; one that was answered before is ignored.
    ///   - finalURL: where the body came from after redirects.
    ///   - body: the whole body, at most `maximumBytes`.
    ///   - sha256: the body's SHA-256, 64 lower-case hex digits.
    ///   - contentType: the answer's Content-Type.
    ///   - answeredSeconds: when the origin answered, by its own clock, in seconds since 1970: the time
    ///     that a live MPD is taken at, in place of `snapshotSeconds`.
    package mutating func receive(
        _ request: ManifestRequest, finalURL: String, body: [UInt8], sha256: String,
        contentType: String? = nil, answeredSeconds: Double? = nil
    ) throws(Failure) {
        switch state {
        case .asking:
            switch ManifestForm.kind(of: body, contentType: contentType, otherwise: kind) {
            case .dash:
                let moment = snapshotSeconds.map { answeredSeconds ?? $0 }
                var resolver = try DASHResolver(
                    url, finalURL: finalURL, body: body, sha256: sha256, options: options,
                    live: moment.map { .snapshot(atSeconds: $0) } ?? .refused)
                if readsIndexes { try resolver.findIndexes() }
                state = .dash(resolver)
            case .hls, .file:
                var resolver = HLSResolver(url, options: options)
                let first = resolver.next()
                for request in first {
                    try resolver.receive(
                        request, finalURL: finalURL, body: body, sha256: sha256,
                        contentType: contentType)
                }
                state = .hls(resolver)
            }
        case .hls(var resolver):
            // Not to be held twice while it changes.
            state = .asking(isAsked: true)
            try resolver.receive(
                request, finalURL: finalURL, body: body, sha256: sha256, contentType: contentType)
            state = .hls(resolver)
        case .dash: try receiveIndex(request, body)
        }
    }

    /// Takes the bytes of a segment index, as `receive` does; nil for one that could not be had: its file
    /// is listed whole.
    package mutating func receiveIndex(
        _ request: ManifestRequest, _ body: [UInt8]?
    ) throws(Failure) {
        guard case .dash(var resolver) = state else { return }
        state = .asking(isAsked: true)
        // What was found stays, whatever is wrong with this one.
        defer { state = .dash(resolver) }
        try resolver.indexes.receive(request, body)
    }

    /// What the title comes to, for people to see: what `segments` has, in its order, with byte ranges
    /// and durations. Of playlists that were not received nothing but themselves.
    ///
    /// Fails as `segments` does.
    package func listing() throws(Failure) -> ManifestListing {
        switch state {
        case .asking: preconditionFailure("listing() is for a resolver that has a manifest")
        case .hls(let resolver): try resolver.listing()
        case .dash(let resolver): try resolver.listing()
        }
    }

    /// The title as a player goes through it, track after track. Fails with `manifest.…`.
    package func tracks() throws(Failure) -> [TitleTrack] {
        switch state {
        case .asking: preconditionFailure("tracks() is for a resolver that has all manifests")
        case .hls(let resolver): resolver.tracks()
        case .dash(let resolver): try resolver.tracks()
        }
    }

    /// Every object of the title, once, in the order of fetching, the manifest last.
    ///
    /// Fails with `storage.pathConflict`, `storage.pathRefused`, or `manifest.…`.
    package func segments() throws(Failure) -> ResolvedSegments {
        switch state {
        case .asking: preconditionFailure("segments() is for a resolver that has all manifests")
        case .hls(let resolver): try resolver.segments()
        case .dash(let resolver): try resolver.segments()
        }
    }
}

/// Tells manifests apart.
package enum ManifestForm {
    /// What a body is, by its first bytes, then by its Content-Type.
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

    /// Whether a playlist begins in a range.
    package static func isPlaylist(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        ["#EXTM3U", "#EXT-X-", "#EXTINF:"].contains { ASCII.hasPrefix(bytes, range, $0) }
    }

    /// Whether an element of that name begins, with or without a prefix.
    private static func isMPD(_ head: ArraySlice<UInt8>) -> Bool {
        head.split(separator: ASCII.less).contains { element in
            let name = element.prefix { $0 > ASCII.space && $0 != 0x3E && $0 != ASCII.slash }
            return name.elementsEqual("MPD".utf8) || name.suffix(4).elementsEqual(":MPD".utf8)
        }
    }
}
