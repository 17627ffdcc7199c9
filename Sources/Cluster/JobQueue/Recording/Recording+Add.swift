import API
import Model
import Postgres

extension Recording {
    /// Stores what a reload of a title has found; its segments get jobs when the resolve job is
    /// reported done. A repeated request has one effect.
    ///
    /// - Parameter origins: of the batch's segments.
    static func add(
        _ batch: SegmentBatch, _ update: RecordingUpdate, _ origins: [String], of job: HeldJob,
        _ connection: PostgresConnection
    ) async throws {
        let cursor = try text(of: update.cursor)
        let began = try await connection.query(
            SQL.Recording.begin,
            [
                "asset": .int(job.asset), "cursor": .text(cursor),
                "manifest": .optionalText(
                    update.cursor.mpd == nil
                        ? update.manifest
                        : try RecordedMPD.lines(update.root ?? [], update.periods ?? [])),
                "playlists": .int(
                    update.cursor.mpd == nil
                        ? Int64(update.cursor.playlists.count)
                            + (update.cursor.isMultivariant ? 1 : 0)
                        : 1),
            ]
        ).firstRow
        if began != nil {
            // What it had before it was recorded.
            _ = try await connection.query(
                SQL.Resolving.trim, ["asset": .int(job.asset), "segments": .int(0)])
            try await SegmentStore.store(batch.warnings, of: job.asset, connection)
        } else if let warnings = batch.warnings {
            try await SegmentStore.add(warnings, of: job.asset, connection)
        }
        var addition = try await RecordingAddition(batch, update, of: job.asset, connection)
        addition.assign(origins)
        guard addition.nextOrdinal <= maxOrdinal else {
            throw Failure(
                .manifestTooMany,
                "the recording has \(addition.nextOrdinal) segments; at most \(maxOrdinal) are allowed"
            )
        }
        try await addition.store(connection)
        let periods =
            began == nil
            ? (update.periods ?? []).filter { $0.number >= addition.storedPeriods } : []
        _ = try await connection.query(
            SQL.Recording.update,
            [
                "asset": .int(job.asset), "cursor": .text(cursor),
                "periods": .optionalText(
                    periods.isEmpty ? nil : try RecordedMPD.lines(nil, periods)),
                "next_ordinal": .int(addition.nextOrdinal),
                "segments": .int(Int64(addition.entries.count)),
                "gaps": .int(addition.gaps), "lost": .int(addition.lost),
                "bytes": .int(Int64(update.cursor.bytes)),
                "behind_seconds": .double(update.behindSeconds),
                "reload_seconds": .double(update.reloadSeconds),
            ])
        if let joined = update.joined {
            _ = try await connection.query(
                SQL.Recording.nameUnrecorded,
                [
                    "asset": .int(job.asset), "names": .textArray(joined),
                    "most": .int(Int64(RecordingUpdate.maxJoined)),
                ])
        }
    }

    /// Segments below it leave numbers for the playlists, and for sidecars.
    private static let maxOrdinal = Int64(WireLimits.segmentsPerAsset) - 2_000

    private static func text(of cursor: RecordingCursor) throws -> String {
        String(decoding: try WireJSON.encode(cursor), as: UTF8.self)
    }
}

/// The new lines or segments of a reload: segments get ordinals, and names of their own.
private struct RecordingAddition {
    let asset: Int64
    /// New entries, with the ordinals of their segments; nil for gaps.
    private(set) var entries: [(entry: RecordedEntry, ordinal: Int64?)] = []
    private(set) var nextOrdinal: Int64
    /// Number of periods that are recorded of an MPD.
    let storedPeriods: Int
    private var segments: [ResolvedSegment] = []
    private var origins: [String] = []
    private let firstOrdinal: Int64
    private let batch: SegmentBatch
    private let update: RecordingUpdate
    /// Places of entries that are recorded already.
    private let known: Set<Int64>
    /// Keys that its segments have.
    private var taken: Set<String>

    init(
        _ batch: SegmentBatch, _ update: RecordingUpdate, of asset: Int64,
        _ connection: PostgresConnection
    ) async throws {
        self.asset = asset
        self.batch = batch
        self.update = update
        let row = try await connection.query(
            SQL.Recording.known,
            [
                "asset": .int(asset),
                "playlists": .int64Array(update.entries.map { Int64($0.playlist) }),
                "sequences": .int64Array(update.entries.map(\.sequence)),
                "keys": .textArray(batch.segments.map(\.key)),
            ]
        ).only()
        known = Set(try row.optionalInt64Array("entries") ?? [])
        taken = Set(try row.textArray("keys").compactMap { $0 })
        storedPeriods = Int(try row.int64("periods"))
        firstOrdinal = try row.int64("next_ordinal")
        nextOrdinal = firstOrdinal
    }

    /// Bounded, so that no sum exceeds 64 bits.
    var gaps: Int64 {
        entries.reduce(lost) { $0 + min($1.entry.missed, 1 << 40) }
    }

    /// Number of entries that are gaps.
    var lost: Int64 { Int64(entries.count { $0.ordinal == nil }) }

    /// Assigns ordinals. Keys and initialization sections are stored once; a media segment whose
    /// name the origin has used before gets its sequence number into its name. An MPD has templates
    /// of names, so that its segment is a gap: its worker has marked the names of its track.
    mutating func assign(_ origins: [String]) {
        let listed = Set(update.entries.compactMap(\.object))
        for (index, segment) in batch.segments.enumerated() where !listed.contains(index) {
            if taken.insert(segment.key).inserted { add(segment, origins[index]) }
        }
        for (position, var entry) in zip(Int64(1)..., update.entries)
        where !known.contains(position) {
            guard let index = entry.object else {
                entries.append((entry, nil))
                continue
            }
            var segment = batch.segments[index]
            if !taken.insert(segment.key).inserted {
                guard update.cursor.mpd == nil else {
                    entries.append((entry, nil))
                    continue
                }
                let mark = "\(entry.sequence)" + (entry.playlist > 0 ? "p\(entry.playlist)" : "")
                segment.key = RecordedName.marked(segment.key, as: .key, mark)
                entry.uri = RecordedName.marked(entry.uri, as: .uri, mark)
                taken.insert(segment.key)
            }
            entries.append((entry, nextOrdinal))
            add(segment, origins[index])
        }
    }

    private mutating func add(_ segment: ResolvedSegment, _ origin: String) {
        var segment = segment
        segment.ordinal = Int(nextOrdinal)
        segments.append(segment)
        origins.append(origin)
        nextOrdinal += 1
    }

    func store(_ connection: PostgresConnection) async throws {
        if !segments.isEmpty {
            try await SegmentStore.copy(segments, origins, into: asset, connection)
            _ = try await connection.query(
                SQL.Recording.markOptional,
                ["asset": .int(asset), "first": .int(firstOrdinal)])
        }
        guard !entries.isEmpty else { return }
        let lines = entries.map(\.entry)
        _ = try await connection.query(
            SQL.Recording.insert,
            [
                "asset": .int(asset), "playlists": .int64Array(lines.map { Int64($0.playlist) }),
                "sequences": .int64Array(lines.map(\.sequence)),
                "seconds": .doubleArray(lines.map(\.seconds)),
                "setups": .optionalTextArray(lines.map(\.setup)),
                "tags": .textArray(lines.map(\.tags)), "uris": .textArray(lines.map(\.uri)),
                "ordinals": .optionalIntArray(entries.map(\.ordinal)),
                "missed": .int64Array(lines.map(\.missed)),
            ])
        try await RecordedGap.note(entries.flatMap(gaps), of: asset, connection)
    }

    /// Names what is missing before and at an entry.
    private func gaps(_ entry: RecordedEntry, _ ordinal: Int64?) -> [RecordedGap] {
        var gaps: [RecordedGap] = []
        let cursor = update.cursor
        let list = Redaction.key(cursor.name(ofList: entry.playlist)).prefix(300)
        if entry.missed > 0, cursor.mpd == nil {
            let first = entry.sequence - entry.missed
            gaps.append(
                RecordedGap(
                    message: "Segments \(first) to \(entry.sequence - 1) of \(list) had left the "
                        + "playlist before it was reloaded."))
        } else if entry.missed > 0 {
            gaps.append(
                RecordedGap(
                    message: "\(entry.missed) segments before segment \(entry.sequence) of \(list) "
                        + "had left the MPD before it was reloaded."))
        }
        if ordinal == nil {
            gaps.append(
                RecordedGap(
                    message: cursor.mpd == nil
                        ? "The origin marks segment \(entry.sequence) of \(list) as a gap "
                            + "(EXT-X-GAP)."
                        : "Segment \(entry.sequence) of \(list) has the name of another one."))
        }
        return gaps
    }
}
