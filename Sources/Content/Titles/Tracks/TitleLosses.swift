import Model
import WebURL

/// The files of a title that cannot be fetched, and the kinds of renditions that it may lack.
struct TitleLosses: Sendable {
    let mayLack: Set<RenditionKind>
    private let files: [String: LeftOutRendition]
    private let rules: KeyQueryRules

    /// - Parameter lost: files that cannot be fetched.
    init(_ options: TitleOptions, _ lost: [LeftOutRendition], _ rules: KeyQueryRules) {
        self.rules = rules
        // A recording notes what it lacks as gaps.
        mayLack = options.records ?? false ? [] : Set(options.mayLack ?? [])
        guard !mayLack.isEmpty else {
            files = [:]
            return
        }
        files = Dictionary(lost.map { ($0.key, $0) }) { first, _ in first }
    }

    /// True if no file of the title is known to be lost.
    var isEmpty: Bool { files.isEmpty }

    /// Returns the lost file of a reference; nil for others.
    func file(_ reference: ManifestReference) -> LeftOutRendition? {
        guard !files.isEmpty, let key = try? SiteKey(reference.keyURL, rules) else { return nil }
        return files[key.text]
    }

    /// True for a rendition that the title may lack.
    func canLack(_ rendition: Rendition) -> Bool {
        kind(of: rendition).map(mayLack.contains) ?? false
    }

    /// Returns a lost file as the reason why a track that lists it is left out.
    func reason(
        _ file: LeftOutRendition, _ track: Rendition, name: String
    ) -> LeftOutRendition {
        let attributes = TrackSelection.attributes(track)
        return file.reason(
            for: kind(of: track), name: name, attributes: attributes == name ? nil : attributes)
    }

    /// Returns the kind of a rendition; nil if the manifest does not specify it.
    private func kind(of rendition: Rendition) -> RenditionKind? {
        // A variant whose manifest names neither codecs nor a resolution is one all the same.
        rendition.isVariant && rendition.kind == .other
            ? .video : RenditionKind(rawValue: rendition.kind.rawValue)
    }

    /// Returns a file that turned out to be lost; nil for a URL without a key.
    func file(_ reference: ManifestReference, lostBy failure: Failure) -> LeftOutRendition? {
        (try? SiteKey(reference.keyURL, rules)).map { LeftOutRendition(key: $0.text, failure) }
    }
}

extension TrackSelection {
    /// Returns for each of `tracks` if it is selected, without those that list a lost file, and the
    /// reason for each of these.
    ///
    /// A variant leaves with all members of its group of audio or video. Throws the failure of a lost
    /// file, with the track, if the title cannot do without one that lists it; else as `wanted` does.
    ///
    /// - Parameters:
    ///   - files: for each track a lost file that it lists; nil for none.
    ///   - names: for each track its name in messages.
    func wanted(
        _ tracks: [Rendition], without files: [LeftOutRendition?], of losses: TitleLosses,
        names: [String]
    ) throws(Failure) -> (wanted: [Bool], leftOut: [LeftOutRendition]) {
        let all = try wanted(tracks)
        let files = filesLost(by: tracks, files)
        let lost = tracks.indices.compactMap { index in
            files[index].map {
                Loss(index: index, reason: losses.reason($0, tracks[index], name: names[index]))
            }
        }
        guard let first = lost.first else { return (all, []) }
        for (count, loss) in lost.enumerated()
        where !losses.canLack(tracks[loss.index]) || count >= WireLimits.leftOutRenditions {
            throw loss.failure
        }
        let wanted: [Bool]
        do throws(Failure) {
            wanted = try self.wanted(tracks, lacking: files.map { $0 != nil })
        } catch {
            throw first.failure
        }
        // Audio of DASH is in no group.
        func isAudio(_ index: Int) -> Bool {
            tracks[index].kind == .audio && tracks[index].group == nil
        }
        let sound = tracks.indices.filter { isAudio($0) && all[$0] }
        if !sound.isEmpty, !tracks.indices.contains(where: { isAudio($0) && wanted[$0] }) {
            throw (lost.first { sound.contains($0.index) } ?? first).failure
        }
        return (wanted, lost.map(\.reason))
    }

    /// A track that lists a lost file.
    private struct Loss {
        let index: Int
        let reason: LeftOutRendition

        /// The failure of a title that needs the track.
        var failure: Failure { reason.failure("needed by \(reason.label)") }
    }

    /// Adds the variants whose group of audio or video has only lost members, and ignores tracks that
    /// are not selected.
    private func filesLost(
        by tracks: [Rendition], _ files: [LeftOutRendition?]
    ) -> [LeftOutRendition?] {
        var files = files
        var members: [String: [Int]] = [:]
        for (index, track) in tracks.enumerated() {
            guard fits(track) else {
                files[index] = nil
                continue
            }
            if let group = track.group { members[group, default: []].append(index) }
        }
        for (index, track) in tracks.enumerated() where track.isVariant && fits(track) {
            for group in track.groups.sorted() where !group.hasPrefix("subtitles:") {
                let lost = (members[group] ?? []).map { files[$0] }
                if let file = lost.first, lost.allSatisfy({ $0 != nil }), files[index] == nil {
                    files[index] = file
                }
            }
        }
        return files
    }
}
