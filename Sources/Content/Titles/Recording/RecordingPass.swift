package import Model
import Text
import WebURL

/// The additions of one reading of a live title's playlists, or of its MPD, to its recording: the
/// update, and the objects that it needs.
package struct RecordingPass: Sendable {
    package internal(set) var update: RecordingUpdate
    /// Objects of the update's entries, and the keys and initialization sections that they need.
    package internal(set) var objects: [ResolvedSegment] = []
    package internal(set) var warnings = ManifestWarnings()

    /// Maximum number of entries of one pass; what is left is recorded by the next one, which
    /// follows at once.
    package static let maxEntries = 1_500
    /// Maximum bytes of their texts.
    static let maxBytes = 2 << 20
    /// Time between reloads: a playlist or MPD that asks for less, or more, gets this.
    static let reloadSeconds = 1.0...60.0
}

extension HLSResolver {
    /// Returns what a recording lacks of the playlists that were received.
    ///
    /// - Parameter cursor: the position up to which the title is recorded; nil at its beginning.
    package func recordingPass(after cursor: RecordingCursor?) throws(Failure) -> RecordingPass {
        precondition(isComplete, "recordingPass() is for a resolver that has every playlist")
        let begun = cursor == nil ? try firstCursor() : cursor
        var builder = PassBuilder(begun ?? RecordingCursor(), rules)
        var warnings = ManifestWarnings()
        for entry in entries {
            guard let playlist = entry.playlist, let listing = try entry.listing?.get() else {
                continue
            }
            let key = try SiteKey(entry.reference.keyURL, rules).text
            // What has joined the title since its first reading is not in the stored manifest: it
            // is named below.
            guard let number = builder.cursor.playlists.firstIndex(where: { $0.key == key }) else {
                continue
            }
            // The URL of this reading, which may have another signature.
            if builder.cursor.isMultivariant {
                builder.cursor.playlists[number].url = entry.reference.url.text
            }
            try builder.add(listing, isLive: playlist.isLive, to: number)
            warnings.add(playlist.warnings)
        }
        var pass = builder.pass()
        pass.update.name(joined: pass.update.cursor.note(offers, isFirst: cursor == nil))
        pass.update.cursor.unreadSeconds =
            (hasLooked ? 0 : pass.update.cursor.unreadSeconds) + pass.update.reloadSeconds
        if cursor == nil {
            pass.update.manifest = builder.cursor.isMultivariant ? manifestText : nil
            pass.warnings = warnings
            try addSessionObjects(to: &pass)
        }
        return pass
    }

    private func firstCursor() throws(Failure) -> RecordingCursor {
        var cursor = RecordingCursor()
        cursor.isMultivariant = entries[0].playlist?.kind == .multivariant
        cursor.variables = variables
        for entry in entries where entry.listing != nil {
            cursor.playlists.append(
                RecordingCursor.Playlist(
                    url: entry.reference.url.text, named: entry.reference.named?.text,
                    key: try SiteKey(entry.reference.keyURL, rules).text,
                    rendition: entry.rendition.rawValue))
        }
        return cursor
    }

    /// The multivariant playlist without I-frame playlists: they name byte ranges of segments.
    private var manifestText: String {
        String(decoding: entries[0].text, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("#EXT-X-I-FRAME-STREAM-INF") }.joined(separator: "\n")
    }

    /// Adds the session keys and data of the multivariant playlist.
    private func addSessionObjects(to pass: inout RecordingPass) throws(Failure) {
        guard let manifest = entries[0].playlist, manifest.kind == .multivariant else { return }
        var known = Set(pass.objects.map(\.key))
        for object in manifest.segments {
            let segment = try PassBuilder.resolved(object, rules, ordinal: pass.objects.count)
            if known.insert(segment.key).inserted { pass.objects.append(segment) }
        }
    }
}

/// Builds a pass from the listings of several playlists.
private struct PassBuilder {
    var cursor: RecordingCursor
    private let rules: KeyQueryRules
    private var objects: [ResolvedSegment] = []
    private var entries: [RecordedEntry] = []
    private var bytes = 0
    /// Keys of initialization sections and decryption keys of this pass.
    private var needed: Set<String> = []
    private var isChanged = false
    /// The shortest target duration.
    private var targetSeconds = RecordingPass.reloadSeconds.upperBound
    private var behindSeconds = 0.0

    init(_ cursor: RecordingCursor, _ rules: KeyQueryRules) {
        self.cursor = cursor
        self.rules = rules
    }

    private var isFull: Bool {
        entries.count >= RecordingPass.maxEntries || bytes >= RecordingPass.maxBytes
    }

    /// Adds what a playlist lists beyond what is recorded of it.
    mutating func add(
        _ listing: RecordedListing, isLive: Bool, to number: Int
    ) throws(Failure) {
        var playlist = cursor.playlists[number]
        let isFirst = playlist.targetSeconds == 0
        playlist.targetSeconds = max(playlist.targetSeconds, max(listing.targetSeconds, 1))
        if isFirst {
            playlist.header = listing.header
            playlist.next = listing.sequence
            playlist.bytes = listing.header.utf8.count + 200
        }
        targetSeconds = min(targetSeconds, Double(max(listing.targetSeconds, 1)))
        // Of a list that was stored by a cache, nothing is new.
        let known = Int(
            min(max(playlist.next - listing.sequence, 0), Int64(listing.segments.count)))
        var missed = max(listing.sequence - playlist.next, 0)
        if listing.segments.isEmpty { missed = 0 }
        // The count of discontinuities at the beginning of the list.
        let start =
            playlist.discontinuities - (known > 0 ? listing.segments[known - 1].discontinuities : 0)
        for (index, segment) in zip(known..., listing.segments.dropFirst(known)) {
            guard !isFull else {
                behindSeconds = max(
                    behindSeconds, listing.segments[index...].reduce(0) { $0 + $1.seconds })
                break
            }
            var entry = RecordedEntry(
                playlist: number, sequence: listing.sequence + Int64(index),
                seconds: segment.seconds, setup: nil, tags: segment.tags, uri: segment.uri)
            entry.missed = missed
            missed = 0
            let setup = try self.setup(
                of: segment, start: start, after: playlist.setup)
            if setup != playlist.setup { entry.setup = setup }
            playlist.setup = setup
            if let object = segment.object {
                entry.object = objects.count
                objects.append(try Self.resolved(object, rules, ordinal: objects.count))
                if let range = object.range, let length = range.length {
                    entry.uri = RecordedName.marked(
                        entry.uri, as: .uri, offset: range.offset, length: length)
                }
            }
            playlist.next = entry.sequence + 1
            playlist.discontinuities = start + segment.discontinuities
            playlist.bytes += entry.bytes
            bytes += entry.bytes
            entries.append(entry)
            cursor.entries += 1
            isChanged = true
        }
        playlist.hasEnded = !isLive && playlist.next >= listing.next
        if playlist.hasEnded { isChanged = true }
        cursor.playlists[number] = playlist
    }

    /// Returns the lines of keys and initialization sections for a segment, and adds their objects.
    ///
    /// An initialization section after a discontinuity gets a name of its own: encoders that start
    /// again serve another one under the same URL.
    private mutating func setup(
        of segment: RecordedListing.Segment, start: Int64, after before: String
    ) throws(Failure) -> String {
        var lines = segment.keys
        if lines.isEmpty, before.contains("#EXT-X-KEY:"), !before.contains("METHOD=NONE") {
            lines = ["#EXT-X-KEY:METHOD=NONE"]
        }
        if let object = segment.keyObject {
            need(try Self.resolved(object, rules, ordinal: objects.count))
        }
        if var map = segment.map {
            let mark = start + segment.mapDiscontinuities
            var resolved: ResolvedSegment?
            if let object = segment.mapObject {
                resolved = try Self.resolved(object, rules, ordinal: objects.count)
            }
            if mark > 0, let range = Self.uri(in: map) {
                map.replaceSubrange(
                    range, with: RecordedName.marked(String(map[range]), as: .uri, "d\(mark)"))
                if let key = resolved?.key {
                    resolved?.key = RecordedName.marked(key, as: .key, "d\(mark)")
                }
            }
            lines.append(map)
            if let resolved { need(resolved) }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private mutating func need(_ object: ResolvedSegment) {
        guard needed.insert(object.key).inserted else { return }
        objects.append(object)
    }

    /// Returns the value of a tag's URI attribute.
    private static func uri(in line: String) -> Range<String.Index>? {
        for prefix in [":URI=\"", ",URI=\""] {
            guard let start = line.firstRange(of: prefix)?.upperBound,
                let end = line[start...].firstIndex(of: "\"")
            else { continue }
            return start..<end
        }
        return nil
    }

    /// Returns the object as it is stored; a byte range of it as a file of its own, because the
    /// object may grow, and loses nothing that it had.
    static func resolved(
        _ object: ManifestSegment, _ rules: KeyQueryRules, ordinal: Int
    ) throws(Failure) -> ResolvedSegment {
        var resolved = ResolvedSegment(
            ordinal: ordinal, url: object.reference.url.text,
            key: try SiteKey(object.reference.keyURL, rules).text, role: object.role)
        if let range = object.range, let length = range.length {
            resolved.key = RecordedName.marked(
                resolved.key, as: .key, offset: range.offset, length: length)
            resolved.objectOffset = range.offset
            resolved.bytes = length
        }
        return resolved
    }

    /// RFC 8216, section 6.3.4: the target duration after a change, half of it without one.
    func pass() -> RecordingPass {
        let limits = RecordingPass.reloadSeconds
        let wait = isChanged ? targetSeconds : targetSeconds / 2
        return RecordingPass(
            update: RecordingUpdate(
                cursor: cursor, entries: entries,
                reloadSeconds: isFull
                    ? 0 : min(max(wait, limits.lowerBound), limits.upperBound),
                behindSeconds: behindSeconds),
            objects: objects)
    }
}
