import Model

/// Composes the playlist of a recording, as it is stored in the end: RFC 8216, and rfc8216bis for
/// gaps.
struct RecordedPlaylist {
    /// A recorded segment, or a gap.
    struct Line {
        var sequence: Int64
        /// The lines of its keys and its initialization section; nil if they are those before.
        var setup: String?
        /// Its other tags.
        var tags: String
        var uri: String
        var isGap: Bool
        /// Segments before it that were never listed.
        var missed: Int64
    }

    let playlist: RecordingCursor.Playlist

    /// Returns the text of a playlist that has ended, of type VOD.
    func text(_ lines: some Collection<Line>) -> String {
        var text = "#EXTM3U\n" + playlist.header
        text += "#EXT-X-TARGETDURATION:\(playlist.targetSeconds)\n"
        text += "#EXT-X-MEDIA-SEQUENCE:\(lines.first?.sequence ?? 0)\n"
        text += "#EXT-X-PLAYLIST-TYPE:VOD\n"
        for line in lines {
            text += missed(before: line)
            text += line.setup ?? ""
            text += line.tags
            if line.isGap { text += "#EXT-X-GAP\n" }
            text += line.uri + "\n"
        }
        return text + "#EXT-X-ENDLIST\n"
    }

    /// Lists missed segments as gaps, so that later ones keep their numbers; a discontinuity stands
    /// for more of them.
    private func missed(before line: Line) -> String {
        guard line.missed > 0 else { return "" }
        guard line.missed <= RecordedEntry.maxListedGap else { return "#EXT-X-DISCONTINUITY\n" }
        return (line.sequence - line.missed..<line.sequence).map { sequence in
            "#EXTINF:\(playlist.targetSeconds),\n#EXT-X-GAP\nmissed-\(sequence)\n"
        }.joined()
    }
}
