import Digest
import Model
import Storage
import Synchronization
import TestSupport
import Testing
import Transfer

/// Slow transfers that are stopped for others, at an origin of a test's own.
@Suite("Slow transfers that give way")
struct SlowTransferTests {
    let origin: FaultOrigin
    let fetcher: Fetcher
    let body = sampleBytes(20_000)
    let gate = Gate()

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher { options in
            options.loops = 1
            options.connections = 4
            options.tickSeconds = 0.1
            var policy = SlowPolicy()
            policy.judgingSeconds = 0.2
            options.slow = policy
        }
        let body = body
        origin.route("/fast") { $0.serve(body) }
    }

    private func slowPath(_ number: Int) -> String { "/slow/\(number)" }

    /// Begins to fetch four bodies, and waits until it is known that they are slow.
    private func fetchSlow() async throws -> [Task<TransferResult, Never>] {
        let tasks = (0..<4).map { number in
            var request = fetcher.request(origin.url(slowPath(number)), key: "o/\(number)")
            request.expected.sha256 = sha256(body)
            request.delivery.resumption = Resumption { _, _ in }
            request.access.timeouts.lowSpeed = 3_600
            let asked = request
            return Task { await fetcher.fetch(asked) }
        }
        try await waitUntil(deadlineSeconds: 30, "four slow transfers") {
            fetcher.engine.slowWork(most: 10).count == 4
        }
        return tasks
    }

    private func expectWhole(_ tasks: [Task<TransferResult, Never>]) async throws {
        for task in tasks {
            let fetched = try await task.value.outcome.get()
            #expect(fetched.bytes == 20_000 && fetched.isVerified)
            fetched.object?.discard()
        }
        #expect(try fetcher.temporaries().isEmpty)
    }

    @Test func whatIsStoppedIsResumedWhereItWas() async throws {
        defer { gate.open() }
        for number in 0..<4 {
            origin.route(slowPath(number)) { [body, gate] request in
                let whole = request.serve(body, etag: "\"v1\"")
                return request.number == 1 ? whole.held(after: 5_000, at: gate) : whole
            }
        }
        let tasks = try await fetchSlow()
        #expect(fetcher.engine.slowWork(most: 10).origins == [origin.url()])
        // All connections are taken by bodies that do not come.
        let fetched = try await fetcher.fetch(fetcher.request(Self.other(origin))).outcome.get()
        #expect(fetched.bytes == 20_000)
        fetched.object?.discard()
        try await waitUntil(deadlineSeconds: 30, "the rest of one that was stopped") {
            origin.requests.contains { $0.headers["range"] == "bytes=5000-" }
        }
        gate.open()
        try await expectWhole(tasks)
        let ranges = origin.requests.compactMap { $0.headers["range"] }
        #expect(ranges == ["bytes=5000-"])
    }

    /// The same server by another name: another origin.
    private static func other(_ origin: FaultOrigin) -> String {
        "http://localhost:\(origin.port)/fast"
    }

    @Test func whatCannotBeKeptIsStoppedOnce() async throws {
        defer { gate.open() }
        for number in 0..<4 {
            origin.route(slowPath(number)) { [body, gate] request in
                request.serve(body).held(after: 5_000, at: gate)
            }
        }
        let tasks = try await fetchSlow()
        // Twice as many others as there are connections beside the slow ones' quarter. They are slow by order, which
        // is not their origin's pace.
        let other = "http://localhost:\(origin.port)"
        for round in 0..<2 {
            fetcher.engine.setLimits(
                OriginAllowance(bytesPerSecond: 1_000), of: other, forSeconds: 600)
            origin.route("/other/\(round)") { [body] in $0.serve(body) }
            let others = (0..<3).map { number in
                let request = fetcher.request("\(other)/other/\(round)", key: "o/other-\(number)")
                return Task { await fetcher.fetch(request) }
            }
            try await waitUntil(deadlineSeconds: 30, "three others") {
                origin.count("/other/\(round)") == 3
            }
            fetcher.engine.liftLimits(of: [other])
            for other in others {
                let fetched = try await other.value.outcome.get()
                fetched.object?.discard()
            }
        }
        let counts = (0..<4).map { origin.count(slowPath($0)) }
        #expect(counts.allSatisfy { $0 <= 2 }, "\(counts)")
        gate.open()
        try await expectWhole(tasks)
        #expect((0..<4).map { origin.count(slowPath($0)) }.sorted() == [1, 2, 2, 2])
    }

    @Test func whatIsBoundedHereIsNotSlow() async throws {
        fetcher.engine.setLimits(
            OriginAllowance(bytesPerSecond: 8_000), of: origin.url(), forSeconds: 60)
        let slow = Atomic(0)
        let watch = Task { [engine = fetcher.engine] in
            while !Task.isCancelled {
                slow.wrappingAdd(engine.slowWork(most: 10).count, ordering: .relaxed)
                await Task.yield()
            }
        }
        let fetched = try await fetcher.fetch(fetcher.request(origin.url("/fast"))).outcome.get()
        watch.cancel()
        await watch.value
        #expect(fetched.bytes == 20_000)
        fetched.object?.discard()
        #expect(slow.load(ordering: .relaxed) == 0)
        #expect(fetcher.engine.slowWork(most: 10).origins.isEmpty)
    }

    @Test func stoppedTransfersEndWhenTheyAreCancelled() async throws {
        defer { gate.open() }
        for number in 0..<4 {
            origin.route(slowPath(number)) { [body, gate] request in
                request.serve(body, etag: "\"v1\"").held(after: 5_000, at: gate)
            }
        }
        let tasks = try await fetchSlow()
        let opened = Gate()
        defer { opened.open() }
        origin.route("/held") { [body] in $0.serve(body).held(after: 1, at: opened) }
        let held = Task { [fetcher, origin] in
            await fetcher.fetch(
                fetcher.request(
                    "http://localhost:\(origin.port)/held", key: "o/held", group: "other"))
        }
        try await waitUntil(deadlineSeconds: 30, "the other") { origin.count("/held") == 1 }
        fetcher.engine.cancelAll(group: "lease-1")
        var left = 0
        for task in tasks {
            let result = await task.value
            guard case .failure(let failure) = result.outcome else {
                Issue.record("it ended well")
                continue
            }
            #expect(failure.code == "worker.cancelled")
            // What had come by then is the next attempt's.
            if result.left?.record.bytes == 5_000 { left += 1 }
            result.left?.object?.discard()
        }
        #expect(left == 1)
        opened.open()
        try await held.value.outcome.get().object?.discard()
        #expect(try fetcher.temporaries().isEmpty)
    }
}
