import Model
import TestSupport
import Testing
import Transfer

/// What an origin may send without end beside a body: each has a bound, and a code of its own.
@Suite("Answers without end", .timeLimit(.minutes(2)))
struct FloodTests {
    typealias Response = FaultOrigin.Response

    private let origin: FaultOrigin
    private let fetcher: Fetcher

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher()
    }

    private func code(
        _ response: Response, _ adjust: (inout TransferRequest) -> Void = { _ in }
    ) async throws -> FailureCode? {
        origin.route("/a.ts", response)
        var request = fetcher.request(origin.url("/a.ts"))
        adjust(&request)
        let code = await fetcher.failure(request)
        if code != nil { #expect(try fetcher.temporaries().isEmpty) }
        return code
    }

    private static func flood(_ start: String, _ line: String) -> Response {
        let block = String(repeating: line, count: max(1, 4_096 / line.utf8.count))
        return .raw(start, then: .sendForever(Array(block.utf8)))
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test(
        "any header is bounded",
        arguments: [
            ("", "HTTP/1.1 100 Continue\r\n\r\n"),
            ("", "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"),
            ("HTTP/1.1 200 OK\r\n", "X-Filler: y\r\n"), ("HTTP/1.1 200 OK\r\nX: y\r\n", " z\r\n"),
            ("HTTP/1.1 200 OK\r\n", "Set-Cookie: a=b\r\n"), ("HTTP/1.1 200 OK\r\nX-Long: ", "y"),
            ("HTTP/1.1 200 ", "OK "), ("HTTP/1.1 404 Not Found\r\n", "X-Filler: y\r\n"),
            ("HTTP/1.1 302 Found\r\nLocation: ", "/a"),
        ])
    func header(start: String, line: String) async throws {
        #expect(try await code(Self.flood(start, line)) == "origin.protocol")
    }

    @Test(
        "trailers are bounded like a header",
        arguments: [("", "X-Filler: y\r\n"), ("X-Long: ", "y"), ("", "Content-Length: 5\r\n")])
    func trailers(start: String, line: String) async throws {
        let flood = Self.flood(Self.chunked + "5\r\nhello\r\n0\r\n" + start, line)
        #expect(try await code(flood) == "origin.protocol")
    }

    @Test("a few hints before the answer and trailers after it are fine")
    func little() async throws {
        let hints = String(repeating: "HTTP/1.1 103 Early Hints\r\nETag: \"no\"\r\n\r\n", count: 5)
        let body = "5\r\nhello\r\n0\r\nETag: \"neither\"\r\nX-Checksum: 1\r\n\r\n"
        origin.route("/a", .raw(hints + Self.chunked + body))
        let result = await fetcher.fetch(fetcher.memory(origin.url("/a"), role: .data))
        let fetched = try result.outcome.get()
        #expect(fetched.body == Array("hello".utf8))
        #expect(fetched.response.etag == nil)
    }

    @Test("an unrequested upgrade is no object")
    func upgrade() async throws {
        let answer = Response.raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello")
        #expect(try await code(answer) == "origin.protocol")
    }

    // MARK: Too little, and never nothing

    private static func dripping(_ text: String) -> FaultOrigin.Step {
        .drip(Array(text.utf8), everySeconds: 0.02)
    }

    /// A few bytes at a time would reset a clock that runs from byte to byte.
    @Test("a body that drips is too slow, with a length and without")
    func drippingBody() async throws {
        var bounded = Response(headers: [("Content-Length", "1000000")])
        bounded.steps = [Self.dripping("x")]
        var unbounded = Response(headers: [("Connection", "close")])
        unbounded.steps = bounded.steps
        for answer in [bounded, unbounded, .raw(Self.chunked, then: Self.dripping("1\r\nx\r\n"))] {
            #expect(
                try await code(answer) { $0.access.timeouts.lowSpeed = 0.2 } == "origin.timeout")
        }
    }

    @Test(
        "a header that drips is no answer, and neither is what comes beside a body",
        arguments: [
            "HTTP/1.1 200 OK\r\nX-Slow: ", "HTTP/1.1 200 OK\r\n", "HTT", "HTTP/1.1 200 ",
            chunked + "5;", chunked + "5\r\nhello\r\n0\r\nX-Slow: ",
        ])
    func drippingHeader(start: String) async throws {
        let line = start.hasSuffix("\r\n") ? "X-Slow: y\r\n" : "y"
        let code = try await code(.raw(start, then: Self.dripping(line))) { request in
            request.access.timeouts.connect = 0.1
            request.access.timeouts.firstByte = 0.1
            request.access.timeouts.lowSpeed = 0.2
        }
        // Other protocols may be recognized by their first bytes.
        let isText = start == "HTT"
        #expect(code == "origin.timeout" || isText && code == "origin.protocol", "\(code as Any)")
    }

    @Test("hints that drip are no answer")
    func drippingHints() async throws {
        let hints = Self.dripping("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        let code = try await code(.raw("", then: hints)) { request in
            request.access.timeouts.connect = 0.1
            request.access.timeouts.firstByte = 0.1
            request.access.timeouts.lowSpeed = 0.2
        }
        #expect(code == "origin.timeout")
    }

    @Test("an endless remark on a chunk is no body")
    func chunkExtension() async throws {
        let flood = Self.flood(Self.chunked + "5;", "x")
        #expect(try await code(flood) { $0.access.timeouts.lowSpeed = 0.2 } == "origin.timeout")
    }
}
