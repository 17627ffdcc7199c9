import API
import Model
import Titles

extension Validation {
    /// Bytes of the texts of a recorded segment's tags, and of those of a whole playlist.
    private static let tagBytes = 64 << 10
    /// Limit of media sequence numbers and times, below an overflow in sums.
    private static let maxSequence = RecordingCursor.MPD.maxPosition
    /// Maximum bytes of an id or a prefix of an MPD.
    private static let nameBytes = 16 << 10
    private static let maxTimescale = Int(RecordingCursor.MPD.maxTimescale)

    /// Checks what a worker found at a reload of a live title.
    static func check(
        _ update: RecordingUpdate, of segments: [ResolvedSegment]
    ) throws(Failure) {
        let cursor = update.cursor
        let all = "recording"
        if let mpd = cursor.mpd {
            try check(mpd, "\(all).cursor.mpd")
            try range(cursor.playlists.count, "\(all).cursor.playlists, of an MPD", 0...0)
        } else {
            try range(
                cursor.playlists.count, "\(all).cursor.playlists", 1...HLSResolver.playlists)
        }
        try range(cursor.entries, "\(all).cursor.entries", 0...Int(Int32.max))
        try hashes(cursor.offered ?? [], RecordingCursor.maxOffered, "\(all).cursor.offered")
        guard (0...1e12).contains(cursor.unreadSeconds) else {
            throw wrong("\(all).cursor.unreadSeconds", "\(cursor.unreadSeconds)", "0 to 1e12")
        }
        try range(update.joined?.count ?? 0, "\(all).joined", 0...RecordingUpdate.maxJoined)
        for (index, name) in (update.joined ?? []).enumerated() {
            try text(name, "\(all).joined[\(index)]", 1...ManifestWarnings.textCharacters)
        }
        try range(
            cursor.variables.count, "\(all).cursor.variables", 0...WireLimits.segmentsPerRequest)
        for (index, playlist) in cursor.playlists.enumerated() {
            let field = "\(all).cursor.playlists[\(index)]"
            try url(playlist.url, "\(field).url")
            if let named = playlist.named { try url(named, "\(field).named") }
            try key(playlist.key, "\(field).key")
            try range(Int(clamping: playlist.next), "\(field).next", 0...Int(maxSequence))
            try range(
                Int(clamping: playlist.targetSeconds), "\(field).targetSeconds", 0...86_400)
            try range(playlist.bytes, "\(field).bytes", 0...Int(Int32.max))
            try range(
                Int(clamping: playlist.discontinuities), "\(field).discontinuities",
                -Int(maxSequence)...Int(maxSequence))
            try lines(playlist.header, "\(field).header")
            try lines(playlist.setup, "\(field).setup")
        }
        try range(update.entries.count, "\(all).entries", 0...WireLimits.segmentsPerRequest)
        for (index, entry) in update.entries.enumerated() {
            let field = "\(all).entries[\(index)]"
            try range(entry.playlist, "\(field).playlist", 0...max(cursor.lists - 1, 0))
            try range(Int(clamping: entry.sequence), "\(field).sequence", 0...Int(maxSequence))
            let maxMissed = cursor.mpd == nil ? entry.sequence : maxSequence
            try range(
                Int(clamping: entry.missed), "\(field).missed", 0...Int(clamping: maxMissed))
            if let object = entry.object {
                try range(object, "\(field).object", 0...(segments.count - 1))
            }
            guard (0...1e6).contains(entry.seconds) else {
                throw wrong("\(field).seconds", "\(entry.seconds)", "0 to 1000000")
            }
            if let setup = entry.setup { try lines(setup, "\(field).setup") }
            try lines(entry.tags, "\(field).tags")
            guard cursor.mpd == nil else {
                let numbers = 0...maxSequence
                guard let times = RecordedTimes(entry.tags), numbers.contains(times.time),
                    numbers.contains(times.duration), times.duration > 0
                else {
                    throw wrong("\(field).tags", entry.tags, "a time and a duration")
                }
                continue
            }
            try text(entry.uri, "\(field).uri", 1...WireLimits.urlBytes)
        }
        try check(update.root ?? [], update.periods ?? [], cursor)
        if let manifest = update.manifest {
            try range(
                manifest.utf8.count, "\(all).manifest, in bytes",
                1...WireLimits.rewrittenManifestBytes)
            try noNUL(manifest, "\(all).manifest")
        }
        guard (0...3_600).contains(update.reloadSeconds) else {
            throw wrong("\(all).reloadSeconds", "\(update.reloadSeconds)", "0 to 3600")
        }
        guard (0...1e12).contains(update.behindSeconds) else {
            throw wrong("\(all).behindSeconds", "\(update.behindSeconds)", "0 to 1e12")
        }
    }

    /// Checks byte ranges that are stored as files of their own.
    static func checkRanges(of batch: SegmentBatch) throws(Failure) {
        for (index, segment) in batch.segments.enumerated() {
            guard let offset = segment.objectOffset else { continue }
            let field = "segments[\(index)]"
            guard batch.recording != nil, let bytes = segment.bytes else {
                throw wrong("\(field).objectOffset", "\(offset)", "for a recording, with bytes")
            }
            try range(Int(clamping: offset), "\(field).objectOffset", 0...Int(maxSequence))
            try range(Int(clamping: bytes), "\(field).bytes", 1...Int(maxSequence))
        }
    }

    private static func check(
        _ mpd: RecordingCursor.MPD, _ field: String
    ) throws(Failure) {
        if let location = mpd.location { try url(location, "\(field).location") }
        try range(mpd.periodCount, "\(field).periodCount", 0...Int(Int32.max))
        try range(mpd.trackCount, "\(field).trackCount", 0...Int(Int32.max))
        try range(mpd.names.count, "\(field).names", 0...RecordingCursor.MPD.maxNames)
        for (hash, value) in mpd.names {
            try name(hash, "\(field).names")
            try position(value, "\(field).names")
        }
        try range(mpd.bytes, "\(field).bytes", 0...Int(Int32.max))
        try time(mpd.lastStart, "\(field).lastStart")
        try time(mpd.end, "\(field).end")
        try range(mpd.clockFailures ?? 0, "\(field).clockFailures", 0...Int(Int32.max))
        let tracks = mpd.periods.reduce(0) { $0 + $1.tracks.count }
        try range(tracks, "\(field).tracks", 0...RecordingCursor.MPD.maxTracks)
        for (index, period) in mpd.periods.enumerated() {
            let field = "\(field).periods[\(index)]"
            if let id = period.id { try name(id, "\(field).id") }
            try time(period.start, "\(field).start")
            try time(period.previousEnd, "\(field).previousEnd")
            try hashes(period.others, RecordingCursor.MPD.maxOthers, "\(field).others")
            for (index, track) in period.tracks.enumerated() {
                try check(track, of: mpd, "\(field).tracks[\(index)]")
            }
        }
    }

    /// Checks a track of an MPD: the next worker calculates with its values.
    private static func check(
        _ track: RecordingCursor.MPD.Track, of mpd: RecordingCursor.MPD, _ field: String
    ) throws(Failure) {
        try name(track.id, "\(field).id")
        try range(track.number, "\(field).number", 0...max(mpd.trackCount - 1, 0))
        try name(track.name, "\(field).name")
        try url(track.base, "\(field).base")
        try name(track.media, "\(field).media")
        try position(track.next, "\(field).next")
        try position(track.end, "\(field).end")
        try position(track.duration, "\(field).duration")
        try position(track.bandwidth, "\(field).bandwidth")
        try range(Int(clamping: track.timescale), "\(field).timescale", 1...maxTimescale)
        try range(
            Int(clamping: track.offset), "\(field).offset", -Int(maxSequence)...Int(maxSequence))
    }

    private static func position(_ value: Int64?, _ field: String) throws(Failure) {
        try range(Int(clamping: value ?? 0), field, 0...Int(maxSequence))
    }

    /// Checks a time on the MPD's timeline, in nanoseconds.
    private static func time(_ value: Int64?, _ field: String) throws(Failure) {
        try range(Int(clamping: value ?? 0), field, 0...Int.max)
    }

    /// Checks the parts of a recorded MPD.
    private static func check(
        _ root: [RecordedPiece], _ periods: [RecordedPeriod], _ cursor: RecordingCursor
    ) throws(Failure) {
        let bytes =
            root.reduce(0) { $0 + $1.text.utf8.count } + periods.reduce(0) { $0 + $1.bytes }
        try range(bytes, "recording.periods, in bytes", 0...WireLimits.rewrittenManifestBytes)
        for (index, period) in periods.enumerated() {
            let field = "recording.periods[\(index)]"
            let count = cursor.mpd?.periodCount ?? 0
            try range(period.number, "\(field).number", 0...max(count - 1, 0))
            try name(period.prefix, "\(field).prefix")
            for (index, track) in period.tracks.enumerated() {
                let field = "\(field).tracks[\(index)]"
                try range(track.number, "\(field).number", 0...max(cursor.lists - 1, 0))
                try range(
                    Int(clamping: track.timescale), "\(field).timescale", 1...maxTimescale)
                try range(
                    Int(clamping: track.offset), "\(field).offset",
                    -Int(maxSequence)...Int(maxSequence))
            }
        }
        for piece in root + periods.flatMap(\.pieces) {
            try noNUL(piece.text, "recording.periods")
        }
    }

    private static func name(_ text: String, _ field: String) throws(Failure) {
        try range(text.utf8.count, "\(field), in bytes", 0...nameBytes)
        try noNUL(text, field)
    }

    private static func hashes(
        _ hashes: [String], _ most: Int, _ field: String
    ) throws(Failure) {
        try range(hashes.count, field, 0...most)
        for hash in hashes { try text(hash, field, 1...64) }
    }

    private static func lines(_ text: String, _ field: String) throws(Failure) {
        try range(text.utf8.count, "\(field), in bytes", 0...tagBytes)
        try noNUL(text, field)
    }

    private static func noNUL(_ text: String, _ field: String) throws(Failure) {
        guard text.utf8.contains(0) else { return }
        throw wrong(field, "given", "text without NUL")
    }
}
