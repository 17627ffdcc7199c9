import Model

extension DASHManifest {
    /// An S element.
    struct TimelineEntry: Hashable, Sendable {
        /// In units of the timescale; -1 for the end of the previous entry.
        var time: Int64 = -1
        var duration: Int64 = 0
        /// Number of repeats; negative to repeat up to the next entry's time or the period's end.
        var repeats: Int32 = 0
        /// Segments per segment sequence; 1 without sequences.
        var sequence: Int32 = 1
        /// Number of the first segment; -1 to continue the numbering.
        var number: Int64 = -1
    }

    /// The S elements of a timeline in compact form: there may be hundreds of thousands.
    ///
    /// An entry takes 16 bytes, and 24 more with numbers, sequences or long durations; elements are
    /// created on access.
    struct Timeline: RandomAccessCollection, Equatable, Sendable {
        private struct Row: Equatable, Sendable {
            var time: Int64
            /// 0 for an entry in `others`, whose index is `repeats`.
            var duration: UInt32
            var repeats: Int32
        }

        /// An entry that does not fit in a row.
        private struct Other: Equatable, Sendable {
            var duration: Int64
            var number: Int64
            var repeats: Int32
            var sequence: Int32
        }

        private var rows: [Row] = []
        private var others: [Other] = []

        var startIndex: Int { 0 }
        var endIndex: Int { rows.count }

        mutating func append(_ entry: TimelineEntry) {
            if entry.number < 0, entry.sequence == 1,
                let duration = UInt32(exactly: entry.duration),
                duration > 0
            {
                rows.append(Row(time: entry.time, duration: duration, repeats: entry.repeats))
            } else {
                rows.append(
                    Row(time: entry.time, duration: 0, repeats: Int32(clamping: others.count)))
                others.append(
                    Other(
                        duration: entry.duration, number: entry.number, repeats: entry.repeats,
                        sequence: entry.sequence))
            }
        }

        subscript(index: Int) -> TimelineEntry {
            let row = rows[index]
            guard row.duration == 0 else {
                return TimelineEntry(
                    time: row.time, duration: Int64(row.duration), repeats: row.repeats)
            }
            let other = others[Int(row.repeats)]
            return TimelineEntry(
                time: row.time, duration: other.duration, repeats: other.repeats,
                sequence: other.sequence, number: other.number)
        }
    }

    /// A SegmentURL element.
    struct ListEntry: Hashable, Sendable {
        /// Texts of up to `WireLimits.urlBytes`.
        var media: String?
        var index: String?
        var mediaRange: SegmentRange?
        var indexRange: SegmentRange?

        /// True if its index is outside of its segment. Without a URL an index is a part of the
        /// segment's object (5.3.9.3.2), usually of the segment itself.
        var hasIndexOfItsOwn: Bool {
            if index != nil { return true }
            guard let inner = indexRange, let outer = mediaRange else { return false }
            let begins = inner.offset >= outer.offset
            guard let length = outer.length else { return !begins }
            return !begins
                || inner.offset + (inner.length ?? .max / 2) > outer.offset + length
        }
    }

    /// The SegmentURL elements of a list in compact form: there may be hundreds of thousands.
    ///
    /// An entry takes 20 bytes, its texts, and 16 bytes per byte range; elements are created on
    /// access.
    struct SegmentList: RandomAccessCollection, Equatable, Sendable {
        private struct Row: Equatable, Sendable {
            /// Offsets in `texts` and lengths; `none` without the attribute.
            var media: UInt32
            var index: UInt32
            /// Indexes in `ranges`; -1 for none.
            var mediaRange: Int32
            var indexRange: Int32
            var mediaCount: UInt16
            var indexCount: UInt16
        }

        private struct Bounds: Equatable, Sendable {
            var offset: Int64
            /// -1 for a range up to the end.
            var length: Int64
        }

        private static let none = UInt16.max

        private var rows: [Row] = []
        private var texts: [UInt8] = []
        private var ranges: [Bounds] = []
        /// Number of entries with a separate index.
        private(set) var indexes = 0

        var startIndex: Int { 0 }
        var endIndex: Int { rows.count }

        mutating func append(_ entry: ListEntry) {
            if entry.hasIndexOfItsOwn { indexes += 1 }
            let (media, mediaCount) = keep(entry.media)
            let (index, indexCount) = keep(entry.index)
            rows.append(
                Row(
                    media: media, index: index, mediaRange: keep(entry.mediaRange),
                    indexRange: keep(entry.indexRange), mediaCount: mediaCount,
                    indexCount: indexCount))
        }

        private mutating func keep(_ text: String?) -> (UInt32, UInt16) {
            guard let text else { return (0, Self.none) }
            let start = texts.count
            texts += text.utf8
            return (UInt32(start), UInt16(texts.count - start))
        }

        private mutating func keep(_ range: SegmentRange?) -> Int32 {
            guard let range else { return -1 }
            ranges.append(Bounds(offset: range.offset, length: range.length ?? -1))
            return Int32(ranges.count - 1)
        }

        private func text(_ start: UInt32, _ count: UInt16) -> String? {
            guard count != Self.none else { return nil }
            return String(decoding: texts[Int(start)..<(Int(start) + Int(count))], as: UTF8.self)
        }

        private func range(_ index: Int32) -> SegmentRange? {
            guard index >= 0 else { return nil }
            let bounds = ranges[Int(index)]
            return SegmentRange(
                offset: bounds.offset, length: bounds.length < 0 ? nil : bounds.length)
        }

        /// Replaces the contents of `out` by the media URL of an entry, or empties it without one.
        func copyMedia(_ index: Int, into out: inout [UInt8]) {
            out.removeAll(keepingCapacity: true)
            let row = rows[index]
            guard row.mediaCount != Self.none else { return }
            out += texts[Int(row.media)..<(Int(row.media) + Int(row.mediaCount))]
        }

        func mediaRange(_ index: Int) -> SegmentRange? { range(rows[index].mediaRange) }

        subscript(index: Int) -> ListEntry {
            let row = rows[index]
            return ListEntry(
                media: text(row.media, row.mediaCount), index: text(row.index, row.indexCount),
                mediaRange: range(row.mediaRange), indexRange: range(row.indexRange))
        }
    }
}
