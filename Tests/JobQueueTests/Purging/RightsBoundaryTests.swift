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
        try await F.with("boundary_keep") { fixture in
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

    /// From one to five o'clock it is three hours in Berlin on the day when daylight saving begins, and five
    /// on the day when it ends.
    @Test(arguments: [(1_774_742_400.0, 3.0), (1_792_882_800.0, 5.0)])
    func aScheduleOfANamedZoneOpensAndClosesToTheSecond(
        begin: Double, hours: Double
    ) async throws {
        try await F.with("boundary_zone") { fixture in
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
