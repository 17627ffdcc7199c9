import Model
import TestSupport
import Testing
import Titles

@Suite struct SegmentIndexTests {
    private static func number(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }

    private static func box(_ type: String, _ body: [UInt8]) -> [UInt8] {
        number(UInt64(body.count + 8), 4) + Array(type.utf8) + body
    }

    /// Returns an index of `parts`: bytes, with the top bit for an index, and units of time.
    static func index(
        version: UInt64 = 0, timescale: UInt64 = 1_000, first: UInt64 = 0,
        _ parts: [(UInt64, UInt64)]
    ) -> [UInt8] {
        let wide = version == 0 ? 4 : 8
        var body = number(version << 24, 4) + number(1, 4) + number(timescale, 4)
        body += number(0, wide) + number(first, wide) + number(0, 2)
        body += number(UInt64(parts.count), 2)
        for (bytes, units) in parts { body += number(bytes, 4) + number(units, 4) + number(0, 4) }
        return box("sidx", body)
    }

    private static func lines(_ bytes: [UInt8], at offset: Int64 = 0) throws(Failure) -> [String] {
        try SegmentIndex.parse(bytes, at: offset, name: "a.mp4").entries.map { entry in
            "\(entry.range.offset)+\(entry.range.length ?? -1) \(entry.durationSeconds)"
                + (entry.isIndex ? " index" : "")
        }
    }

    @Test func partsFollowTheIndex() throws {
        let bytes = Self.index([(500, 4_000), (0x8000_0064, 2_500)])
        #expect(bytes.count == 56)
        #expect(try Self.lines(bytes, at: 820) == ["876+500 4.0", "1376+100 2.5 index"])
        let wide = Self.index(version: 1, timescale: 90_000, first: 10, [(7, 180_000)])
        #expect(
            try Self.lines(Self.box("styp", [1, 2]) + wide) == ["\(10 + wide.count + 10)+7 2.0"])
    }

    @Test func whatIsNoIndexIsRefused() {
        let index = Self.index([(500, 4_000)])
        let cases: [([UInt8], String)] = [
            ([], "is missing"), (Self.box("moov", []), "is missing"),
            (Array(index.dropLast()), "is truncated"), ([0, 0, 0, 4, 1, 1, 1, 1], "own header"),
            (Self.index(timescale: 0, [(1, 1)]), "timescale"), (Self.index([(0, 1)]), "empty part"),
            (Self.index(version: 1, first: .max, [(1, 1)]), "too large"),
            (Self.index(version: 1, first: UInt64(Int64.max), [(1, 1)]), "too large"),
        ]
        for (bytes, what) in cases {
            #expect {
                try Self.lines(bytes)
            } throws: {
                let failure = $0 as? Failure
                return failure?.code == "manifest.malformed"
                    && failure?.message.contains(what) == true
            }
        }
    }

    @Test func brokenIndexesEndInAFailure() {
        let bytes = Self.box("free", [0]) + Self.index(version: 1, [(500, 4_000), (9, 1)])
        for index in bytes.indices {
            _ = try? Self.lines(Array(bytes[..<index]))
            for value: UInt8 in [0, 1, 0x7F, 0xFF] {
                var changed = bytes
                changed[index] = value
                _ = try? Self.lines(changed, at: .max)
            }
        }
    }
}
