/// The position from which a recording of a live title continues at its next reload: that in its HLS
/// playlists, or in its MPD.
package struct RecordingCursor: Codable, Hashable, Sendable {
    /// A media playlist that is followed.
    package struct Playlist: Codable, Hashable, Sendable {
        /// The URL that is reloaded.
        package var url: String
        /// The URL that its key is made from, if it is not `url`.
        package var named: String?
        package var key: String
        /// `HLSPlaylist.Rendition` as a number.
        package var rendition: Int
        /// Tags that apply to the whole playlist, a line each.
        package var header = ""
        /// The longest EXT-X-TARGETDURATION so far, in seconds.
        package var targetSeconds: Int64 = 0
        /// Media sequence number of the first segment that is not recorded.
        package var next: Int64 = 0
        /// Discontinuities before it, counted from the first recorded segment.
        package var discontinuities: Int64 = 0
        /// The EXT-X-KEY and EXT-X-MAP lines of the last recorded segment.
        package var setup = ""
        /// Bytes of the recorded playlist so far.
        package var bytes = 0
        /// True with EXT-X-ENDLIST; it is not reloaded.
        package var hasEnded = false

        package init(url: String, named: String?, key: String, rendition: Int) {
            self.url = url
            self.named = named
            self.key = key
            self.rendition = rendition
        }
    }

    package var playlists: [Playlist] = []
    /// True if the title's manifest is a multivariant playlist; else it is the only media playlist.
    package var isMultivariant = false
    /// Variables of the multivariant playlist, which media playlists may import.
    package var variables: [String: String] = [:]
    /// The MPD of a DASH title, which has no playlists; nil for HLS.
    package var mpd: MPD?
    /// Number of recorded segments and gaps of all playlists.
    package var entries = 0
    /// Hashes of what the multivariant playlist has offered; nil without one, and if it offers more
    /// than `maxOffered`, so that nothing is compared with it.
    package var offered: [String]?
    /// Seconds between the reloads since it was read.
    package var unreadSeconds = 0.0

    package static let maxOffered = 2_000
    /// Seconds after which a multivariant playlist is read for renditions that have joined.
    package static let maxUnreadSeconds = 300.0

    package init() {}

    package var hasEnded: Bool { mpd?.hasEnded ?? playlists.allSatisfy(\.hasEnded) }
    /// Size of the largest recorded playlist.
    package var bytes: Int { mpd?.bytes ?? playlists.map(\.bytes).max() ?? 0 }
    /// Number of playlists, or of tracks of an MPD.
    package var lists: Int { mpd?.trackCount ?? playlists.count }

    /// Returns the key of a playlist, or the name of a track of the MPD.
    package func name(ofList number: Int) -> String {
        guard let mpd else { return playlists[number].key }
        let track = mpd.periods.lazy.flatMap(\.tracks).first { $0.number == number }
        return "representation \(track?.id ?? "\(number)")"
    }
}

/// A segment of a live playlist or MPD as the recorded one lists it.
package struct RecordedEntry: Codable, Hashable, Sendable {
    /// Index in `RecordingCursor.playlists`, or number of a track of the MPD.
    package var playlist: Int
    /// Its media sequence number, or its position: see `RecordingCursor.MPD.Track`.
    package var sequence: Int64
    package var seconds: Double
    /// The EXT-X-KEY and EXT-X-MAP lines that apply to it; nil if they are those of the previous
    /// segment.
    package var setup: String?
    /// Its other tags, a line each; of a segment of an MPD its `RecordedTimes`.
    package var tags: String
    /// The path to its file from the playlist's, as it stands in the playlist; empty for an MPD.
    package var uri: String
    /// Index of its object in the request; nil for a gap (EXT-X-GAP).
    package var object: Int?
    /// Segments before it that were no longer listed when the playlist was reloaded.
    package var missed: Int64 = 0

    package init(
        playlist: Int, sequence: Int64, seconds: Double, setup: String?, tags: String, uri: String
    ) {
        self.playlist = playlist
        self.sequence = sequence
        self.seconds = seconds
        self.setup = setup
        self.tags = tags
        self.uri = uri
    }

    /// Bytes that it takes in the recorded playlist, at most.
    package var bytes: Int {
        (setup?.utf8.count ?? 0) + tags.utf8.count + uri.utf8.count + Self.bytesOfMark
            + Int(min(missed, Self.maxListedGap)) * Self.bytesOfGap
    }

    /// Maximum number of consecutive missed segments that are listed one by one; more of them are a
    /// discontinuity.
    package static let maxListedGap: Int64 = 1_000
    /// Bytes of the line's end, of EXT-X-GAP and of a mark of its name, at most.
    private static let bytesOfMark = 48
    /// Bytes of a missed segment in the recorded playlist, at most.
    private static let bytesOfGap = 100
}

/// The findings of a worker at a reload of a live title.
package struct RecordingUpdate: Codable, Hashable, Sendable {
    /// The position after `entries`.
    package var cursor: RecordingCursor
    package var entries: [RecordedEntry]
    /// The multivariant playlist as it is stored in the end; nil for a media playlist, and after
    /// the first reading.
    package var manifest: String?
    /// The MPD around its periods, with the first reading; nil for HLS.
    package var root: [RecordedPiece]?
    /// Periods of the MPD that begin with this reload; nil for none.
    package var periods: [RecordedPeriod]?
    /// Names of renditions or representations that have joined the title, and are not recorded,
    /// `maxJoined` at most; nil for none.
    package var joined: [String]?
    /// Time until the next reload.
    package var reloadSeconds: Double
    /// Seconds between the last recorded segment's end and the live edge; 0 if all are recorded.
    package var behindSeconds: Double

    package init(
        cursor: RecordingCursor, entries: [RecordedEntry], manifest: String? = nil,
        reloadSeconds: Double, behindSeconds: Double = 0
    ) {
        self.cursor = cursor
        self.entries = entries
        self.manifest = manifest
        self.reloadSeconds = reloadSeconds
        self.behindSeconds = behindSeconds
    }

    /// Sets `joined`, with bounded names without control characters.
    package mutating func name(joined names: [String]) {
        guard !names.isEmpty else { return }
        joined = names.prefix(Self.maxJoined).map { name in
            let scalars = name.unicodeScalars.map { scalar in
                scalar.value < 0x20 || scalar.value == 0x7F ? " " : scalar
            }
            return ManifestWarnings.clipped(String(String.UnicodeScalarView(scalars)))
        }
    }

    package static let maxJoined = 100
}

/// The state that a worker needs to continue a recording.
package struct RecordingPosition: Codable, Hashable, Sendable {
    package var cursor: RecordingCursor
    /// True once it is not reloaded any more.
    package var isOver: Bool

    package init(cursor: RecordingCursor, isOver: Bool) {
        self.cursor = cursor
        self.isOver = isOver
    }
}

/// The reason for the end of a recording.
package enum RecordingEnd: String, Codable, CaseIterable, Sendable {
    /// The playlists have EXT-X-ENDLIST; the MPD is static, or its presentation is over.
    case ended
    /// The time of `--until` has come.
    case until
    /// No reload brought anything new for too long.
    case unchanged
    /// The playlists, or the MPD, could no longer be read.
    case gone
    /// It has the maximum length, or its MPD lists more representations than can be followed.
    case full
}
