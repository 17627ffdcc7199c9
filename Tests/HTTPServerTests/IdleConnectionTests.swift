import HTTPServer
import Synchronization
import TestSupport
import Testing

/// Connections that hold on to what others need.
@Suite(.overBothTransports) struct IdleConnectionTests {
    /// Whose "x-key" is "right" is known.
    private static func guarded(
        connections: Int = 40, strangers: Int = 20, deadlines: HTTPServer.Deadlines = .init()
    ) -> HTTPServer.Configuration {
        HTTPServer.Configuration(
            maximumConnections: connections, maximumStrangers: strangers, deadlines: deadlines,
            rejection: { .text($0.status, "rejected: \($0)") },
            admission: { $0.header("x-key") == "right" ? .admitted : .refused(.text(401, "no")) },
            knows: { $0.header("x-key") == "right" })
    }

    private static let key = ["X-Key: right"]

    private static func known(_ server: HTTPServer) async throws -> Client {
        let client = try Client(port: server.port)
        #expect(try await client.exchange("GET", "/", headers: key)?.status == 200)
        return client
    }

    /// Many times as many as there may be: silent, with half a head, with half a body.
    private static func idle(_ server: HTTPServer, _ count: Int) async throws -> [Client] {
        var clients: [Client] = []
        for number in 0..<count {
            let client = try Client(port: server.port)
            switch number % 3 {
            case 0: break
            case 1: try? await client.send("GET / HTTP/1.1\r\nHost:")
            default:
                try? await client.send(
                    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf")
            }
            clients.append(client)
        }
        return clients
    }

    @Test func whoIsKnownIsAnsweredThroughout() async throws {
        try await withServer(Self.guarded(), handler: { _ in .text(200, "") }) { server in
            let old = try await Self.known(server)
            var held: [Client] = []
            for _ in 0..<5 {
                held += try await Self.idle(server, 60)
                // On a connection that was there, and on a new one.
                #expect(
                    try await old.exchange("GET", "/", headers: Self.key)?.status == 200)
                _ = try await Self.known(server)
            }
            // The youngest are there still, the oldest are not.
            #expect(try await held[0].receive() == nil)
            let last = held[held.count - 2]
            try await last.send(" h\r\n\r\n")
            #expect(try await last.receive()?.status == 401)
        }
    }

    @Test func aStrangerIsAnsweredOnce() async throws {
        try await withServer(Self.guarded(), handler: { _ in .text(200, "") }) { server in
            let client = try Client(port: server.port)
            let answer = try await client.exchange("GET", "/")
            #expect(answer?.status == 401 && answer?.headers["connection"] == "close")
            #expect(try await client.receive() == nil)
            // Who was known once keeps the connection.
            let known = try await Self.known(server)
            for _ in 0..<3 { #expect(try await known.exchange("GET", "/")?.status == 401) }
        }
    }

    @Test func strangersThatAreHandledGiveWayAsWell() async throws {
        var configuration = Self.guarded(connections: 8, strangers: 4)
        configuration.admission = { _ in .admitted }
        let gate = Gate()
        try await withServer(
            configuration,
            handler: { request in
                if request.segments == ["wait"] { await gate.pass() }
                return .text(200, "")
            }
        ) { server in
            var waiting: [Client] = []
            for number in 1...12 {
                let client = try Client(port: server.port)
                try await client.send("GET", "/wait")
                await gate.waitUntilHolding(number)
                waiting.append(client)
            }
            // The handler continues, and its answer is dropped.
            #expect(try await waiting[0].receive() == nil)
            _ = try await Self.known(server)
            await gate.open()
            #expect(try await waiting[11].receive()?.status == 200)
        }
    }

    @Test func whenAllAreKnownAndBusyAnotherIsRefused() async throws {
        let gate = Gate()
        try await withServer(
            Self.guarded(connections: 4, strangers: 2),
            handler: { _ in
                await gate.pass()
                return .text(200, "")
            }
        ) { server in
            var busy: [Client] = []
            for number in 1...4 {
                let client = try Client(port: server.port)
                try await client.send("GET", "/", headers: Self.key)
                await gate.waitUntilHolding(number)
                busy.append(client)
            }
            let another = try Client(port: server.port)
            let refused = try await another.receive()
            // Over TLS, it is closed before the handshake.
            let answer = Transport.current.certificate == nil ? "rejected: tooManyConnections" : nil
            #expect(refused?.body == answer)
            await gate.open()
            for client in busy { #expect(try await client.receive()?.status == 200) }
            // One that is idle gives way.
            _ = try await Self.known(server)
            #expect(try await busy[0].receive() == nil)
        }
    }

    // MARK: Deadlines

    @Test func aHeadHasADeadline() async throws {
        let deadlines = HTTPServer.Deadlines(headSeconds: 2)
        try await withServer(Self.guarded(deadlines: deadlines), handler: { _ in .text(200, "") }) {
            server in
            let silent = try Client(port: server.port)
            let half = try Client(port: server.port)
            try await half.send("GET / HTTP/1.1\r\n")
            #expect(try await silent.receive() == nil)
            #expect(try await half.receive()?.body == "rejected: timedOut")
            // That of a later request begins with its first byte.
            let later = try await Self.known(server)
            try await later.send("GET / HTTP/1.1\r\n")
            #expect(try await later.receive()?.body == "rejected: timedOut")
        }
    }

    @Test func aBodyHasADeadlineThatMovesWithIt() async throws {
        let deadlines = HTTPServer.Deadlines(
            transferSeconds: 2, minimumBytesPerSecond: 1 << 10)
        try await withServer(
            Self.guarded(deadlines: deadlines), handler: { .text(200, "\($0.body.count)") }
        ) { server in
            let head =
                "POST / HTTP/1.1\r\nHost: h\r\nX-Key: right\r\nContent-Length: 1000000\r\n\r\n"
            let silent = try Client(port: server.port)
            try await silent.send(head)
            // Has a thousand seconds for what it has sent.
            let brisk = try Client(port: server.port)
            let half = String(repeating: "b", count: 500_000)
            try await brisk.send(head + half)
            #expect(try await silent.receive()?.body == "rejected: timedOut")
            try await brisk.send(half)
            #expect(try await brisk.receive()?.body == "1000000")
        }
    }

    @Test func anIdleConnectionEndsAndAHandledOneDoesNot() async throws {
        let deadlines = HTTPServer.Deadlines(
            headSeconds: 2, idleSeconds: 2, transferSeconds: 2, lingerSeconds: 0.2)
        let gate = Gate()
        try await withServer(
            Self.guarded(deadlines: deadlines),
            handler: { request in
                if request.segments == ["wait"] { await gate.pass() }
                return .text(200, "late")
            }
        ) { server in
            let waiting = try Client(port: server.port)
            try await waiting.send("GET", "/wait", headers: Self.key)
            await gate.waitUntilHolding(1)
            let idle = try await Self.known(server)
            // Ends by its deadline; the other one is older.
            #expect(try await idle.receive() == nil)
            await gate.open()
            #expect(try await waiting.receive()?.body == "late")
        }
    }

    /// An answer that no client reads is held for a time, not forever.
    @Test func anAnswerHasADeadline() async throws {
        let deadlines = HTTPServer.Deadlines(
            transferSeconds: 0.2, minimumBytesPerSecond: 1 << 30)
        let text = String(repeating: "x", count: 32 << 20)
        try await withServer(Self.guarded(deadlines: deadlines), handler: { _ in .text(200, text) })
        { server in
            let client = try Client(port: server.port)
            try await client.send("GET", "/", headers: Self.key)
            try await waitUntil(deadlineSeconds: 60, "the answer is abandoned") {
                server.activeRequestCount == 0
            }
        }
    }
}
