import API
import CoordinatorClient
import Model
import Synchronization
import TestSupport
import Testing
import Transfer

@testable import Worker

/// Jobs that a worker holds and cannot begin move to one that is idle.
@Suite(.timeLimit(.minutes(2))) struct SurplusTests {
    /// One job is wanted. What no connection is left for, others get as soon as they can begin it.
    @Test func aWorkerWithoutFreeConnectionsReturnsAllThatItHasNotBegun() async throws {
        let origin = try FaultOrigin()
        let isOpen = Gate()
        for number in 0..<12 {
            origin.route("/\(number)") { $0.serve(sampleBytes(1_000)).held(at: isOpen) }
        }
        defer { isOpen.open() }
        try await ScriptedCoordinator.with(connections: 4) { coordinator in
            let jobs = coordinator.grant((0..<12).map { origin.url("/\($0)") })
            try await waitUntil(deadlineSeconds: 60, "four transfers, and eight that wait") {
                isOpen.waiting == 4 && coordinator.worker.core.engine.unbegun.count == 8
            }
            coordinator.answerHeartbeats { $0.wantedJobs = 1 }
            try await waitUntil(deadlineSeconds: 60, "their return") {
                coordinator.jobs(.returned).count == 8
            }
            isOpen.open()
            try await waitUntil(deadlineSeconds: 60, "the end of the others") {
                coordinator.jobs(.done).count == 4 && coordinator.holdsNothing
            }
            #expect((coordinator.jobs(.returned) + coordinator.jobs(.done)).sorted() == jobs)
        }
    }

    /// Jobs may be small, and a stall short. Once no job has ended for a second, others get the rest.
    @Test func aWorkerWhoseJobsEndReturnsWhatIsWantedAlone() async throws {
        let origin = try FaultOrigin()
        let isOpen = Gate()
        for number in 0..<12 {
            origin.route("/\(number)") { $0.serve(sampleBytes(1_000)).held(at: isOpen) }
        }
        defer { isOpen.open() }
        try await ScriptedCoordinator.with(connections: 4) { coordinator in
            coordinator.grant((0..<12).map { origin.url("/\($0)") })
            let core = coordinator.worker.core
            try await waitUntil(deadlineSeconds: 60, "four transfers, and eight that wait") {
                isOpen.waiting == 4 && core.engine.unbegun.count == 8
            }
            // Beyond the time at which heartbeats are answered.
            let start = HeldWork.Instant.now + .seconds(3_600)
            func giveBack(_ count: Int, after milliseconds: Int) -> Int {
                let before = core.engine.unbegun.count
                coordinator.worker.leasing.loop.surplus.giveBack(
                    count, now: start + .milliseconds(milliseconds))
                return before - core.engine.unbegun.count
            }
            core.pace.ended(1, now: start)
            #expect(giveBack(1, after: 350) == 1)
            #expect(core.pace.bound(now: start + .milliseconds(350)) == 11)
            #expect(giveBack(0, after: 1_000) == 0)
            #expect(giveBack(2, after: 1_000) == 2)
            #expect(giveBack(0, after: 1_001) == 5)
            try await waitUntil(deadlineSeconds: 60, "their return") {
                coordinator.jobs(.returned).count == 8
            }
        }
    }

    /// A ninth file of two seconds, of a worker with eight connections, is worth a round of its own.
    @Test func aSingleJobIsReturnedBeforeItsRound() async throws {
        let origin = try FaultOrigin()
        let isOpen = Gate()
        for number in 0..<9 {
            origin.route("/\(number)") { $0.serve(sampleBytes(1_000)).held(at: isOpen) }
        }
        defer { isOpen.open() }
        try await ScriptedCoordinator.with(connections: 8) { coordinator in
            coordinator.answerHeartbeats { $0.wantedJobs = 1 }
            coordinator.grant((0..<9).map { origin.url("/\($0)") })
            try await waitUntil(deadlineSeconds: 60, "its return") {
                coordinator.jobs(.returned).count == 1
            }
        }
    }

    /// It takes no jobs, whatever others return for it.
    @Test func aWorkerThatDrainsReportsThatItIsNotIdle() async throws {
        try await ScriptedCoordinator.with(connections: 4) { coordinator in
            try await waitUntil(deadlineSeconds: 60, "idle connections") {
                coordinator.heartbeats.last?.idleConnections == 4
            }
            await coordinator.worker.drain()
            try await waitUntil(deadlineSeconds: 60, "none of them") {
                coordinator.heartbeats.last.map { $0.idleConnections == nil } ?? false
            }
        }
    }

    /// The origin's concurrency still grows, so that the worker may soon begin what it keeps.
    @Test func aWorkerWithFreeConnectionsReturnsWhatIsWanted() async throws {
        let origin = try FaultOrigin()
        let isOpen = Gate()
        for number in 0..<64 {
            origin.route("/\(number)") { $0.serve(sampleBytes(1_000)).held(at: isOpen) }
        }
        defer { isOpen.open() }
        try await ScriptedCoordinator.with(connections: 64) { coordinator in
            coordinator.grant((0..<64).map { origin.url("/\($0)") })
            let engine = coordinator.worker.core.engine
            try await waitUntil(deadlineSeconds: 60, "transfers, and some that wait") {
                isOpen.waiting >= 8 && engine.unbegun.count >= 3
            }
            coordinator.worker.leasing.loop.surplus.giveBack(3)
            isOpen.open()
            try await waitUntil(deadlineSeconds: 60, "the end of all") {
                coordinator.jobs(.done).count == 61 && coordinator.holdsNothing
            }
            #expect(coordinator.jobs(.returned).count == 3)
        }
    }

    /// The first worker leases all files, of which it begins eight. The origin answers none before
    /// the second worker, which comes later, holds some.
    @Test func aWorkerThatJoinsLateGetsJobsThatAreLeasedAlready() async throws {
        try await Cluster.with(workers: 0) { cluster in
            let isOpen = Gate()
            var assets: [AssetSubmission] = []
            for number in 0..<64 {
                cluster.origin.route("/d/\(number)") { request in
                    request.serve(sampleBytes(1_000)).held(at: isOpen)
                }
                assets.append(try cluster.file("/d/\(number)"))
            }
            defer { isOpen.open() }
            let first = try cluster.startWorker(connections: 64)
            let catalog = try await cluster.submit(assets)
            try await waitUntil(deadlineSeconds: 30, "the first worker holds all") {
                first.service.core.held.count == 64
            }
            let second = try cluster.startWorker(connections: 8)
            try await waitUntil(deadlineSeconds: 30, "the second worker holds some") {
                second.service.core.held.count >= 8
            }
            #expect(first.service.core.held.count <= 56)
            isOpen.open()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.allSatisfy { $0.state == .completed })
            let totals = try await cluster.client.status(of: catalog).totals
            #expect(totals.segmentsDone == 64 && totals.retries == 0)
            // To be returned is no attempt.
            let attempts = try await cluster.execute("SELECT max(attempts) FROM result")
            #expect(attempts.split(whereSeparator: \.isWhitespace) == ["1"])
        }
    }
}
