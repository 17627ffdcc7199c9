import HTTP1
import Testing

/// Contents of heads, and the rejection of ambiguous ones.
@Suite struct ResponseHeadTests {
    private static func read(_ text: String) throws -> ResponseHead {
        try Array(text.utf8).withUnsafeBytes { try ResponseHead($0) }
    }

    private static func read(fields: String..., status: String = "HTTP/1.1 200 OK") throws
        -> ResponseHead
    {
        try read(([status] + fields).map { "\($0)\r\n" }.joined() + "\r\n")
    }

    @Test func theStatusIsRead() throws {
        for (line, status) in [
            ("HTTP/1.1 200 OK", 200), ("HTTP/1.1 404 Not Found", 404), ("HTTP/1.1 200", 200),
            ("HTTP/1.0 503 ", 503), ("HTTP/1.1 999 x", 999),
        ] {
            #expect(try Self.read(fields: "Content-Length: 1", status: line).status == status)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 099 OK", "HTTP/1.1  200 OK",
        "HTTP/2 200 OK",
        "HTTP/1.2 200 OK", "http/1.1 200 OK", "HTTP/1.1\t200 OK", "ICY 200 OK", "HTTP/1.1 2x0 OK",
        "",
    ])
    func anotherStatusLineIsMalformed(line: String) {
        #expect(throws: MalformedResponse.malformed) {
            try Self.read(fields: "A: b", status: line)
        }
    }

    @Test func theBodyEndsAsTheFieldsSay() throws {
        #expect(try Self.read(fields: "Content-Length: 12").body == .length(12))
        #expect(try Self.read(fields: "content-length:\t12 \t").body == .length(12))
        #expect(try Self.read(fields: "Content-Length: 0").body == .none)
        #expect(
            try Self.read(fields: "Content-Length: 12", "CONTENT-LENGTH: 12").body == .length(12))
        #expect(try Self.read(fields: "Transfer-Encoding: Chunked").body == .chunked)
        #expect(try Self.read(fields: "Transfer-Encoding: identity").body == .untilClose)
        #expect(try Self.read(fields: "Server: x").body == .untilClose)
        for status in ["204 No Content", "304 Not Modified", "100 Continue"] {
            let head = try Self.read(
                fields: "Content-Length: 12", status: "HTTP/1.1 \(status)")
            #expect(head.body == .none)
        }
        // Not of a field whose name only begins alike.
        #expect(try Self.read(fields: "Content-Lengthy: 12").body == .untilClose)
    }

    @Test(arguments: [
        "Content-Length: 1\r\nContent-Length: 2", "Content-Length: -1", "Content-Length: +1",
        "Content-Length: 0x10", "Content-Length: 1, 1", "Content-Length:",
        "Content-Length: 9223372036854775808", "Content-Length: 99999999999999999999",
        "Content-Length: 1\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 1",
        "Content-Length : 1", " Content-Length: 1", "Server: x\r\n y", "Server: x\r\n\ty",
        "no colon", ": no name", "Na me: x", "Na\u{0}me: x", "Name: x\u{0}", "Name: x\ry",
    ])
    func whatTwoReadersMayTakeForDifferentThingsIsMalformed(fields: String) {
        #expect(throws: MalformedResponse.malformed) { try Self.read(fields: fields) }
    }

    @Test(arguments: ["gzip", "gzip, chunked", "chunked, chunked", "chunkedy"])
    func noOtherTransferCodingIsKnown(coding: String) {
        #expect(throws: MalformedResponse.unknownCoding) {
            try Self.read(fields: "Transfer-Encoding: \(coding)")
        }
    }

    @Test func theConnectionIsKeptAsTheVersionAndTheFieldsSay() throws {
        let (old, length) = ("HTTP/1.0 200 OK", "Content-Length: 1")
        func keeps(_ fields: String, _ status: String = "HTTP/1.1 200 OK") throws -> Bool {
            try Self.read(fields: fields, status: status).keepsConnection
        }
        #expect(try keeps(length))
        #expect(try keeps("Transfer-Encoding: chunked"))
        #expect(try !keeps("\(length)\r\nConnection: Close"))
        #expect(try !keeps("\(length)\r\nConnection: x, close"))
        #expect(try !keeps("\(length)\r\nConnection: x\r\nConnection: close"))
        #expect(try !keeps("Server: x"))
        #expect(try !keeps(length, old))
        #expect(try keeps("\(length)\r\nConnection: Keep-Alive", old))
        #expect(try !keeps("\(length)\r\nConnection: keep-alive, close", old))
        #expect(try !keeps("Transfer-Encoding: chunked\r\nConnection: keep-alive", old))
        // Behind it another protocol is spoken.
        #expect(try !keeps("Upgrade: x", "HTTP/1.1 101 Switching Protocols"))
    }

    @Test func interimHeadsAreThoseThatAnotherFollows() throws {
        func isInterim(_ status: String) throws -> Bool {
            try Self.read(fields: "A: b", status: "HTTP/1.1 \(status)").isInterim
        }
        #expect(try isInterim("100 Continue") && isInterim("103 Early Hints"))
        #expect(try !isInterim("101 Switching Protocols") && !isInterim("200 OK"))
    }

    /// However it comes, it ends in the same place, and is not looked through twice.
    @Test(arguments: ["\r\n", "\n"]) func itsEndIsFoundAtEverySplit(lineEnd: String) {
        let head = Array(
            ["HTTP/1.1 200 OK", "A: b", "C: d", "", ""].joined(separator: lineEnd).utf8)
        let bytes = head + Array("\r\n\r\nrest".utf8)
        for split in 0...bytes.count {
            let found = bytes[..<split].withUnsafeBytes { ResponseHead.length(in: $0) }
            #expect(found == (split >= head.count ? head.count : nil))
            guard found == nil else { continue }
            for more in split...bytes.count {
                let found = bytes[..<more].withUnsafeBytes {
                    ResponseHead.length(in: $0, from: split)
                }
                #expect(found == (more >= head.count ? head.count : nil), "\(split), \(more)")
            }
        }
    }

    @Test func whatIsNoAnswerIsSeenAtItsFirstByte() {
        func mayBegin(_ text: String) -> Bool {
            Array(text.utf8).withUnsafeBytes { ResponseHead.mayBegin($0) }
        }
        #expect(
            mayBegin("") && mayBegin("H") && mayBegin("HTTP/1.1 200 OK") && mayBegin("HTTP/1.9"))
        #expect(
            !mayBegin("<") && !mayBegin("HTTQ") && !mayBegin("HTTP/2") && !mayBegin("\r\nHTTP/1.1"))
    }
}
