import API
import JobQueue
import Model
import TestSupport
import Testing

/// Boundaries of times to keep and of schedules, to the second.
@Suite struct RightsBoundaryTests: SelectionSuite {
    /// Noon in London, on the day before Europe changes to daylight saving.
    private static let noon = 1_774_699_200.0

    /// 48 hours are as long over the change as ever.
    @Test func whatIsKeptForATimeGoesToTheSecond() async throws {
        try await F.with { fixture in
            let clock = try await QueueClock(fixture, at: Self.noon)
            var asset = F.file("a")
            asset.keepSeconds = 172_800
            let catalog = try await fixture.submit([asset])
            try await fixture.drain()
            let steps: [(seconds: Double, state: AssetState)] = [
                (172_799, .completed), (172_800, .expiring),
            ]
            for step in steps {
                try await clock.set(Self.noon + step.seconds)
                try await fixture.queue.files.purges.applyRights()
                #expect(try await fixture.assets(of: catalog).map(\.state) == [step.state])
            }
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/a"])
            #expect(try await fixture.assets(of: catalog).map(\.state) == [.expired])
        }
    }

    /// A territory's window: a list goes to two sites, and one of them begins later and ends earlier.
    @Test func aSitesWindowHoldsToTheSecond() async throws {
        try await F.with { fixture in
            let clock = try await QueueClock(fixture, at: Self.noon)
            let (begin, end) = (Self.noon + 3_600, Self.noon + 7_200)
            let other = "file:///srv/other"
            _ = try await fixture.submit(files(9...9, in: "before"), catalog: "before")
            try await fixture.drain()
            for (site, times) in [(F.site, [begin, end]), (other, [])] {
                var settings = SiteSettings(site: site)
                settings.adds = true
                (settings.notBefore, settings.expiresAt) = (times.first, times.last)
                let status = try await fixture.queue.sites.configure(settings)
                #expect(status.notBefore == times.first && status.expiresAt == times.last)
            }
            var assets = files(1...3)
            // One whose own window is narrower, and one whose own is wider.
            (assets[1].notBefore, assets[1].expiresAt) = (begin + 60, end - 60)
            (assets[2].notBefore, assets[2].expiresAt) = (begin - 60, end + 60)
            var catalogs: [CatalogID] = []
            for site in [F.site, other] {
                catalogs.append(try await fixture.submit(assets, site: site))
            }
            var begun: [AssetID: Double] = [:]
            for time in [Self.noon, begin - 60, begin - 1, begin, begin + 59, begin + 60] {
                try await clock.set(time)
                try await fixture.queue.files.purges.applyRights()
                for job in try await fixture.drain() where job.kind == .fetch {
                    begun[job.asset] = time
                }
            }
            let expected: [[Double?]] = [
                [begin, begin + 60, begin], [Self.noon, begin + 60, begin - 60],
            ]
            for (catalog, times) in zip(catalogs, expected) {
                let assets = try await fixture.assets(of: catalog).sorted { $0.name < $1.name }
                #expect(assets.map { begun[$0.id] } == times)
            }
            for (time, expiring) in [
                (end - 61, [0, 0]), (end - 60, [1, 1]), (end - 1, [1, 1]), (end, [3, 1]),
                (end + 60, [3, 2]),
            ] {
                try await clock.set(time)
                try await fixture.queue.files.purges.applyRights()
                for (catalog, count) in zip(catalogs, expiring) {
                    let assets = try await fixture.assets(of: catalog)
                    #expect(assets.count { $0.state == .expiring } == count, "\(time)")
                }
            }
            // What was submitted before the window was set has none.
            #expect(try await fixture.count("asset WHERE name = 'f9' AND state = 'completed'") == 1)
        }
    }

    /// From one to five o'clock it is three hours in Berlin on the day when daylight saving begins, and five
    /// on the day when it ends.
    @Test(arguments: [(1_774_742_400.0, 3.0), (1_792_882_800.0, 5.0)])
    func aScheduleOfANamedZoneOpensAndClosesToTheSecond(
        begin: Double, hours: Double
    ) async throws {
        try await F.with { fixture in
            let clock = try await QueueClock(fixture, at: begin - 3_600)
            try await fixture.submit(files(1...3))
            var settings = SiteSettings(site: F.site)
            settings.schedule = "Sun 01:00-05:00 off, else unlimited in Europe/Berlin"
            #expect(try await fixture.queue.sites.configure(settings).isClosed == false)
            let end = begin + hours * 3_600
            for (time, isClosed) in [
                (begin - 1, false), (begin, true), (end - 1, true), (end, false),
            ] {
                try await clock.set(time)
                try await fixture.queue.sites.applySchedules(all: false)
                let site = try await fixture.queue.sites.list().sites.first
                #expect(site?.isClosed == isClosed, "\(time)")
                #expect(try await fixture.lease(1).jobs.count == (isClosed ? 0 : 1), "\(time)")
            }
        }
    }
}
