import Model
import Postgres

/// How far a recording has come.
struct RecordingProgress {
    let nextOrdinal: Int64
    /// Ordinal of the first segment without a job.
    let queued: Int64
    let segments: Int64
    let gaps: Int64
    /// True if all segments but the playlists have ended, and are counted.
    let isSettled: Bool

    init(_ row: PostgresRow) throws {
        nextOrdinal = try row.int64("next_ordinal")
        queued = try row.int64("queued")
        segments = try row.int64("segments")
        gaps = try row.int64("gaps")
        isSettled = try row.bool("is_settled")
    }

    /// True if all that was found has a job, and has ended.
    var isWhole: Bool { isSettled && queued == nextOrdinal }
}

/// What ends a recording at a reload.
struct RecordingBounds {
    /// Reloads in a row that brought nothing.
    var unchanged: Int64 = 0
    /// True if the time has come at which it is to end.
    var isUntil = false
    /// True if it has its maximum length.
    var isFull = false

    /// Reloads in a row that bring nothing, after which a title is gone.
    static let maxUnchanged: Int64 = 20

    /// Returns why it ends with a reload; nil if it does not.
    ///
    /// - Parameter failure: of a reload that could not read the playlists; nil for one that did.
    func end(after failure: Failure?, at cursor: RecordingCursor) -> RecordingEnd? {
        if cursor.hasEnded { return .ended }
        if isUntil { return .until }
        if isFull || cursor.mpd?.isFull ?? false { return .full }
        // As it was before a reload that failed.
        let unchanged = unchanged + (failure == nil ? 0 : 1)
        guard unchanged >= Self.maxUnchanged else { return nil }
        return failure == nil ? .unchanged : .gone
    }
}

extension RecordingBounds {
    init(_ row: PostgresRow) throws {
        unchanged = try row.int64("unchanged")
        isUntil = try row.bool("is_until")
        isFull = try row.bool("is_full")
    }
}
