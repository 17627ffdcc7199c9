import API
import Model
import Postgres

/// The end of a recording: all of its segments are stored, and its playlists list them.
struct RecordingEnding {
    let recording: Recording

    /// Stores the playlists as segments of the asset; they get jobs next.
    func write(_ connection: PostgresConnection) async throws {
        let asset: SQLValues = ["asset": .int(recording.asset)]
        _ = try await connection.query(SQL.Recording.keep, asset)
        var ordinal = Int(recording.nextOrdinal)
        for (number, playlist) in recording.cursor.playlists.enumerated() {
            let text = try await text(of: playlist, number, connection)
            let isManifest = recording.manifest == nil
            try await store(
                text, url: isManifest ? recording.url : playlist.url,
                key: isManifest ? recording.key : playlist.key, ordinal: ordinal, connection)
            ordinal += 1
        }
        if let manifest = recording.manifest {
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
