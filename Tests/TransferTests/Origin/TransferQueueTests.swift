import Model
import Synchronization
import TestSupport
import Testing
import Transfer

/// What callbacks on other threads have seen, in order.
final class Seen<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    func append(_ value: Value) { values.withLock { $0.append(value) } }

    var all: [Value] { values.withLock { $0 } }
}

@Suite("The engine's queue")
struct TransferQueueTests {
    let origin: FaultOrigin
    let gate = Gate()

    init() throws {
        origin = try FaultOrigin()
        origin.route("/held", FaultOrigin.Response(text: "x").held(at: gate))
        origin.serve("/free", [1])
    }

    @Test("never has more transfers than its limit", .timeLimit(.minutes(1)))
    func limit() async throws {
        let fetcher = try Fetcher { $0.connections = 5 }
        let seen = Seen<Bool>()
        let requests = (0..<40).map { _ in fetcher.memory(origin.url("/held"), role: .data) }
        fetcher.engine.submit(requests) { _, result in
            seen.append((try? result.outcome.get()) != nil)
        }
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 5 }
        #expect(fetcher.engine.waitingCount == 35)
        gate.open()
        try await waitUntil(deadlineSeconds: 60) { seen.all.count == 40 }
        #expect(seen.all.allSatisfy { $0 })
        #expect(origin.activeRequests.peak == 5)
        #expect(origin.connections.peak <= 5)
    }

    @Test("spreads few transfers over all loops", .timeLimit(.minutes(1)))
    func spread() async throws {
        let fetcher = try Fetcher { $0.connections = 8 }
        for count in 1...8 {
            let seen = Seen<Bool>()
            let requests = (0..<count).map { _ in fetcher.memory(origin.url("/free"), role: .data) }
            fetcher.engine.submit(requests) { _, result in
                seen.append((try? result.outcome.get()) != nil)
            }
            try await waitUntil(deadlineSeconds: 60) { seen.all.count == count }
            #expect(seen.all.allSatisfy { $0 })
        }
    }

    @Test("cancels running and waiting transfers of a group", .timeLimit(.minutes(1)))
    func cancelGroup() async throws {
        let fetcher = try Fetcher {
            $0.connections = 2; $0.loops = 1
        }
        let seen = Seen<(String, FailureCode?)>()
        for number in 0..<6 {
            var request = fetcher.memory(origin.url("/held"), role: .data)
            request.owner.group = number % 2 == 0 ? "even" : "odd"
            fetcher.engine.submit(request) { transfer, result in
                guard case .failure(let failure) = result.outcome else {
                    return seen.append((transfer.request.owner.group, nil))
                }
                seen.append((transfer.request.owner.group, failure.code))
            }
        }
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 2 }
        fetcher.engine.cancelAll(group: "even")
        try await waitUntil(deadlineSeconds: 60) { seen.all.count == 3 }
        #expect(seen.all.allSatisfy { $0.0 == "even" && $0.1 == "worker.cancelled" })
        gate.open()
        try await waitUntil(deadlineSeconds: 60) { seen.all.count == 6 }
        #expect(seen.all.dropFirst(3).allSatisfy { $0.0 == "odd" && $0.1 == nil })
    }

    /// A worker at the end of its drain: what a title still requests then ends too.
    @Test("cancels all when it is closed, and what is submitted later", .timeLimit(.minutes(2)))
    func close() async throws {
        let fetcher = try Fetcher {
            $0.connections = 2; $0.loops = 1
        }
        defer { gate.open() }
        let seen = Seen<FailureCode?>()
        let submit = {
            fetcher.engine.submit(fetcher.memory(origin.url("/held"), role: .data)) { _, result in
                guard case .failure(let failure) = result.outcome else { return seen.append(nil) }
                seen.append(failure.code)
            }
        }
        for _ in 0..<3 { _ = submit() }
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 2 }
        fetcher.engine.close()
        _ = submit()
        try await waitUntil(deadlineSeconds: 60) { seen.all.count == 4 }
        #expect(seen.all.allSatisfy { $0 == "worker.cancelled" })
    }

    /// Whoever drains names what he believes to wait; some of it may have begun since.
    @Test("cancels what has not begun, and not what has", .timeLimit(.minutes(2)))
    func cancelUnbegun() async throws {
        let fetcher = try Fetcher {
            $0.connections = 1; $0.loops = 1
        }
        defer { gate.open() }
        let seen = Seen<FailureCode?>()
        let requests = (0..<3).map { _ in fetcher.memory(origin.url("/held"), role: .data) }
        let transfers = fetcher.engine.submit(requests) { _, result in
            if case .failure(let failure) = result.outcome {
                seen.append(failure.code)
            } else {
                seen.append(nil)
            }
        }
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 1 }
        fetcher.engine.cancelUnbegun(Array(transfers.prefix(2)))
        try await waitUntil(deadlineSeconds: 60) { !seen.all.isEmpty }
        #expect(seen.all == ["worker.cancelled"] && fetcher.engine.waitingCount == 1)
        gate.open()
        try await waitUntil(deadlineSeconds: 60) { seen.all.count == 3 }
        #expect(seen.all == ["worker.cancelled", nil, nil])
        #expect(origin.count("/held") == 2)
    }

    @Test("cancels one transfer and leaves no file", .timeLimit(.minutes(1)))
    func cancelOne() async throws {
        let fetcher = try Fetcher()
        let body = FaultOrigin.Response(body: sampleBytes(50_000)).held(after: 20_000, at: gate)
        origin.route("/part", body)
        let seen = Seen<TransferResult>()
        let transfer = fetcher.engine.submit(fetcher.request(origin.url("/part"))) { _, result in
            seen.append(result)
        }
        try await waitUntil(deadlineSeconds: 60) { transfer.receivedBytes == 20_000 }
        fetcher.engine.cancel(transfer)
        fetcher.engine.cancel(transfer)
        try await waitUntil(deadlineSeconds: 60) { seen.all.count == 1 }
        #expect(transfer.state == .failed)
        #expect(try fetcher.temporaries().isEmpty)
        gate.open()
    }

    @Test("shutdown answers every transfer once", .timeLimit(.minutes(1)))
    func shutdown() async throws {
        let fetcher = try Fetcher { $0.connections = 4 }
        let seen = Seen<UInt64>()
        let requests = (0..<20).map { _ in fetcher.memory(origin.url("/held"), role: .data) }
        fetcher.engine.submit(requests) { transfer, _ in seen.append(transfer.id) }
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 4 }
        fetcher.engine.shutdown()
        #expect(Set(seen.all).count == 20)
        #expect(seen.all.count == 20)
        fetcher.engine.submit(requests[0]) { transfer, _ in seen.append(transfer.id) }
        #expect(seen.all.count == 21)
        gate.open()
    }

    @Test("bad requests do not hold up the queue", .timeLimit(.minutes(1)))
    func badRequests() async throws {
        let fetcher = try Fetcher { $0.connections = 2 }
        let seen = Seen<Bool>()
        var requests = (0..<50).map { _ in fetcher.memory("nonsense", role: .data) }
        requests.append(fetcher.memory(origin.url("/free"), role: .data))
        fetcher.engine.submit(requests) { _, result in
            seen.append((try? result.outcome.get()) != nil)
        }
        try await waitUntil(deadlineSeconds: 60) { seen.all.count == 51 }
        #expect(seen.all.filter { $0 }.count == 1)
    }
}
