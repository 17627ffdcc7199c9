import Model
import TestSupport
import Testing
import Transfer

/// Bodies of at most 1 MiB whose transfers were cancelled, as by a pause, a drain or a signal.
@Suite("Bodies of cancelled transfers") struct CancelledBodyTests {
    private static let group = "cancelled"

    let origin: FaultOrigin
    let fetcher: Fetcher

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher()
    }

    /// Serves `body` and holds its first answer after `count` bytes.
    private func hold(_ path: String, _ body: [UInt8], after count: Int) -> Gate {
        let gate = Gate()
        origin.route(path) { request in
            let answer = request.serve(body, etag: "\"v1\"")
            return request.number == 1 ? answer.held(after: count, at: gate) : answer
        }
        return gate
    }

    private func attempts(_ path: String) -> Attempts {
        Attempts(fetcher, url: origin.url(path), key: "o/body.bin")
    }

    /// Runs an attempt with a worker's settings.
    private func run(
        _ attempts: inout Attempts, _ adjust: (inout TransferRequest) -> Void = { _ in }
    ) async throws -> Attempts.Outcome {
        try await attempts.run(minimumBytes: 1 << 20, noteBytes: 8 << 20) { request in
            request.owner.group = Self.group
            adjust(&request)
        }
    }

    /// Runs an attempt, and cancels it once `count` bytes are stored.
    private func cancel(
        _ attempts: inout Attempts, after count: Int, at gate: Gate,
        _ adjust: (inout TransferRequest) -> Void = { _ in }
    ) async throws {
        let (directory, engine) = (fetcher.directory, fetcher.engine)
        // Not before the end: more bytes could come ahead of the cancellation.
        defer { gate.open() }
        async let cancelled: Void = {
            try await gate.waitUntilReached()
            try await waitUntil(deadlineSeconds: 60, "the bytes before the gate") {
                try directory.files().contains {
                    $0.hasPrefix(".dray/tmp/") && (try? directory.read($0).count) == count
                }
            }
            engine.cancelAll(group: Self.group)
        }()
        let outcome = try await run(&attempts, adjust)
        try await cancelled
        #expect(outcome.code == "worker.cancelled")
    }

    private func ranges(_ path: String) -> [String?] {
        origin.requests(for: path).map { $0.headers["range"] }
    }

    /// The shorter one is hashed with others once it is complete.
    @Test("a short body is resumed", arguments: [512 << 10, 100_000])
    func resumes(bytes: Int) async throws {
        let body = sampleBytes(bytes)
        let gate = hold("/a", body, after: 80_000)
        var attempts = attempts("/a")
        try await cancel(&attempts, after: 80_000, at: gate)
        let second = try await run(&attempts)
        #expect(second.bytes == body && second.startedFrom == 80_000)
        #expect(ranges("/a") == [nil, "bytes=80000-"])
        #expect(origin.requests.last?.headers["if-range"] == "\"v1\"")
        #expect(try fetcher.directory.files() == ["o/body.bin"])
    }

    @Test("less than 64 KiB is not worth keeping")
    func minimum() async throws {
        let body = sampleBytes(512 << 10)
        let gate = hold("/a", body, after: 64 << 10 - 1)
        var attempts = attempts("/a")
        try await cancel(&attempts, after: 64 << 10 - 1, at: gate)
        #expect(try fetcher.directory.files().isEmpty)
        #expect(try await run(&attempts).bytes == body)
        #expect(ranges("/a") == [nil, nil])
    }

    @Test("a connection that breaks takes nothing of what was kept before")
    func breaks() async throws {
        let body = sampleBytes(512 << 10)
        let gate = hold("/a", body, after: 80_000)
        var attempts = attempts("/a")
        try await cancel(&attempts, after: 80_000, at: gate)
        origin.route("/a") { request in
            let answer = request.serve(body, etag: "\"v1\"")
            return request.number == 2 ? answer.cut(after: 20_000) : answer
        }
        #expect(try await run(&attempts).code == "origin.truncated")
        let third = try await run(&attempts)
        #expect(third.bytes == body && third.startedFrom == 100_000)
        #expect(ranges("/a") == [nil, "bytes=80000-", "bytes=100000-"])
    }

    /// As a fill from a neighbour, whose digest is known.
    @Test("the rest may come from elsewhere, if a digest is known")
    func neighbour() async throws {
        let body = sampleBytes(512 << 10)
        let gate = hold("/neighbour", body, after: 80_000)
        var attempts = attempts("/neighbour")
        origin.serve("/origin", body, etag: "\"other\"")
        let (neighbour, wanted) = (attempts.url, sha256(body))
        attempts.url = origin.url("/origin")
        try await cancel(&attempts, after: 80_000, at: gate) { request in
            request.url = neighbour
            request.expected.sha256 = wanted
        }
        let second = try await run(&attempts) { $0.expected.sha256 = wanted }
        #expect(second.bytes == body && second.isVerified && second.startedFrom == 80_000)
        #expect(ranges("/neighbour") == [nil] && ranges("/origin") == ["bytes=80000-"])
    }

    @Test("a body without a length or a strong validator starts over", arguments: [true, false])
    func unresumable(hasLength: Bool) async throws {
        let body = sampleBytes(512 << 10)
        let gate = Gate()
        origin.route("/a") { request in
            var answer = request.serve(body, etag: hasLength ? "W/\"v1\"" : "\"v1\"")
            guard request.number == 1 else { return answer }
            answer = answer.held(after: 80_000, at: gate)
            if !hasLength {
                let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nConnection: close\r\n\r\n"
                answer.rawHead = Array(head.utf8)
                answer.steps.append(.close)
            }
            return answer
        }
        var attempts = attempts("/a")
        try await cancel(&attempts, after: 80_000, at: gate)
        #expect(try fetcher.directory.files().isEmpty)
        #expect(try await run(&attempts).bytes == body)
        #expect(ranges("/a") == [nil, nil])
    }
}
