import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Assets that operators remove from the edge.
@Suite struct RemovalTests: SelectionSuite {
    /// Deletes as a worker does: leases the purge jobs, and reports what it was given as deleted, and
    /// `bodies` as the interrupted bodies that it found. Returns the keys in their order.
    @discardableResult
    static func purge(
        _ fixture: F, absent: Set<String> = [], bodies: [PurgeRequest.FreedBodies] = []
    ) async throws -> [String] {
        var keys: [String] = []
        while true {
            let grant = try await fixture.lease()
            guard let lease = grant.lease else { return keys }
            for job in grant.jobs {
                guard job.kind == .purge else {
                    _ = try await fixture.report([F.done(job, grant)])
                    continue
                }
                keys += try await deleteAll(
                    of: job, lease, fixture, absent: absent, bodies: bodies)
                _ = try await fixture.report([F.done(job, grant)])
            }
        }
    }

    static func deleteAll(
        of job: Job, _ lease: LeaseID, _ fixture: F, absent: Set<String> = [],
        bodies: [PurgeRequest.FreedBodies] = []
    ) async throws -> [String] {
        var keys: [String] = []
        var request = PurgeRequest(worker: fixture.worker, job: job.id, lease: lease)
        while true {
            let page = try await fixture.queue.files.purges.next(request)
            keys += page.files.map(\.key)
            request.results = page.files.map {
                PurgeRequest.Result(file: $0.file, deleted: !absent.contains($0.key))
            }
            request.freed = page.bodies == nil ? nil : bodies
            request.results += (page.bodies ?? []).map {
                PurgeRequest.Result(file: $0, deleted: true)
            }
            if request.results.isEmpty, page.waitSeconds != 0 { return keys }
        }
    }

    private func status(
        _ fixture: F, _ name: String, of catalog: CatalogID
    ) async throws -> AssetStatus {
        try #require(try await fixture.assets(of: catalog).first { $0.name == name })
    }

    /// Completes a title of some segments and a playlist, the last one.
    @discardableResult
    static func storeTitle(
        _ fixture: F, _ name: String, segments count: Int, in catalog: String = "movies"
    ) async throws -> CatalogID {
        let id = try await resolveTitle(fixture, name, segments: count, in: catalog)
        try await fixture.drain()
        return id
    }

    /// Submits a title and reads its manifest: its segments and itself are waiting.
    static func resolveTitle(
        _ fixture: F, _ name: String, segments count: Int, in catalog: String = "movies"
    ) async throws -> CatalogID {
        let id = try await fixture.submit([F.title(name)], catalog: catalog)
        let grant = try await fixture.lease()
        var segments = TitleTests.segments(count)
        for index in segments.indices {
            segments[index].key = "origin.test/\(name)/\(index).ts"
            segments[index].url = "http://origin.test/\(name)/\(index).ts"
        }
        segments.append(
            ResolvedSegment(
                ordinal: count, url: "http://origin.test/\(name)/main.m3u8",
                key: "origin.test/\(name)/main.m3u8", role: .playlist))
        _ = try await fixture.queue.jobs.segments.add(
            SegmentBatch(
                worker: fixture.worker, job: grant.jobs[0].id, lease: grant.lease ?? "",
                segments: segments))
        var report = F.done(grant.jobs[0], grant)
        report.segments = count + 1
        _ = try await fixture.report([report])
        return id
    }

    @Test func theFilesOfARemovedAssetAreDeletedAndItsCatalogEndsAgain() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            try await fixture.drain()
            let answer = try await apply(fixture, .remove, catalog, asset: "f2")
            #expect(answer.assets == 1 && answer.files == 1 && answer.catalog == catalog)
            var total = try await fixture.queue.catalogs.status(of: catalog)
            #expect(total.state == .running && total.totals.removing == 1)
            #expect(total.totals.completed == 2 && total.totals.segmentsDone == 2)
            #expect(try await status(fixture, "f2", of: catalog).state == .removing)

            #expect(try await Self.purge(fixture) == ["origin.test/files/f2"])
            total = try await fixture.queue.catalogs.status(of: catalog)
            #expect(total.state == .completed && total.totals.assets == 2)
            #expect(total.totals.removing == nil)
            #expect(total.totals.freedFiles == 1 && total.totals.freedBytes == 10)
            let removed = try await status(fixture, "f2", of: catalog)
            #expect(removed.state == .removed)
            #expect(removed.freedFiles == 1 && removed.freedBytes == 10)
            // Again there is nothing to do.
            #expect(try await apply(fixture, .remove, catalog, asset: "f2").assets == 0)
            #expect(try await fixture.count("unneeded_file") == 0)
            #expect(try await fixture.count("job") == 0)
            #expect(try await fixture.count("delayed_job") == 0)
            let list = try await fixture.queue.sites.checksums.page(
                site: SiteID(1), directory: "origin.test/files", after: nil, limit: 10)
            #expect(list.entries.map(\.key) == ["origin.test/files/f1", "origin.test/files/f3"])
        }
    }

    @Test func aManifestGoesBeforeWhatItLists() async throws {
        try await F.with { fixture in
            let catalog = try await Self.storeTitle(fixture, "t", segments: 3)
            _ = try await apply(fixture, .remove, catalog)
            #expect(
                try await Self.purge(fixture) == [
                    "origin.test/t/main.m3u8", "origin.test/t/2.ts", "origin.test/t/1.ts",
                    "origin.test/t/0.ts",
                ])
            #expect(try await status(fixture, "t", of: catalog).freedFiles == 4)
        }
    }

    @Test func whatAnotherAssetOfTheSiteNeedsStays() async throws {
        try await F.with { fixture in
            let first = try await Self.storeTitle(fixture, "t", segments: 3)
            let second = try await Self.storeTitle(fixture, "t", segments: 2, in: "series")
            try await fixture.submit(files(1...2), catalog: "one")
            try await fixture.submit(files(2...2), catalog: "two")
            try await fixture.drain()
            _ = try await apply(fixture, .remove, first)
            #expect(try await Self.purge(fixture) == ["origin.test/t/2.ts"])
            #expect(try await status(fixture, "t", of: first).freedFiles == 1)
            // At another site the same key is another file.
            try await fixture.submit(files(1...1), catalog: "far", site: "file:///srv/far")
            try await fixture.drain()
            var remove = SelectionAction(.remove, catalog: CatalogReference(name: "one"))
            remove.name = "*"
            _ = try await fixture.queue.catalogs.selections.apply(remove)
            #expect(try await Self.purge(fixture) == ["origin.test/files/f1"])
            // The last one that needs them takes the rest with it.
            _ = try await apply(fixture, .remove, second)
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(name: "two")))
            #expect(
                try await Set(Self.purge(fixture)) == [
                    "origin.test/t/main.m3u8", "origin.test/t/1.ts", "origin.test/t/0.ts",
                    "origin.test/files/f2",
                ])
        }
    }

    @Test func whatHasNotEndedIsCancelledFirst() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            let grant = try await fixture.lease(2)
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            let answer = try await apply(fixture, .remove, catalog)
            #expect(answer.assets == 3 && answer.jobs == 2 && answer.files == 1)
            #expect(try await heartbeat(fixture, grant).cancelled == [grant.jobs[1].id])
            #expect(try await fixture.report([F.done(grant.jobs[1], grant)]) == [.stale])
            // Nothing is stored of the last one; a worker may just be storing the second.
            #expect(try await status(fixture, "f3", of: catalog).state == .removed)
            #expect(try await Self.purge(fixture) == ["origin.test/files/f1"])
            #expect(try await status(fixture, "f2", of: catalog).state == .removing)
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await Self.purge(fixture) == ["origin.test/files/f2"])
            let total = try await fixture.queue.catalogs.status(of: catalog)
            #expect(total.state == .removed && total.totals.assets == 0)
        }
    }

    @Test func filesOfACancelledAssetWaitUntilNoWorkerStoresAnyMore() async throws {
        try await F.with { fixture in
            let catalog = try await Self.storeTitle(fixture, "t", segments: 3)
            try await fixture.submit([F.title("t")])
            let grant = try await fixture.lease(1)
            _ = try await apply(fixture, .remove, catalog)
            _ = grant
            let purge = try await fixture.lease()
            let job = try #require(purge.jobs.first { $0.kind == .purge })
            let page = try await fixture.queue.files.purges.next(
                PurgeRequest(worker: fixture.worker, job: job.id, lease: purge.lease ?? ""))
            #expect(page.files.isEmpty && page.waitSeconds == 30)
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            #expect(
                try await Self.deleteAll(of: job, purge.lease ?? "", fixture).count == 4)
        }
    }

    @Test func noJobIsMadeForAKeyThatAWorkerIsDeleting() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first)
            var request = PurgeRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
            let page = try await fixture.queue.files.purges.next(request)
            #expect(page.files.count == 2)
            // Another catalog, and the same one, want a file that may be gone at any moment.
            for name in ["other", "movies"] {
                let failure = await #expect(throws: Failure.self) {
                    try await fixture.submit(files(2...2), catalog: name)
                }
                #expect(failure?.code == .clusterBusy)
            }
            // What is not being deleted starts.
            try await fixture.submit(files(7...7), catalog: "third")
            // The worker dies; the next one gets the same files.
            try await fixture.expireLeases()
            try await fixture.skipDelays()
            let failure = await #expect(throws: Failure.self) {
                try await fixture.submit(files(2...2), catalog: "other")
            }
            #expect(failure?.code == .clusterBusy)
            request.results = page.files.map {
                PurgeRequest.Result(file: $0.file, deleted: true)
            }
            let stale = await #expect(throws: Failure.self) {
                try await fixture.queue.files.purges.next(request)
            }
            #expect(stale?.code == .workerLeaseLost)
            #expect(try await Self.purge(fixture, absent: ["origin.test/files/f1"]).count == 2)
            // The worker that was lost has deleted it.
            #expect(try await status(fixture, "f1", of: catalog).freedFiles == 1)

            try await fixture.submit(files(2...2), catalog: "other")
            #expect(try await fixture.lease().jobs.map(\.key) == ["origin.test/files/f2"])
        }
    }

    @Test func whatIsWantedAgainBeforeAWorkerCameStays() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            try await fixture.submit(files(1...1))
            #expect(try await status(fixture, "f1", of: catalog).state == .ready)
            #expect(try await Self.purge(fixture) == ["origin.test/files/f2"])
            #expect(try await status(fixture, "f1", of: catalog).state == .completed)
            let total = try await fixture.queue.catalogs.status(of: catalog)
            #expect(total.state == .completed && total.totals.assets == 1)
            // And after it is gone.
            _ = try await apply(fixture, .remove, catalog)
            try await Self.purge(fixture)
            try await fixture.submit(files(1...2))
            try await fixture.drain()
            let stored = try await fixture.queue.catalogs.status(of: catalog)
            #expect(stored.state == .completed && stored.totals.completed == 2)
            try await fixture.expectSeen(
                EdgeTests.ofAssets.filter { ["removing", "removed"].contains($0.old) })
        }
    }

    @Test func anInterruptionStopsNoDeletion() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog, asset: "f1")
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await Self.purge(fixture) == ["origin.test/files/f1"])
            #expect(try await status(fixture, "f1", of: catalog).state == .removed)
            // Its checksum file was written again.
            #expect(
                try await fixture.count("directory WHERE checksum_state = 'due'") == 1)
        }
    }

    @Test func aFileThatCannotBeDeletedIsTriedAgainAndSaysWhy() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first)
            var request = PurgeRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
            let page = try await fixture.queue.files.purges.next(request)
            request.results = page.files.map {
                PurgeRequest.Result(
                    file: $0.file, deleted: $0.key.hasSuffix("f2"),
                    failure: $0.key.hasSuffix("f1")
                        ? Failure(.storagePermission, "EACCES") : nil)
            }
            let next = try await fixture.queue.files.purges.next(request)
            #expect(next.files.isEmpty && (next.waitSeconds ?? 0) > 20)
            #expect(try await status(fixture, "f2", of: catalog).state == .removed)
            let failed = try await status(fixture, "f1", of: catalog)
            #expect(failed.state == .removing && failed.failure?.code == .storagePermission)
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            #expect(
                try await Self.deleteAll(of: job, grant.lease ?? "", fixture)
                    == ["origin.test/files/f1"])
            #expect(try await status(fixture, "f1", of: catalog).state == .removed)
            #expect(try await status(fixture, "f1", of: catalog).failure == nil)
        }
    }

    @Test func aScheduleHoldsNoDeletionBackButAPausedQueueDoes() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await fixture.drain()
            try await fixture.submit(files(5...5), catalog: "later", notBefore: 4e9)
            _ = try await apply(fixture, .remove, catalog)
            try await fixture.pool.query("UPDATE queue SET state = 'paused'")
            #expect(try await fixture.lease().jobs.isEmpty)
            try await fixture.pool.query(
                "UPDATE queue SET state = 'active'; ")
            try await fixture.pool.query("UPDATE site SET schedule_closed = true")
            #expect(try await fixture.queue.jobs.claims.hasWork())
            let grant = try await fixture.lease()
            #expect(grant.jobs.map(\.kind) == [.purge])
            _ = try await Self.deleteAll(
                of: try #require(grant.jobs.first), grant.lease ?? "", fixture)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            // The checksum file waits.
            #expect(try await fixture.lease().jobs.isEmpty)
            try await fixture.pool.query("UPDATE site SET schedule_closed = false")
            #expect(try await fixture.lease().jobs.map(\.kind) == [.checksums])
        }
    }

    @Test func housekeepingFindsCatalogsWithoutAJob() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            // Its job ends without having deleted anything.
            let grant = try await fixture.lease()
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            #expect(try await fixture.queue.files.purges.reconcile() == 1)
            #expect(try await fixture.queue.files.purges.reconcile() == 0)
            #expect(try await Self.purge(fixture).count == 1)
            #expect(try await status(fixture, "f1", of: catalog).state == .removed)
        }
    }

    @Test func whateverHasEndedIsRemoved() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...4))
            let grant = try await fixture.lease()
            _ = try await fixture.report([
                F.done(grant.jobs[0], grant), F.failed(grant.jobs[1], grant, "origin.http.404"),
            ])
            _ = try await apply(fixture, .cancel, catalog, asset: "f3")
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            _ = try await apply(fixture, .remove, catalog)
            // A worker may still be storing what it held.
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            try await Self.purge(fixture)
            for name in ["f1", "f2", "f3", "f4"] {
                #expect(try await status(fixture, name, of: catalog).state == .removed)
            }
            try await fixture.submit(files(1...1))
            try await fixture.expectSeen(EdgeTests.ofRemovals)
        }
    }
}
