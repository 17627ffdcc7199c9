import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Rights that a later submission changes, and many that end at once.
@Suite struct RightsChangeTests: SelectionSuite {
    private func now(_ fixture: F) async throws -> Double {
        try #require(
            try await fixture.pool.query("SELECT extract(epoch FROM now())::float8").firstRow
        ).double(0)
    }

    private func expire(_ fixture: F) async throws {
        try await fixture.pool.query("UPDATE asset SET expires_at = now() - interval '1 minute'")
    }

    @Test func jobsThatWaitStartWhenALaterListLetsThem() async throws {
        try await F.with { fixture in
            var assets = files(1...2)
            assets[1].notBefore = try await now(fixture) + 3_600
            let catalog = try await fixture.submit(assets)
            let first = try await fixture.lease()
            #expect(first.jobs.count == 1)
            assets[1].notBefore = nil
            try await fixture.submit(assets)
            #expect(try await fixture.count("asset WHERE is_waiting") == 0)
            let second = try await fixture.lease()
            #expect(second.jobs.map { $0.key.suffix(2) } == ["f2"])
            _ = try await fixture.report(first.jobs.map { F.done($0, first) })
            _ = try await fixture.report(second.jobs.map { F.done($0, second) })
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    @Test func jobsThatAreReadyWaitWhenALaterListHoldsThemBack() async throws {
        try await F.with { fixture in
            var assets = files(1...2)
            let catalog = try await fixture.submit(assets)
            let first = try await fixture.lease(1)
            assets[1].notBefore = try await now(fixture) + 3_600
            try await fixture.submit(assets)
            #expect(try await fixture.lease().jobs.isEmpty)
            _ = try await fixture.report(first.jobs.map { F.done($0, first) })
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .running)
            try await fixture.pool.query("UPDATE asset SET not_before = now()")
            #expect(try await fixture.queue.files.purges.applyRights() == 1)
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    /// A list that names no start time any more, and is never started.
    @Test func aListThatIsNotStartedLeavesNothingWaitingForEver() async throws {
        try await F.with { fixture in
            var assets = files(1...1)
            assets[0].notBefore = try await now(fixture) + 3_600
            let catalog = try await fixture.submit(assets)
            assets[0].notBefore = nil
            let submissions = fixture.queue.catalogs.submissions
            let handle = try await submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await submissions.add(assets, to: handle.id, generation: handle.generation)
            #expect(try await fixture.queue.files.purges.applyRights() == 1)
            #expect(try await fixture.lease().jobs.count == 1)
            _ = catalog
        }
    }

    @Test func whatARefusedAssetHasStoredIsDeleted() async throws {
        try await F.with { fixture in
            var title = F.title("t")
            let catalog = try await fixture.submit([title])
            let grant = try await fixture.lease()
            _ = try await fixture.queue.jobs.segments.add(
                TitleTests.batch(fixture, grant, TitleTests.segments(2)))
            var report = F.done(grant.jobs[0], grant)
            report.segments = 2
            _ = try await fixture.report([report])
            let parts = try await fixture.lease()
            _ = try await fixture.report([
                F.done(parts.jobs[0], parts), F.failed(parts.jobs[1], parts, "origin.http.404"),
            ])
            try await fixture.drain()
            title.expiresAt = try await now(fixture) - 10
            try await fixture.submit([title])
            #expect(try await fixture.assets(of: catalog).map(\.state) == [.failed])
            #expect(try await fixture.queue.files.purges.applyRights() == 1)
            #expect(try await fixture.assets(of: catalog).map(\.state) == [.expiring])
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            #expect(try await RemovalTests.purge(fixture) == ["cdn.test/t/0.ts"])
            #expect(try await fixture.assets(of: catalog).map(\.state) == [.expired])
        }
    }

    /// A list and its catalog that are each right. What was stored before stays until it expires.
    @Test func rightsThatContradictEachOtherAreRefused() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            var assets = files(1...4)
            try await fixture.submit([assets[3]])
            try await fixture.drain()
            for index in assets.indices { assets[index].expiresAt = now + 1_000 }
            assets[1].expiresAt = now + 3_000
            assets[2].notBefore = now + 500
            let catalog = try await fixture.submit(assets, notBefore: now + 1_000)
            let statuses = try await fixture.assets(of: catalog).sorted { $0.name < $1.name }
            #expect(statuses.map(\.state) == [.failed, .ready, .failed, .inProgress])
            for status in statuses where status.state == .failed {
                #expect(status.failure?.code == .inputRights, "\(status.name)")
            }
            #expect(try await fixture.queue.files.purges.applyRights() == 0)
            // Without the catalog's time there is none: a file's own is earlier than its end.
            try await fixture.submit(assets)
            let later = try await fixture.assets(of: catalog)
            #expect(!later.contains { $0.state == .failed })
        }
    }

    @Test func rightsThatContradictThoseOfTheSiteAreRejected() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            var settings = SiteSettings(site: F.site)
            (settings.adds, settings.notBefore) = (true, now + 1_000)
            _ = try await fixture.queue.sites.configure(settings)
            var assets = files(1...2)
            (assets[0].expiresAt, assets[1].expiresAt) = (now + 1_000, now + 1_001)
            let catalog = try await fixture.submit(assets)
            let statuses = try await fixture.assets(of: catalog).sorted { $0.name < $1.name }
            #expect(statuses.map(\.state) == [.failed, .ready])
            #expect(statuses.map { $0.failure?.code } == [.inputRights, nil])
            // The site's own may not contradict each other, whichever is set first.
            (settings.notBefore, settings.expiresAt) = (nil, now + 999)
            let rejected = settings
            let error = await #expect(throws: Failure.self) {
                try await fixture.queue.sites.configure(rejected)
            }
            #expect(error?.code == .inputRights)
            let site = try #require(try await fixture.queue.sites.list().sites.first)
            #expect(site.notBefore == now + 1_000 && site.expiresAt == nil)
            settings.notBefore = 0
            #expect(try await fixture.queue.sites.configure(settings).notBefore == nil)
            // The site's end is the earlier one now, and nothing begins later.
            try await fixture.submit(assets)
            let later = try await fixture.assets(of: catalog)
            #expect(later.allSatisfy { $0.state != .failed && $0.expiresAt == now + 999 })
        }
    }

    @Test func aCatalogIsNotMovedBehindTheRightsOfItsAssets() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            var assets = files(1...2)
            assets[0].expiresAt = now + 1_000
            let catalog = try await fixture.submit(assets)
            func move(to time: Double) async throws {
                _ = try await fixture.queue.catalogs.selections.apply(
                    SelectionAction(
                        .reschedule, catalog: CatalogReference(catalog), notBefore: time))
            }
            let error = await #expect(throws: Failure.self) { try await move(to: now + 1_000) }
            #expect(error?.code == .inputRights)
            #expect(error?.message.contains("asset f1 ") == true)
            #expect(try await fixture.queue.catalogs.status(of: catalog).notBefore == nil)
            try await move(to: now + 999)
            try await move(to: 0)
            // What is stored keeps its end, whenever the catalog may check it.
            try await fixture.drain()
            try await move(to: now + 2_000)
        }
    }

    /// An asset that is under way when its list is submitted again with a later start.
    @Test func anAssetUnderWayIsRejectedOnceItsRightsContradictEachOther() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            var assets = files(1...3)
            for index in 0...1 { assets[index].expiresAt = now + 1_000 }
            let catalog = try await fixture.submit(assets)
            let grant = try await fixture.lease(1)
            for _ in 1...2 {
                try await fixture.submit(assets, notBefore: now + 1_000)
                let statuses = try await fixture.assets(of: catalog).sorted { $0.name < $1.name }
                #expect(statuses.map(\.state) == [.failed, .failed, .ready])
                #expect(statuses.prefix(2).allSatisfy { $0.failure?.code == .inputRights })
            }
            #expect(try await heartbeat(fixture, grant).paused == grant.jobs.map(\.id))
            #expect(try await fixture.lease().jobs.isEmpty)
            try await fixture.submit(assets)
            try await expectEnded(fixture, catalog, completed: 3, failed: 0)
            // A check of what is stored may be late: that stays until it expires.
            for _ in 1...2 {
                try await fixture.submit(assets, notBefore: now + 1_000)
                #expect(
                    try await fixture.assets(of: catalog).allSatisfy { $0.state == .inProgress })
            }
        }
    }

    @Test func manyExpireInBoundedSteps() async throws {
        try await F.with { fixture in
            var assets = files(1...3)
            for index in assets.indices { assets[index].expiresAt = 4e9 }
            let catalog = try await fixture.submit(assets)
            try await fixture.drain()
            for (table, count) in [("asset", 15_000), ("catalog", 45_000)] {
                try await fixture.pool.query(
                    "UPDATE \(table) SET segments = \(count), segments_done = \(count)")
            }
            try await expire(fixture)
            #expect(try await fixture.queue.files.purges.applyRights() == 2)
            #expect(try await fixture.queue.files.purges.applyRights() == 1)
            #expect(try await fixture.queue.files.purges.applyRights() == 0)
            try await RemovalTests.purge(fixture)
            #expect(
                try await fixture.assets(of: catalog).allSatisfy { $0.state == .expired })
        }
    }

    @Test func aCatalogThatFailsHoldsUpNoOther() async throws {
        try await F.with { fixture in
            for catalog in ["one", "two"] {
                var assets = files(1...1, in: catalog)
                assets[0].expiresAt = 4e9
                try await fixture.submit(assets, catalog: catalog)
            }
            try await fixture.drain()
            try await fixture.pool.query(
                """
                CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN RAISE EXCEPTION 'no'; END $$
                """)
            try await fixture.pool.query(
                """
                CREATE TRIGGER rejected BEFORE UPDATE ON asset FOR EACH ROW
                WHEN (NEW.state = 'expiring' AND NEW.key LIKE '%/one/%') EXECUTE FUNCTION reject()
                """)
            try await expire(fixture)
            await #expect(throws: Failure.self) {
                try await fixture.queue.files.purges.applyRights()
            }
            #expect(try await fixture.count("asset WHERE state = 'expiring'") == 1)
        }
    }
}
