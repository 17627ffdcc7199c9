import Testing

@testable import Rendering
@testable import Services
@testable import Text

@Suite struct TextTests {
    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1_000, "0.98 KiB"), (1_024, "1.00 KiB"),
        (1_536, "1.50 KiB"), (10_240, "10.0 KiB"), (1_048_575, "1.00 MiB"),
        (5_368_709_120, "5.00 GiB"), (Int64.max, "8192 PiB"),
    ])
    func bytes(count: Int64, text: String) {
        #expect(HumanFormat.bytes(count) == text)
    }

    @Test(arguments: [
        (0.04, "0.0 s"), (12.34, "12.3 s"), (59.96, "1 min 00 s"), (245, "4 min 05 s"),
        (12_000, "3 h 20 min"), (190_000, "2 d 04 h"), (-1, "–"), (.infinity, "–"),
    ])
    func durations(seconds: Double, text: String) {
        #expect(HumanFormat.duration(seconds: seconds) == text)
    }

    @Test func counts() {
        #expect(HumanFormat.count(0) == "0")
        #expect(HumanFormat.count(1_234_567) == "1,234,567")
        #expect(HumanFormat.count(-1_000) == "-1,000")
        #expect(HumanFormat.count(1, "asset") == "1 asset")
        #expect(HumanFormat.clock(seconds: 3_725) == "1:02:05")
    }

    @Test func widthCountsColumnsAndNotCharacters() {
        #expect(TextLayout.width("abc") == 3)
        #expect(TextLayout.width("映画") == 4)
        #expect(TextLayout.width("e\u{301}") == 1)
        #expect(TextLayout.truncated("映画映画", to: 5) == "映画…")
        #expect(TextLayout.width(TextLayout.middleTruncated("映画-abc-def.mp4", to: 9)) <= 9)
        #expect(TextLayout.middleTruncated("abcdefghij", to: 5) == "ab…ij")
        #expect(TextLayout.padded("映", to: 4, right: true) == "  映")
    }

    @Test func aTableStandsInBlocksWhereItIsTooWide() {
        func table(_ columns: Int?) -> String {
            TextLayout.table(
                headings: ["Name", "One", "Two", "Three"],
                alignments: [.left, .right, .right, .left],
                rows: [["a", "1", "2", "3"], ["bb", "10", "20", "30"]], columns: columns,
                repeated: 1)
        }
        let whole = "Name  One  Two  Three\na       1    2  3\nbb     10   20  30\n"
        #expect(table(nil) == whole && table(21) == whole)
        #expect(
            table(20) == """
                Name  One  Two
                a       1    2
                bb     10   20

                Name  Three
                a     3
                bb    30

                """)
        // Narrower than any two: none is left out.
        #expect(table(1).split(separator: "\n").count == 9)
    }

    @Test func tablesAlignAndEndWithoutSpaces() {
        let table = TextLayout.table(
            headings: ["Name", "Bytes"], alignments: [.left, .right],
            rows: [["映画", "1"], ["film", "12,345"]])
        #expect(table == "Name   Bytes\n映画       1\nfilm  12,345\n")
    }

    @Test func logLinesCannotBeForged() {
        let line = LogLine(
            timestamp: "T", level: .info, component: "worker", message: "done",
            metadata: [
                ("a", "1"), ("b", "x\nT error worker: forged"), ("c", "\u{1B}[31m"), ("d", ""),
                ("message", "other"),
            ])
        #expect(
            line.text
                == #"T info worker: done a=1 b="x\nT error worker: forged" c="\u001b[31m" d="" "#
                + "message=other")
        #expect(
            line.json
                == #"{"time":"T","level":"info","component":"worker","message":"done","a":"1","#
                + #""b":"x\nT error worker: forged","c":"\u001b[31m","d":"","message_":"other"}"#)
        #expect(printable("a\u{202E}b") == "a\\u{202E}b")
        for mark: Unicode.Scalar in ["\u{61C}", "\u{200E}", "\u{200F}", "\u{2066}", "\u{FEFF}"] {
            #expect(!printable("a\(mark)b").unicodeScalars.contains(mark), "\(mark.value)")
        }
    }

    @Test func timestampsAreRFC3339() {
        #expect(timestamp(ofSeconds: 0) == "1970-01-01T00:00:00.000Z")
        #expect(timestamp(ofSeconds: 1_709_210_096.5) == "2024-02-29T12:34:56.500Z")
        let clock = ManualWallClock(nowSeconds: 10)
        clock.advance(bySeconds: -4)
        #expect(clock.nowSeconds == 6)
    }

    @Test(arguments: [("", "abc", 3), ("abc", "abc", 0), ("ab", "ba", 1), ("kitten", "sitting", 3)])
    func editDistances(left: String, right: String, distance: Int) {
        #expect(editDistance(left, right) == distance)
    }
}
