import API
import CoordinatorClient
import Model
import Storage
import TestSupport
import Testing
import Transfer

@testable import Worker

/// Requests and reports of a worker, by its objects alone.
@Suite struct LeasingObjectTests {
    private static func with(_ body: (WorkerService) async throws -> Void) async throws {
        let edge = try TemporaryDirectory("edge")
        let worker = try WorkerService(
            WorkerService.Configuration(
                coordinators: ["http://127.0.0.1:9"], token: .test,
                roots: SiteRoots(existing: [edge.path]), connections: 4, name: "w"))
        defer {
            worker.core.engine.shutdown()
            worker.core.client.shutdown()
            edge.remove()
        }
        try await body(worker)
    }

    private static func jobs(_ count: Int64) -> [Job] {
        (1...count).map {
            .fetch($0, "http://origin.test/\($0)", key: "h/\($0)")
        }
    }

    @Test func aWorkerAsksForAJobForEachConnection() async throws {
        try await Self.with { worker in
            let demand = worker.leasing.loop.demand
            #expect(await demand.next()?.count == 4)
            worker.core.held.add("l", Self.jobs(3), at: SiteID(1), seconds: 30, askedAt: .now)
            #expect(await demand.next()?.count == 1)
        }
    }

    @Test func aWorkerWithEnoughJobsWaitsForOnesThatEnd() async throws {
        try await Self.with { worker in
            let demand = worker.leasing.loop.demand
            worker.core.held.add("l", Self.jobs(5), at: SiteID(1), seconds: 30, askedAt: .now)
            #expect(await demand.next() == nil)
            for job in Self.jobs(5) { worker.core.held.downloaded(job.id, "l") }
            worker.core.pace.ended(5)
            #expect(await demand.next()?.count ?? 0 >= 4)
        }
    }

    @Test func whatCoordinatorsDoNotHaveMakesAHeartbeatDue() async throws {
        try await Self.with { worker in
            let source = worker.leasing.heartbeats.source
            let idle = source.state()
            #expect(!source.hasUnreported(idle, since: nil))
            #expect(source.patience(idle, since: nil) == .seconds(WireLimits.idleHeartbeatSeconds))
            worker.core.held.add("l", Self.jobs(1), at: SiteID(1), seconds: 30, askedAt: .now)
            #expect(source.patience(source.state(), since: idle) == .seconds(1))
            worker.sites.failures.refuse(SiteID(1), Failure("storage.outsideRoots", ""))
            let refused = source.state()
            #expect(source.hasUnreported(refused, since: idle))
            #expect(!source.hasUnreported(refused, since: refused))
            let heartbeat = source.heartbeat(refused)
            #expect(heartbeat.leases == ["l"] && heartbeat.refusedSites == [SiteID(1)])
            #expect(heartbeat.queues == nil && heartbeat.roots?.count == 1)
        }
    }

    /// A rate of 2,000 jobs a second, which is of earlier jobs once nothing has come for a while.
    @Test func aRequestForAReserveDoesNotWaitLong() async throws {
        try await Self.with { worker in
            let loop = worker.leasing.loop
            func request() async throws -> LeaseRequest {
                loop.request(
                    for: try #require(await loop.demand.next()), as: "l", outsideRoots: nil)
            }
            let first = try await request()
            #expect(first.maxJobs == 4 && first.waitMilliseconds == WireLimits.waitMilliseconds)
            let end = HeldWork.Instant.now + .seconds(60)
            worker.core.pace.ended(200, now: end)
            worker.core.pace.ended(200, now: end + .milliseconds(100))
            let ahead = try await request()
            #expect(ahead.maxJobs == 604 && ahead.waitMilliseconds == 300)
        }
    }

    /// Three connections without a job, and a hundred jobs that an origin's limits hold back.
    @Test func aRequestForAReserveWaitsLongerWhileJobsAreHeldBack() {
        func wait(_ wanted: Int, heldBack: Int) -> Int? {
            LeaseDemand.waitMilliseconds(wanted: wanted, withoutJob: 3, heldBack: heldBack)
        }
        #expect(wait(3, heldBack: 0) == nil && wait(3, heldBack: 100) == nil)
        #expect(wait(4, heldBack: 0) == 300)
        #expect(wait(4, heldBack: 100) == 5_000)
    }

    /// A worker knows by its engine alone which jobs are of slow origins.
    @Test func jobsStartUntilTheEngineHasThem() async throws {
        try await Self.with { worker in
            let held = worker.core.held
            held.add("l", Self.jobs(4), at: SiteID(1), seconds: 30, askedAt: .now)
            #expect(held.startingCount == 4)
            async let started: Void = held.waitUntil(.nothingStarting)
            let transfer = worker.core.engine.submit(
                TransferRequest(
                    url: "http://127.0.0.1:9/1", group: "g", destination: .memory, role: .data)
            ) { _, _ in }
            held.setTransfer(transfer, of: JobID(1), "l")
            held.setTransfer(transfer, of: JobID(1), "l")
            #expect(held.startingCount == 3)
            held.received(JobID(1), "l")
            held.downloaded(JobID(2), "l")
            #expect(held.startingCount == 2)
            held.remove([(job: JobID(3), lease: "l" as LeaseID)])
            #expect(held.startingCount == 1)
            #expect(held.dropLost { _ in true } == ["l"])
            #expect(held.startingCount == 0)
            await started
        }
    }

    @Test func aWorkerWithEnoughJobsHasNoIdleConnections() async throws {
        try await Self.with { worker in
            let loop = worker.leasing.loop
            let start = HeldWork.Instant.now
            loop.surplus.asks(now: start)
            #expect(loop.surplus.idleConnections(now: start + .seconds(1)) == 4)
            worker.core.held.add("l", Self.jobs(5), at: SiteID(1), seconds: 30, askedAt: .now)
            #expect(await loop.demand.next() == nil)
            #expect(loop.surplus.idleConnections(now: start + .seconds(1)) == 0)
        }
    }

    /// It takes part in a load test, or drains.
    @Test func aWorkerWithoutJobsReportsAtOnceThatItAsksForNoneAnyMore() async throws {
        try await Self.with { worker in
            let source = worker.leasing.heartbeats.source
            var idle = source.state()
            idle.idleConnections = 4
            let state = source.state()
            #expect(state.idleConnections == 0)
            #expect(source.hasUnreported(state, since: idle))
            #expect(!source.hasUnreported(state, since: state))
        }
    }

    @Test func aWaitForJobsGoesOnOverSeveralRequests() async throws {
        try await Self.with { worker in
            let surplus = worker.leasing.loop.surplus
            let start = HeldWork.Instant.now
            func at(_ milliseconds: Int) -> HeldWork.Instant {
                start + .milliseconds(milliseconds)
            }
            #expect(surplus.timeToIdle(now: start) == nil)
            surplus.asks(now: start)
            #expect(surplus.timeToIdle(now: at(50)) == .milliseconds(150))
            surplus.asks(now: at(150))
            #expect(surplus.idleConnections(now: at(199)) == 0)
            #expect(surplus.timeToIdle(now: at(200)) == nil)
            #expect(surplus.idleConnections(now: at(200)) == 4)
            surplus.stopsAsking()
            #expect(surplus.idleConnections(now: at(300)) == 0)
            surplus.asks(now: at(300))
            #expect(surplus.idleConnections(now: at(499)) == 0)
        }
    }

    @Test func newSurplusIsReportedSoonerThanOldOne() async throws {
        try await Self.with { worker in
            let source = worker.leasing.heartbeats.source
            worker.core.held.add("l", Self.jobs(1), at: SiteID(1), seconds: 30, askedAt: .now)
            let before = source.state()
            var state = before
            state.surplusJobs = 1
            #expect(source.patience(state, since: before) == .milliseconds(200))
            #expect(source.patience(state, since: nil) == .milliseconds(200))
            #expect(source.patience(state, since: state) == .milliseconds(500))
        }
    }

    @Test func leasesThatAreToBeExtendedComeFirst() async throws {
        try await Self.with { worker in
            let held = worker.core.held
            for number in 0..<20 {
                held.add("l\(number)", Self.jobs(1), at: SiteID(1), seconds: 30, askedAt: .now)
            }
            held.add("old", Self.jobs(1), at: SiteID(1), seconds: 30, askedAt: .now - .seconds(11))
            let source = worker.leasing.heartbeats.source
            let state = source.state()
            #expect(state.urgent == ["old"])
            let leases = source.heartbeat(state).leases
            #expect(leases.first == "old" && Set(leases).count == 21)
        }
    }
}
