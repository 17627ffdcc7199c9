import Dispatch
import Model
import Storage
import Synchronization
import TestSupport
import Testing
import Transfer

/// Destinations that take long to open, as on a failing disk.
@Suite("Destinations that take long to open", .timeLimit(.minutes(2)))
struct OpeningTests {
    private static let long = 3 << 20

    private let origin: FaultOrigin
    private let fetcher: Fetcher
    /// Held while the disk blocks; opened by each test, however it ends.
    private let stall = Stall()

    private final class Stall: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        private let counts = Mutex((entered: 0, over: false))

        var entered: Int { counts.withLock { $0.entered } }

        func pass() {
            let isOver = counts.withLock { counts in
                counts.entered += 1
                return counts.over
            }
            if !isOver { semaphore.wait() }
            semaphore.signal()
        }

        func end() {
            counts.withLock { $0.over = true }
            semaphore.signal()
        }

        deinit { semaphore.signal() }
    }

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher { $0.loops = 1 }
        origin.serve("/long", sampleBytes(Self.long), etag: "\"v\"")
        origin.serve("/short", sampleBytes(10_000))
        origin.serve("/remote", sampleBytes(100_000))
        origin.route("/unknown", Self.chunked(sampleBytes(100_000)))
        origin.route("/empty", Self.chunked([]))
    }

    private static func chunked(_ body: [UInt8]) -> FaultOrigin.Response {
        var bytes: [UInt8] = []
        if !body.isEmpty {
            bytes = Array("\(String(body.count, radix: 16))\r\n".utf8) + body + Array("\r\n".utf8)
        }
        bytes += Array("0\r\n\r\n".utf8)
        var response = FaultOrigin.Response(headers: [("Transfer-Encoding", "chunked")])
        response.steps = [.send(bytes), .close]
        return response
    }

    /// A request whose destination opens when the disk works again.
    private func failing(
        _ path: String, fails failure: Failure? = nil
    ) -> TransferRequest {
        var request = fetcher.request(origin.url(path), key: "o\(path)", role: .file)
        // As at a site on a network file system, where even what is short is opened by others.
        request.delivery.opensInBackground = path == "/remote"
        guard case .object(let open) = request.delivery.destination else { return request }
        request.delivery.destination = .object { [stall] (bytes) throws(Failure) in
            stall.pass()
            if let failure { throw failure }
            return try open(bytes)
        }
        return request
    }

    @Test(
        "they hold up no other transfer of the loop", arguments: ["/long", "/unknown", "/remote"])
    func others(path: String) async throws {
        defer { stall.end() }
        async let slow = fetcher.fetch(failing(path))
        try await waitUntil(deadlineSeconds: 60, "the opening") { stall.entered == 1 }
        for number in 0..<20 {
            let request = fetcher.request(origin.url("/short"), key: "o/\(number)")
            #expect(await fetcher.failure(request) == nil)
        }
        stall.end()
        let fetched = try await slow.outcome.get()
        let body = sampleBytes(path == "/long" ? Self.long : 100_000)
        #expect(fetched.sha256 == sha256(body))
        for stored in fetcher.storage.commit([try #require(fetched.object)]) { try stored.get() }
        #expect(try fetcher.directory.read("o\(path)") == body)
    }

    @Test("a body of unknown length, and none at all", arguments: ["/unknown", "/empty"])
    func unknownLength(path: String) async throws {
        stall.end()
        let fetched = try await fetcher.fetch(failing(path)).outcome.get()
        let body = path == "/empty" ? [] : sampleBytes(100_000)
        #expect(fetched.sha256 == sha256(body))
        for stored in fetcher.storage.commit([try #require(fetched.object)]) { try stored.get() }
        #expect(try fetcher.directory.read("o\(path)") == body)
    }

    @Test("one that cannot be opened ends its transfer with the reason, and leaves nothing")
    func failing() async throws {
        stall.end()
        let request = failing("/long", fails: Failure("storage.full", "no room"))
        #expect(await fetcher.failure(request) == "storage.full")
        #expect(try fetcher.directory.files().isEmpty)
        #expect(await fetcher.failure(fetcher.request(origin.url("/short"))) == nil)
    }

    /// The next attempt at the job may open a file of the same name, which must not be taken away.
    @Test(
        "a transfer that is cancelled meanwhile ends when its destination is open, and leaves nothing"
    )
    func cancelled() async throws {
        defer { stall.end() }
        let ended = Mutex<TransferResult?>(nil)
        let transfer = fetcher.engine.submit(failing("/long")) { _, result in
            ended.withLock { $0 = result }
        }
        try await waitUntil(deadlineSeconds: 60, "the opening") { stall.entered == 1 }
        fetcher.engine.cancel(transfer)
        // The loop has dealt with it when it has done something after it.
        #expect(await fetcher.failure(fetcher.request(origin.url("/short"))) == nil)
        let isEarly = ended.withLock { $0 != nil }
        #expect(!isEarly)
        stall.end()
        try await waitUntil(deadlineSeconds: 60, "the end") { ended.withLock { $0 != nil } }
        let outcome = try #require(ended.withLock { $0 }).outcome
        let failure = #expect(throws: Failure.self) { try outcome.get() }
        #expect(failure?.code == "worker.cancelled")
        #expect(try fetcher.temporaries().isEmpty)
    }

    @Test("shutdown waits for none")
    func shutdown() async throws {
        defer { stall.end() }
        async let slow = fetcher.fetch(failing("/long"))
        try await waitUntil(deadlineSeconds: 60, "the opening") { stall.entered == 1 }
        fetcher.engine.shutdown()
        let outcome = await slow.outcome
        let failure = #expect(throws: Failure.self) { try outcome.get() }
        #expect(failure?.code == "worker.cancelled")
        stall.end()
        try await waitUntil(deadlineSeconds: 60, "what came too late") {
            try fetcher.temporaries().isEmpty
        }
    }
}
