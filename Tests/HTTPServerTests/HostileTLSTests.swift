import Foundation
import Glibc
import HTTPServer
import Synchronization
import TLS
import TestSupport
import Testing

/// Hostile clients of a TLS port.
@Suite struct HostileTLSTests {
    private static func withSecureServer(
        _ configuration: HTTPServer.Configuration = .init(),
        _ body: (HTTPServer, SecureSocket.Options) async throws -> Void
    ) async throws {
        let certificates = try await Certificates.shared()
        var configuration = configuration
        configuration.tls = try TLSServerCertificate(certificates.files())
        try await withServer(configuration, handler: { .text(200, "\($0.body.count)") }) {
            try await body($0, certificates.trusting)
        }
    }

    private static func isServed(
        _ server: HTTPServer, _ options: SecureSocket.Options
    ) async throws -> Bool {
        try await Client(port: server.port, secure: options).exchange("GET", "/")?.status == 200
    }

    @Test(arguments: ["GET", "POST", "DELETE", "OPTIONS", "CONNECT", "PUT"])
    func plainHTTPGetsAHintToUseTLS(_ method: String) async throws {
        try await Self.withSecureServer { server, options in
            let client = try Client(port: server.port)
            let answer = try await client.exchange(method, "/")
            #expect(answer?.status == 400)
            #expect(answer?.body == "this port speaks https; use an https URL\n")
            #expect(answer?.headers["connection"] == "close")
            #expect(try await client.receive() == nil)
            #expect(try await Self.isServed(server, options))
        }
    }

    @Test func aSlowHandshakeHasTheDeadlineOfAHead() async throws {
        let deadlines = HTTPServer.Deadlines(headSeconds: 2)
        try await Self.withSecureServer(.init(deadlines: deadlines)) { server, options in
            let silent = try Client(port: server.port)
            // The header of a record, and a byte of a hello now and then.
            let slow = try Client(port: server.port)
            try await slow.send(bytes: [22, 3, 1, 1, 0, 1, 0, 0, 252, 3])
            #expect(try await silent.receive() == nil)
            try await waitUntil(deadlineSeconds: 60, "the end of the slow connection") {
                (try? await slow.send(bytes: [3])) == nil
            }
            // Within TLS, the head has no more time than without.
            let half = try Client(port: server.port, secure: options)
            try await half.send("GET / HTTP/1.1\r\n")
            #expect(try await half.receive()?.status == 408)
        }
    }

    /// Handshakes count as strangers: the oldest give way, and who is known is served throughout.
    @Test func handshakesThatNeverEndGiveWay() async throws {
        let configuration = HTTPServer.Configuration(
            maximumConnections: 40, maximumStrangers: 20,
            knows: { $0.header("x-key") == "right" })
        try await Self.withSecureServer(configuration) { server, options in
            let known = try Client(port: server.port, secure: options)
            let key = ["X-Key: right"]
            #expect(try await known.exchange("GET", "/", headers: key)?.status == 200)
            var held: [Client] = []
            for number in 0..<100 {
                let client = try Client(port: server.port)
                try? await client.send(bytes: [22, 3, 1, 1, 0, 1, 0, 0, 252, 3])
                held.append(client)
                if number % 20 == 0 {
                    #expect(try await known.exchange("GET", "/", headers: key)?.status == 200)
                    #expect(try await Self.isServed(server, options))
                }
            }
            #expect(try await held[0].receive() == nil)
        }
    }

    @Test func aHugeHelloIsCut() async throws {
        try await Self.withSecureServer { server, options in
            let client = try Client(port: server.port)
            // A hello of 128 KiB in records of 16 KiB.
            let hello: [UInt8] = [1, 2, 0, 0, 3, 3]
            let record: [UInt8] = [22, 3, 1, 64, 0]
            var sent = 0
            await #expect(throws: Client.Failure.self) {
                for number in 0..<5_000 {
                    let filler = [UInt8](repeating: 0, count: 16_384 - (number == 0 ? 6 : 0))
                    try await client.send(bytes: record + (number == 0 ? hello : []) + filler)
                    sent += 16_384
                }
            }
            // Not much more than what sockets hold.
            #expect(sent < 32 << 20)
            #expect(try await Self.isServed(server, options))
        }
    }

    @Test func aHalfClosedClientGetsItsAnswer() async throws {
        try await Self.withSecureServer { server, options in
            let client = try Client(port: server.port, secure: options)
            try await client.send("POST", "/", body: "1234")
            try await client.endSending()
            #expect(try await client.receive()?.body == "4")
            // In the middle of a handshake, of a head and of a body.
            let silent = try Client(port: server.port, secure: options)
            try await silent.endSending()
            #expect(try await silent.receive() == nil)
            for text in ["GET / HT", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx"] {
                let half = try Client(port: server.port, secure: options)
                try await half.send(text)
                try await half.endSending()
                #expect(try await half.receive() == nil)
            }
            #expect(try await Self.isServed(server, options))
        }
    }

    /// A handler that waits sees that its client has left, although close_notify is unread.
    @Test func aClientThatLeavesIsNoticed() async throws {
        let certificates = try await Certificates.shared()
        let gate = Gate()
        var configuration = HTTPServer.Configuration()
        configuration.tls = try TLSServerCertificate(certificates.files())
        try await withServer(
            configuration,
            handler: { request in
                #expect(request.isPeerConnected())
                await gate.pass()
                try? await waitUntil(deadlineSeconds: 600) { !request.isPeerConnected() }
                return .text(200, "")
            }
        ) { server in
            let client = try Client(port: server.port, secure: certificates.trusting)
            try await client.send("GET", "/")
            await gate.waitUntilHolding(1)
            try await client.endSending()
            await gate.open()
            try await waitUntil(deadlineSeconds: 60, "the end of the request") {
                server.activeRequestCount == 0
            }
        }
    }

    @Test func bodiesOfAnyLengthPass() async throws {
        try await Self.withSecureServer(.init(maximumBodyBytes: 8 << 20)) { server, options in
            let client = try Client(port: server.port, secure: options)
            for count in [0, 1, 16_383, 16_384, 16_385, 65_536, 1_000_000, 8 << 20] {
                let body = String(repeating: "b", count: count)
                #expect(try await client.exchange("POST", "/", body: body)?.body == "\(count)")
            }
        }
    }

    /// A hello that is shorter than OpenSSL's own maximum.
    @Test func aLongHelloIsCutBeforeItsDeadline() async throws {
        let reasons = Mutex<[String]>([])
        let configuration = HTTPServer.Configuration(
            deadlines: .init(headSeconds: 60),
            handshakeFailed: { _, reason in reasons.withLock { $0.append(reason) } })
        try await Self.withSecureServer(configuration) { server, options in
            let client = try Client(port: server.port)
            // The header of 100,000 bytes, and 80 KiB of them.
            for number in 0..<5 {
                let header: [UInt8] = number == 0 ? [1, 1, 0x86, 0xA0] : []
                let filler = [UInt8](repeating: 0, count: 16_384 - header.count)
                try? await client.send(bytes: [22, 3, 1, 64, 0] + header + filler)
            }
            #expect(try await client.receive() == nil)
            #expect(reasons.withLock { $0 } == ["a handshake of more than 65536 bytes"])
            #expect(try await Self.isServed(server, options))
        }
    }

    /// Requests in records of their own that arrive at once: the socket reports the first alone.
    @Test func recordsThatArriveTogetherAreAllRead() async throws {
        try await Self.withSecureServer { server, options in
            let client = try Client(port: server.port, secure: options)
            #expect(try await client.exchange("GET", "/")?.status == 200)
            client.cork(true)
            for number in 0..<20 {
                try await client.send("POST", "/", body: String(repeating: "r", count: number))
            }
            client.cork(false)
            for number in 0..<20 { #expect(try await client.receive()?.body == "\(number)") }
        }
    }

    /// More requests in one record than are read at a time.
    @Test func requestsThatArriveTogetherAreAllAnswered() async throws {
        try await Self.withSecureServer { server, options in
            let client = try Client(port: server.port, secure: options)
            let request = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
            try await client.send(String(repeating: request, count: 500))
            for _ in 0..<500 { #expect(try await client.receive()?.body == "3") }
        }
    }

    /// Garbage, before and after the handshake: rejected or closed, with no descriptor left over.
    @Test func aThousandMalformedRequestsLeaveNothingBehind() async throws {
        let deadlines = HTTPServer.Deadlines(headSeconds: 2, lingerSeconds: 0.2)
        try await Self.withSecureServer(.init(deadlines: deadlines)) { server, options in
            #expect(try await Self.isServed(server, options))
            var random = SystemRandomNumberGenerator()
            let hello: [UInt8] = [22, 3, 1, 0, 60, 1, 0, 0, 56, 3, 3]
            for number in 0..<1_000 {
                let garbage = (0..<Int.random(in: 1...300, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                let isSecure = number % 4 == 0
                let client = try Client(port: server.port, secure: isSecure ? options : nil)
                switch number % 4 {
                case 1: try? await client.send(bytes: hello + garbage)
                case 2:
                    let length = [UInt8(garbage.count >> 8), UInt8(garbage.count & 255)]
                    try? await client.send(bytes: [22, 3, 3] + length + garbage)
                default: try? await client.send(bytes: garbage)
                }
                try? await client.endSending()
                let answer = try? await client.receive()
                #expect(answer == nil || (400..<500).contains(answer?.status ?? 0))
            }
            #expect(try await Self.isServed(server, options))
            try await waitUntil(deadlineSeconds: 60, "the end of all connections") {
                Self.connections(of: server) == 0
            }
        }
    }

    /// Number of the server's connections that are not closed on its side, as the kernel knows.
    private static func connections(of server: HTTPServer) -> Int {
        let port = String(server.port, radix: 16, uppercase: true)
        let suffix = ":" + String(repeating: "0", count: 4 - port.count) + port
        return SocketTable.text().split(separator: "\n").dropFirst().count { line in
            let columns = line.split(separator: " ")
            // Established, and closed by the peer alone.
            return columns[1].hasSuffix(suffix) && ["01", "08"].contains(columns[3])
        }
    }
}
