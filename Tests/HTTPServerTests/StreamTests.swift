import Foundation
import HTTPServer
import Synchronization
import TestSupport
import Testing

/// Responses whose bodies come in pieces.
@Suite(.overBothTransports) struct StreamTests {
    /// The streams of a server, in the order of their requests.
    private final class Streams: Sendable {
        private struct State {
            var all: [HTTPStream] = []
            var closed = 0
        }

        private let state = Mutex(State())
        let maximumUnsentBytes: Int

        init(maximumUnsentBytes: Int = 256 << 10) { self.maximumUnsentBytes = maximumUnsentBytes }

        var closed: Int { state.withLock(\.closed) }
        var count: Int { state.withLock(\.all.count) }

        func open(_ first: String = "") -> HTTPResponse {
            let stream = HTTPStream(maximumUnsentBytes: maximumUnsentBytes) { [self] in
                state.withLock { $0.closed += 1 }
            }
            stream.send(Array(first.utf8))
            state.withLock { $0.all.append(stream) }
            var response = HTTPResponse(status: 200, headers: [("Content-Type", "text/plain")])
            response.stream = stream
            return response
        }

        func stream(_ index: Int = 0) async throws -> HTTPStream {
            try await waitUntil(deadlineSeconds: 60, "the stream") { self.count > index }
            return state.withLock { $0.all[index] }
        }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func piecesAreSentAsTheyCome() async throws {
        let streams = Streams()
        try await withServer(handler: { _ in streams.open("first") }) { server in
            let client = try Client(port: server.port)
            try await client.send("GET", "/")
            let head = try await client.receive(isHead: true)
            #expect(head?.status == 200 && head?.headers["transfer-encoding"] == "chunked")
            #expect(head?.headers["connection"] == "close")
            #expect(head?.headers["content-length"] == nil)
            #expect(Self.text(try await client.read(10)) == "5\r\nfirst\r\n")
            let stream = try await streams.stream()
            // It counts as answered: nothing waits for it.
            #expect(server.activeRequestCount == 0)
            for number in 0..<3 {
                #expect(stream.send(Array("piece\(number)".utf8)))
                #expect(Self.text(try await client.read(11)) == "6\r\npiece\(number)\r\n")
            }
            stream.end(Array("end".utf8))
            #expect(Self.text(try await client.readAll()) == "3\r\nend\r\n0\r\n\r\n")
            #expect(streams.closed == 1)
            #expect(!stream.send([1]) && stream.isEnded)
        }
    }

    @Test func anOldClientGetsPlainBytes() async throws {
        let streams = Streams()
        try await withServer(handler: { _ in streams.open("first") }) { server in
            let client = try Client(port: server.port)
            try await client.send("GET / HTTP/1.0\r\n\r\n")
            let head = try await client.receive(isHead: true)
            #expect(head?.headers["transfer-encoding"] == nil)
            try await streams.stream().end(Array(" last".utf8))
            #expect(Self.text(try await client.readAll()) == "first last")
        }
    }

    @Test func headOpensNoStream() async throws {
        let streams = Streams()
        try await withServer(handler: { _ in streams.open() }) { server in
            let answer = try await Client(port: server.port).exchange("HEAD", "/")
            #expect(answer?.status == 200)
            try await waitUntil(deadlineSeconds: 60, "the end") { streams.closed == 1 }
        }
    }

    @Test func aPeerThatLeavesEndsItsStream() async throws {
        let streams = Streams()
        try await withServer(handler: { _ in streams.open() }) { server in
            for _ in 0..<10 {
                let client = try Client(port: server.port)
                try await client.send("GET", "/")
                _ = try await client.receive(isHead: true)
            }
            // Those that leave before the answer too.
            for _ in 0..<10 { try await Client(port: server.port).send("GET", "/") }
            try await waitUntil(deadlineSeconds: 60, "the end of all") {
                streams.count >= 10 && streams.closed == streams.count
                    && server.connectionCount == 0
            }
        }
    }

    @Test func unsentBytesAreBoundedAndNothingIsLost() async throws {
        let streams = Streams(maximumUnsentBytes: 100_000)
        try await withServer(handler: { _ in streams.open() }) { server in
            let client = try Client(port: server.port)
            try await client.send("GET", "/")
            _ = try await client.receive(isHead: true)
            let stream = try await streams.stream()
            let piece = [UInt8](repeating: 0x78, count: 50_000)
            var sent = 0
            while stream.send(piece) { sent += piece.count }
            #expect(!stream.isEnded)
            stream.end(Array("the end".utf8))
            let body = try await client.readAll()
            #expect(body.count { $0 == 0x78 } == sent)
            #expect(Self.text(body).hasSuffix("the end\r\n0\r\n\r\n"))
        }
    }

    @Test func aPeerThatDoesNotReadIsClosed() async throws {
        let streams = Streams(maximumUnsentBytes: 64 << 20)
        var configuration = HTTPServer.Configuration()
        configuration.deadlines.transferSeconds = 0.5
        try await withServer(configuration, handler: { _ in streams.open() }) { server in
            let client = try Client(port: server.port)
            try await client.send("GET", "/")
            _ = try await client.receive(isHead: true)
            try await streams.stream().send([UInt8](repeating: 0x78, count: 16 << 20))
            try await waitUntil(deadlineSeconds: 60, "the end") { streams.closed == 1 }
            withExtendedLifetime(client) {}
        }
    }

    @Test func aPeerThatSendsButDoesNotReadIsClosed() async throws {
        let streams = Streams(maximumUnsentBytes: 64 << 20)
        var configuration = HTTPServer.Configuration()
        configuration.deadlines.transferSeconds = 0.5
        try await withServer(configuration, handler: { _ in streams.open() }) { server in
            let client = try Client(port: server.port)
            try await client.send("GET", "/")
            _ = try await client.receive(isHead: true)
            try await streams.stream().send([UInt8](repeating: 0x78, count: 16 << 20))
            try await waitUntil(deadlineSeconds: 60, "the end") {
                try? await client.send("x")
                return streams.closed == 1
            }
            withExtendedLifetime(client) {}
        }
    }

    @Test func shutdownEndsStreamsAtOnce() async throws {
        let streams = Streams()
        let server = try Transport.start(.init()) { _ in streams.open() }
        var clients: [Client] = []
        for _ in 0..<5 {
            let client = try Client(port: server.port)
            try await client.send("GET", "/")
            _ = try await client.receive(isHead: true)
            clients.append(client)
        }
        await server.shutdown(graceSeconds: 60)
        for client in clients {
            #expect(Self.text(try await client.readAll()) == "0\r\n\r\n")
        }
        #expect(streams.closed == 5)
    }
}
