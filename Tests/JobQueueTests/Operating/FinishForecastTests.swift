import API
import Foundation
import Model
import TestSupport
import Testing

@testable import JobQueue

/// When a catalog ends, by cases that can be calculated by hand.
@Suite struct FinishForecastTests {
    /// 2026-11-25T22:00:00Z, a Wednesday.
    private static let now = 1_795_644_000.0
    private static let hour = 3_600.0

    private func forecast(
        bytes: Double = 3_600_000_000, perSecond rate: Double? = 1_000_000
    ) -> FinishForecast {
        var forecast = FinishForecast(now: Self.now, rest: .bytes(bytes, segments: 3_600))
        forecast.rate = rate.map { .perSecond($0) } ?? .unknown
        forecast.queue = "q"
        forecast.workers = 3
        return forecast
    }

    private func end(
        _ seconds: Double, _ bound: CatalogFinish.Bound
    ) -> CatalogFinish.Estimate {
        .finishes(at: Self.now + seconds, seconds: seconds, bound)
    }

    @Test func aConstantRateWorksOffTheRest() {
        #expect(forecast().estimate == end(Self.hour, .workers(3)))
        var forecast = forecast(perSecond: 0.5)
        forecast.rest = .segments(90)
        #expect(forecast.estimate == end(180, .workers(3)))
        forecast.startSeconds = 100
        #expect(forecast.estimate == end(280, .workers(3)))
        forecast.otherCatalogs = 2
        #expect(forecast.estimate == end(280, .otherCatalogs(2)))
        forecast.lastStartSeconds = 280
        #expect(forecast.estimate == end(280, .otherCatalogs(2)))
        forecast.lastStartSeconds = 281
        #expect(forecast.estimate == end(281, .notBefore))
        forecast.rest = .nothing
        #expect(forecast.estimate == end(0, .nothingLeft))
    }

    /// A number that is infinite cannot be sent: nothing that lists the catalog would be answered.
    @Test func anEndIsUnknownWhileAllThatIsLeftIsPaused() throws {
        var forecast = forecast()
        forecast.startSeconds = CatalogWait.earliestStart(
            [CatalogWait(.paused(assets: 2), seconds: nil)], hasReadyJobs: false)
        for rest in [FinishForecast.Rest.bytes(1_000, segments: 2), .segments(2), .unknown] {
            forecast.rest = rest
            #expect(forecast.estimate == .unknown(.paused))
        }
        let finish = CatalogFinish(forecast.estimate, deadline: .unknown)
        let text = try JSONEncoder().encode(finish)
        #expect(try JSONDecoder().decode(CatalogFinish.self, from: text) == finish)
    }

    @Test func aClosedWindowExtendsTheTime() {
        // Open until 23:00: one hour of the two; the second one from 21:00 of the next day on.
        var forecast = forecast(bytes: 7_200_000_000)
        forecast.windows = FinishForecast.Windows("21:00-23:00 unlimited, else off")
        #expect(forecast.estimate == end(24 * Self.hour, .schedule))
        // It ends before the window closes.
        forecast.rest = .bytes(1_800_000_000, segments: 1)
        #expect(forecast.estimate == end(1_800, .workers(3)))
        // Closed now, until 06:00 in Berlin, which is 05:00 in UTC.
        forecast.windows = FinishForecast.Windows(
            "06:00-18:00 unlimited, else off in Europe/Berlin")
        #expect(forecast.estimate == end(7 * Self.hour + 1_800, .schedule))
        // Segments wait as well.
        forecast.rest = .segments(1_800_000_000)
        #expect(forecast.estimate == end(7 * Self.hour + 1_800, .schedule))
        forecast.windows = FinishForecast.Windows("off")
        #expect(forecast.estimate == .unknown(.scheduleClosed))
        // A minute each night for a day's work.
        forecast.windows = FinishForecast.Windows("02:00-02:01 unlimited, else off")
        forecast.rest = .bytes(86_400_000_000, segments: 1)
        #expect(forecast.estimate == .unknown(.scheduleClosed))
    }

    @Test func aNarrowWindowSlowsBytesDown() {
        // An hour at 1 MB/s, then half as fast.
        var forecast = forecast(bytes: 7_200_000_000)
        forecast.windows = FinishForecast.Windows("21:00-23:00 unlimited, else 500kB/s")
        #expect(forecast.estimate == end(3 * Self.hour, .siteBandwidth))
        forecast.windows = FinishForecast.Windows("", maximumBytesPerSecond: 1_100_000)
        #expect(forecast.estimate == end(2 * Self.hour, .siteBandwidth))
        forecast.windows = FinishForecast.Windows("", maximumBytesPerSecond: 2_000_000)
        #expect(forecast.estimate == end(2 * Self.hour, .workers(3)))
    }

    @Test func anOriginsLimitBinds() {
        let bound = CatalogFinish.Bound.originLimit(origin: "https://o", origins: 2)
        var forecast = forecast()
        (forecast.origins.first, forecast.origins.count) = ("https://o", 2)
        forecast.origins.bytesPerSecond = 1_200_000
        #expect(forecast.estimate == end(Self.hour, bound))
        forecast.origins.bytesPerSecond = 1_300_000
        #expect(forecast.estimate == end(Self.hour, .workers(3)))
        // One segment has a megabyte: one request a second is the rate.
        forecast.origins.requestsPerSecond = 1
        #expect(forecast.estimate == end(Self.hour, bound))
        forecast.origins.requestsPerSecond = 2
        forecast.origins.areFull = true
        #expect(forecast.estimate == end(Self.hour, bound))
    }

    @Test func limitsGiveTheFirstRate() {
        var forecast = forecast(perSecond: nil)
        #expect(forecast.estimate == .unknown(.noRate))
        forecast.windows = FinishForecast.Windows("", maximumBytesPerSecond: 500_000)
        #expect(forecast.estimate == end(2 * Self.hour, .siteBandwidth))
        forecast.windows = FinishForecast.Windows("22:00-23:00 500kB/s, else unlimited")
        #expect(forecast.estimate == .unknown(.noRate))
        (forecast.origins.first, forecast.origins.count) = ("https://o", 1)
        forecast.origins.requestsPerSecond = 0.5
        #expect(
            forecast.estimate
                == end(2 * Self.hour, .originLimit(origin: "https://o", origins: 1)))
        forecast.rest = .segments(10)
        #expect(
            forecast.estimate == end(20, .originLimit(origin: "https://o", origins: 1)))
    }

    @Test func whatStopsItIsNamed() {
        var forecast = forecast()
        forecast.roomBytes = 3_500_000_000
        #expect(forecast.estimate == .unknown(.noRoom(missingBytes: 100_000_000)))
        forecast.roomBytes = -5
        #expect(forecast.estimate == .unknown(.noRoom(missingBytes: 3_600_000_000)))
        forecast.roomBytes = 3_600_000_000
        #expect(forecast.estimate == end(Self.hour, .workers(3)))
        forecast.rest = .unknown
        #expect(forecast.estimate == .unknown(.noSize))
        forecast.workers = 0
        #expect(forecast.estimate == .unknown(.noWorker(queue: "q")))
        forecast.siteFailure = .storageFull
        #expect(forecast.estimate == .unknown(.siteFailing(.storageFull)))
        forecast.isPaused = true
        #expect(forecast.estimate == .unknown(.queuePaused(queue: "q")))
    }

    @Test func whatIsLeftIsReadFromTheTotals() {
        var totals = CatalogTotals()
        (totals.assets, totals.segments) = (4, 0)
        #expect(FinishForecast.Rest(totals) == .unknown)
        (totals.segments, totals.segmentsDone, totals.segmentsFailed) = (10, 3, 1)
        #expect(FinishForecast.Rest(totals) == .segments(6))
        (totals.expectedBytes, totals.bytes, totals.receivingBytes) = (1_000, 300, 50)
        #expect(FinishForecast.Rest(totals) == .bytes(650, segments: 6))
        totals.segmentsDone = 9
        #expect(FinishForecast.Rest(totals) == .unknown)
        totals.completed = 4
        #expect(FinishForecast.Rest(totals) == .nothing)
    }
}
