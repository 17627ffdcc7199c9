import API
import JobQueue
import Model
import TestSupport
import Testing

@Suite struct ProgressTests {
    typealias F = QueueFixture

    @Test func runningTransfersShowBeforeTheirResults() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...4).map { F.file("f\($0)") })
            let grant = try await fixture.lease(2)
            _ = try await fixture.report([F.done(grant.jobs[0], grant, bytes: 100)])
            let second = grant.jobs[1].asset
            _ = try await fixture.queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: fixture.worker, leases: [grant.lease ?? ""],
                    progress: [
                        second.description: TransferProgress(
                            receivedBytes: 30, expectedBytes: 300, transfers: 1)
                    ], name: "w", activeTransfers: 1))
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.totals.bytes == 100 && status.totals.receivingBytes == 30)
            // Two are known, of 100 and 300 bytes; two are taken to be of 200.
            #expect(status.totals.expectedBytes == 800)
            #expect(status.active.map(\.id) == [second])
            #expect(status.active.map(\.bytes) == [30])
            #expect(status.active.map(\.expectedBytes) == [300])
            var brief = try await fixture.queue.catalogs.status(of: catalog, withActive: false)
            // Asked a moment later.
            brief.totals.seconds = status.totals.seconds
            #expect(brief.active.isEmpty && brief.totals == status.totals)

            // Its worker is gone: another resumes the body, and its bytes are not counted twice.
            try await fixture.expireLeases()
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.receivingBytes == 0)
            try await fixture.skipDelays()
            let other = WorkerID.random()
            let again = try await fixture.lease(4, as: other)
            var resumed = TransferProgress(receivedBytes: 40, expectedBytes: 300, transfers: 1)
            resumed.resumedBytes = 30
            _ = try await fixture.queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: other, leases: [again.lease ?? ""],
                    progress: [second.description: resumed], name: "o", activeTransfers: 1))
            let after = try await fixture.queue.catalogs.status(of: catalog)
            #expect(after.totals.receivingBytes == 40 && after.totals.expectedBytes == 800)
            #expect(after.active.first { $0.id == second }?.bytes == 40)
            #expect(status.totals.resumedBytes == nil && after.totals.resumedBytes == 30)
            #expect(after.active.first { $0.id == second }?.resumedBytes == 30)
        }
    }

    private static func beat(
        _ fixture: QueueFixture, _ worker: WorkerID, _ grant: LeaseGrant?,
        name: String, _ progress: [(asset: AssetID, received: Int64, expected: Int64)]
    ) async throws {
        var byAsset: [String: TransferProgress] = [:]
        for entry in progress {
            byAsset[entry.asset.description] = TransferProgress(
                receivedBytes: entry.received, expectedBytes: entry.expected, transfers: 1)
        }
        _ = try await fixture.queue.jobs.leases.heartbeat(
            Heartbeat(
                worker: worker, leases: [grant?.lease].compactMap(\.self), progress: byAsset,
                name: name,
                activeTransfers: progress.count))
    }

    /// The process of a private cluster was killed, and its leases have not ended.
    @Test func theNextProcessOfAPrivateClusterCountsNoBytesOfTheOneBefore() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...2).map { F.file("f\($0)") })
            let grant = try await fixture.lease(2)
            let transfers = grant.jobs.map {
                (asset: $0.asset, received: Int64(30), expected: Int64(100))
            }
            try await Self.beat(
                fixture, fixture.worker, grant,
                name: Workers.embeddedName(process: 7, number: 1), transfers)
            // One that has joined the cluster from elsewhere continues.
            let other = WorkerID.random()
            try await Self.beat(fixture, other, nil, name: "embedded-here", [])
            #expect(
                try await fixture.queue.catalogs.status(of: catalog).totals.receivingBytes == 60)
            #expect(try await fixture.queue.workers.clusterStatus().workers.count == 2)

            try await fixture.queue.workers.forgetWorkers()
            let after = try await fixture.queue.catalogs.status(of: catalog)
            #expect(after.totals.receivingBytes == 0 && after.totals.expectedBytes == nil)
            let workers = try await fixture.queue.workers.clusterStatus().workers
            #expect(workers.map(\.name) == ["embedded-here"])
            // No notification is needed.
            #expect(try await fixture.queue.workers.noteSilent() == 0)

            // The same list again: interrupted, and under way with another worker.
            try await fixture.queue.catalogs.submissions.interruptAll()
            try await fixture.submit((1...2).map { F.file("f\($0)") })
            let again = try await fixture.lease(2, as: other)
            try await Self.beat(
                fixture, other, again, name: "w",
                again.jobs.map { (asset: $0.asset, received: 50, expected: 100) })
            let totals = try await fixture.queue.catalogs.status(of: catalog).totals
            #expect(totals.receivingBytes == 100 && totals.expectedBytes == 200)
        }
    }

    @Test func aResultIsNotCountedBesideTheHeartbeatBeforeIt() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...2).map { F.file("f\($0)") })
            let grant = try await fixture.lease(2)
            try await Self.beat(
                fixture, fixture.worker, grant, name: "w",
                grant.jobs.map { (asset: $0.asset, received: 90, expected: 100) })
            _ = try await fixture.report([F.done(grant.jobs[0], grant, bytes: 100)])
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.totals.bytes == 100 && status.totals.receivingBytes == 90)
            #expect(status.totals.expectedBytes == 200)
            #expect(status.active.allSatisfy { $0.bytes <= 100 })
        }
    }

    @Test func whatIsPausedKeepsItsSizeAndItsBytes() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...3).map { F.file("f\($0)") })
            let grant = try await fixture.lease(3)
            let large = grant.jobs[2].asset
            try await Self.beat(
                fixture, fixture.worker, grant, name: "w",
                [
                    (asset: grant.jobs[0].asset, received: 5, expected: 10),
                    (asset: grant.jobs[1].asset, received: 5, expected: 10),
                    (asset: large, received: 40, expected: 1_000),
                ])
            func totals() async throws -> CatalogTotals {
                try await fixture.queue.catalogs.status(of: catalog).totals
            }
            let before = try await totals()
            #expect(before.receivingBytes == 50 && before.expectedBytes == 1_020)

            var pause = SelectionAction(.pause, catalog: CatalogReference(catalog))
            pause.asset = "f3"
            _ = try await fixture.queue.catalogs.selections.apply(pause)
            let returned = JobReport(
                job: grant.jobs[2].id, lease: grant.lease ?? "", outcome: .returned())
            _ = try await fixture.report([F.done(grant.jobs[0], grant), returned])
            try await Self.beat(
                fixture, fixture.worker, grant, name: "w",
                [(asset: grant.jobs[1].asset, received: 6, expected: 10)])
            let paused = try await totals()
            #expect(paused.bytes + paused.receivingBytes == 56 && paused.expectedBytes == 1_020)
            let listing = try await fixture.queue.catalogs.listings.browse(
                AssetQuery(CatalogReference(catalog)))
            #expect(listing.assets.map(\.bytes) == [10, 6, 40])
            let queues = try await fixture.queue.sites.queues()
            #expect(queues.map(\.waiting) == [0])

            var resume = pause
            resume.action = .resume
            _ = try await fixture.queue.catalogs.selections.apply(resume)
            // Before a worker has it again, and after.
            #expect(try await totals().expectedBytes == 1_020)
            try await fixture.skipDelays()
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.asset) == [large])
            try await Self.beat(
                fixture, fixture.worker, again, name: "w",
                [
                    (asset: grant.jobs[1].asset, received: 7, expected: 10),
                    (asset: large, received: 60, expected: 1_000),
                ])
            let last = try await totals()
            #expect(last.bytes + last.receivingBytes == 77 && last.expectedBytes == 1_020)
        }
    }

    /// Interrupted by their submitter, which worker or private cluster stops first.
    @Test(arguments: [false, true])
    func whatIsInterruptedKeepsItsBytes(isReturned: Bool) async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...3).map { F.file("f\($0)") })
            let grant = try await fixture.lease(3)
            let (first, second) = (grant.jobs[0].asset, grant.jobs[1].asset)
            try await Self.beat(
                fixture, fixture.worker, grant, name: "w",
                [
                    (asset: first, received: 40, expected: 100),
                    (asset: second, received: 7, expected: 10),
                ])
            if isReturned {
                // Its worker drains: it gives back what it has, and reports nothing of it any more.
                let returned = grant.jobs.map {
                    JobReport(job: $0.id, lease: grant.lease ?? "", outcome: .returned())
                }
                _ = try await fixture.report(returned)
                try await Self.beat(fixture, fixture.worker, grant, name: "w", [])
            }
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            try await Self.beat(fixture, fixture.worker, grant, name: "w", [])
            func bytes() async throws -> [Int64] {
                let listing = try await fixture.queue.catalogs.listings.browse(
                    AssetQuery(CatalogReference(catalog)))
                return listing.assets.map(\.bytes)
            }
            #expect(try await bytes() == [40, 7, 0])
            let interrupted = try await fixture.queue.catalogs.status(of: catalog)
            #expect(interrupted.state == .interrupted)
            #expect(interrupted.totals.bytes == 0 && interrupted.totals.receivingBytes == 47)

            // It continues there, and nothing counts twice.
            try await fixture.submit((1...3).map { F.file("f\($0)") })
            #expect(
                try await fixture.queue.catalogs.status(of: catalog).totals.receivingBytes == 47)
            let other = WorkerID.random()
            let again = try await fixture.lease(3, as: other)
            try await Self.beat(
                fixture, other, again, name: "o",
                [(asset: first, received: 50, expected: 100)])
            #expect(
                try await fixture.queue.catalogs.status(of: catalog).totals.receivingBytes == 57)

            // What is cancelled is not resumed.
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await bytes() == [50, 7, 0])
            let selections = fixture.queue.catalogs.selections
            let all = CatalogReference(catalog)
            _ = try await selections.apply(SelectionAction(.cancel, catalog: all))
            #expect(try await bytes() == [0, 0, 0])
            _ = try await selections.apply(SelectionAction(.retry, catalog: all))
            try await Self.beat(fixture, other, again, name: "o", [])
            #expect(try await bytes() == [0, 0, 0])
        }
    }
}
