import Foundation
import Glibc
import HTTPServer
import Synchronization
import TestSupport
import Testing

@Suite(.overBothTransports) struct SuspensionTests {
    @Test func hundredWaitingRequestsDelayNoOther() async throws {
        let gate = Gate()
        try await withServer(handler: { request in
            if request.path == "/wait" { await gate.pass() }
            return .text(200, request.header("Number") ?? "")
        }) { server in
            var clients: [Client] = []
            for number in 0..<100 {
                let client = try Client(port: server.port)
                try await client.send("GET", "/wait", headers: ["Number: \(number)"])
                clients.append(client)
            }
            await gate.waitUntilHolding(100)
            #expect(server.activeRequestCount == 100)
            let other = try await Client(port: server.port).exchange("GET", "/now")
            #expect(other?.status == 200)
            await gate.open()
            for (number, client) in clients.enumerated() {
                let answer = try await client.receive()
                #expect(answer?.body == "\(number)")
            }
        }
    }

    @Test func clientThatLeavesWhileItsRequestWaits() async throws {
        let gate = Gate()
        try await withServer(handler: { request in
            if request.path == "/wait" { await gate.pass() }
            return .text(200, String(repeating: "x", count: 100_000))
        }) { server in
            for _ in 0..<20 {
                let client = try Client(port: server.port)
                try await client.send("GET", "/wait")
            }
            await gate.waitUntilHolding(20)
            await gate.open()
            let after = try await Client(port: server.port).exchange("GET", "/now")
            #expect(after?.body.utf8.count == 100_000)
        }
    }

    @Test func clientThatLeavesInTheMiddleOfItsBody() async throws {
        let calls = Mutex(0)
        try await withServer(handler: { _ in
            calls.withLock { $0 += 1 }
            return .text(200, "")
        }) { server in
            for _ in 0..<20 {
                let client = try Client(port: server.port)
                try await client.send(
                    "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\nhalf")
            }
            let after = try await Client(port: server.port).exchange("GET", "/")
            #expect(after?.status == 200)
            #expect(calls.withLock { $0 } == 1)
        }
    }
}

@Suite(.overBothTransports) struct ShutdownTests {
    @Test func handlersThatObeyCancellationAnswerThemselves() async throws {
        let arrived = Gate()
        let server = try Transport.start(.init()) { _ in
            // Announces itself, then waits until the task is cancelled.
            async let announced: Void = arrived.pass()
            for await _ in AsyncStream<Never>(Never.self, { _ in }) {}
            await arrived.open()
            await announced
            return .text(200, "cancelled: \(Task.isCancelled)")
        }
        let client = try Client(port: server.port)
        try await client.send("GET", "/")
        await arrived.waitUntilHolding(1)
        await server.shutdown(graceSeconds: 60)
        let answer = try await client.receive()
        #expect(answer?.body == "cancelled: true")
    }

    @Test func requestsThatDoNotEndGet503() async throws {
        let gate = Gate()
        let server = try Transport.start(.init()) { _ in
            await gate.pass()
            return .text(200, "too late")
        }
        var clients: [Client] = []
        for _ in 0..<50 {
            let client = try Client(port: server.port)
            try await client.send("GET", "/")
            clients.append(client)
        }
        await gate.waitUntilHolding(50)
        await server.shutdown(graceSeconds: 0.05)
        for client in clients {
            let answer = try await client.receive()
            #expect(answer?.status == 503)
            let end = try await client.receive()
            #expect(end == nil)
        }
        // The handlers end after their server: what they answer goes nowhere.
        await gate.open()
        await server.shutdown()
        #expect(throws: Client.Failure.self) { try Client(port: server.port) }
    }

    @Test func droppedServerEndsToo() async throws {
        let gate = Gate()
        var server: HTTPServer? = try Transport.start(.init()) { _ in
            await gate.pass()
            return .text(200, "too late")
        }
        let client = try Client(port: try #require(server?.port))
        try await client.send("GET", "/")
        await gate.waitUntilHolding(1)
        server = nil
        let answer = try await client.receive()
        #expect(answer == nil || answer?.status == 503)
        await gate.open()
    }

    @Test func shutdownUnderLoad() async throws {
        let server = try Transport.start(.init()) { _ in .text(200, "x") }
        let port = server.port
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    guard let client = try? Client(port: port) else { return 0 }
                    var count = 0
                    while let answer = try? await client.exchange("GET", "/"),
                        answer.status == 200
                    {
                        count += 1
                    }
                    return count
                }
            }
            group.addTask {
                let client = try Client(port: port)
                for _ in 0..<100 { _ = try await client.exchange("GET", "/") }
                await server.shutdown()
                return 100
            }
            for try await count in group { #expect(count >= 0) }
        }
    }
}

@Suite struct ListenTests {
    @Test func addressInUseHasItsOwnFailure() async throws {
        try await withServer(handler: { _ in .text(200, "") }) { server in
            let error = #expect(throws: HTTPServerError.self) {
                _ = try HTTPServer.start(.init(port: server.port)) { _ in .text(200, "") }
            }
            #expect(error == .addressInUse("127.0.0.1:\(server.port)"))
        }
    }

    @Test(arguments: ["192.0.2.1", "no.such.host.invalid", "300.1.1.1"])
    func addressOfAnotherMachineIsUnavailable(_ address: String) throws {
        let error = #expect(throws: HTTPServerError.self) {
            _ = try HTTPServer.start(.init(address: address)) { _ in .text(200, "") }
        }
        #expect(error == .addressUnavailable("\(address):0"))
    }

    @Test(arguments: ["0.0.0.0", "localhost"])
    func otherAddressesServeToo(_ address: String) async throws {
        try await withServer(.init(address: address), handler: { _ in .text(200, "x") }) { server in
            let answer = try await Client(port: server.port).exchange("GET", "/")
            #expect(answer?.status == 200)
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/net/if_inet6")))
    func versionSixLoopback() async throws {
        try await withServer(
            .init(address: "::1"),
            handler: { .text(200, "\($0.remoteAddress) \($0.isLoopbackPeer)") }
        ) { server in
            let client = try Client(port: server.port, family: AF_INET6)
            let answer = try await client.exchange("GET", "/")
            #expect(answer?.body == "::1 true")
        }
    }

    @Test func portIsFreeAfterShutdown() async throws {
        let first = try HTTPServer.start(.init()) { _ in .text(200, "") }
        let client = try Client(port: first.port)
        let answer = try await client.exchange("GET", "/")
        #expect(answer?.status == 200)
        await first.shutdown()
        // A child of another test has the listener as well, from its fork to its exec.
        var second: HTTPServer?
        try await waitUntil(deadlineSeconds: 60, "the port") {
            second = try? HTTPServer.start(.init(port: first.port)) { _ in .text(200, "") }
            return second != nil
        }
        await second?.shutdown()
    }
}
