import Model
import WebURL

/// Leaves out renditions whose files cannot be fetched.
extension HLSResolver {
    /// True if the title may lack what a request is for.
    func mayLack(_ request: ManifestRequest) -> Bool {
        guard !request.isOptional, request.number > 0, entries.indices.contains(request.number),
            let track = entries[request.number].track
        else { return false }
        return losses.canLack(track)
    }

    /// Notes that the playlist of a request cannot be fetched: see `mayLack`.
    mutating func receive(_ request: ManifestRequest, unavailable failure: Failure) {
        guard mayLack(request), entries[request.number].playlist == nil,
            entries[request.number].lost == nil
        else { return }
        entries[request.number].lost = losses.file(
            entries[request.number].reference, lostBy: failure)
        received += 1
    }

    /// Leaves out the renditions that list a file that cannot be fetched.
    ///
    /// Returns true if others are selected instead, and `next` has requests for their playlists.
    /// Throws the failure of a file that the title needs.
    mutating func leaveOut() throws(Failure) -> Bool {
        precondition(isComplete, "renditions are left out once every playlist was received")
        guard !losses.mayLack.isEmpty, let playlist = entries[0].playlist else { return false }
        if let file = file(lostBy: entries[0]) { throw file.failure }
        guard playlist.kind == .multivariant, noteLosses() else { return false }
        var files: [Int32: LeftOutRendition] = [:]
        for child in playlist.children {
            files[child.reference.line] = lacks.files[child.reference.unlined]
        }
        let choice = try HLSTracks(lacks.manifest).choice(
            options.tracks, without: files, of: losses)
        let base = entries[0].redirected ?? entries[0].reference.url
        entries[0].content = try HLSRewriter(
            playlist, lacks.manifest, url: base, named: entries[0].reference.keyURL, choice: choice,
            storesKeys: !(options.leavesKeys ?? false), rules: rules
        ).body()
        lacks.tracks = choice.leftOut
        try keep(playlist.children, without: choice.droppedLines, base)
        return !isComplete
    }

    /// Notes which playlists list a lost file; false if none does.
    private mutating func noteLosses() -> Bool {
        for entry in entries.dropFirst() {
            guard let file = entry.lost ?? file(lostBy: entry) else { continue }
            lacks.files[entry.reference.unlined] = file
        }
        return !lacks.files.isEmpty
    }

    private func file(lostBy entry: Entry) -> LeftOutRendition? {
        guard !losses.isEmpty else { return nil }
        if let file = losses.file(entry.reference) { return file }
        return entry.playlist?.segments.lazy.compactMap { losses.file($0.reference) }.first
    }

    /// Keeps the playlists of the selected tracks, and adds those that were not.
    private mutating func keep(
        _ children: [HLSPlaylist.Child], without dropped: Set<Int32>, _ base: WebURL
    ) throws(Failure) {
        let kept = children.filter { !dropped.contains($0.reference.line) }
        let references = Set(kept.map(\.reference.unlined))
        entries =
            entries.prefix(1)
            + entries.dropFirst().filter { references.contains($0.reference.unlined) }
        indexes = [:]
        for (index, entry) in entries.enumerated().dropFirst() {
            indexes[entry.reference.unlined] = index
        }
        (asked, received) = (entries.count, entries.count)
        unchosenTracks =
            Set(children.map(\.reference.url)).subtracting(kept.map(\.reference.url))
            .count
        try add(kept, base)
    }
}

extension HLSResolver {
    /// The renditions that the title does without.
    struct Lacks {
        /// The multivariant playlist as served, if the title may lack renditions.
        var manifest: [UInt8] = []
        /// By playlist, a file that it lists and that cannot be fetched.
        var files: [ManifestReference: LeftOutRendition] = [:]
        /// Tracks that list such a file.
        var tracks: [LeftOutRendition] = []
    }
}

extension ManifestReference {
    /// The reference wherever it is in its manifest.
    fileprivate var unlined: ManifestReference {
        ManifestReference(url: url, named: named, line: 0)
    }
}
