import Model
import Planner
import Statistics
import TestSupport
import Testing

/// Predicted hit ratios beside a replay of what was held out.
@Suite(.computing) struct FillForecastTests {
    private struct Outcome {
        var plan: SitePlan
        /// Hit ratios of the day that was held out.
        var requests: Double
        var bytes: Double
        /// The ratio over the requests that chose the titles.
        var known: Double
    }

    private static func outcome(
        exponent: Double, churn: Double, storageShare: Double, windowShare: Double,
        order: FillLimits.Order, churnFrom: Int = 20, seed: UInt64
    ) throws -> Outcome {
        var source = SyntheticRequests(
            titles: 2_000, requestsPerDay: 20_000, exponent: exponent, churn: churn,
            churnFrom: churnFrom, seed: seed)
        var history = FillHistory(sliceSeconds: 86_400)
        var total = FillHistory.Count()
        var byTitle: [Int: FillHistory.Count] = [:]
        let days = 15
        for day in 0..<days {
            for title in source.day() {
                history.add(SyntheticRequests.request(title, day: day), title: title)
                let count = FillHistory.Count(requests: 1, bytes: SyntheticRequests.bytes(title))
                total.add(count)
                byTitle[title, default: FillHistory.Count()].add(count)
            }
        }
        let heldOut = source.day()
        let sizes = (0..<source.count).map(SyntheticRequests.bytes)
        let all = (0..<2_000).reduce(0) { $0 + sizes[$1] }
        let limits = FillLimits(
            storageBytes: all * storageShare, bytesPerFill: all * windowShare, order: order)
        let plan = try #require(
            SitePlan(site: "s", history, sizes: sizes, limits, halfLifeSlices: nil))
        let stored = Set(plan.titles)
        let hits = heldOut.filter(stored.contains)
        func bytes(_ titles: [Int]) -> Double { titles.reduce(0) { $0 + sizes[$1] } }
        let known = stored.reduce(0.0) { $0 + (byTitle[$1]?.requests ?? 0) } / total.requests
        return Outcome(
            plan: plan, requests: Double(hits.count) / Double(heldOut.count),
            bytes: bytes(hits) / bytes(heldOut), known: known)
    }

    @Test(arguments: [
        (0.8, 0.0, 0.1, 1.0, UInt64(1)), (0.8, 0.03, 0.1, 0.05, 2), (1.0, 0.05, 0.05, 0.05, 3),
        (0.6, 0.02, 0.3, 0.1, 4), (1.2, 0.1, 0.1, 0.05, 5),
    ])
    func thePredictionIsWithinTwoPointsOfAReplay(
        exponent: Double, churn: Double, storageShare: Double, windowShare: Double, seed: UInt64
    ) throws {
        for order in FillLimits.Order.allCases {
            let outcome = try Self.outcome(
                exponent: exponent, churn: churn, storageShare: storageShare,
                windowShare: windowShare, order: order, seed: seed)
            #expect(abs(outcome.plan.requestHits.likely - outcome.requests) < 0.02)
            #expect(abs(outcome.plan.byteHits.likely - outcome.bytes) < 0.02)
            let range = try #require(outcome.plan.requestHits.range)
            #expect(range.upperBound - range.lowerBound < 0.1)
        }
    }

    /// A new first title can take a tenth of a day's requests. It cannot be predicted, and the range
    /// is as wide.
    @Test(arguments: [(1.0, 0.05, UInt64(3)), (1.2, 0.1, 5)])
    func whereTheHeadChangesTheRangeIsWide(exponent: Double, churn: Double, seed: UInt64) throws {
        let outcome = try Self.outcome(
            exponent: exponent, churn: churn, storageShare: 0.1, windowShare: 0.05, order: .bytes,
            churnFrom: 0, seed: seed)
        let range = try #require(outcome.plan.byteHits.range)
        #expect(range.contains(outcome.bytes) && range.upperBound - range.lowerBound > 0.1)
    }

    @Test func theRequestsThatChoseTheTitlesDoNotPredict() throws {
        let outcome = try Self.outcome(
            exponent: 0.6, churn: 0.02, storageShare: 0.3, windowShare: 1, order: .requests, seed: 6
        )
        #expect(abs(outcome.known - outcome.requests) > 0.02)
        #expect(abs(outcome.plan.requestHits.likely - outcome.requests) < 0.02)
    }

    @Test func whatIsNewCountsMoreIfPopularityChanges() throws {
        func halfLife(_ churn: Double) throws -> Double {
            let outcome = try Self.outcome(
                exponent: 0.8, churn: churn, storageShare: 0.1, windowShare: 1, order: .bytes,
                seed: 7)
            guard case .logs(_, let halfLife) = outcome.plan.basis else { return 0 }
            return halfLife
        }
        #expect(try halfLife(0.3) < halfLife(0))
    }

    @Test func aShortLogSaysSo() throws {
        var history = FillHistory(sliceSeconds: 86_400)
        for title in [0, 0, 1] {
            history.add(SyntheticRequests.request(title, day: 3), title: title)
        }
        let plan = try #require(
            SitePlan(
                site: "s", history, sizes: [1e6, 0], FillLimits(storageBytes: 1e9),
                halfLifeSlices: nil))
        #expect(plan.basis == .shortLogs)
        #expect(plan.titles == [0] && plan.titlesWithoutSize == 1)
        #expect(abs(plan.requestHits.likely - 2.0 / 3) < 1e-9)
        #expect(
            SitePlan(
                site: "s", FillHistory(sliceSeconds: 60), sizes: [], FillLimits(storageBytes: 1),
                halfLifeSlices: nil) == nil)
    }

    @Test func weightsPredictTheirShareAndTheWindowsUntilItIsThere() throws {
        let sizes = [4.0, 1, 2, 8]
        let plan = SitePlan(
            site: "s", weights: [4, 3, 2, 1], low: [1, 1, 1, 1], high: nil, sizes: sizes,
            FillLimits(storageBytes: 7, bytesPerFill: 4))
        // By bytes wanted for each byte: the weights themselves.
        #expect(plan.titles == [0, 1, 2] && plan.bytes == 7)
        #expect(abs(plan.requestHits.likely - 0.9) < 1e-9)
        #expect(plan.requestHits.range == 0.75...0.9)
        #expect(plan.nights.map(\.number) == [1, 2])
        #expect(plan.nights.map(\.bytes) == [4, 7])
        #expect(abs(plan.nights[0].requestHits - 0.4) < 1e-9)
        #expect(abs(plan.nights[1].byteHits - 23.0 / 31) < 1e-9)
        let byRequests = SitePlan(
            site: "s", weights: [4, 3, 2, 1], low: nil, high: nil, sizes: sizes,
            FillLimits(storageBytes: 3, order: .requests))
        #expect(byRequests.titles == [1, 2] && byRequests.nights.isEmpty)
    }

    @Test func oldSlicesAreDroppedAndLateRequestsCount() {
        var history = FillHistory(sliceSeconds: 60)
        func add(_ minute: Int) {
            history.add(FileRequest(key: "k", time: Double(minute) * 60, bytes: 1), title: 0)
        }
        for minute in 0..<100 { add(minute) }
        #expect(history.slices.count == FillHistory.maxSlices)
        #expect(history.droppedRequests == 36)
        add(1)
        add(80)
        #expect(history.droppedRequests == 37 && history.requests == 65)
    }
}

/// Which title a file of a log belongs to.
@Suite struct FillTitlesTests {
    private static func titles(_ keys: [String]) throws -> FillTitles {
        var titles = FillTitles()
        for key in keys {
            try titles.add(
                FillTitles.Title(
                    asset: .init(
                        name: key, url: "https://\(key)",
                        kind: key.hasSuffix(".m3u8") ? .hls : .file, key: key)))
        }
        return titles
    }

    @Test func aFolderBelongsToItsManifest() throws {
        let titles = try Self.titles([
            "o/a/master.m3u8", "o/a/poster.jpg", "o/a/b/master.m3u8", "o/f.mp4?v=2", "top.m3u8",
        ])
        #expect(titles.index(ofFile: "o/a/master.m3u8") == 0)
        #expect(titles.index(ofFile: "o/a/v1/1.ts") == 0)
        #expect(titles.index(ofFile: "o/a/poster.jpg") == 1)
        #expect(titles.index(ofFile: "o/a/b/1.ts") == 2)
        #expect(titles.index(ofFile: "o/f.mp4") == 3)
        #expect(titles.index(ofFile: "top.m3u8") == 4)
        for other in ["o/c.ts", "o/ab/1.ts", "o", "", "/", "x.ts"] {
            #expect(titles.index(ofFile: other) == nil)
        }
    }

    @Test func whatIsKnownOfATitleAddsUp() throws {
        var titles = try Self.titles(["o/a.mp4"])
        let asset = titles.titles[0].asset
        try titles.add(FillTitles.Title(asset: asset, bytes: 5))
        try titles.add(FillTitles.Title(asset: asset, weight: 7))
        #expect(titles.titles.count == 1)
        #expect(titles.titles[0].bytes == 5 && titles.titles[0].weight == 7)
    }

    @Test func theSizeIsThatOfTheLargestAnswers() {
        var seen = SeenSizes()
        for (key, bytes) in [("a", 100.0), ("a", 40), ("b", 0), ("b", 60), ("a", 120)] {
            seen.add(FileRequest(key: key, time: 0, bytes: bytes), title: 3)
        }
        #expect(abs((seen.titles[3] ?? 0) - 180) < 0.01)
    }
}
