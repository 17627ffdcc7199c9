import HTTPServer
import Testing

/// The identity of a request: the sender's if it is sane, and in every answer.
@Suite(.overBothTransports) struct RequestIDTests {
    @Test func theHandlerAndTheAnswerHaveTheSame() async throws {
        try await withServer(handler: { .text(200, $0.id) }) { server in
            let client = try Client(port: server.port)
            for stated in ["a", "7f-3/x", String(repeating: "z", count: 128)] {
                let answer = try await client.exchange(
                    "GET", "/", headers: ["x-request-id: \(stated)"])
                #expect(answer?.body == stated && answer?.headers["x-request-id"] == stated)
            }
            for odd in ["", "a b", "a\tb", "é", String(repeating: "z", count: 129)] {
                let answer = try await client.exchange(
                    "GET", "/", headers: ["X-Request-Id: \(odd)"])
                let made = try #require(answer?.headers["x-request-id"])
                #expect(made == answer?.body && made != odd && made.utf8.count == 16, "\(odd)")
            }
            let (one, other) = (
                try await client.exchange("GET", "/"), try await client.exchange("GET", "/")
            )
            #expect(one?.body != other?.body)
        }
    }

    @Test func whatIsRefusedHasOneAsWell() async throws {
        let configuration = HTTPServer.Configuration(
            maximumBodyBytes: 10,
            admission: { $0.path == "/no" ? .refused(.text(401, "")) : .admitted })
        try await withServer(configuration, handler: { .text(200, $0.id) }) { server in
            for (target, body) in [("/no", ""), ("/%zz", ""), ("/", "longer than ten bytes")] {
                let answer = try await Client(port: server.port).exchange(
                    "POST", target, headers: ["X-Request-Id: mine"], body: body)
                #expect(answer?.headers["x-request-id"] == "mine", "\(target)")
            }
            let client = try Client(port: server.port)
            try await client.send("nonsense\r\n\r\n")
            #expect(try await client.receive()?.headers["x-request-id"]?.utf8.count == 16)
        }
    }
}
