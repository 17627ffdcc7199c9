import Model
import TestSupport
import Testing
import Transfer

/// What an origin sees, at its sockets, of an engine that has a share of its limits.
@Suite("Limits of origins", .serialized, .timeLimit(.minutes(2)))
struct OriginLimitTests {
    let origin: FaultOrigin
    let fetcher: Fetcher
    let ended = Seen<Result<Int64, Failure>>()

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher()
        origin.serve("/a", sampleBytes(2_000))
        origin.route("/closing") { $0.serve(sampleBytes(500)).with("Connection", "close") }
    }

    private var name: String { originName(of: origin.url()) ?? "" }

    private func limit(
        _ connections: Int? = nil, requests: Double? = nil, bytes: Int64? = nil,
        seconds: Double = 60, at origin: FaultOrigin? = nil
    ) {
        fetcher.engine.setLimits(
            OriginAllowance(
                connections: connections, requestsPerSecond: requests, bytesPerSecond: bytes),
            of: originName(of: (origin ?? self.origin).url()) ?? "", forSeconds: seconds)
    }

    @discardableResult
    private func submit(_ count: Int, _ path: String, at origin: FaultOrigin? = nil) -> [Transfer] {
        let url = (origin ?? self.origin).url(path)
        let requests = (0..<count).map { _ in fetcher.memory(url, role: .data) }
        return fetcher.engine.submit(requests) { _, result in
            ended.append(result.outcome.map(\.bytes))
        }
    }

    private func wait(for count: Int) async throws {
        try await waitUntil(deadlineSeconds: 60, "\(count) ends") { ended.all.count >= count }
    }

    private var failures: [FailureCode] {
        ended.all.compactMap { if case .failure(let failure) = $0 { failure.code } else { nil } }
    }

    // MARK: Connections

    @Test("two connections are two, and are used again")
    func connections() async throws {
        limit(2)
        submit(200, "/a")
        try await wait(for: 200)
        #expect(failures.isEmpty)
        #expect(origin.connections.peak == 2)
        #expect(origin.acceptedConnections == 2)
    }

    @Test("a closed connection counts until the origin knows")
    func closedConnections() async throws {
        limit(2)
        submit(20, "/closing")
        try await wait(for: 20)
        #expect(failures.isEmpty)
        #expect(origin.connections.peak == 2)
        #expect(origin.acceptedConnections == 20)
    }

    @Test("answers that are cut off do not add up")
    func abortedAnswers() async throws {
        origin.route("/endless") { _ in
            var response = FaultOrigin.Response.endless()
            response.status = 404
            return response
        }
        limit(2)
        submit(8, "/endless")
        submit(8, "/a")
        try await wait(for: 16)
        #expect(failures.count == 8 && failures.allSatisfy { $0 == "origin.http.404" })
        #expect(origin.connections.peak == 2)
    }

    @Test("a limit to an origin in use closes what is too much")
    func limitedLater() async throws {
        let gate = Gate()
        origin.route("/held", FaultOrigin.Response(text: "x").held(at: gate))
        submit(8, "/held")
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 8 }
        gate.open()
        try await wait(for: 8)
        #expect(origin.connections.now == 8)
        limit(2)
        try await waitUntil(deadlineSeconds: 60) { origin.connections.now == 0 }
        submit(50, "/a")
        try await wait(for: 58)
        #expect(failures.isEmpty && origin.acceptedConnections <= 10)
    }

    @Test("nothing stays open where there is no work left")
    func idleConnections() async throws {
        limit(4)
        fetcher.engine.submit(
            (0..<10).map { _ in fetcher.memory(origin.url("/a"), role: .data) }
        ) { _, result in
            ended.append(result.outcome.map(\.bytes))
        }
        try await wait(for: 10)
        try await waitUntil(deadlineSeconds: 60) {
            origin.connections.now == 0
        }
    }

    @Test("a smaller share starts nothing before it fits, and ends the rest when its time comes")
    func shrinkingShare() async throws {
        let gate = Gate()
        origin.route("/held", FaultOrigin.Response(text: "x").held(at: gate))
        limit(6, seconds: 2)
        submit(10, "/held")
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 6 }
        limit(2, seconds: 60)
        // Running transfers may continue until the first quota ends, and no longer.
        try await wait(for: 4)
        #expect(failures == Array(repeating: "worker.cancelled", count: 4))
        try await waitUntil(deadlineSeconds: 60) { origin.connections.now == 2 }
        gate.open()
        try await wait(for: 10)
        #expect(failures.count == 4)
        // The six of the first share, and none before only one of the second was left.
        #expect(origin.connections.peak == 6)
        #expect(origin.count("/held") == 10)
    }

    @Test("no share, no connection: work is given back")
    func lapsedShare() async throws {
        let gate = Gate()
        origin.route("/held", FaultOrigin.Response(text: "x").held(at: gate))
        limit(2, seconds: 1)
        submit(5, "/held")
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 2 }
        try await wait(for: 5)
        #expect(failures == Array(repeating: "worker.cancelled", count: 5))
        gate.open()
        try await waitUntil(deadlineSeconds: 60) { origin.connections.now == 0 }
        submit(3, "/a")
        try await wait(for: 8)
        #expect(failures.count == 8 && origin.count("/a") == 0)
        // A new share is a new start.
        limit(1)
        submit(3, "/a")
        try await wait(for: 11)
        #expect(failures.count == 8 && origin.count("/a") == 3)
    }

    @Test("a renewed quota continues without a break")
    func renewedShare() async throws {
        let gate = Gate()
        origin.route("/held", FaultOrigin.Response(text: "x").held(at: gate))
        limit(2, seconds: 0.5)
        submit(4, "/held")
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 2 }
        limit(2, seconds: 60)
        // Past the first one's end: the limit of another origin shows the time.
        let other = try FaultOrigin()
        other.route("/held", FaultOrigin.Response(text: "x").held(at: gate))
        limit(1, seconds: 1, at: other)
        submit(1, "/held", at: other)
        try await wait(for: 1)
        #expect(origin.activeRequests.now == 2)
        gate.open()
        try await wait(for: 5)
        #expect(failures == ["worker.cancelled"])
    }

    @Test("limits that are lifted limit nothing")
    func liftedLimits() async throws {
        let gate = Gate()
        origin.route("/held", FaultOrigin.Response(text: "x").held(at: gate))
        limit(1)
        submit(8, "/held")
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 1 }
        limit()
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 8 }
        gate.open()
        try await wait(for: 8)
        #expect(failures.isEmpty)
    }

    // MARK: Requests a second

    @Test("five a second are five in any second")
    func requestRate() async throws {
        limit(requests: 5)
        submit(16, "/a")
        try await wait(for: 16)
        #expect(failures.isEmpty)
        #expect(origin.maxRequests(inSeconds: 1) == 5)
    }

    @Test("the rate holds over connections that are opened, used again and replaced")
    func requestRateOverConnections() async throws {
        limit(2, requests: 5)
        submit(6, "/a")
        submit(5, "/closing")
        submit(5, "/a")
        try await wait(for: 16)
        #expect(failures.isEmpty)
        #expect(origin.maxRequests(inSeconds: 1) <= 5)
        #expect(origin.connections.peak == 2)
    }

    @Test("a rate below one spaces requests")
    func slowRequestRate() async throws {
        limit(requests: 0.8)
        submit(3, "/a")
        try await wait(for: 3)
        #expect(origin.maxRequests(inSeconds: 1.25) == 1)
    }

    // MARK: Redirects

    @Test("redirects onto a limited origin count there")
    func redirects() async throws {
        let front = try FaultOrigin()
        front.route("/go", FaultOrigin.Response.redirect(to: origin.url("/a")))
        limit(2, requests: 5)
        submit(12, "/go", at: front)
        try await wait(for: 12)
        #expect(failures.isEmpty)
        #expect(origin.connections.peak <= 2)
        #expect(origin.maxRequests(inSeconds: 1) == 5)
        #expect(front.count("/go") == 12)
    }

    @Test("redirects within a limited origin are requests like others")
    func redirectsWithin() async throws {
        origin.route("/go", FaultOrigin.Response.redirect(to: "/a"))
        limit(2, requests: 5)
        submit(6, "/go")
        try await wait(for: 6)
        #expect(failures.isEmpty)
        #expect(origin.connections.peak <= 2)
        #expect(origin.maxRequests(inSeconds: 1) == 5)
        #expect(origin.requests.count == 12)
    }

    @Test("a transfer that waits behind a redirect can be cancelled")
    func cancelledBehindRedirect() async throws {
        let gate = Gate()
        let front = try FaultOrigin()
        origin.route("/held", FaultOrigin.Response(text: "x").held(at: gate))
        front.route("/go", FaultOrigin.Response.redirect(to: origin.url("/a")))
        limit(1)
        submit(1, "/held")
        try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 1 }
        let waiting = submit(3, "/go", at: front)
        try await waitUntil(deadlineSeconds: 60) { front.count("/go") == 3 }
        for transfer in waiting { fetcher.engine.cancel(transfer) }
        try await wait(for: 3)
        #expect(failures == Array(repeating: "worker.cancelled", count: 3))
        gate.open()
        try await wait(for: 4)
        #expect(origin.count("/a") == 0)
    }

    // MARK: Others

    @Test("a blocked origin delays no other")
    func others() async throws {
        let free = try FaultOrigin()
        free.serve("/b", sampleBytes(1_000))
        let gate = Gate()
        origin.route("/held", FaultOrigin.Response(text: "x").held(at: gate))
        limit(1)
        submit(500, "/held")
        let started = submit(40, "/b", at: free)
        try await wait(for: 40)
        #expect(failures.isEmpty && started.allSatisfy { $0.receivedBytes == 1_000 })
        #expect(origin.activeRequests.peak == 1)
        #expect(fetcher.engine.heldBackCount == 499)
        fetcher.engine.cancelAll(group: "lease-1")
        gate.open()
        try await wait(for: 540)
    }

    // MARK: Bytes a second

    @Test("bytes a second hold, and transfers share them")
    func byteRate() async throws {
        let body = sampleBytes(300_000)
        origin.serve("/b", body)
        limit(bytes: 400_000)
        let clock = ContinuousClock()
        let began = clock.now
        let transfers = submit(3, "/b")
        // When a third of all is there, it is a third of each.
        try await waitUntil(deadlineSeconds: 60) {
            transfers.reduce(0) { $0 + $1.receivedBytes } > 300_000
        }
        let received = transfers.map(\.receivedBytes)
        #expect((received.max() ?? 0) - (received.min() ?? 0) <= 40_000, "\(received)")
        #expect(clock.now - began > .seconds(0.7))
        try await wait(for: 3)
        #expect(failures.isEmpty)
        #expect(clock.now - began > .seconds(2.2))
        #expect(clock.now - began < .seconds(60))
        // Without the limit it is over in a moment.
        limit(bytes: 1_000)
        let slow = submit(1, "/b")
        try await waitUntil(deadlineSeconds: 60) { slow[0].receivedBytes > 0 }
        limit()
        try await wait(for: 4)
        #expect(failures.isEmpty)
    }

    @Test("bytes a second of a site hold over origins and loops, and end with their time")
    func siteRate() async throws {
        let other = try FaultOrigin()
        let body = sampleBytes(300_000)
        for origin in [origin, other] { origin.serve("/b", body) }
        let (site, free) = (SiteID(1), SiteID(2))
        func requests(_ url: String, of site: SiteID) -> [TransferRequest] {
            (0..<2).map { _ in
                var request = fetcher.memory(url, role: .data)
                request.owner.site = site
                return request
            }
        }
        func submit(_ requests: [TransferRequest]) -> [Transfer] {
            fetcher.engine.submit(requests) { _, result in
                ended.append(result.outcome.map(\.bytes))
            }
        }
        fetcher.engine.setRate(600_000, of: site, forSeconds: 60)
        // An origin's own limit holds beside it.
        limit(bytes: 100_000)
        let clock = ContinuousClock()
        let began = clock.now
        let bounded = submit(
            requests(origin.url("/b"), of: site) + requests(other.url("/b"), of: site))
        try await waitUntil(deadlineSeconds: 60) { bounded[3].receivedBytes > 0 }
        // Another site's work is not held up by it.
        let others = submit(requests(other.url("/b"), of: free))
        try await waitUntil(deadlineSeconds: 60) {
            others.allSatisfy { $0.receivedBytes == 300_000 }
        }
        #expect(bounded.contains { $0.receivedBytes < 300_000 })
        try await waitUntil(deadlineSeconds: 60) {
            bounded[2...].allSatisfy { $0.receivedBytes == 300_000 }
        }
        // 600,000 bytes of one origin and what came of the other meanwhile.
        #expect(clock.now - began > .seconds(0.9))
        limit()
        try await wait(for: 6)
        #expect(clock.now - began > .seconds(1.8))
        #expect(failures.isEmpty)

        fetcher.engine.setRate(50_000, of: site, forSeconds: 1)
        let last = submit(requests(origin.url("/b"), of: site))
        try await waitUntil(deadlineSeconds: 60) { last[0].receivedBytes > 0 }
        let set = clock.now
        try await waitUntil(deadlineSeconds: 60) { clock.now - set > .seconds(3) }
        // A second's worth, and no more after it.
        let received = last.reduce(0) { $0 + $1.receivedBytes }
        #expect(received < 100_000, "\(received)")
        fetcher.engine.setRate(nil, of: site, forSeconds: 0)
        try await wait(for: 8)
        #expect(failures.isEmpty)
    }
}
