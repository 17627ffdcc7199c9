import HTTPServer
import Synchronization
import TestSupport
import Testing

/// What is no request that a handler could see: each is answered by the server, in the server's
/// words.
@Suite(.overBothTransports) struct RefusedRequestTests {
    /// Its answers name the rejection.
    private static let worded = HTTPServer.Configuration(
        rejection: { .text($0.status, "rejected: \($0)") })

    private static let host = "Host: h\r\n"

    private static let chunked =
        "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n"
    static let heads: [(head: String, rejection: HTTPServer.Rejection)] = [
        ("nonsense\r\n\r\n", .malformedRequest),
        ("GET /\r\n\(host)\r\n", .malformedRequest),
        ("GET  / HTTP/1.1\r\n\(host)\r\n", .malformedRequest),
        ("GET / HTTP/1.1 \r\n\(host)\r\n", .malformedRequest),
        ("GET /a b HTTP/1.1\r\n\(host)\r\n", .malformedRequest),
        ("GET /\u{7F} HTTP/1.1\r\n\(host)\r\n", .malformedRequest),
        ("G(T / HTTP/1.1\r\n\(host)\r\n", .malformedRequest),
        ("GET / HTTP/1.1\n\(host)\n", .malformedRequest),
        ("GET / HTTP/1.1\r\nHost: h\n\r\n", .malformedRequest),
        ("GET / http/1.1\r\n\(host)\r\n", .malformedRequest),
        ("GET / HTTP/11\r\n\(host)\r\n", .malformedRequest),
        ("GET / HTTP/0.9\r\n\(host)\r\n", .versionNotSupported),
        ("GET / HTTP/2.0\r\n\(host)\r\n", .versionNotSupported),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .versionNotSupported),
        ("GET / HTTP/1.1\r\n\r\n", .malformedRequest),
        ("GET / HTTP/1.1\r\n\(host)\(host)\r\n", .malformedRequest),
        ("GET / HTTP/1.1\r\n\(host) x: folded\r\n\r\n", .malformedRequest),
        ("GET / HTTP/1.1\r\n\(host)X : y\r\n\r\n", .malformedRequest),
        ("GET / HTTP/1.1\r\n\(host): y\r\n\r\n", .malformedRequest),
        ("GET / HTTP/1.1\r\n\(host)no colon\r\n\r\n", .malformedRequest),
        ("GET / HTTP/1.1\r\n\(host)X: a\rb\r\n\r\n", .malformedRequest),
        ("GET / HTTP/1.1\r\n\(host)X: a\u{0}b\r\n\r\n", .malformedRequest),
        ("GET /%zz HTTP/1.1\r\n\(host)\r\n", .malformedTarget),
        ("GET http:/// HTTP/1.1\r\n\(host)\r\n", .malformedTarget),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: x\r\n\r\n", .malformedRequest),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n", .malformedRequest),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 1, 1\r\n\r\n", .malformedRequest),
        (
            "POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
            .malformedRequest
        ),
        (
            "POST / HTTP/1.1\r\n\(host)Content-Length: 99999999999999999999999\r\n\r\n",
            .bodyTooLarge
        ),
        (
            "POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            .malformedRequest
        ),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: gzip\r\n\r\n", .unknownCoding),
        ("POST / HTTP/1.0\r\n\(host)Transfer-Encoding: chunked\r\n\r\n", .malformedRequest),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nx\r\n", .malformedRequest),
        (
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1\r\nabc",
            .malformedRequest
        ),
        // Chunks whose lines another reader would end elsewhere.
        (chunked + "0\n\nGET / HTTP/1.1\r\n\(host)\r\n", .malformedRequest),
        (chunked + "0 \r\n\r\n", .malformedRequest),
        (chunked + "1\r\na\n0\r\n\r\n", .malformedRequest),
        (chunked + "1\ra\r0\r\r", .malformedRequest),
        (chunked + "1;x=\ny\r\na\r\n0\r\n\r\n", .malformedRequest),
        (chunked + "1;\u{0}\r\na\r\n0\r\n\r\n", .malformedRequest),
        (chunked + "0\r\nX: y\n\r\n", .malformedRequest),
        ("\u{16}\u{3}\u{1}", .malformedRequest),
        ("GET /\(String(repeating: "a", count: 17 << 10))", .targetTooLong),
        (
            "GET / HTTP/1.1\r\n\(host)X: \(String(repeating: "a", count: 33 << 10))",
            .headersTooLarge
        ),
        (
            "GET / HTTP/1.1\r\n\(String(repeating: host, count: 101))\r\n", .headersTooLarge
        ),
    ]

    @Test func eachIsAnsweredAndTheConnectionEnds() async throws {
        let handled = Mutex(0)
        let handler: HTTPServer.Handler = { _ in
            handled.withLock { $0 += 1 }
            return .text(200, "")
        }
        try await withServer(Self.worded, handler: handler) { server in
            for (head, rejection) in Self.heads {
                let client = try Client(port: server.port)
                try await client.send(head)
                let answer = try await client.receive()
                #expect(answer?.status == rejection.status, "\(head.prefix(80).debugDescription)")
                #expect(
                    answer?.body == "rejected: \(rejection)", "\(head.prefix(80).debugDescription)")
                #expect(try await client.receive() == nil)
            }
            #expect(handled.withLock { $0 } == 0)
        }
    }

    /// Also behind a request that was well formed, however the bytes come.
    @Test func aLaterRequestIsReadAsStrictly() async throws {
        try await withServer(Self.worded, handler: { _ in .text(200, "") }) { server in
            for (head, rejection) in Self.heads {
                let client = try Client(port: server.port)
                try await client.send("GET / HTTP/1.1\r\n\(Self.host)\r\n" + head)
                #expect(try await client.receive()?.status == 200)
                let answer = try await client.receive()
                #expect(
                    answer?.body == "rejected: \(rejection)", "\(head.prefix(80).debugDescription)")
            }
        }
    }

    @Test func aRequestMayComeByteByByte() async throws {
        try await withServer(handler: { .text(200, String(decoding: $0.body, as: UTF8.self)) }) {
            server in
            let client = try Client(port: server.port)
            let request =
                "\r\nPOST / HTTP/1.1\r\n\(Self.host)Transfer-Encoding: chunked\r\n\r\n"
                + "2;x=y\r\nab\r\n1\r\nc\r\n0\r\nTrailer: x\r\n\r\n"
            for _ in 0..<2 {
                for byte in request { try await client.send(String(byte)) }
                #expect(try await client.receive()?.body == "abc")
            }
        }
    }

    @Test func anOldClientGetsWhatItKnows() async throws {
        try await withServer(handler: { _ in .text(200, "x") }) { server in
            let once = try Client(port: server.port)
            try await once.send("GET / HTTP/1.0\r\n\r\n")
            #expect(try await once.receive()?.headers["connection"] == "close")
            #expect(try await once.receive() == nil)
            let kept = try Client(port: server.port)
            for _ in 0..<3 {
                try await kept.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                #expect(try await kept.receive()?.headers["connection"] == "keep-alive")
            }
        }
    }

    @Test func aBodyIsAskedForBeforeItIsSent() async throws {
        var configuration = Self.worded
        configuration.admission = {
            $0.segments == ["no"] ? .refused(.text(401, "no")) : .admitted
        }
        try await withServer(configuration, handler: { .text(200, "\($0.body.count)") }) { server in
            let expect = "\(Self.host)Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"
            let client = try Client(port: server.port)
            try await client.send("POST / HTTP/1.1\r\n" + expect)
            #expect(try await client.receive()?.status == 100)
            try await client.send("abc")
            #expect(try await client.receive()?.body == "3")
            let refused = try Client(port: server.port)
            try await refused.send("POST /no HTTP/1.1\r\n" + expect)
            #expect(try await refused.receive()?.status == 401)
            #expect(try await refused.receive() == nil)
        }
    }
}
