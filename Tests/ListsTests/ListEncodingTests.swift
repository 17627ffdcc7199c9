import Model
import TestSupport
import Testing

/// Lists that are not in UTF-8, or no text at all.
@Suite("Encodings of lists") struct ListEncodingTests {
    @Test("a remark in another encoding is of no account", arguments: [1, 5, 1_000])
    func remark(piece: Int) throws {
        let list = Array("# caf".utf8) + [0xE9] + Array("\nhttp://h/a.mp4\n".utf8)
        #expect(try ListReaderTests.read(list, piece: piece).assets.map(\.name) == ["h/a.mp4"])
        // A line that names something is UTF-8.
        let wrong = Array("caf".utf8) + [0xE9] + Array("\nhttp://h/a.mp4\n".utf8)
        #expect(throws: Failure.self) { try ListReaderTests.read(wrong, piece: piece) }
    }

    @Test("UTF-16 is named")
    func wide() {
        let text = "http://h/1\n".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        #expect {
            try ListReaderTests.read([0xFF, 0xFE] + text)
        } throws: {
            $0 as? Failure
                == Failure(
                    "input.malformed", "line 1, column 1: the list is UTF-16, allowed UTF-8")
        }
    }

    @Test("what is no text is not taken for a list")
    func binary() {
        #expect {
            try ListReaderTests.read(Array("\u{7F}ELF\u{2}".utf8) + [1, 1, 0, 0, 10, 32, 7])
        } throws: {
            ($0 as? Failure)?.message == "the list is not text, allowed text in UTF-8"
        }
    }

    @Test(
        "a mistake in a later line is reported with that line, however the list arrives")
    func laterNUL() {
        for piece in [1, 7, 1_000] {
            #expect {
                try ListReaderTests.read(
                    Array("# c\nhttp://h/a.mp4\nhttp://h/\u{0}b.m3u8\n".utf8), piece: piece)
            } throws: {
                ($0 as? Failure)?.message.hasPrefix("line 3, column 10: the URL holds") == true
            }
        }
    }
}
