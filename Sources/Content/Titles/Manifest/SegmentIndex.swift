package import Model

/// A segment index box, `sidx` (ISO/IEC 14496-12, 8.16.3): where the parts of a file are.
///
/// What a DASH representation of one file has at its `indexRange`, and what tells its segments. An
/// index may refer to further indexes; whoever has read this one fetches those.
package struct SegmentIndex: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package var range: SegmentRange
        package var durationSeconds: Double
        /// It is an index of its own, not media.
        package var isIndex: Bool
    }

    package var entries: [Entry]

    /// Reads the first `sidx` box of `bytes`.
    ///
    /// - Parameters:
    ///   - bytes: whole boxes; those before the index are ignored.
    ///   - offset: where they begin in their file.
    ///   - name: what to call the file in a message.
    ///
    /// Fails with `manifest.malformed`. At most 65,535 entries, so the format has it.
    package static func parse(
        _ bytes: [UInt8], at offset: Int64, name: String
    ) throws(Failure) -> SegmentIndex {
        var reader = Reader(bytes: bytes)
        do throws(Malformed) {
            return try reader.index(at: offset)
        } catch {
            throw Failure("manifest.malformed", "\(name): the segment index \(error.what)")
        }
    }

    private struct Malformed: Error {
        let what: String
    }

    private struct Reader {
        let bytes: [UInt8]
        private var place = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        private mutating func integer(_ count: Int) throws(Malformed) -> UInt64 {
            guard bytes.count - place >= count else { throw Malformed(what: "is cut short") }
            defer { place += count }
            return bytes[place..<(place + count)].reduce(0) { $0 << 8 | UInt64($1) }
        }

        mutating func index(at offset: Int64) throws(Malformed) -> SegmentIndex {
            while true {
                let start = place
                guard start < bytes.count else { throw Malformed(what: "is not there") }
                var length = try integer(4)
                let type = try integer(4)
                if length == 1 { length = try integer(8) }
                if length == 0 { length = UInt64(bytes.count - start) }
                let rest = UInt64(bytes.count - start)
                guard length >= UInt64(place - start) else {
                    throw Malformed(what: "has a box that is shorter than its own head")
                }
                guard length <= rest else { throw Malformed(what: "is cut short") }
                let end = start + Int(length)
                if type == 0x7369_6478 {
                    return try entries(end: end, at: offset)
                }
                place = end
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
            guard place + 12 * count <= end else { throw Malformed(what: "is cut short") }
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
                guard length > 0 else { throw Malformed(what: "has a part of no bytes") }
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
