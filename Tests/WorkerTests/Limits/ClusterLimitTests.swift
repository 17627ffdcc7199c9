import API
import CoordinatorClient
import EventLoop
import Model
import Synchronization
import TestSupport
import Testing
import Transfer

@testable import Worker

/// What an origin sees, at its sockets, of many workers that know each other only by what coordinators
/// say.
@Suite("Limits of origins over a cluster", .serialized, .timeLimit(.minutes(5)))
struct ClusterLimitTests {
    typealias C = Cluster

    private func limit(
        _ cluster: C, connections: Int? = nil, requests: Double? = nil
    ) async throws {
        let limits = OriginLimits(connections: connections, requestsPerSecond: requests)
        try await cluster.client.setLimits(
            OriginLimitsChange(
                origin: originName(of: cluster.origin.url()),
                limits: limits == OriginLimits() ? nil : limits))
    }

    /// The longest time in which a coordinator answered nothing, as when the machine has no time for it.
    private struct Silence {
        private var since = MonotonicClock.nowSeconds
        private(set) var longestSeconds = 0.0

        mutating func end() {
            let now = MonotonicClock.nowSeconds
            longestSeconds = max(longestSeconds, now - since)
            since = now
        }
    }

    /// One answer in the middle is a 429 with Retry-After. No request may come while that holds. The
    /// origin cannot know which requests were on their way when it said so: what counts is what comes
    /// after every worker knows the limit, as the workers show, and how long that took.
    /// A tenth of a second is for what was sent just before.
    @Test("eight workers of three coordinators are one to the origin")
    func eightWorkers() async throws {
        try await C.with(workers: 0, leaseSeconds: 6, coordinators: 3) { cluster in
            let origin = cluster.origin
            // A share of one connection, for up to six requests a second, and of five requests.
            let (connections, requests, cooldown) = (8, 40.0, 8.0)
            let body = sampleBytes(2_000)
            var assets: [AssetSubmission] = []
            for number in 0..<500 {
                // Connections are the limit at times.
                origin.route("/d/\(number)") { $0.serve(body).taking(seconds: 0.15) }
                assets.append(try cluster.file("/d/\(number)"))
            }
            let answeredAt = Mutex<Double?>(nil)
            origin.route("/d/middle") { request in
                guard request.number == 1 else { return request.serve(body) }
                answeredAt.withLock { $0 = MonotonicClock.nowSeconds }
                return FaultOrigin.Response(429).with("Retry-After", "\(Int(cooldown))")
            }
            assets.insert(try cluster.file("/d/middle"), at: 220)
            try await limit(cluster, connections: connections, requests: requests)
            let workers = try (0..<8).map { number in
                try cluster.startWorker(port: cluster.ports[number % 3], connections: 8)
            }
            let catalog = try await cluster.submit(assets)

            var silence = Silence()
            try await waitUntil(deadlineSeconds: 120, "the 429") {
                _ = try await cluster.client.status(of: catalog)
                silence.end()
                return answeredAt.withLock { $0 } != nil
            }
            try await waitUntil(deadlineSeconds: 60, "every worker knows") {
                workers.allSatisfy { $0.service.core.engine.isAnyInCooldown }
            }
            let allKnow = MonotonicClock.nowSeconds
            let answered = try #require(answeredAt.withLock { $0 })
            #expect(allKnow - answered < cooldown / 2, "\(allKnow - answered) s")
            try await waitUntil(deadlineSeconds: 180, "the catalog's end") {
                defer { silence.end() }
                return try await cluster.client.status(of: catalog).state.isTerminal
            }
            let ended = try await cluster.end(of: catalog)

            #expect(ended.values.allSatisfy { $0.state == .completed })
            #expect((4...connections).contains(origin.connections.peak))
            #expect((20...Int(requests)).contains(origin.maxRequests(inSeconds: 1)))
            let times = origin.requests.map { $0.receivedAt - answered }
            let within = times.filter { $0 > allKnow - answered + 0.1 && $0 < cooldown }
            #expect(within.isEmpty, "\(within)")
            #expect(times.contains { $0 < 0 } && times.contains { $0 > cooldown })
            // One was rejected. The others are asked for once, but for those whose lease or share ran out
            // on the way: of leases of six seconds that takes some during which no coordinator answered.
            #expect(origin.requests.count >= 502)
            let repeated = origin.requests.count - 502
            #expect(repeated <= 18 || silence.longestSeconds > 1, "\(silence)")
            // And more than one worker had a part in it.
            let status = try await cluster.client.clusterStatus()
            #expect(status.workers.count == 8)
        }
    }

    @Test("a limit of an origin in use holds within seconds, and so does its end")
    func changedLimits() async throws {
        try await C.with(workers: 0) { cluster in
            let gate = Gate()
            let body = sampleBytes(1_000)
            var assets: [AssetSubmission] = []
            for number in 0..<40 {
                cluster.origin.route("/d/\(number)") { $0.serve(body).held(at: gate) }
                assets.append(try cluster.file("/d/\(number)"))
            }
            let catalog = try await cluster.submit(assets)
            for _ in 0..<2 { try cluster.startWorker(connections: 6) }
            try await waitUntil(deadlineSeconds: 60, "all connections") {
                cluster.origin.activeRequests.now >= 12
            }
            try await limit(cluster, connections: 4)
            try await waitUntil(deadlineSeconds: 25, "four connections") {
                cluster.origin.connections.now <= 4
            }
            #expect(try await cluster.client.status(of: catalog).totals.failed == 0)
            // Quotas still count for most of a lease; without limits no worker waits for that.
            try await limit(cluster)
            gate.open()
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 25)
            let failing = ended.filter { $0.value.state != .completed || $0.value.retries != 0 }
            #expect(failing.isEmpty, "\(failing)")
        }
    }
}
