import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Assets that make room for others.
@Suite struct EvictionTests: SelectionSuite {
    /// Submits files to a catalog of its own and stores `bytes` of each.
    @discardableResult
    private func store(
        _ fixture: F, _ names: [String], in catalog: String, bytes: Int64 = 100
    ) async throws -> CatalogID {
        let id = try await fixture.submit(names.map { F.file($0) }, catalog: catalog)
        while true {
            let grant = try await fixture.lease()
            guard grant.lease != nil else { return id }
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant, bytes: bytes) })
        }
    }

    private func configure(
        _ fixture: F, _ order: EvictionOrder, quota: Int64? = nil
    ) async throws {
        var settings = SiteSettings(site: F.site)
        settings.evict = order
        settings.quotaBytes = quota
        #expect(try await fixture.queue.sites.configure(settings).evict == order)
    }

    private func state(_ fixture: F, _ catalog: CatalogID, _ name: String) async throws
        -> AssetState?
    {
        try await fixture.assets(of: catalog).first { $0.name == name }?.state
    }

    private func wanted(_ fixture: F, _ catalog: CatalogID, hoursAgo: Int64) async throws {
        try await fixture.pool.query(
            """
            UPDATE asset SET wanted_at = now() - make_interval(hours => $2::int)
            WHERE catalog_id = $1
            """, [.int(catalog.rawValue), .int(hoursAgo)])
    }

    @Test func theLeastRecentlyWantedMakeRoomDownToTheLowMark() async throws {
        try await F.with { fixture in
            let old = try await store(fixture, ["o1", "o2", "o3"], in: "old")
            let new = try await store(fixture, ["n1", "n2", "n3", "n4"], in: "new")
            try await wanted(fixture, old, hoursAgo: 5)
            try await wanted(fixture, new, hoursAgo: 1)
            // 700 bytes are below the high mark.
            try await configure(fixture, .leastRecentlyWanted, quota: 740)
            #expect(try await fixture.queue.files.evictions.run() == 0)
            // From 95 % on, down to 90 %: 700 of 720, so 52 bytes and one asset.
            try await configure(fixture, .leastRecentlyWanted, quota: 720)
            #expect(try await fixture.queue.files.evictions.run() == 1)
            #expect(try await state(fixture, old, "o1") == .removing)
            #expect(try await fixture.queue.files.evictions.run() == 0)
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/o1"])
            #expect(try await state(fixture, old, "o1") == .removed)
            #expect(try await fixture.queue.files.evictions.run() == 0)
            let events = try await fixture.pool.query(
                "SELECT message FROM event WHERE kind = 'asset.evicted'"
            ).rows.map { try $0.string(0) }
            #expect(
                events == ["evicted: among the least recently wanted assets of the site"])

            // Wanted again, it is fetched again, and another one makes room.
            try await store(fixture, ["o1", "o2", "o3"], in: "old")
            #expect(try await state(fixture, old, "o1") == .completed)
            #expect(try await fixture.queue.files.evictions.run() == 1)
            #expect(try await state(fixture, new, "n1") == .removing)
        }
    }

    @Test func nothingOfARunningCatalogAndNothingPinnedIsEvicted() async throws {
        try await F.with { fixture in
            let ended = try await store(fixture, ["a", "b"], in: "ended")
            // A catalog that runs has a completed file, and shares one that is not.
            let running = try await fixture.submit([F.file("c"), F.file("b")], catalog: "running")
            let grant = try await fixture.lease(1)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant, bytes: 100) })
            var pin = SelectionAction(.pin, catalog: CatalogReference(ended))
            pin.name = "a"
            #expect(try await fixture.queue.catalogs.selections.apply(pin).assets == 1)
            #expect(
                try await fixture.assets(of: ended).filter { $0.isPinned == true }.map(\.name)
                    == ["a"])
            try await configure(fixture, .leastRecentlyWanted, quota: 10)
            #expect(try await fixture.queue.files.evictions.run() == 0)
            // It is not looked for again at once.
            #expect(try await fixture.count("site WHERE evict_retry_at > now()") == 1)
            try await configure(fixture, .leastRecentlyWanted, quota: 0)
            try await fixture.skipDelays()
            while try await !fixture.drain().isEmpty {}
            try await configure(fixture, .leastRecentlyWanted, quota: 10)
            // A catalog that is being submitted again needs what it has.
            _ = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "running", storageURL: F.site))
            #expect(try await fixture.queue.files.evictions.run() == 1)
            #expect(try await state(fixture, ended, "a") == .completed)
            #expect(try await state(fixture, ended, "b") == .removing)
            #expect(try await state(fixture, running, "b") == .completed)
            // What another asset has stored stays.
            #expect(try await RemovalTests.purge(fixture) == [])
        }
    }

    /// Its file has no record any more, and still lies at the site.
    @Test func whatFailedItsCheckCountsAndMakesRoom() async throws {
        try await F.with { fixture in
            func site() async throws -> SiteStatus? {
                try await fixture.queue.sites.list().sites.first { $0.storageURL == F.site }
            }
            let old = try await store(fixture, ["a"], in: "old")
            try await store(fixture, ["b", "c"], in: "new")
            try await fixture.submit([F.file("a")], catalog: "old")
            let check = try await fixture.lease()
            _ = try await fixture.report([F.failed(check.jobs[0], check, "origin.http.404")])
            try await fixture.drain()
            try await wanted(fixture, old, hoursAgo: 5)
            #expect(try await state(fixture, old, "a") == .failed)
            #expect(try await site()?.usedBytes == 300)
            try await configure(fixture, .leastRecentlyWanted, quota: 300)
            try await fixture.queue.sites.closed.watch()
            #expect(try await site()?.fault?.code == .storageQuota)
            #expect(try await fixture.queue.files.evictions.run() == 1)
            #expect(try await state(fixture, old, "a") == .removing)
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/a"])
            try await fixture.queue.sites.closed.watch()
            #expect(try await site()?.fault == nil)
            #expect(try await site()?.usedBytes == 200)
        }
    }

    /// Workers may still be storing files of what was cancelled: they are deleted after a lease.
    @Test func theFilesOfACancelledAssetAreWaitedFor() async throws {
        try await F.with { fixture in
            let old = try await store(fixture, ["o1", "o2", "o3"], in: "old")
            try await fixture.submit(["o1", "o2", "o3"].map { F.file($0) }, catalog: "old")
            _ = try await apply(fixture, .cancel, old)
            let new = try await store(fixture, ["n1", "n2", "n3", "n4"], in: "new")
            try await wanted(fixture, old, hoursAgo: 5)
            try await wanted(fixture, new, hoursAgo: 1)
            try await configure(fixture, .leastRecentlyWanted, quota: 720)
            #expect(try await fixture.queue.files.evictions.run() == 1)
            #expect(try await fixture.count("unneeded_file WHERE due_at > now()") == 1)
            for _ in 1...3 { #expect(try await fixture.queue.files.evictions.run() == 0) }
            #expect(try await fixture.count("site WHERE is_evicting") == 1)
            try await fixture.pool.query(
                "UPDATE unneeded_file SET due_at = now() WHERE due_at < 'infinity'")
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/o1"])
            for _ in 1...2 { #expect(try await fixture.queue.files.evictions.run() == 0) }
            #expect(try await fixture.count("site WHERE is_evicting") == 0)
        }
    }

    /// Results are recorded before the heartbeat without their transfers.
    @Test func whatWasUnderWayCountsOnce() async throws {
        try await F.with { fixture in
            // The worker's lease of this one lasts.
            try await fixture.submit([F.file("kept")], catalog: "kept")
            let kept = try await fixture.lease()
            try await configure(fixture, .leastRecentlyWanted, quota: 520)
            try await fixture.submit((0..<5).map { F.file("o\($0)") }, catalog: "old")
            let grant = try await fixture.lease()
            var heartbeat = Heartbeat(
                worker: fixture.worker, leases: [kept, grant].compactMap(\.lease), progress: [:],
                name: "w", activeTransfers: 5)
            for job in grant.jobs {
                heartbeat.progress[job.asset.description] = TransferProgress(
                    receivedBytes: 99, expectedBytes: 100, transfers: 1)
            }
            _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
            try await fixture.queue.sites.closed.watch()
            // 500 of 520 bytes are under way, and nothing is stored that could make room.
            #expect(try await fixture.queue.files.evictions.run() == 0)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant, bytes: 100) })
            try await fixture.pool.query("UPDATE site SET evict_retry_at = NULL")
            // Down to 468 bytes: one asset, and not all of them.
            #expect(try await fixture.queue.files.evictions.run() == 1)
        }
    }

    /// It still counts, but others would not make its room.
    @Test func aFileThatCannotBeDeletedEvictsNoOther() async throws {
        try await F.with { fixture in
            try await store(fixture, ["a", "b", "c"], in: "movies")
            try await configure(fixture, .leastRecentlyWanted, quota: 300)
            #expect(try await fixture.queue.files.evictions.run() == 1)
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first { $0.kind == .purge })
            var request = PurgeRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
            request.results = try await fixture.queue.files.purges.next(request).files.map {
                PurgeRequest.Result(
                    file: $0.file, deleted: false, failure: Failure(.storagePermission, "refused"))
            }
            _ = try await fixture.queue.files.purges.next(request)
            for _ in 1...3 { #expect(try await fixture.queue.files.evictions.run() == 0) }
            #expect(try await fixture.count("site WHERE is_evicting") == 0)
            let site = try await fixture.queue.sites.list().sites.first
            #expect(site?.usedBytes == 300)
        }
    }

    @Test func aWaitingFileIsGivenItsRoom() async throws {
        try await F.with { fixture in
            let old = try await store(fixture, ["o1", "o2", "o3"], in: "old")
            try await configure(fixture, .leastRecentlyWanted, quota: 400)
            var big = F.file("big")
            big.bytes = 250
            try await fixture.submit([big], catalog: "new")
            let grant = try await fixture.lease()
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "storage.noRoom")])
            // 300 of 400 are used: 150 more are needed.
            #expect(try await fixture.queue.files.evictions.run() == 2)
            // Until workers have deleted them nothing more is evicted, nor tried.
            #expect(try await fixture.queue.files.evictions.run() == 0)
            let purge = try await fixture.lease()
            #expect(purge.jobs.map(\.kind) == [.purge])
            _ = try await RemovalTests.deleteAll(of: purge.jobs[0], purge.lease ?? "", fixture)
            _ = try await fixture.report(purge.jobs.map { F.done($0, purge) })
            #expect(try await fixture.queue.files.evictions.run() == 0)
            let fetch = try await fixture.lease()
            #expect(fetch.jobs.contains { $0.key.hasSuffix("big") })
            #expect(try await state(fixture, old, "o3") == .completed)
        }
    }

    @Test func aFullDiskMakesRoomOnceForEachFailure() async throws {
        try await F.with { fixture in
            let mebibytes: Int64 = 1 << 20
            try await store(
                fixture, (0..<9).map { "o\($0)" }, in: "old", bytes: 32 * mebibytes)
            try await configure(fixture, .leastRecentlyWanted)
            try await fixture.submit([F.file("new")], catalog: "new")
            let grant = try await fixture.lease()
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "storage.full")])
            #expect(try await fixture.queue.files.evictions.run() == 2)
            try await RemovalTests.purge(fixture)
            // The failure was before: the disk may have room by now.
            #expect(try await fixture.queue.files.evictions.run() == 0)
            #expect(try await fixture.queue.files.evictions.run() == 0)
            try await fixture.pool.query(
                """
                UPDATE site SET fault_retry_at = clock_timestamp() + interval '5 seconds',
                    fault_tries = 1
                """)
            #expect(try await fixture.queue.files.evictions.run() == 2)
        }
    }

    @Test func twoCoordinatorsEvictOnce() async throws {
        try await F.with { fixture in
            try await store(fixture, (0..<20).map { "o\($0)" }, in: "old")
            try await configure(fixture, .leastRecentlyWanted, quota: 2_000)
            let evicted = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 { group.addTask { try await fixture.queue.files.evictions.run() } }
                return try await group.reduce(0, +)
            }
            #expect(evicted == 2)
        }
    }

    @Test func anEvictionThatFailsHalfWayIsNotRepeated() async throws {
        try await F.with { fixture in
            let mebibytes: Int64 = 1 << 20
            let first = try await store(fixture, ["a", "b"], in: "first", bytes: 40 * mebibytes)
            let second = try await store(fixture, ["c", "d"], in: "second", bytes: 40 * mebibytes)
            try await wanted(fixture, first, hoursAgo: 5)
            try await wanted(fixture, second, hoursAgo: 2)
            try await fixture.pool.query(
                "UPDATE asset SET wanted_at = now() WHERE name IN ('b', 'd')")
            try await configure(fixture, .leastRecentlyWanted)
            try await fixture.submit([F.file("new")], catalog: "new")
            let grant = try await fixture.lease()
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "storage.full")])
            try await fixture.pool.query(
                """
                CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN RAISE EXCEPTION ''rejected''; END'
                """)
            try await fixture.pool.query(
                """
                CREATE TRIGGER reject BEFORE UPDATE ON asset FOR EACH ROW
                    WHEN (NEW.state = 'removing' AND NEW.name = 'c') EXECUTE FUNCTION reject()
                """)
            await #expect(throws: Failure.self) { try await fixture.queue.files.evictions.run() }
            #expect(try await state(fixture, first, "a") == .removing)
            try await fixture.pool.query("DROP TRIGGER reject ON asset")
            // What it has removed is deleted first.
            #expect(try await fixture.queue.files.evictions.run() == 0)
            try await RemovalTests.purge(fixture)
            #expect(try await fixture.queue.files.evictions.run() == 0)
            #expect(try await state(fixture, second, "c") == .completed)
            #expect(try await fixture.count("site WHERE is_evicting") == 0)
        }
    }

    /// As if a coordinator were removing assets, and then as if it had died.
    @Test func oneCoordinatorRemovesAssetsOfASite() async throws {
        try await F.with { fixture in
            try await store(fixture, ["a", "b"], in: "old")
            try await configure(fixture, .leastRecentlyWanted, quota: 200)
            try await fixture.pool.query(
                """
                UPDATE site SET is_evicting = true, evicting_until = now() + interval '1 minute'
                """)
            #expect(try await fixture.queue.files.evictions.run() == 0)
            let failure = await #expect(throws: Failure.self) {
                _ = try await fixture.queue.files.evictions.evict(
                    SiteEviction(site: F.site, bytes: 1))
            }
            #expect(failure?.code == .clusterBusy)
            try await fixture.pool.query("UPDATE site SET evicting_until = now()")
            #expect(try await fixture.queue.files.evictions.run() == 0)
            #expect(try await fixture.queue.files.evictions.run() == 1)
        }
    }

    @Test func anOperatorEvictsAndSeesBeforeWhat() async throws {
        try await F.with { fixture in
            let catalog = try await store(fixture, ["a", "b", "c"], in: "movies")
            let queue = fixture.queue
            var request = SiteEviction(site: F.site, dryRun: true)
            #expect(try await queue.files.evictions.evict(request).assets == 0)
            request.bytes = 150
            let preview = try await queue.files.evictions.evict(request)
            #expect(preview.first.map(\.name) == ["a", "b"] && preview.isDryRun)
            #expect(preview.bytes == 200 && preview.neededBytes == 150)
            #expect(try await state(fixture, catalog, "a") == .completed)
            request.dryRun = nil
            #expect(try await queue.files.evictions.evict(request).assets == 2)
            try await RemovalTests.purge(fixture)
            #expect(try await state(fixture, catalog, "b") == .removed)
            #expect(try await state(fixture, catalog, "c") == .completed)
            let failure = await #expect(throws: Failure.self) {
                _ = try await queue.files.evictions.evict(SiteEviction(site: "nowhere"))
            }
            #expect(failure?.code == .inputNotFound)
        }
    }

    // MARK: Popularity

    private func requests(_ time: Double, _ files: [(String, Double, Double)]) -> SiteRequests {
        SiteRequests(
            site: F.site, time: time,
            files: files.map {
                SiteRequests.File(key: "origin.test/files/\($0.0)", requests: $0.1, bytes: $0.2)
            })
    }

    @Test func theLeastPopularGoFirst() async throws {
        try await F.with { fixture in
            let catalog = try await store(fixture, ["a", "b", "c"], in: "movies")
            let now = try #require(
                try await fixture.pool.query("SELECT extract(epoch FROM now())::float8").firstRow
            ).double(0)
            let week = 604_800.0
            let first = try await fixture.queue.files.evictions.note(
                requests(now - week, [("a", 10, 1_000), ("c", 4, 400), ("gone", 1, 1)]))
            #expect(first == SiteRequestsAnswer(assets: 2, unknownFiles: 1))
            // Requests of a week ago count half, and older ones that come later still less.
            _ = try await fixture.queue.files.evictions.note(requests(now, [("c", 4, 400)]))
            _ = try await fixture.queue.files.evictions.note(
                requests(now - 2 * week, [("c", 4, 400)]))
            let ranking = try await fixture.queue.files.evictions.popularity(
                of: F.site, order: .most, limit: 10)
            #expect(ranking.assets.map(\.name) == ["c", "a", "b"])
            #expect(abs(ranking.assets[0].requests - 7) < 0.01)
            #expect(abs(ranking.assets[1].servedBytes - 500) < 0.1)
            #expect(ranking.assets[2].requests == 0)
            try await configure(fixture, .leastPopular)
            let evicted = try await fixture.queue.files.evictions.evict(
                SiteEviction(site: F.site, bytes: 101))
            #expect(evicted.first.map(\.name) == ["b", "a"])
            #expect(try await state(fixture, catalog, "c") == .completed)
            let least = try await fixture.queue.files.evictions.popularity(
                of: F.site, order: .least, limit: 1)
            #expect(least.assets.map(\.name) == ["c"])
        }
    }

    @Test func theSegmentsOfATitleCountForIt() async throws {
        try await F.with { fixture in
            let first = try await RemovalTests.storeTitle(fixture, "t", segments: 3)
            var counted = requests(1, [])
            counted.files = (0..<3).map {
                SiteRequests.File(key: "origin.test/t/\($0).ts", requests: 2, bytes: 10)
            }
            #expect(try await fixture.queue.files.evictions.note(counted).assets == 1)
            let popular = try await fixture.queue.files.evictions.popularity(
                of: F.site, order: .most, limit: 9)
            #expect(popular.assets.map(\.catalog) == [first])
        }
    }
}
