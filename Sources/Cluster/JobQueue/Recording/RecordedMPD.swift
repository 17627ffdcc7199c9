import API
import Model

/// Composes the MPD of a recording, as it is stored in the end (ISO/IEC 23009-1): static, with a
/// timeline of the stored segments per representation. Missing segments are holes in it.
struct RecordedMPD {
    /// Consecutive stored segments of one length.
    struct Run: Hashable {
        /// In units of the track's timescale.
        var time: Int64
        var duration: Int64
        /// Number of the first one; 0 in a track without numbers.
        var number: Int64
        var count: Int64
    }

    private let root: [RecordedPiece]
    private(set) var periods: [RecordedPeriod]

    /// - Parameter manifest: the stored lines: the pieces around the periods, then the periods.
    init(_ manifest: String) throws {
        let lines = manifest.split(separator: "\n").map { Array($0.utf8) }
        root = try lines.first.map { try WireJSON.decode([RecordedPiece].self, from: $0) } ?? []
        periods = try lines.dropFirst().map { try WireJSON.decode(RecordedPeriod.self, from: $0) }
    }

    /// Returns lines to store.
    static func lines(_ root: [RecordedPiece]?, _ periods: [RecordedPeriod]) throws -> String {
        var text = ""
        if let root { text += String(decoding: try WireJSON.encode(root), as: UTF8.self) + "\n" }
        for period in periods {
            text += String(decoding: try WireJSON.encode(period), as: UTF8.self) + "\n"
        }
        return text
    }

    /// Joins segments in their order to runs.
    static func runs(
        _ segments: some Sequence<(position: Int64, times: RecordedTimes)>, isNumbered: Bool
    ) -> [Run] {
        var runs: [Run] = []
        for (position, times) in segments {
            let number = isNumbered ? position : 0
            if let last = runs.last, last.duration == times.duration,
                last.time + last.duration * last.count == times.time,
                !isNumbered || last.number + last.count == number
            {
                runs[runs.count - 1].count += 1
            } else {
                runs.append(
                    Run(time: times.time, duration: times.duration, number: number, count: 1))
            }
        }
        return runs
    }

    /// Returns the MPD.
    ///
    /// - Parameter runs: of each track, by its number; periods and tracks without any are left out.
    func text(_ runs: [Int: [Run]]) -> String {
        let stored = periods.filter { period in
            period.tracks.contains { !(runs[$0.number] ?? []).isEmpty }
        }
        var begin: Int128 = 0
        var text = ""
        var end: Int128 = 0
        for (index, period) in stored.enumerated() {
            let extents = period.tracks.compactMap { track in
                Self.extent(runs[track.number] ?? [], track)
            }
            // It begins with the first stored segment.
            let shift = index > 0 ? 0 : max(0, extents.map { $0.begin }.min() ?? 0)
            if index == 0 { begin = Int128(period.start) + shift }
            let start = max(0, Int128(period.start) + shift - begin)
            end = start + (extents.map { $0.end }.max() ?? 0) - shift
            text += Self.text(of: period, start: start, shift: shift, runs)
        }
        return root.map { piece in
            switch piece.value {
            case .duration: piece.text + XMLDuration.text(nanoseconds: max(end, 0))
            case .periods: piece.text + text
            default: piece.text
            }
        }.joined()
    }

    /// Returns the stored part of a track, in nanoseconds from its period's start.
    private static func extent(
        _ runs: [Run], _ track: RecordedPeriod.Track
    ) -> (begin: Int128, end: Int128)? {
        guard let first = runs.first, let last = runs.last else { return nil }
        func nanoseconds(_ time: Int128) -> Int128 {
            (time - Int128(track.offset)) * 1_000_000_000 / Int128(track.timescale)
        }
        let end = Int128(last.time) + Int128(last.duration) * Int128(last.count)
        return (nanoseconds(Int128(first.time)), nanoseconds(end))
    }

    private static func text(
        of period: RecordedPeriod, start: Int128, shift: Int128, _ runs: [Int: [Run]]
    ) -> String {
        let tracks = Dictionary(period.tracks.map { ($0.number, $0) }) { first, _ in first }
        func isStored(_ track: Int) -> Bool { !(runs[track] ?? []).isEmpty }
        let sets = Set(
            period.pieces.compactMap { piece in
                piece.track.flatMap { isStored($0) ? piece.set : nil }
            })
        var text = ""
        for piece in period.pieces {
            if let set = piece.set, !sets.contains(set) { continue }
            if let track = piece.track, !isStored(track) { continue }
            text += piece.text
            let track = piece.track.flatMap { tracks[$0] }
            let stored = piece.track.flatMap { runs[$0] } ?? []
            switch piece.value {
            case .start: text += XMLDuration.text(nanoseconds: start)
            case .offset:
                guard let track else { continue }
                let units = (shift * Int128(track.timescale) + 500_000_000) / 1_000_000_000
                text += "\(Int128(track.offset) + units)"
            case .number: text += "\(stored.first?.number ?? 1)"
            case .timeline:
                text += timeline(stored, period.prefix, isNumbered: track?.isNumbered ?? false)
            case .duration, .periods, nil: break
            }
        }
        return text
    }

    /// Returns the S elements. Those after missing segments have their time, and their number,
    /// which stays that of the origin.
    private static func timeline(_ runs: [Run], _ prefix: String, isNumbered: Bool) -> String {
        var text = ""
        var end: Int64?
        var next: Int64?
        for run in runs {
            text += "<\(prefix)S"
            if end != run.time { text += " t=\"\(run.time)\"" }
            if isNumbered, let next, next != run.number { text += " n=\"\(run.number)\"" }
            text += " d=\"\(run.duration)\""
            if run.count > 1 { text += " r=\"\(run.count - 1)\"" }
            text += "/>"
            end = run.time + run.duration * run.count
            next = run.number + run.count
        }
        return text
    }
}
