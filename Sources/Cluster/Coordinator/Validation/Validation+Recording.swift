import API
import Model
import Titles

extension Validation {
    /// Bytes of the texts of a recorded segment's tags, and of those of a whole playlist.
    private static let tagBytes = 64 << 10
    /// Limit of media sequence numbers, far below an overflow in sums.
    private static let maxSequence: Int64 = 1 << 60

    /// Checks what a worker found at a reload of a live title.
    static func check(
        _ update: RecordingUpdate, of segments: [ResolvedSegment]
    ) throws(Failure) {
        let cursor = update.cursor
        let all = "recording"
        try range(cursor.playlists.count, "\(all).cursor.playlists", 1...HLSResolver.playlists)
        try range(cursor.entries, "\(all).cursor.entries", 0...Int(Int32.max))
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
            try range(entry.playlist, "\(field).playlist", 0...(cursor.playlists.count - 1))
            try range(Int(clamping: entry.sequence), "\(field).sequence", 0...Int(maxSequence))
            try range(
                Int(clamping: entry.missed), "\(field).missed", 0...Int(clamping: entry.sequence))
            if let object = entry.object {
                try range(object, "\(field).object", 0...(segments.count - 1))
            }
            guard (0...1e6).contains(entry.seconds) else {
                throw wrong("\(field).seconds", "\(entry.seconds)", "0 to 1000000")
            }
            if let setup = entry.setup { try lines(setup, "\(field).setup") }
            try lines(entry.tags, "\(field).tags")
            try text(entry.uri, "\(field).uri", 1...WireLimits.urlBytes)
        }
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

    private static func lines(_ text: String, _ field: String) throws(Failure) {
        try range(text.utf8.count, "\(field), in bytes", 0...tagBytes)
        try noNUL(text, field)
    }

    private static func noNUL(_ text: String, _ field: String) throws(Failure) {
        guard text.utf8.contains(0) else { return }
        throw wrong(field, "given", "text without NUL")
    }
}
