import API
import Model
import Postgres

/// A live title that is recorded, as its row has it: its asset is locked by a reported job.
///
/// Its resolve job reloads the playlists, or the MPD, again and again: `advance` queues the segments
/// that were new, and puts the job back until the next reload. After the end the job waits for the
/// last segment, and then stores the playlists, or the MPD.
struct Recording {
    let asset: Int64
    let cursor: RecordingCursor
    /// Number of playlists that are stored in the end.
    let playlists: Int64
    let reloadSeconds: Double
    let progress: RecordingProgress
    let bounds: RecordingBounds
    /// True once it is not reloaded any more.
    let isOver: Bool
    /// True once its playlists are segments of the asset.
    let isWritten: Bool
    /// Key and URL of the title's manifest.
    let key: String
    let url: String
    /// True if a start has taken the asset up since the last reload.
    let isStart: Bool

    /// Longest recording in seconds.
    static let maxSeconds = 30.0 * 86_400
    /// Number of segments, keys and initialization sections from which on nothing is added.
    static let maxSegments = Int64(WireLimits.segmentsPerAsset / 2)
    /// Bytes of a playlist from which on nothing is added to it.
    static let maxBytes = Int64(WireLimits.rewrittenManifestBytes / 2)
    /// Segments before the newest ones, among which failures are looked for at each reload.
    private static let recentSegments: Int64 = 500

    /// Returns the recording of an asset; nil if it has none.
    static func find(_ asset: Int64, _ connection: PostgresConnection) async throws -> Recording? {
        let row = try await connection.query(
            SQL.Recording.find,
            [
                "asset": .int(asset), "max_seconds": .double(maxSeconds),
                "max_segments": .int(maxSegments), "max_bytes": .int(maxBytes),
                "run_bytes": .int(Int64(RecordingCursor.MPD.bytesOfRun)),
            ]
        ).firstRow
        return try row.map { try Recording(asset, $0) }
    }

    private init(_ asset: Int64, _ row: PostgresRow) throws {
        self.asset = asset
        cursor = try WireJSON.decode(
            RecordingCursor.self, from: Array(try row.string("cursor").utf8))
        playlists = try row.int64("playlists")
        reloadSeconds = try row.double("reload_seconds")
        progress = try RecordingProgress(row)
        bounds = try RecordingBounds(row)
        isOver = try row.bool("is_over")
        isWritten = try row.bool("is_written")
        key = try row.string("key")
        url = try row.string("url")
        isStart = try row.bool("is_start")
    }

    /// Ends a resolve job: queues what is new, and the next reload.
    ///
    /// - Parameter failure: of a reload that could not read the playlists; nil for one that did.
    ///
    /// Returns true if jobs became due.
    func advance(
        _ job: HeldJob, after failure: Failure?, _ connection: PostgresConnection
    ) async throws -> Bool {
        try PurgeGuard.check(
            try await connection.pipeline([
                PurgeGuard.share(asset: asset), PurgeGuard.awaited(asset: asset),
            ]).last)
        if failure != nil {
            _ = try await connection.query(SQL.Recording.unread, ["asset": .int(asset)])
        }
        let end = isOver ? nil : bounds.end(after: failure, at: cursor)
        if let end { try await note(end, failure, connection) }
        let isOver = isOver || end != nil
        let first = isStart ? 0 : progress.queued
        let endsNow = isOver && !isWritten && !isStart && progress.isWhole
        try await nameLost(from: endsNow ? 0 : max(first - Self.recentSegments, 0), connection)
        if try await TitleResolution.isRefused(job, from: first, connection) { return false }
        var isWritten = isWritten
        if endsNow {
            let ending = try await RecordingEnding(self, connection)
            if let failure = try await lasting(ending, connection) {
                try await TitleResolution.fail(job, failure, connection)
                return false
            }
            try await ending.write(connection)
            isWritten = true
        }
        let jobs = try await queue(
            job, first: first, isWritten: isWritten, connection)
        if !isWritten {
            // The last segments are looked for twice as often.
            let seconds = failure == nil && !isOver ? reloadSeconds : max(reloadSeconds, 1) / 2
            _ = try await connection.query(
                SQL.Recording.delay, ["asset": .int(asset), "seconds": .double(seconds)])
        }
        return jobs > 0
    }

    private func note(
        _ end: RecordingEnd, _ failure: Failure?, _ connection: PostgresConnection
    ) async throws {
        let reason =
            switch end {
            case .ended: cursor.mpd == nil ? "the playlists have ended" : "the MPD has ended"
            case .until: "the time has come at which it was to end"
            case .unchanged: "\(RecordingBounds.maxUnchanged) reloads in a row brought nothing new"
            case .gone:
                "the \(cursor.mpd == nil ? "playlists" : "MPD") could no longer be read: "
                    + (failure?.message ?? "")
            case .full:
                cursor.mpd?.isFull ?? false
                    ? "the MPD lists more representations than can be followed"
                    : "it has the maximum length"
            }
        _ = try await connection.query(
            SQL.Recording.end,
            [
                "asset": .int(asset), "reason": .text(end.rawValue),
                "code": .optionalText(end == .gone ? failure?.code.rawValue : nil),
                "message": .text(
                    "The recording has ended with \(progress.segments) segments and "
                        + "\(progress.gaps) gaps: " + reason.prefix(400)),
            ])
    }

    /// Turns segments that could not be fetched into gaps.
    private func nameLost(from first: Int64, _ connection: PostgresConnection) async throws {
        let lost = try await connection.query(
            SQL.Recording.lost, ["asset": .int(asset), "first": .int(first)]
        ).rows
        let gaps = try lost.map { row in
            RecordedGap(
                code: try row.optionalString("failure_code"),
                message: "Segment \(try row.int64("sequence")), "
                    + "\(Redaction.key(try row.string("key")).prefix(300)), could not be fetched: "
                    + "\((try row.optionalMessage("failure_message") ?? "").prefix(200))")
        }
        try await RecordedGap.note(gaps, of: asset, connection)
    }

    /// Returns the failure with which it ends; nil if it is whole but for its gaps.
    private func lasting(
        _ ending: RecordingEnding, _ connection: PostgresConnection
    ) async throws -> Failure? {
        let row = try await connection.query(
            SQL.Recording.outcome,
            ["asset": .int(asset), "listed_gap": .int(RecordedEntry.maxListedGap)]
        ).only()
        if let code = try row.optionalString("code") {
            return Failure(FailureCode(code), try row.optionalMessage("message") ?? "")
        }
        guard try row.bool("are_stored") else {
            return Failure(
                .manifestEmpty, "the recording has ended, and no segment could be stored")
        }
        let bytes = try ending.mpd?.utf8.count ?? Int(try row.int64("bytes"))
        guard bytes <= WireLimits.rewrittenManifestBytes else {
            return Failure(
                .manifestTooLarge,
                "a recorded playlist or MPD has more than "
                    + "\(WireLimits.rewrittenManifestBytes) bytes")
        }
        return nil
    }

    /// Ends the job, and queues segments from an ordinal on; returns their number.
    private func queue(
        _ job: HeldJob, first: Int64, isWritten: Bool, _ connection: PostgresConnection
    ) async throws -> Int64 {
        let values: SQLValues = ["asset": .int(asset)]
        if isStart {
            // Parts of files are fetched as wholes again.
            _ = try await connection.pipeline([
                PostgresStatement(
                    SQL.Resolving.trim, values + ["segments": .int(progress.nextOrdinal)]),
                PostgresStatement(SQL.Resolving.sidecars, values),
            ])
        }
        let origins = try await connection.query(
            SQL.Recording.origins, values + ["first": .int(first)]
        ).rows
        let lanes: SQLValues = [
            "lane": .int(job.lane), "asset": .int(asset),
            "origins": .int64Array(try origins.map { try $0.int64("origin_id") }),
        ]
        // Until they are stored, the playlists are outstanding.
        let outstanding =
            isStart ? (isWritten ? 0 : playlists) : isWritten && !self.isWritten ? -playlists : 0
        let lastOrdinal =
            isStart
            ? Int64(Int32.max) : Int64(WireLimits.segmentsPerAsset) - 1
        let results = try await connection.pipeline([
            PostgresStatement(SQL.Resolving.lanes, lanes),
            PostgresStatement(SQL.Resolving.lockLanes, lanes),
            PostgresStatement(
                SQL.Recording.jobs,
                [
                    "lane": .int(job.lane), "job": .int(job.id.rawValue), "asset": .int(asset),
                    "first": .int(first), "last": .int(lastOrdinal),
                    "is_start": .bool(isStart), "is_written": .bool(isWritten),
                    "outstanding": .int(outstanding),
                ]),
        ])
        return try results[2].only().int64("jobs")
    }
}

/// A part of a live title that is missing in its recording.
struct RecordedGap {
    /// The failure of its fetch; nil if it was never requested.
    var code: String?
    var message: String

    /// Records gaps as events, the first ones of a reload.
    static func note(
        _ gaps: [RecordedGap], of asset: Int64, _ connection: PostgresConnection
    ) async throws {
        let gaps = gaps.prefix(WireLimits.eventsPerChange)
        guard !gaps.isEmpty else { return }
        _ = try await connection.query(
            SQL.Recording.nameGaps,
            [
                "asset": .int(asset), "codes": .optionalTextArray(gaps.map(\.code)),
                "messages": .textArray(gaps.map(\.message)),
            ])
    }
}
