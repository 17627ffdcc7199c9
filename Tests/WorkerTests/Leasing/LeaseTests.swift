import API
import Coordinator
import CoordinatorClient
import JobQueue
import Model
import TestSupport
import Testing

@testable import Worker

/// Workers that go away, in order or not, while others take over.
@Suite struct LeaseTests {
    typealias C = Cluster

    @Test func aDrainedWorkerGivesBackWhatItDidNotEnd() async throws {
        try await C.with(workers: 0) { cluster in
            let gate = Gate()
            let body = sampleBytes(30_000)
            var assets: [AssetSubmission] = []
            for number in 0..<12 {
                let path = "/d/\(number)"
                // Two connections: the first four answer, the next two hang for the first worker.
                cluster.origin.route(path) { request in
                    let hangs = (4..<6).contains(number) && request.number == 1
                    return hangs
                        ? request.serve(body).held(after: 1_000, at: gate) : request.serve(body)
                }
                assets.append(try cluster.file(path))
            }
            let catalog = try await cluster.submit(assets)
            let first = try cluster.startWorker(connections: 2, drainSeconds: 0)
            try await gate.waitUntilReached()
            try await waitUntil(deadlineSeconds: 30, "two hanging transfers") {
                let done = try await cluster.client.status(of: catalog).totals.segmentsDone
                return gate.waiting == 2 && done >= 4
            }
            try await first.drain()
            // Everything is either done or waits; nothing waits for a lease to run out.
            let queue = try await cluster.client.clusterStatus().queues[0]
            #expect(queue.leased == 0 && queue.waiting == 8, "\(queue)")
            #expect(first.service.core.held.isEmpty)

            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            gate.open()
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.retries == 0 })
            for number in 0..<12 { #expect(cluster.stored("/d/\(number)") == body) }
            for number in 0..<4 { #expect(cluster.origin.count("/d/\(number)") == 1) }
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    @Test func aDrainingWorkerEndsWhatItHasBegun() async throws {
        try await C.with(workers: 0) { cluster in
            let gate = Gate()
            let body = sampleBytes(30_000)
            cluster.origin.route("/d/a") { $0.serve(body).held(after: 1_000, at: gate) }
            let catalog = try await cluster.submit([try cluster.file("/d/a")])
            let worker = try cluster.startWorker()
            try await gate.waitUntilReached()
            await worker.service.drain()
            gate.open()
            try await worker.task.value
            let status = try await cluster.client.status(of: catalog)
            #expect(status.totals.completed == 1)
            #expect(cluster.stored("/d/a") == body)
        }
    }

    @Test func aDrainBeforeTheRunAndTwiceIsFine() async throws {
        try await C.with(workers: 0) { cluster in
            let worker = try cluster.startWorker()
            await worker.service.drain()
            await worker.service.drain()
            try await worker.task.value

            let cancelled = try cluster.startWorker()
            cancelled.task.cancel()
            try await cancelled.task.value
        }
    }

    /// A drained worker's request for work is still open at the coordinator when new work comes.
    @Test func noJobGoesToAWorkerThatHasLeft() async throws {
        try await C.with(workers: 0, leaseSeconds: 300) { cluster in
            let body = sampleBytes(100)
            cluster.origin.serve("/d/a", body)
            for _ in 0..<3 {
                let gone = try cluster.startWorker()
                try await waitUntil(deadlineSeconds: 30, "its first request") {
                    try await cluster.client.clusterStatus().workers.contains {
                        $0.id == gone.service.id
                    }
                }
                try await gone.drain()
            }
            let catalog = try await cluster.submit([try cluster.file("/d/a")])
            try cluster.startWorker()
            // Far below the length of a lease.
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 60)
            #expect(ended["/d/a"]?.state == .completed)
        }
    }

    /// The coordinator has granted jobs, and the answer is stuck on its way.
    private func withLostGrant(
        _ body: (Cluster, Cluster.RunningWorker, CatalogID, TCPProxy) async throws -> Void
    ) async throws {
        try await C.with(workers: 0, leaseSeconds: 300) { cluster in
            for number in 0..<3 { cluster.origin.serve("/d/\(number)", sampleBytes(100)) }
            let proxy = try TCPProxy(to: .port(UInt16(cluster.port)))
            let worker = try cluster.startWorker(port: Int(proxy.port))
            try await waitUntil(deadlineSeconds: 60, "its request for work") {
                cluster.coordinator.waitingRequests == 1
            }
            proxy.pause()
            let catalog = try await cluster.submit(
                try (0..<3).map { try cluster.file("/d/\($0)") })
            try await waitUntil(deadlineSeconds: 60, "the grant") {
                try await cluster.client.clusterStatus().queues[0].leased == 3
            }
            try await body(cluster, worker, catalog, proxy)
        }
    }

    @Test func aDrainedWorkerReturnsUnacknowledgedLeases() async throws {
        try await withLostGrant { cluster, worker, _, proxy in
            await worker.service.drain()
            proxy.cut()
            proxy.resume()
            try await worker.task.value
            let queue = try await cluster.client.clusterStatus().queues[0]
            #expect(queue.leased == 0 && queue.waiting == 3, "\(queue)")
            #expect(cluster.origin.requests.isEmpty)
        }
    }

    @Test func aGrantThatIsLostOnItsWayIsMadeAgain() async throws {
        try await withLostGrant { cluster, _, catalog, proxy in
            proxy.cut()
            proxy.resume()
            // Far below the length of a lease.
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 60)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.retries == 0 })
        }
    }

    @Test func heartbeatsKeepALongTransfersLease() async throws {
        try await C.with(leaseSeconds: 4) { cluster in
            let gate = Gate()
            let body = sampleBytes(30_000)
            cluster.origin.route("/d/slow") { $0.serve(body).held(after: 1_000, at: gate) }
            let catalog = try await cluster.submit([try cluster.file("/d/slow")])
            try await gate.waitUntilReached()
            // Longer than two leases.
            var status = try await cluster.client.status(of: catalog)
            try await waitUntil(deadlineSeconds: 30, "more than two leases") {
                status = try await cluster.client.status(of: catalog)
                return status.totals.seconds > 8.5
            }
            #expect(status.totals.retries == 0 && status.totals.receivingBytes == 1_000)
            gate.open()
            let ended = try await cluster.end(of: catalog)
            #expect(ended["/d/slow"]?.state == .completed)
            #expect(cluster.origin.count("/d/slow") == 1)
        }
    }

    /// The coordinator is out of reach for longer than a lease, without a connection being closed.
    @Test func aWorkerThatIsCutOffDropsItsWork() async throws {
        try await C.with(workers: 0, leaseSeconds: 2) { cluster in
            let gate = Gate()
            let (old, new) = (sampleBytes(40_000, seed: 1), sampleBytes(40_000, seed: 2))
            cluster.origin.route("/d/a") { request in
                request.number == 1
                    ? request.serve(old).held(after: 1_000, at: gate) : request.serve(new)
            }
            let proxy = try TCPProxy(to: .port(UInt16(cluster.port)))
            let catalog = try await cluster.submit([try cluster.file("/d/a")])
            let cut = try cluster.startWorker(port: Int(proxy.port), drainSeconds: 0)
            try await gate.waitUntilReached()
            proxy.pause()
            // It lets go by its own clock, while its heartbeat hangs.
            try await waitUntil(deadlineSeconds: 20, "the end of its lease") {
                cut.service.core.held.isEmpty
            }
            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            #expect(ended["/d/a"]?.state == .completed)
            #expect(cluster.stored("/d/a") == new)

            // The first answer arrives after all, and the coordinator is back.
            gate.open()
            proxy.resume()
            try await cut.drain()
            #expect(cluster.stored("/d/a") == new)
            #expect(try cluster.temporaryFiles().isEmpty)
            #expect(try await cluster.client.status(of: catalog).totals.segmentsDone == 1)
        }
    }

    /// Its bytes are there and its report is late: the other's stay, and the report changes nothing.
    @Test func aLateReportIsStale() async throws {
        try await C.with(workers: 0, leaseSeconds: 2) { cluster in
            let body = sampleBytes(1_000)
            cluster.origin.serve("/d/a", body)
            let catalog = try await cluster.submit([try cluster.file("/d/a")])
            let late: WorkerID = "00000000-0000-4000-8000-000000000001"
            let grant = try await cluster.client.lease(
                LeaseRequest(worker: late, queues: [], maxJobs: 1, waitMilliseconds: 0))
            let lease = try #require(grant.lease)
            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            #expect(ended["/d/a"]?.state == .completed)
            var report = JobReport(job: grant.jobs[0].id, lease: lease, outcome: .done())
            report.stored = StoredObject(bytes: 5, sha256: String(repeating: "0", count: 64))
            let answer = try await cluster.client.report(
                ReportRequest(worker: late, results: [report]))
            #expect(answer.answers == [.stale])
            let files = try await cluster.client.files(of: catalog).files
            #expect(files.map(\.sha256) == [C.sha256(body)])
        }
    }

    /// Results wait for a coordinator that is away for a while, and are not fetched again.
    @Test func resultsOutlastAnAbsenceOfTheCoordinator() async throws {
        try await C.with(workers: 0, leaseSeconds: 60) { cluster in
            let gate = Gate()
            let body = sampleBytes(1_000)
            for number in 0..<50 {
                cluster.origin.route("/d/\(number)") { $0.serve(body).held(at: gate) }
            }
            let proxy = try TCPProxy(to: .port(UInt16(cluster.port)))
            let catalog = try await cluster.submit(
                try (0..<50).map { try cluster.file("/d/\($0)") })
            try cluster.startWorker(port: Int(proxy.port), connections: 50)
            try await waitUntil(deadlineSeconds: 30, "all transfers") { gate.waiting == 50 }
            proxy.refuse()
            proxy.cut()
            gate.open()
            try await waitUntil(deadlineSeconds: 30, "all files") {
                try cluster.storedPaths().count == 50
            }
            try proxy.accept()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.allSatisfy { $0.state == .completed })
            #expect(cluster.origin.requests.count == 50)
        }
    }
}
