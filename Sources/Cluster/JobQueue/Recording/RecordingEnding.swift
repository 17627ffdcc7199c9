import API
import Model
import Postgres

/// The end of a recording: all of its segments are stored, and its playlists or its MPD list them.
struct RecordingEnding {
    let recording: Recording
    /// The multivariant playlist; nil for a title that is a media playlist, and for DASH.
    private let manifest: String?
    /// The MPD; nil for HLS.
    let mpd: String?

    init(_ recording: Recording, _ connection: PostgresConnection) async throws {
        self.recording = recording
        let row = try await connection.query(
            SQL.Recording.manifest, ["asset": .int(recording.asset)]
        ).only()
        let stored = try row.optionalString("manifest")
        guard recording.cursor.mpd != nil else {
            manifest = stored
            mpd = nil
            return
        }
        manifest = nil
        let composed = try RecordedMPD(stored ?? "")
        var runs: [Int: [RecordedMPD.Run]] = [:]
        for track in composed.periods.flatMap(\.tracks) {
            runs[track.number] = try await Self.runs(of: track, recording.asset, connection)
        }
        mpd = composed.text(runs)
    }

    /// Returns the stored segments of a track of an MPD.
    private static func runs(
        of track: RecordedPeriod.Track, _ asset: Int64, _ connection: PostgresConnection
    ) async throws -> [RecordedMPD.Run] {
        let rows = try await connection.query(
            SQL.Recording.playlist,
            ["asset": .int(asset), "playlist": .int(Int64(track.number))]
        ).rows
        var segments: [(position: Int64, times: RecordedTimes)] = []
        for row in rows {
            let isGap = try row.bool("is_gap")
            guard !isGap, let times = RecordedTimes(try row.string("tags")) else { continue }
            segments.append((try row.int64("sequence"), times))
        }
        return RecordedMPD.runs(segments, isNumbered: track.isNumbered)
    }

    /// Stores the playlists, or the MPD, as segments of the asset; they get jobs next.
    func write(_ connection: PostgresConnection) async throws {
        let asset: SQLValues = ["asset": .int(recording.asset)]
        _ = try await connection.query(SQL.Recording.keep, asset)
        var ordinal = Int(recording.progress.nextOrdinal)
        for (number, playlist) in recording.cursor.playlists.enumerated() {
            let text = try await text(of: playlist, number, connection)
            let isManifest = manifest == nil
            try await store(
                text, url: isManifest ? recording.url : playlist.url,
                key: isManifest ? recording.key : playlist.key, ordinal: ordinal, connection)
            ordinal += 1
        }
        if let manifest = mpd ?? manifest {
            try await store(
                manifest, url: recording.url, key: recording.key, ordinal: ordinal, connection)
            ordinal += 1
        }
        _ = try await connection.query(
            SQL.Recording.written, asset + ["next_ordinal": .int(Int64(ordinal))])
    }

    private func text(
        of playlist: RecordingCursor.Playlist, _ number: Int, _ connection: PostgresConnection
    ) async throws -> String {
        let rows = try await connection.query(
            SQL.Recording.playlist,
            ["asset": .int(recording.asset), "playlist": .int(Int64(number))]
        ).rows
        let lines = try rows.map { row in
            RecordedPlaylist.Line(
                sequence: try row.int64("sequence"), setup: try row.optionalString("setup"),
                tags: try row.string("tags"), uri: try row.string("uri"),
                isGap: try row.bool("is_gap"), missed: try row.int64("missed"))
        }
        return RecordedPlaylist(playlist: playlist).text(lines)
    }

    /// Stores a playlist as a rewritten manifest; its size was checked before.
    private func store(
        _ text: String, url: String, key: String, ordinal: Int, _ connection: PostgresConnection
    ) async throws {
        let segment = ResolvedSegment(
            ordinal: ordinal, url: url, key: key, role: .playlist,
            bytes: Int64(text.utf8.count))
        var names = OriginNames()
        try await SegmentStore.copy(
            [segment], [try names.name(of: url)], into: recording.asset, connection)
        _ = try await connection.query(
            SQL.Resolving.storeRewrittenManifests,
            [
                "asset": .int(recording.asset), "ordinals": .int64Array([Int64(ordinal)]),
                "contents": .textArray([text]), "digests": .optionalTextArray([nil]),
            ])
    }
}
