import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Work that operators cancel.
@Suite struct CancelTests: SelectionSuite {
    /// Its temporary files are leftovers although nothing is held of it any more.
    @Test func aWorkerThatIsLostBeforeItKnowsOfACancellationIsNoted() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let grant = try await fixture.lease()
            #expect(grant.jobs.count == 2)
            _ = try await apply(fixture, .cancel, catalog)
            try await fixture.silence(fixture.worker)
            #expect(try await fixture.count("lost_lease") == 1)
            // One that lives lets its lease run out.
            let other = try await fixture.submit(files(3...4), catalog: "other")
            #expect(try await fixture.lease().jobs.count == 2)
            _ = try await apply(fixture, .cancel, other)
            try await fixture.expireLeases()
            #expect(try await fixture.count("lost_lease") == 1)
        }
    }

    /// Interruptions leave no jobs either.
    @Test func aWorkerThatIsLostBeforeItKnowsOfAnInterruptionIsNoted() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            #expect(try await fixture.lease().jobs.count == 2)
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            try await fixture.pool.query(
                "UPDATE lease SET granted_at = now() - interval '1 minute'")
            try await fixture.queue.housekeeping.tables.delete()
            try await fixture.silence(fixture.worker)
            #expect(try await fixture.count("lost_lease") == 1)
        }
    }

    @Test func cancellingACatalogEndsItAndStopsItsWorkers() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...5))
            let other = try await fixture.submit(
                files(1...2, in: "other"), catalog: "other")
            let grant = try await fixture.lease(2)
            let mine = grant.jobs.filter { $0.asset != AssetID(0) }
            _ = try await fixture.report([F.done(mine[0], grant)])
            let before = try await fixture.assets(of: catalog).count { $0.state == .completed }

            let answer = try await apply(fixture, .cancel, catalog)
            #expect(answer.assets == 5 - before && answer.jobs == 5 - before)
            // Once more finds nothing.
            #expect(
                try await apply(fixture, .cancel, catalog) == SelectionAnswer(assets: 0, jobs: 0))
            let cancelled = try await heartbeat(fixture, grant).cancelled ?? []
            let held = try await fixture.assets(of: catalog)
                .filter { $0.state == .cancelled }.map(\.id)
            #expect(
                Set(cancelled) == Set(mine.dropFirst().filter { held.contains($0.asset) }.map(\.id))
            )
            // It is reported again in case the answer was lost, and to no other worker.
            #expect(try await heartbeat(fixture, grant).cancelled ?? [] == cancelled)
            let stranger = try await fixture.queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: .random(), leases: [grant.lease ?? ""], progress: [:], name: "n",
                    activeTransfers: 0))
            #expect(stranger.cancelled == nil)
            for job in mine.dropFirst() where held.contains(job.asset) {
                #expect(try await fixture.report([F.done(job, grant)]) == [.stale])
            }
            try await fixture.expireLeases()
            try await expectEnded(
                fixture, catalog, completed: before, failed: 0, cancelled: 5 - before)
            let failures = try await fixture.assets(of: catalog).compactMap(\.failure)
            #expect(failures.allSatisfy { $0.code == "worker.cancelled" })
            try await expectEnded(fixture, other, completed: 2, failed: 0)
        }
    }

    /// It is not among the catalog's counts before the next start, so it ends nothing.
    @Test func anAssetThatWasAddedAfterTheStartIsNotCounted() async throws {
        try await F.with { fixture in
            let submissions = fixture.queue.catalogs.submissions
            let handle = try await submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await submissions.add(
                files(1...2), to: handle.id, generation: handle.generation)
            try await submissions.start(handle.id, generation: handle.generation)
            try await submissions.add(
                files(2...3), to: handle.id, generation: handle.generation)
            try await submissions.interrupt(handle.id)
            for (name, cancelled) in [("f3", nil), ("f2", 1)] as [(String, Int?)] {
                let answer = try await apply(fixture, .cancel, handle.id, asset: name)
                #expect(answer.assets == 1)
                let totals = try await fixture.queue.catalogs.status(of: handle.id).totals
                #expect(totals.assets == 2 && totals.cancelled == cancelled)
            }
            let counted = try await fixture.pool.query(
                "SELECT sum(assets_cancelled)::bigint FROM outcome"
            ).firstRow?.int64(0)
            #expect(counted == 2)
            // Its removal takes nothing off the counts either.
            _ = try await apply(fixture, .remove, handle.id, asset: "f3")
            var totals = try await fixture.queue.catalogs.status(of: handle.id).totals
            #expect(totals.assets == 2 && totals.cancelled == 1)

            _ = try await apply(fixture, .retry, handle.id)
            try await fixture.drain()
            totals = try await fixture.queue.catalogs.status(of: handle.id).totals
            #expect(totals.completed == 2 && totals.cancelled == nil)
        }
    }

    @Test func cancellingOneAssetLeavesTheOthers() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            #expect(
                try await apply(fixture, .cancel, catalog, asset: "f2")
                    == SelectionAnswer(assets: 1, jobs: 1))
            try await expectEnded(fixture, catalog, completed: 2, failed: 0, cancelled: 1)
            let states = try await fixture.assets(of: catalog).map(\.state)
            #expect(states == [.completed, .cancelled, .completed])
        }
    }

    /// Whatever keeps its work from being handed out: the catalog has ended with the answer.
    @Test(arguments: [
        "UPDATE catalog SET not_before = now() + interval '1 hour'",
        "UPDATE queue SET state = 'paused'", "UPDATE site SET schedule_closed = true",
        "UPDATE origin SET cooldown_until = now() + interval '1 hour'",
        "UPDATE origin SET breaker = 'open', cooldown_until = now() + interval '1 hour'",
    ])
    func cancellingACatalogThatIsHeldEndsIt(hold: String) async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            try await fixture.pool.query(hold)
            #expect(try await apply(fixture, .cancel, catalog).assets == 3)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .cancelled && status.state.isTerminal)
            #expect(status.totals.cancelled == 3 && status.totals.failed == 0)
            #expect(try await fixture.count("job") + fixture.count("delayed_job") == 0)
            // Once more changes nothing.
            #expect(
                try await apply(fixture, .cancel, catalog) == SelectionAnswer(assets: 0, jobs: 0))
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .cancelled)
            // And a retry begins where it was.
            #expect(try await apply(fixture, .retry, catalog).assets == 3)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .running)
        }
    }

    /// Of a catalog that has all its files, and whose list of digests cannot be written.
    @Test func cancellingDoesNotWaitForLists() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            let grant = try await fixture.lease(1)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            let lists = try await fixture.lease(1)
            #expect(lists.jobs.map(\.kind) == [.checksums])
            _ = try await apply(fixture, .cancel, catalog)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .cancelled)
            #expect(try await heartbeat(fixture, lists).cancelled == lists.jobs.map(\.id))
            // A retry writes it.
            #expect(try await apply(fixture, .retry, catalog).jobs == 1)
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func cancellingWhatHasEndedChangesNothing() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
            #expect(
                try await apply(fixture, .cancel, catalog) == SelectionAnswer(assets: 0, jobs: 0))
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    @Test func anInterruptedCatalogIsCancelledAndForgotten() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...4))
            let grant = try await fixture.lease(2)
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            await #expect(throws: Failure.self) { try await apply(fixture, .forget, catalog) }

            #expect(
                try await apply(fixture, .cancel, catalog) == SelectionAnswer(assets: 3, jobs: 0))
            #expect(try await fixture.report([F.done(grant.jobs[1], grant)]) == [.stale])
            try await fixture.expireLeases()
            try await expectEnded(fixture, catalog, completed: 1, failed: 0, cancelled: 3)
            let failures = try await fixture.assets(of: catalog).compactMap(\.failure)
            #expect(failures.count == 3 && failures.allSatisfy { $0.code == "worker.cancelled" })
            #expect(
                try await apply(fixture, .cancel, catalog) == SelectionAnswer(assets: 0, jobs: 0))

            // A retry fetches what is missing.
            #expect(try await apply(fixture, .retry, catalog).assets == 3)
            try await expectEnded(fixture, catalog, completed: 4, failed: 0)
            // Another run looks at each file again.
            try await fixture.submit(files(1...5))
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await apply(fixture, .cancel, catalog).assets == 5)
            #expect(try await apply(fixture, .forget, catalog).assets == 5)
        }
    }

    /// No report would end the catalog with its last asset.
    @Test func interruptedAssetsAreCancelledOneByOne() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            let grant = try await fixture.lease(1)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await apply(fixture, .cancel, catalog, asset: "f2").assets == 1)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .interrupted && status.totals.cancelled == 1)
            // A refresh is not what was interrupted.
            var refresh = SelectionAction(.cancel, catalog: CatalogReference(catalog))
            refresh.ofRefresh = true
            #expect(try await fixture.queue.catalogs.selections.apply(refresh).assets == 0)

            var interrupted = SelectionAction(.cancel)
            interrupted.states = ["interrupted"]
            #expect(try await fixture.queue.catalogs.selections.apply(interrupted).assets == 1)
            try await expectEnded(fixture, catalog, completed: 1, failed: 0, cancelled: 2)
        }
    }

    /// Its directory waits for the removal, and for none of what was interrupted.
    @Test func interruptedAssetsAreCancelledBesideARemoval() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            let grant = try await fixture.lease(1)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await apply(fixture, .remove, catalog, asset: "f1").assets == 1)
            #expect(try await apply(fixture, .cancel, catalog, asset: "f2").assets == 1)
            #expect(try await fixture.count("directory WHERE unsettled = 1") == 1)
            #expect(try await fixture.count("delayed_job WHERE kind = 'checksums'") == 0)
            #expect(try await RemovalTests.purge(fixture).count == 1)
            #expect(try await apply(fixture, .cancel, catalog).assets == 1)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .cancelled && status.totals.cancelled == 2)
            #expect(try await fixture.count("directory WHERE unsettled <> 0") == 0)
        }
    }

    @Test func titlesAndLargeFilesAreCancelledInAnyStage() async throws {
        try await F.with { fixture in
            // One that is being resolved, one in parts, one about to be put together.
            let catalog = try await fixture.submit([F.title("film"), F.file("large")])
            let grant = try await fixture.lease()
            let file = try #require(grant.jobs.first { $0.kind == .fetch })
            _ = try await fixture.queue.jobs.splits.split(
                SplitRequest(
                    worker: fixture.worker, job: file.id, lease: grant.lease ?? "",
                    multipart: .random(), totalBytes: 3 << 20,
                    partBytes: 1 << 20, validator: "v"))
            #expect(try await fixture.report([F.done(file, grant, bytes: 1 << 20)]) == [.accepted])
            #expect(try await apply(fixture, .cancel, catalog).assets == 2)
            #expect(try await fixture.report([F.done(grant.jobs[0], grant)]) == [.stale])
            try await expectEnded(fixture, catalog, completed: 0, failed: 0, cancelled: 2)

            // And both can be resumed.
            #expect(try await apply(fixture, .retry, catalog).assets == 2)
            var sizes: [Int64?] = []
            while true {
                let grant = try await fixture.lease()
                guard grant.lease != nil else { break }
                for job in grant.jobs {
                    if job.kind == .fetch { sizes.append(job.length) }
                    var report = F.done(job, grant, bytes: job.length ?? 3 << 20)
                    if job.kind == .resolve {
                        report = F.failed(job, grant, "manifest.empty")
                    }
                    _ = try await fixture.report([report])
                }
            }
            // The part that was stored is not fetched again.
            #expect(sizes == [1 << 20, 1 << 20])
            try await expectEnded(fixture, catalog, completed: 1, failed: 1)
        }
    }

    @Test func whatIsNotStartedYetIsNotCancelled() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let again = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                files(1...4), to: catalog, generation: again.generation)
            #expect(
                try await apply(fixture, .cancel, catalog) == SelectionAnswer(assets: 2, jobs: 2))
            let totals = try await fixture.queue.catalogs.status(of: catalog).totals
            #expect(totals.assets == 2 && totals.cancelled == 2)
            try await fixture.queue.catalogs.submissions.start(
                catalog, generation: again.generation)
            try await expectEnded(fixture, catalog, completed: 4, failed: 0)
        }
    }
}
