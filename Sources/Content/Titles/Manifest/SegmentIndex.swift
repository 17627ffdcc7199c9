package import Model

/// A segment index box, `sidx` (ISO/IEC 14496-12, 8.16.3): the locations of a file's parts.
///
/// A DASH representation of one file has it at its `indexRange`; it lists the segments. An index
/// may refer to further indexes, which the caller fetches.
package struct SegmentIndex: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package var range: SegmentRange
        package var durationSeconds: Double
        /// True for another index instead of media.
        package var isIndex: Bool
    }

    package var entries: [Entry]

    /// Parses the first `sidx` box of `bytes`.
    ///
    /// - Parameters:
    ///   - bytes: whole boxes; those before the index are ignored.
    ///   - offset: their offset in the file.
    ///   - name: name of the file for messages.
    ///
    /// Throws `manifest.malformed`. The format allows at most 65,535 entries.
    package static func parse(
        _ bytes: [UInt8], at offset: Int64, name: String
    ) throws(Failure) -> SegmentIndex {
        var reader = Reader(bytes: bytes)
        do throws(Malformed) {
            return try reader.index(at: offset)
        } catch {
            throw Failure(.manifestMalformed, "\(name): the segment index \(error.what)")
        }
    }

    private struct Malformed: Error {
        let what: String
    }

    private struct Reader {
        let bytes: [UInt8]
        private var cursor = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        private mutating func integer(_ count: Int) throws(Malformed) -> UInt64 {
            guard bytes.count - cursor >= count else { throw Malformed(what: "is truncated") }
            defer { cursor += count }
            return bytes[cursor..<(cursor + count)].reduce(0) { $0 << 8 | UInt64($1) }
        }

        mutating func index(at offset: Int64) throws(Malformed) -> SegmentIndex {
            while true {
                let start = cursor
                guard start < bytes.count else { throw Malformed(what: "is missing") }
                var length = try integer(4)
                let type = try integer(4)
                if length == 1 { length = try integer(8) }
                if length == 0 { length = UInt64(bytes.count - start) }
                let rest = UInt64(bytes.count - start)
                guard length >= UInt64(cursor - start) else {
                    throw Malformed(what: "has a box that is shorter than its own header")
                }
                guard length <= rest else { throw Malformed(what: "is truncated") }
                let end = start + Int(length)
                if type == 0x7369_6478 {
                    return try entries(end: end, at: offset)
                }
                cursor = end
            }
        }

        private mutating func entries(
            end: Int, at offset: Int64
        ) throws(Malformed) -> SegmentIndex {
            let version = try integer(4) >> 24
            _ = try integer(4)
            let timescale = try integer(4)
            guard timescale > 0 else { throw Malformed(what: "has a timescale of 0") }
            let wide = version == 0 ? 4 : 8
            _ = try integer(wide)
            let first = try integer(wide)
            _ = try integer(2)
            let count = Int(try integer(2))
            guard cursor + 12 * count <= end else { throw Malformed(what: "is truncated") }
            guard first <= UInt64(Int64.max), offset >= 0 else {
                throw Malformed(what: "has an offset that is too large")
            }
            // Offsets count from the first byte after the box.
            let (anchor, isFar) = offset.addingReportingOverflow(Int64(end))
            let (begin, isFarther) = anchor.addingReportingOverflow(Int64(first))
            let (_, isFarthest) = begin.addingReportingOverflow(Int64(count) << 31)
            guard !isFar, !isFarther, !isFarthest else {
                throw Malformed(what: "has an offset that is too large")
            }
            var next = begin
            var entries: [Entry] = []
            entries.reserveCapacity(count)
            for _ in 0..<count {
                let size = try integer(4)
                let duration = try integer(4)
                _ = try integer(4)
                let length = Int64(size & 0x7FFF_FFFF)
                guard length > 0 else { throw Malformed(what: "has an empty part") }
                entries.append(
                    Entry(
                        range: SegmentRange(offset: next, length: length),
                        durationSeconds: Double(duration) / Double(timescale),
                        isIndex: size >> 31 == 1))
                next += length
            }
            return SegmentIndex(entries: entries)
        }
    }
}
