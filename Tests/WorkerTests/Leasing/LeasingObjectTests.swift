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
            #expect(source.patience(idle) == .seconds(WireLimits.idleHeartbeatSeconds))
            worker.core.held.add("l", Self.jobs(1), at: SiteID(1), seconds: 30, askedAt: .now)
            #expect(source.patience(source.state()) == .seconds(1))
            worker.sites.failures.refuse(SiteID(1), Failure("storage.outsideRoots", ""))
            let refused = source.state()
            #expect(source.hasUnreported(refused, since: idle))
            #expect(!source.hasUnreported(refused, since: refused))
            let heartbeat = source.heartbeat(refused)
            #expect(heartbeat.leases == ["l"] && heartbeat.refusedSites == [SiteID(1)])
            #expect(heartbeat.queues == nil && heartbeat.roots?.count == 1)
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
