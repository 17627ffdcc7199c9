import HTTPServer
import Synchronization
import Testing

/// Says what it got.
private let echo: HTTPServer.Handler = { request in
    let query = request.query.map { "\($0.name)=\($0.value)" }
    return .text(
        200,
        [
            request.method, request.path, "\(request.segments)", "\(query)",
            request.header("X-TeSt") ?? "-", String(decoding: request.body, as: UTF8.self),
            request.remoteAddress, "\(request.isLoopbackPeer)",
        ].joined(separator: "|"))
}

@Suite(.overBothTransports) struct RequestTests {
    @Test func everyPartOfTheRequestArrives() async throws {
        try await withServer(handler: echo) { server in
            let answer = try await Client(port: server.port).exchange(
                "POST", "/a%2Fb/%C3%A9//?x=1%262&y&z=a+b", headers: ["x-test: yes"], body: "hello")
            #expect(answer?.status == 200)
            #expect(
                answer?.body == """
                    POST|/a%2Fb/%C3%A9//|["a/b", "é", "", ""]|["x=1&2", "y=", "z=a b"]|yes|hello\
                    |127.0.0.1|true
                    """)
        }
    }

    @Test func connectionIsKeptForTheNextRequest() async throws {
        try await withServer(handler: echo) { server in
            let client = try Client(port: server.port)
            for number in 0..<20 {
                let answer = try await client.exchange("PUT", "/\(number)", body: "\(number)")
                #expect(answer?.body.contains("|/\(number)|") == true)
            }
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await withServer(handler: echo) { server in
            let client = try Client(port: server.port)
            for number in 0..<10 { try await client.send("GET", "/\(number)") }
            for number in 0..<10 {
                let answer = try await client.receive()
                #expect(answer?.body.contains("|/\(number)|") == true)
            }
        }
    }

    @Test func rootHasNoSegments() async throws {
        try await withServer(handler: echo) { server in
            let answer = try await Client(port: server.port).exchange("GET", "/")
            #expect(answer?.body == "GET|/|[]|[]|-||127.0.0.1|true")
        }
    }

    @Test(arguments: ["/%zz", "/%", "/%4", "/%00", "/%ff", "/ok?x=%zz", "/ok?%00=1"])
    func brokenEscapesAreRefused(_ target: String) async throws {
        try await withServer(handler: echo) { server in
            let answer = try await Client(port: server.port).exchange("GET", target)
            #expect(answer?.status == 400)
        }
    }

    @Test(arguments: ["GET / HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n"])
    func malformedRequestsDoNotReachTheHandler(_ text: String) async throws {
        try await withServer(handler: echo) { server in
            let client = try Client(port: server.port)
            try await client.send(text)
            let answer = try await client.receive()
            #expect(answer == nil || answer?.status == 400)
        }
    }

    @Test func headersThatAreTooLongAreRefused() async throws {
        try await withServer(handler: echo) { server in
            let client = try Client(port: server.port)
            // The server may close the connection while the rest is on its way.
            try? await client.send(
                "GET", "/", headers: ["x-test: " + String(repeating: "x", count: 100_000)])
            let answer = try await client.receive()
            #expect(answer == nil || [413, 414, 431].contains(answer?.status))
            let after = try await Client(port: server.port).exchange("GET", "/")
            #expect(after?.status == 200)
        }
    }
}

@Suite(.overBothTransports) struct BodyLimitTests {
    private let limited = HTTPServer.Configuration(maximumBodyBytes: 1000)

    @Test(arguments: [0, 1, 1000])
    func bodyUpToTheLimitIsTaken(_ count: Int) async throws {
        try await withServer(limited, handler: { .text(200, "\($0.body.count)") }) { server in
            let answer = try await Client(port: server.port).exchange(
                "POST", "/", body: String(repeating: "b", count: count))
            #expect(answer?.status == 200)
            #expect(answer?.body == "\(count)")
        }
    }

    @Test func announcedBodyBeyondTheLimitIsRefusedUnread() async throws {
        try await withServer(limited, handler: echo) { server in
            let client = try Client(port: server.port)
            try await client.send(
                "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000000000\r\n\r\n")
            #expect(try await client.receive()?.status == 413)
            #expect(try await client.receive() == nil)
        }
    }

    @Test func chunkedBodyBeyondTheLimitIsRefused() async throws {
        try await withServer(limited, handler: echo) { server in
            let client = try Client(port: server.port)
            let chunk = "400\r\n" + String(repeating: "c", count: 1024) + "\r\n"
            try await client.send(
                "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + chunk + chunk + "0\r\n\r\n")
            #expect(try await client.receive()?.status == 413)
        }
    }

    @Test func endlessChunkedBodyIsCut() async throws {
        try await withServer(limited, handler: echo) { server in
            let client = try Client(port: server.port)
            let chunk = "10000\r\n" + String(repeating: "c", count: 65536) + "\r\n"
            await #expect(throws: Client.Failure.self) {
                try await client.send(
                    "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
                // More than any socket buffer holds.
                for _ in 0..<4000 { try await client.send(chunk) }
            }
            let after = try await Client(port: server.port).exchange("GET", "/")
            #expect(after?.status == 200)
        }
    }
}

@Suite(.overBothTransports) struct ResponseTests {
    @Test(arguments: ["a\r\nSet-Cookie: x", "a\nb", "a\0b"])
    func headerWithALineBreakIsNotSent(_ value: String) async throws {
        try await withServer(handler: { _ in
            HTTPResponse(status: 200, headers: [("X-Value", value)])
        }) { server in
            let answer = try await Client(port: server.port).exchange("GET", "/")
            #expect(answer?.status == 500)
            #expect(answer?.headers["x-value"] == nil)
            #expect(answer?.headers["set-cookie"] == nil)
        }
    }

    @Test func statusOutOfRangeIsAnError() async throws {
        try await withServer(handler: { _ in HTTPResponse(status: 42) }) { server in
            let answer = try await Client(port: server.port).exchange("GET", "/")
            #expect(answer?.status == 500)
        }
    }

    @Test func noContentHasNoBody() async throws {
        try await withServer(handler: { _ in .text(204, "ignored") }) { server in
            let client = try Client(port: server.port)
            for _ in 0..<3 {
                let answer = try await client.exchange("DELETE", "/x")
                #expect(answer?.status == 204)
            }
        }
    }

    @Test func headHasTheLengthButNoBody() async throws {
        try await withServer(handler: { _ in .text(200, "four") }) { server in
            let client = try Client(port: server.port)
            let head = try await client.exchange("HEAD", "/")
            #expect(head?.headers["content-length"] == "4")
            let get = try await client.exchange("GET", "/")
            #expect(get?.body == "four")
        }
    }

    @Test func jsonIsEncoded() async throws {
        try await withServer(handler: { _ in
            (try? .json(201, ["b": "/x", "a": "é"])) ?? .text(500, "")
        }) { server in
            let answer = try await Client(port: server.port).exchange("GET", "/")
            #expect(answer?.status == 201)
            #expect(answer?.headers["content-type"] == "application/json")
            #expect(answer?.body == #"{"a":"é","b":"/x"}"#)
        }
    }

    @Test func largeBodyArrivesWhole() async throws {
        let text = String(repeating: "0123456789abcdef", count: 1 << 19)
        try await withServer(handler: { _ in .text(200, text) }) { server in
            let answer = try await Client(port: server.port).exchange("GET", "/")
            #expect(answer?.body == text)
        }
    }
}
