import Model
import WebURL

/// Names and objects of recorded files. A name that another track, or another period, has used gets
/// a mark, in the MPD as in the keys.
extension DASHPassBuilder {
    /// Returns the template of a representation's segments.
    ///
    /// - Parameter stored: the template of their files; nil if it is the same.
    func template(
        of track: DASHManifest.Track, _ lister: DASHManifest.Lister,
        stored: DASHTemplate.Stored? = nil
    ) throws(Failure) -> DASHTemplate {
        let text = track.representation.addressing.media ?? ""
        return try template(text, "media", .segments, track, lister, stored: stored)
    }

    /// Makes keys from the base with which a track began: the stored MPD has no other one.
    func useBase(
        of recorded: RecordingCursor.MPD.Track, in lister: inout DASHManifest.Lister
    ) throws(Failure) {
        guard recorded.base != lister.base.url.text else { return lister.namingBase = nil }
        do throws(WebURLError) {
            lister.namingBase = ReferenceBase(try WebURL(recorded.base))
        } catch {
            throw lister.failure(
                .manifestMalformed,
                "the recorded BaseURL \(error.detail), given \(Redaction.shown(recorded.base))")
        }
    }

    func template(
        _ text: String, _ name: String, _ use: DASHTemplate.Use, _ track: DASHManifest.Track,
        _ lister: DASHManifest.Lister, stored: DASHTemplate.Stored? = nil
    ) throws(Failure) -> DASHTemplate {
        do throws(DASHTemplate.Malformed) {
            return try DASHTemplate(
                text, use, id: track.representation.id,
                bandwidth: track.representation.bandwidth, isStrict: manifest.findings.isStrict,
                names: lister.names(ofTemplate: stored?.text ?? text), stored: stored)
        } catch {
            throw lister.failure(
                .manifestMalformed,
                "the \(name) template \(error.what), given \(Redaction.shown(text))")
        }
    }

    /// Returns the object of a template without numbers, and the template of its stored file: its
    /// name gets a mark if another period has used it.
    mutating func once(
        _ text: String, named name: String, _ period: Int, _ track: DASHManifest.Track,
        _ lister: inout DASHManifest.Lister
    ) throws(Failure) -> (object: ResolvedSegment?, stored: String) {
        let plain = try template(text, name, .once, track, lister)
        guard var object = try resolved(lister.section(of: plain)) else { return (nil, text) }
        let hash = Self.hash(object.key)
        if !isUsed(hash, by: period) {
            remember(hash, Int64(period))
            return (object, text)
        }
        let stored = RecordedName.marked(plain.written, as: .template, "p\(period + 1)")
        let marked = try template(
            text, name, .once, track, lister,
            stored: DASHTemplate.Stored(
                text: stored, bandwidth: track.representation.bandwidth))
        guard let again = try resolved(lister.section(of: marked)) else { return (nil, text) }
        object.key = again.key
        return (object, stored)
    }

    /// Returns true if another period may have used the name of an initialization section.
    private func isUsed(_ name: String, by period: Int) -> Bool {
        guard let known = mpd.names[name] else {
            return period > 0 && mpd.names.count >= RecordingCursor.MPD.maxNames
        }
        return known != Int64(period)
    }

    /// Returns the key that tells the names of a track's files from those of others.
    func key(
        of media: DASHTemplate, _ lister: inout DASHManifest.Lister
    ) throws(Failure) -> String {
        let run = DASHTimeline.Run(time: 0, duration: 1, number: 0, count: 1)
        return try resolved(lister.first(of: run, media))?.key ?? ""
    }

    mutating func remember(_ name: String, _ value: Int64) {
        guard mpd.names[name] != nil || mpd.names.count < RecordingCursor.MPD.maxNames else {
            return
        }
        mpd.names[name] = value
    }

    static func hash(_ key: String) -> String {
        String(decoding: StableHash.hex(Array(key.utf8)[...]).prefix(16), as: UTF8.self)
    }

    /// Notes a representation that is not recorded; names it if its period has begun without it.
    mutating func leaveOut(_ track: DASHManifest.Track, _ id: String, of index: Int) {
        let (hash, others) = (Self.hash(id), mpd.periods[index].others)
        guard !others.contains(hash),
            mpd.periods.reduce(0, { $0 + $1.others.count }) < RecordingCursor.MPD.maxOthers
        else { return }
        mpd.periods[index].others.append(hash)
        guard choice.selected[track.index], !begun.contains(where: { $0.index == track.period })
        else {
            return
        }
        let period = mpd.periods[index].id.map { " \($0.prefix(100))" } ?? ""
        joined.append(
            "representation \(id.prefix(100)) of period\(period) "
                + "(\(TrackSelection.text(choice.renditions[track.index])))")
    }

    // MARK: Objects

    func resolved(_ segment: ManifestSegment?) throws(Failure) -> ResolvedSegment? {
        guard let segment else { return nil }
        let reference = segment.reference
        var resolved = ResolvedSegment(
            ordinal: objects.count, url: reference.url.text,
            key: try SiteKey(reference.keyURL, manifest.keyRules).text, role: segment.role)
        if !segment.mirrors.isEmpty { resolved.mirrors = segment.mirrors.map(\.text) }
        return resolved
    }
}

extension RecordingCursor.MPD.Track {
    /// The template of its files.
    var stored: DASHTemplate.Stored { DASHTemplate.Stored(text: media, bandwidth: bandwidth) }

    /// Returns a time in nanoseconds from its period's start.
    func nanoseconds(_ time: Int64) -> Int128 {
        (Int128(time) - Int128(offset)) * 1_000_000_000 / Int128(timescale)
    }
}
