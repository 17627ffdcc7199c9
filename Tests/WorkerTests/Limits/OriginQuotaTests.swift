import API
import Model
import TestSupport
import Testing

@testable import Worker

/// A worker's use of the coordinator's data about origins.
@Suite(.timeLimit(.minutes(5))) struct OriginQuotaTests {
    typealias Coordinator = ScriptedCoordinator

    let origin: FaultOrigin
    let gate = Gate()

    init() throws {
        origin = try FaultOrigin()
        origin.serve("/a", sampleBytes(1_000))
        origin.route("/held", FaultOrigin.Response(text: "x").held(at: gate))
    }

    private func share(_ connections: Int? = nil, seconds: Double = 30) -> OriginQuota {
        OriginQuota(
            origin: originName(of: origin.url()) ?? "", connections: connections, seconds: seconds)
    }

    @Test func aGrantsShareHoldsForItsJobs() async throws {
        try await Coordinator.with { coordinator in
            let jobs = coordinator.grant(
                Array(repeating: origin.url("/a"), count: 40), shares: [share(2)])
            try await waitUntil(deadlineSeconds: 60) { coordinator.jobs(.done) == jobs }
            #expect(origin.connections.peak <= 2)
            try await waitUntil(deadlineSeconds: 60) { origin.connections.now == 0 }
        }
    }

    @Test func aShareIsRenewedInTimeOrTheJobsAreGivenBack() async throws {
        try await Coordinator.with { coordinator in
            coordinator.answerHeartbeats { $0.shares = [share(1, seconds: 6)] }
            let jobs = coordinator.grant(
                Array(repeating: origin.url("/held"), count: 3), shares: [share(1, seconds: 6)])
            // Heartbeats come often enough for it, though nothing has been received.
            try await waitUntil(deadlineSeconds: 60) { coordinator.heartbeats.count >= 5 }
            #expect(coordinator.reports.isEmpty && origin.activeRequests.now == 1)
            coordinator.answerHeartbeats { $0.shares = nil }
            try await waitUntil(deadlineSeconds: 60) { coordinator.jobs(.returned) == jobs }
            #expect(origin.connections.now == 0 && coordinator.jobs(.failed).isEmpty)
            gate.open()
        }
    }

    @Test func jobsOfALimitedOriginLeaveSlotsForOthers() async throws {
        try await Coordinator.with(connections: 2) { coordinator in
            let free = try FaultOrigin()
            free.serve("/b", sampleBytes(1_000))
            // Far more than a worker of two connections keeps in hand.
            coordinator.grant(
                Array(repeating: origin.url("/held"), count: 50), shares: [share(1)])
            var others: [JobID] = []
            for _ in 0..<4 {
                others += coordinator.grant(Array(repeating: free.url("/b"), count: 5))
                let awaited = others
                try await waitUntil(deadlineSeconds: 60) { coordinator.jobs(.done) == awaited }
            }
            #expect(origin.activeRequests.peak == 1)
            gate.open()
        }
    }

    @Test func theUseOfAnOriginIsReported() async throws {
        try await Coordinator.with { coordinator in
            coordinator.grant(
                Array(repeating: origin.url("/held"), count: 5), shares: [share(2, seconds: 9)])
            // It knows when to renew the quota.
            var report: OriginReport?
            try await waitUntil(deadlineSeconds: 60) {
                report = coordinator.heartbeats.compactMap { $0.origins?.first }
                    .first { $0.active == 2 }
                return report != nil
            }
            #expect(report?.origin == originName(of: origin.url()))
            #expect(report?.concurrency == 2 && report?.waiting == 3)
            #expect(report?.decision == "lowered")
            #expect(report?.reason == "limited to 2")
            gate.open()
        }
    }

    // MARK: Cancelled jobs

    @Test func aCancelledJobIsStoppedAndNotReported() async throws {
        try await Coordinator.with(connections: 3) { coordinator in
            let body = sampleBytes(50_000)
            origin.route("/part", FaultOrigin.Response(body: body).held(after: 10_000, at: gate))
            let urls = ["/part", "/held", "/held", "/held", "/held"].map { origin.url($0) }
            let jobs = coordinator.grant(urls)
            try await waitUntil(deadlineSeconds: 60) { origin.activeRequests.now == 3 }
            // One that receives, one that waits for its answer, one that waits for a connection.
            let cancelled = [jobs[0], jobs[1], jobs[4]]
            coordinator.answerHeartbeats { $0.cancelled = cancelled }
            try await waitUntil(deadlineSeconds: 60) { origin.connections.now == 2 }
            gate.open()
            try await waitUntil(deadlineSeconds: 60) { coordinator.holdsNothing }
            #expect(coordinator.jobs(.done) == [jobs[2], jobs[3]])
            #expect(coordinator.reports.count == 2)
            #expect(
                try coordinator.edge.files().sorted()
                    == ["h/\(jobs[2])", "h/\(jobs[3])"].sorted())
            #expect(origin.count("/held") == 3)
        }
    }

    // MARK: Cooldowns

    private func cooldown(_ seconds: Double) -> OriginCooldown {
        OriginCooldown(origin: originName(of: origin.url()) ?? "", seconds: seconds)
    }

    @Test func noQuotaIsRequestedForAnOriginInCooldown() async throws {
        try await Coordinator.with { coordinator in
            let free = try FaultOrigin()
            free.serve("/b", [1])
            let clock = ContinuousClock()
            let told = clock.now
            let others = coordinator.grant([free.url("/b")], cooldowns: [cooldown(2)])
            try await waitUntil(deadlineSeconds: 60) { coordinator.jobs(.done) == others }
            // Its reported connections are not those that came with the jobs.
            let front = try FaultOrigin()
            front.route("/go", FaultOrigin.Response.redirect(to: origin.url("/a")))
            let jobs = coordinator.grant([front.url("/go")])
            try await waitUntil(deadlineSeconds: 60) { coordinator.jobs(.done).count == 2 }
            #expect(coordinator.jobs(.done) == others + jobs)
            #expect(clock.now - told >= .seconds(2))
            #expect(origin.count("/a") == 1 && front.count("/go") == 1)
        }
    }

    @Test func jobsThatAreHandedOutLaterMayAsk() async throws {
        try await Coordinator.with { coordinator in
            coordinator.answerHeartbeats { $0.cooldowns = [cooldown(600)] }
            try await waitUntil(deadlineSeconds: 60) { coordinator.heartbeats.count >= 1 }
            coordinator.answerHeartbeats { $0.cooldowns = nil }
            let first = coordinator.grant([origin.url("/a")])
            // Earlier requests are returned by the cooldown; later ones are sent.
            try await waitUntil(deadlineSeconds: 60) { coordinator.reports.count >= 1 }
            let second = coordinator.grant([origin.url("/a")])
            try await waitUntil(deadlineSeconds: 60) { coordinator.jobs(.done).contains(second[0]) }
            #expect(coordinator.reports.first?.job == first[0])
        }
    }
}
