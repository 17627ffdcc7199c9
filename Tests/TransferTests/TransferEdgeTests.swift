import Model
import Storage
import TestSupport
import Testing
import Transfer

/// The table of a transfer's states, beside transfers at an origin that fails in every way it lists.
@Suite("Every change of state of a transfer")
struct TransferEdgeTests {
    private struct Edge: Hashable, CustomStringConvertible {
        let state: TransferState
        let event: TransferEvent

        var description: String { "\(event.rawValue) of a transfer that is \(state.rawValue)" }
    }

    private let seen = Seen<Edge>()
    private let origin: FaultOrigin
    private let body = sampleBytes(20_000)

    init() throws { origin = try FaultOrigin() }

    private func fetcher(
        _ adjust: (inout TransferEngine.Options) -> Void = { _ in }
    ) throws -> Fetcher {
        try Fetcher { options in
            options.loops = 1
            options.connections = 4
            let seen = seen
            options.observer = { seen.append(Edge(state: $0, event: $1)) }
            adjust(&options)
        }
    }

    /// What is listed and not seen fails here; what is seen and not listed stops the process.
    @Test func isSeen() async throws {
        try await answers()
        try await restOfAnotherObject()
        try await cancelledBeforeItsStart()
        try await stopped { $0.held(at: $1) }
        try await stopped { $0.held(after: 5_000, at: $1) }
        let listed = TransferState.machine.table.flatMap { state, events in
            events.keys.map { Edge(state: state, event: $0) }
        }
        for edge in Set(listed).subtracting(seen.all) { Issue.record("never seen: \(edge)") }
    }

    private func answers() async throws {
        let fetcher = try fetcher()
        origin.serve("/whole", body, etag: "\"v1\"")
        origin.route("/redirect", .redirect(to: "/whole"))
        origin.route("/unchanged", FaultOrigin.Response(304, body: []))
        origin.route("/cut") { [body] in $0.serve(body).cut(after: 5_000) }
        for path in ["/whole", "/redirect"] {
            let fetched = try await fetcher.fetch(fetcher.request(origin.url(path))).outcome.get()
            fetched.object?.discard()
        }
        var request = fetcher.request(origin.url("/unchanged"))
        request.validator = "\"v1\""
        #expect(try await fetcher.fetch(request).outcome.get().isUnchanged)
        request = fetcher.request(origin.url("/whole"))
        request.expected.sha256 = sha256([])
        #expect(await fetcher.failure(request) == "integrity.digestMismatch")
        for (path, code) in ["/missing": "origin.http.404", "/cut": "origin.truncated"] {
            let failure = await fetcher.failure(fetcher.request(origin.url(path)))
            #expect(failure?.rawValue == code)
        }
    }

    /// The whole does not have its digest when its parts came from two URLs: it is requested again.
    private func restOfAnotherObject() async throws {
        let other = sampleBytes(20_000, seed: 9)
        origin.route("/start", inTurn: [.redirect(to: "/one"), .redirect(to: "/two")])
        origin.route("/one") { [body] in $0.serve(body, etag: "\"v1\"").cut(after: 8_000) }
        origin.serve("/two", other, etag: "\"v2\"")
        var attempts = Attempts(try fetcher(), url: origin.url("/start"), key: "o/x")
        _ = try await attempts.run { $0.expected.sha256 = sha256(other) }
        let last = try await attempts.run { $0.expected.sha256 = sha256(other) }
        #expect(last.bytes == other && last.isVerified)
    }

    private func cancelledBeforeItsStart() async throws {
        let fetcher = try fetcher { $0.connections = 1 }
        let gate = Gate()
        origin.route("/held") { [body] in $0.serve(body).held(at: gate) }
        async let first = fetcher.failure(fetcher.request(origin.url("/held")))
        try await waitUntil(deadlineSeconds: 60) { origin.count("/held") == 1 }
        let waiting = fetcher.request(origin.url("/held"), group: "lease-2")
        async let second = fetcher.failure(waiting)
        try await waitUntil(deadlineSeconds: 60) { fetcher.engine.waitingCount == 1 }
        fetcher.engine.cancelAll(group: "lease-2")
        #expect(await second == "worker.cancelled")
        fetcher.engine.cancelAll(group: "lease-1")
        #expect(await first == "worker.cancelled")
        gate.open()
    }

    /// Four slow transfers have all connections; one gives way to a transfer at another origin.
    private func stopped(
        _ hold: @escaping @Sendable (FaultOrigin.Response, Gate) -> FaultOrigin.Response
    ) async throws {
        let gate = Gate()
        defer { gate.open() }
        let fetcher = try fetcher { options in
            options.tickSeconds = 0.1
            var policy = SlowPolicy()
            policy.judgingSeconds = 0.2
            options.slow = policy
        }
        origin.route("/slow") { [body] in hold($0.serve(body, etag: "\"v1\""), gate) }
        let slow = (0..<4).map { number in
            var request = fetcher.request(origin.url("/slow"), key: "o/\(number)")
            request.access.timeouts.lowSpeed = 3_600
            request.access.timeouts.firstByte = 3_600
            let asked = request
            return Task { await fetcher.failure(asked) }
        }
        try await waitUntil(deadlineSeconds: 30, "four slow transfers") {
            fetcher.engine.slowWork(most: 10).count == 4
        }
        let other = "http://localhost:\(origin.port)/whole"
        let fetched = try await fetcher.fetch(fetcher.request(other)).outcome.get()
        fetched.object?.discard()
        fetcher.engine.cancelAll(group: "lease-1")
        for task in slow { #expect(await task.value == "worker.cancelled") }
    }
}
