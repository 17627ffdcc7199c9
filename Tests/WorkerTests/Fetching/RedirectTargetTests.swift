import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

/// Where a redirect leads to is an origin of its own, which answers for itself.
@Suite(.timeLimit(.minutes(2))) struct RedirectTargetTests {
    typealias C = Cluster

    private func decisions(_ cluster: C, of origin: String) async throws -> [String] {
        try await cluster.client.origins().origins.flatMap { status in
            status.origin == origin ? status.decisions.map(\.decision) : []
        }
    }

    @Test func retryAfterBehindARedirectCoolsTheOriginThatSentIt() async throws {
        let target = try FaultOrigin()
        try await C.with { cluster in
            let body = sampleBytes(10_000)
            target.route("/moved") {
                $0.number == 1
                    ? FaultOrigin.Response(429).with("Retry-After", "2") : $0.serve(body)
            }
            cluster.origin.route("/moved", .redirect(to: target.url("/moved")))
            let ended = try await cluster.run([try cluster.file("/moved")])
            #expect(ended["/moved"]?.state == .completed && ended["/moved"]?.retries == 1)
            #expect(cluster.stored("/moved") == body)
            #expect(try await decisions(cluster, of: target.url("")) == ["cooldown"])
            #expect(try await decisions(cluster, of: cluster.origin.url("")) == [])
        }
    }

    /// The cooldown of an origin behind a redirect does not occupy a worker's slots.
    @Test func aRedirectToAnOriginInCooldownWaitsInTheQueue() async throws {
        let target = try FaultOrigin()
        try await C.with { cluster in
            let body = sampleBytes(1_000)
            target.route("/first", FaultOrigin.Response(503).with("Retry-After", "3600"))
            cluster.origin.route("/first", .redirect(to: target.url("/first")))
            let catalog = try await cluster.submit([try cluster.file("/first")])
            try await waitUntil(deadlineSeconds: 60, "the cooldown") {
                try await decisions(cluster, of: target.url("")) == ["cooldown"]
            }
            var assets = try (0..<100).map { number in
                cluster.origin.route("/led/\(number)", .redirect(to: target.url("/\(number)")))
                return try cluster.file("/led/\(number)")
            }
            cluster.origin.serve("/own", body)
            assets.append(try cluster.file("/own"))
            let other = try await cluster.submit(assets, catalog: "other")
            try await waitUntil(deadlineSeconds: 60, "all that can be fetched") {
                let queues = try await cluster.client.queues().queues
                let done = try await cluster.client.status(of: other).totals.completed
                return done == 1 && queues.allSatisfy { $0.leased == 0 }
            }
            #expect(target.requests.map(\.target) == ["/first"])
            #expect(try await cluster.client.status(of: catalog).totals.failed == 0)
            #expect(try await cluster.client.status(of: other).totals.failed == 0)
        }
    }
}
