import HTTPServer
import Synchronization
import TestSupport
import Testing

/// What is decided when only the headers are there.
@Suite(.overBothTransports) struct AdmissionTests {
    /// Whose "x-key" is not "right" gets no further; an empty path is let in.
    private static let guarded = HTTPServer.Configuration(
        maximumBodyBytes: 4 << 20,
        admission: { request in
            if request.segments.isEmpty && request.body.isEmpty { return .admitted }
            return request.header("x-key") == "right" ? .admitted : .refused(.text(401, "no"))
        })

    @Test func aRefusedRequestDoesNotReachTheHandler() async throws {
        let handled = Mutex<[Int]>([])
        let handler: HTTPServer.Handler = { request in
            handled.withLock { $0.append(request.body.count) }
            return .text(200, "yes")
        }
        try await withServer(Self.guarded, handler: handler) { server in
            let client = try Client(port: server.port)
            let body = String(repeating: "b", count: 3 << 20)
            // One connection for all: what is rejected is read to its end nevertheless.
            #expect(try await client.exchange("POST", "/a", body: body)?.status == 401)
            #expect(try await client.exchange("GET", "/a")?.status == 401)
            let right = try await client.exchange(
                "POST", "/a", headers: ["X-Key: right"], body: body)
            #expect(right?.status == 200)
            #expect(try await client.exchange("POST", "/", body: "12345")?.status == 200)
            #expect(handled.withLock { $0 } == [3 << 20, 5])
        }
    }

    @Test func aRequestGoesToTheHandlerThatWasFoundForIt() async throws {
        var configuration = HTTPServer.Configuration()
        configuration.admission = { request in
            guard let name = request.segments.first else { return .admitted }
            return .routed({ .text(200, "\(name) \($0.body.count)") }, on: { _ in nil })
        }
        try await withServer(configuration, handler: { _ in .text(200, "own") }) { server in
            let client = try Client(port: server.port)
            #expect(try await client.exchange("POST", "/a", body: "123")?.body == "a 3")
            #expect(try await client.exchange("GET", "/b")?.body == "b 0")
            #expect(try await client.exchange("GET", "/")?.body == "own")
        }
    }

    @Test func aRefusedBodyIsNotHeld() async throws {
        var configuration = Self.guarded
        configuration.maximumHeldBodyBytes = 1 << 20
        let gate = Gate()
        try await withServer(
            configuration,
            handler: { _ in
                await gate.pass()
                return .text(200, "")
            }
        ) { server in
            // It fills the available slots.
            let holder = Task {
                try await Client(port: server.port).exchange(
                    "POST", "/", body: String(repeating: "h", count: 1 << 20))
            }
            await gate.waitUntilHolding(1)
            let refused = try await Client(port: server.port).exchange(
                "POST", "/a", body: String(repeating: "b", count: 2 << 20))
            #expect(refused?.status == 401)
            await gate.open()
            #expect(try await holder.value?.status == 200)
        }
    }
}

@Suite(.overBothTransports) struct BodyBudgetTests {
    private static func body(_ count: Int) -> String { String(repeating: "b", count: count) }

    @Test func bodiesBeyondWhatAllMayHoldAreRefused() async throws {
        let limits = HTTPServer.Configuration(
            maximumBodyBytes: 1 << 20, maximumHeldBodyBytes: 1 << 20)
        let gate = Gate()
        let handler: HTTPServer.Handler = { request in
            if request.segments == ["hold"] { await gate.pass() }
            return .text(200, "\(request.body.count)")
        }
        try await withServer(limits, handler: handler) { server in
            let holders = (0..<2).map { _ in
                Task {
                    try await Client(port: server.port).exchange(
                        "POST", "/hold", body: Self.body(500_000))
                }
            }
            await gate.waitUntilHolding(2)
            let client = try Client(port: server.port)
            for _ in 0..<3 {
                let refused = try await client.exchange("POST", "/", body: Self.body(100_000))
                #expect(refused?.status == 503)
                // What is small gets through, on the same connection.
                let small = try await client.exchange("POST", "/", body: Self.body(16_000))
                #expect(small?.body == "16000")
            }
            await gate.open()
            for holder in holders { #expect(try await holder.value?.body == "500000") }
            // Everything was given back, also by those rejected.
            for _ in 0..<5 {
                let after = try await client.exchange("POST", "/", body: Self.body(1 << 20))
                #expect(after?.body == "\(1 << 20)")
            }
        }
    }

    @Test func whatAConnectionHeldIsGivenBackWhenItBreaks() async throws {
        let limits = HTTPServer.Configuration(
            maximumBodyBytes: 1 << 20, maximumHeldBodyBytes: 1 << 20,
            deadlines: .init(transferSeconds: 1))
        try await withServer(limits, handler: { .text(200, "\($0.body.count)") }) { server in
            for _ in 0..<5 {
                let broken = try Client(port: server.port)
                try await broken.send(
                    "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n"
                        + Self.body(900_000))
            }
            // A peer that vanished is known by its silence at the latest.
            try await waitUntil(deadlineSeconds: 60, "room") {
                let answer = try await Client(port: server.port).exchange(
                    "POST", "/", body: Self.body(1 << 20))
                return answer?.status == 200
            }
        }
    }
}
