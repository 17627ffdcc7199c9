import Model
import Storage
import TestSupport
import Testing
import Transfer

/// What an origin can do to a client byte by byte, beside the faults of `TransferFaultTests`.
@Suite("Answers that mean harm")
struct HostileAnswerTests {
    typealias Response = FaultOrigin.Response

    let origin: FaultOrigin
    let fetcher: Fetcher

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher()
    }

    private func result(
        _ response: Response, _ adjust: (inout TransferRequest) -> Void = { _ in }
    ) async -> TransferResult {
        origin.route("/a.ts", response)
        var request = fetcher.request(origin.url("/a.ts"))
        adjust(&request)
        let result = await fetcher.fetch(request)
        if case .success(let fetched) = result.outcome { fetched.object?.discard() }
        return result
    }

    private func code(
        _ response: Response, _ adjust: (inout TransferRequest) -> Void = { _ in }
    ) async throws -> FailureCode? {
        let result = await result(response, adjust)
        #expect(try fetcher.temporaries().isEmpty)
        guard case .failure(let failure) = result.outcome else { return nil }
        return failure.code
    }

    @Test(
        "Retry-After with any value",
        arguments: [
            ("17", 17), ("0", 0), ("86400", 3_600), ("99999999999999999999999999", 3_600),
            ("Sun, 06 Nov 1994 08:50:07 GMT", 30), ("Sun, 06 Nov 1994 07:00:00 GMT", 0),
            ("Sun, 06 Nov 2094 08:50:07 GMT", 3_600), ("soon", nil), ("-5", nil), ("1e9", nil),
            ("\u{1F552}", nil),
        ] as [(String, Double?)])
    func retryAfter(text: String, seconds: Double?) async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        // An origin of its own for each: the first answer would keep the second request waiting.
        for status in [429, 503] {
            let one = try HostileAnswerTests()
            let result = await one.result(
                .init(status, headers: [("Retry-After", text), ("Date", date)]))
            #expect(result.retryAfterSeconds == seconds)
            #expect(result.httpStatus == status)
        }
    }

    @Test("several lengths are none")
    func severalLengths() async throws {
        let headers = [("Content-Length", "50"), ("Content-Length", "100")]
        #expect(
            try await code(Response(headers: headers, body: sampleBytes(100))) == "origin.protocol")
    }

    @Test("an endless header", .timeLimit(.minutes(1)))
    func slowHeader() async throws {
        let gate = Gate()
        var slow = Response.raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-Slo")
        slow.steps = [.wait(gate)]
        // A header that has begun has a status; it is the bytes that do not come.
        let code = try await code(slow) { request in
            request.access.timeouts.connect = 0.1
            request.access.timeouts.firstByte = 0.1
            request.access.timeouts.lowSpeed = 0.1
        }
        gate.open()
        #expect(code == "origin.timeout")
    }

    @Test(
        "lengths that are no lengths",
        arguments: ["-5", "1e3", "12, 13", "0x10", "99999999999999999999"])
    func lengths(length: String) async throws {
        let answer = Response(headers: [("Content-Length", length)], body: sampleBytes(100))
        #expect(try await code(answer) == "origin.protocol")
    }

    @Test("a body longer than its length ends there, and the rest is never another's")
    func longer() async throws {
        let fetcher = try Fetcher {
            $0.loops = 1; $0.connections = 1
        }
        let body = sampleBytes(1_000)
        origin.route("/long", Response(headers: [("Content-Length", "900")], body: body))
        origin.serve("/next", [1, 2, 3])
        let long = await fetcher.fetch(fetcher.memory(origin.url("/long"), role: .data))
        #expect(try long.outcome.get().body == Array(body.prefix(900)))
        // What was left on the connection may be taken for an answer, but is none.
        let next = await fetcher.fetch(fetcher.memory(origin.url("/next"), role: .data))
        switch next.outcome {
        case .success(let fetched): #expect(fetched.body == [1, 2, 3])
        case .failure(let failure): #expect(failure.code == "origin.protocol")
        }
        let again = await fetcher.fetch(fetcher.memory(origin.url("/next"), role: .data))
        #expect(try again.outcome.get().body == [1, 2, 3])
        var listed = fetcher.memory(origin.url("/long"), role: .data)
        listed.expected.bytes = 1_000
        #expect(await fetcher.failure(listed) == "content.lengthMismatch")
    }

    @Test("a compressed body without end is rejected before its first byte")
    func bomb() async throws {
        for encoding in ["gzip", "deflate", "br", "gzip, gzip"] {
            let bomb = Response.endless(headers: [("Content-Encoding", encoding)])
            #expect(try await code(bomb) == "origin.encoding")
        }
        var hidden = Response(
            headers: [("Content-Encoding", "identity"), ("Content-Encoding", "gzip")], text: "x")
        #expect(try await code(hidden) == "origin.encoding")
        hidden.headers.removeLast()
        #expect(try await code(hidden) == nil)
    }

    @Test(
        "a body that is packed for the transfer is rejected, and not unpacked",
        arguments: ["gzip", "gzip, chunked", "chunked, gzip", "x-gzip", "deflate", "br", "unknown"])
    func packedTransfer(codings: String) async throws {
        let bomb = Response.transferGzipped([UInt8](repeating: 0, count: 1 << 20), codings)
        for role in [SegmentRole.media, .file] {
            #expect(try await code(bomb) { $0.role = role } == "origin.encoding")
        }
        // Nor does its length make it the object: it is that of what is packed, or the unpacked.
        let length = bomb.body.count
        for bytes in [length, 1 << 20] {
            let lengthy = bomb.with("Content-Length", "\(bytes)")
            #expect(try await code(lengthy) == "origin.encoding")
        }
        // An error page is not unpacked further than it is read.
        var page = bomb
        page.status = 503
        #expect(try await code(page) == "origin.http.503")
    }

    @Test("chunks count more than a length beside them")
    func chunksAndLength() async throws {
        var both = Response(
            headers: [("Transfer-Encoding", "chunked"), ("Content-Length", "3")],
            text: "5\r\nhello\r\n0\r\n\r\n")
        both.steps.append(.close)
        let result = await result(both)
        switch result.outcome {
        case .success(let fetched): #expect(fetched.bytes == 5)
        case .failure(let failure): #expect(failure.code == "content.lengthMismatch")
        }
    }

    @Test("chunks that make no sense")
    func chunks() async throws {
        for text in [
            "zz\r\nabc", "-1\r\nabc", "ffffffffffffffffff\r\nabc", "5\r\nabcdefgh\r\n0\r\n\r\n",
            "5\r\nab",
        ] {
            var answer = Response(headers: [("Transfer-Encoding", "chunked")], text: text)
            answer.steps.append(.close)
            let isCut = text.hasSuffix("ab")
            #expect(
                try await code(answer) == (isCut ? "origin.truncated" : "origin.protocol"),
                "\(text)")
        }
    }

    @Test(
        "what is not HTTP at all",
        arguments: ["SSH-2.0-OpenSSH\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "ICY 200 OK\r\n\r\nx"])
    func noHTTP(text: String) async throws {
        #expect(try await code(.raw(text)) == "origin.protocol")
    }

    @Test("a storm of errors ends each transfer with its status, and none hangs")
    func storm() async throws {
        let statuses = [500, 502, 503, 504]
        for status in statuses {
            origin.route("/\(status)", .init(status, text: "overloaded"))
        }
        let (origin, fetcher) = (origin, fetcher)
        let wrong = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                let status = statuses[number % statuses.count]
                group.addTask {
                    let request = fetcher.request(origin.url("/\(status)"), key: "o/\(number)")
                    return await fetcher.failure(request) != FailureCode("origin.http.\(status)")
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wrong == 0)
        #expect(try fetcher.temporaries().isEmpty)
    }
}
