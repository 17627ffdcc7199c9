import Model
import Testing

@testable import Titles
@testable import WebURL

/// Compact tables return exactly their inputs.
@Suite struct CompactTablesTests {
    /// Returns a number from `range` by a seeded generator (splitmix64).
    private struct Numbers {
        var state: UInt64

        mutating func next(_ range: Range<Int>) -> Int {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return range.lowerBound + Int((mixed ^ mixed >> 31) % UInt64(range.count))
        }
    }

    private static func url(_ numbers: inout Numbers, _ index: Int) throws -> WebURL {
        let hosts = ["a.test", "b.test:8080", "cdn-with-a-long-name.example.test", "[::1]", "x"]
        let host = hosts[numbers.next(0..<hosts.count)]
        let scheme = numbers.next(0..<4) == 0 ? "http" : "https"
        let folder = String(repeating: "folder/", count: numbers.next(0..<300))
        let query = ["", "?", "?t=\(numbers.next(0..<1_000_000))"][numbers.next(0..<3)]
        let name = "\(index)-\(numbers.next(0..<50)).ts"
        return try WebURL("\(scheme)://\(host)/\(folder)\(name)\(query)")
    }

    @Test(arguments: 1...8) func urlsAreWhatTheyWere(seed: UInt64) throws {
        var numbers = Numbers(state: seed)
        var table = URLTable()
        var urls: [WebURL] = []
        for index in 0..<2_000 {
            // Adjacent URLs are similar, as those of segments are; some belong to a base.
            let isNew = urls.isEmpty || numbers.next(0..<10) == 0
            let before = isNew ? try Self.url(&numbers, index) : urls[urls.count - 1]
            let base = ReferenceBase(before)
            let reference = Array("\(index)/n.ts".utf8)
            if numbers.next(0..<2) == 0,
                let queryStart = base.plainQueryStart(reference, reference.indices)
            {
                table.append(base, reference, reference.indices, queryStart: queryStart)
                urls.append(try base.resolve(reference, reference.indices))
            } else {
                table.append(before)
                urls.append(before)
            }
        }
        #expect(table.count == urls.count)
        #expect(table.totalBytes == urls.reduce(0) { $0 + $1.text.utf8.count })
        var bytes: [UInt8] = []
        for (index, url) in urls.enumerated() {
            let found = table[index]
            #expect(found == url && found.path == url.path && found.query == url.query)
            table.copy(index, into: &bytes)
            #expect(bytes.elementsEqual(url.text.utf8))
            #expect(table.length(at: index) == bytes.count)
            #expect(table.queryStart(at: index) == url.queryStart)
        }
    }

    @Test(arguments: [0, 5, 5_000]) func numbersAreFoundByTheirHashes(reserved: Int) {
        var table = HashIndex()
        table.reserve(reserved)
        // Hashes with equal starts or ends.
        let hashes = (0..<3_000).map { $0 % 2 == 0 ? $0 << 40 : $0 }
        #expect(table[hashes[0]] == nil)
        for (number, hash) in hashes.enumerated() {
            #expect(table.insert(hash) == nil)
            #expect(table.insert(hash) == number)
        }
        for (number, hash) in hashes.enumerated() { #expect(table[hash] == number) }
        #expect(table[-1] == nil)
    }

    @Test func entriesOfTimelinesAreWhatTheyWere() {
        typealias Entry = DASHManifest.TimelineEntry
        let high = Int64(UInt32.max)
        let entries = [
            Entry(duration: 1), Entry(time: 0, duration: high, repeats: -1),
            Entry(time: .max, duration: high + 1, repeats: .max),
            Entry(duration: 5, repeats: 3, sequence: 2), Entry(duration: 6, number: 0),
            Entry(time: 7, duration: .max, repeats: 1, sequence: 10_000, number: .max),
        ]
        var timeline = DASHManifest.Timeline()
        for entry in entries { timeline.append(entry) }
        #expect(Array(timeline) == entries)
    }

    @Test func entriesOfListsAreWhatTheyWere() {
        typealias Entry = DASHManifest.ListEntry
        let range = SegmentRange(offset: 0, length: nil)
        let entries = [
            Entry(), Entry(media: ""), Entry(media: "a.mp4", index: "\u{FC}"),
            Entry(mediaRange: range, indexRange: SegmentRange(offset: .max, length: .max)),
            Entry(media: String(repeating: "x", count: WireLimits.urlBytes), mediaRange: range),
        ]
        var list = DASHManifest.SegmentList()
        for entry in entries { list.append(entry) }
        #expect(Array(list) == entries)
        #expect(list.indexes == entries.count { $0.hasIndexOfItsOwn })
        var media: [UInt8] = [1]
        for (index, entry) in entries.enumerated() {
            list.copyMedia(index, into: &media)
            #expect(media.elementsEqual((entry.media ?? "").utf8))
            #expect(list.mediaRange(index) == entry.mediaRange)
        }
    }

    /// Changes at one position apply in order; of nested changes, only the part after the inner one
    /// applies.
    @Test func changesAreMadeInTheOrderOfTheirPositions() throws {
        var edits = ManifestEdits()
        #expect(edits.isEmpty)
        for (range, text) in [
            (8..<9, "I"), (2..<4, ""), (3..<5, "x"), (0..<0, "<"), (0..<0, "("), (9..<9, ">"),
        ] as [(Range<Int>, String)] {
            edits.append(ManifestEdit(range, Array(text.utf8)))
        }
        #expect(edits.lastRange == 9..<9)
        let all = try edits.applied(to: Array("abcdefghi".utf8), of: try WebURL("http://h/m"))
        #expect(String(decoding: all, as: UTF8.self) == "<(abxfghI>")
    }
}
