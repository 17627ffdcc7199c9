import HTTP1
import Testing

/// What of a body's bytes is data, and where it ends.
@Suite struct ResponseBodyTests {
    private struct Read: Equatable {
        var data = ""
        var isDone = false
        /// Bytes behind its end.
        var rest = 0
        var failure: MalformedResponse?
    }

    /// Reads it in pieces that end at `ends`.
    private static func read(
        _ text: String, as body: ResponseBody, ends: [Int] = []
    ) -> Read {
        let bytes = Array(text.utf8)
        var (body, read, start) = (body, Read(), 0)
        for end in ends + [bytes.count] where read.failure == nil {
            bytes[start..<end].withUnsafeBytes { piece in
                var piece = piece
                do {
                    while !piece.isEmpty, !body.isDone {
                        read.data += String(decoding: try body.next(&piece), as: UTF8.self)
                    }
                } catch {
                    read.failure = error as? MalformedResponse
                }
                read.rest += piece.count
            }
            start = end
        }
        read.isDone = body.isDone
        return read
    }

    private static let chunked =
        "5\r\nhello\r\n009;name=\"v\"\r\n, worldab\r\n1 \n!\n0;x\r\nTrailer: t\r\nOther: o\r\n\r\n"

    /// In one piece, in two with each place between, and byte for byte.
    @Test func chunksAreReadAlikeHoweverTheyCome() {
        let text = Self.chunked + "next"
        let wanted = Read(data: "hello, worldab!", isDone: true, rest: 4)
        #expect(Self.read(text, as: .chunked) == wanted)
        for end in 0...text.utf8.count {
            #expect(Self.read(text, as: .chunked, ends: [end]) == wanted, "\(end)")
        }
        #expect(Self.read(text, as: .chunked, ends: Array(0...text.utf8.count)) == wanted)
    }

    @Test func aChunkedBodyIsNotWholeBeforeItsLastByte() {
        for count in 0..<Self.chunked.utf8.count {
            let read = Self.read(
                String(decoding: Self.chunked.utf8.prefix(count), as: UTF8.self), as: .chunked)
            #expect(!read.isDone && read.failure == nil)
        }
    }

    @Test(arguments: [
        "\r\n", "x\r\n", "-1\r\n", "0x5\r\n", ";\r\n", "5\r\nhelloo", "5\r\nhello\rx",
        "5\r\nhello\r\r\n", "8000000000000000\r\n", "10000000000000000\r\n",
        "00000000000000005\r\n",
        "5" + String(repeating: " ", count: 5_000),
        "0\r\n" + String(repeating: "a: b\r\n", count: 20_000),
    ])
    func otherChunksAreMalformed(text: String) {
        #expect(Self.read(text, as: .chunked).failure == .malformed)
        #expect(
            Self.read(text, as: .chunked, ends: Array(0...text.utf8.count)).failure == .malformed)
    }

    @Test func theGreatestChunkIsTaken() {
        let read = Self.read("7fffffffffffffff\r\nabc", as: .chunked)
        #expect(read == Read(data: "abc"))
    }

    @Test func aLengthIsKept() {
        let wanted = Read(data: "hello", isDone: true, rest: 3)
        for end in 0...8 {
            #expect(Self.read("hello!!!", as: .length(5), ends: [end]) == wanted)
        }
        #expect(Self.read("hell", as: .length(5)) == Read(data: "hell"))
        #expect(Self.read("", as: .length(0)).isDone)
    }

    @Test func whatEndsByCloseTakesAll() {
        #expect(Self.read("hello", as: .untilClose) == Read(data: "hello"))
        #expect(ResponseBody.untilClose.endsByClose)
        #expect(!ResponseBody.chunked.endsByClose && !ResponseBody.length(1).endsByClose)
    }

    /// Data can be dropped without a look at it, and the rest is as it was.
    @Test func whatIsSkippedIsAsIfItWereRead() throws {
        var body = ResponseBody.chunked
        try Array("5\r\nhe".utf8).withUnsafeBytes {
            var bytes = $0
            while !bytes.isEmpty { _ = try body.next(&bytes) }
        }
        #expect(body.plainBytes == 3)
        body.skip(3)
        #expect(body.plainBytes == 0)
        try Array("\r\n0\r\n\r\n".utf8).withUnsafeBytes {
            var bytes = $0
            let data = try body.next(&bytes)
            #expect(data.isEmpty)
        }
        #expect(body.isDone)

        var plain = ResponseBody.length(4)
        plain.skip(3)
        #expect(plain.plainBytes == 1 && !plain.isDone)
        plain.skip(1)
        #expect(plain.isDone)
    }
}
