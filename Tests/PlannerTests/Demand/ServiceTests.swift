import Glibc
import Testing

@testable import Planner

/// Kinds of services, their peaks, and what their edges cannot answer.
@Suite struct ServiceTests {
    private static func demand(
        _ service: ServiceKind, _ given: [ScenarioInput: Double] = [:]
    ) -> Demand {
        var scenario = Scenario()
        scenario.service = service
        scenario.given = given.mapValues { Estimate($0) }
        return Demand(ScenarioValues(scenario))
    }

    private func isNear(_ left: Double, _ right: Double) -> Bool {
        abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    }

    /// A share of 17 % of a day's users on demand, 25 % live; downloads as long as they take.
    @Test func peaksAreThoseOfTheKind() {
        let vod = Self.demand(.vod)
        #expect(isNear(vod.peakConcurrentUsers / vod.dailyActiveUsers, 99.0 / 1_440 * 2.5))
        let live = Self.demand(.live)
        #expect(isNear(live.peakConcurrentUsers / live.dailyActiveUsers, 0.25))
        #expect(isNear(live.peakOverMean, 0.25 * 1_440 / 60))
        let downloads = Self.demand(.downloads)
        // 1.1 GB at 100 Mbit/s take 88 s, 2.5 times as many at the peak.
        #expect(isNear(downloads.peakConcurrentUsers, 500 * 88 / 86_400 * 2.5))
        #expect(isNear(downloads.egressBytesPerMonth, 500 * 1.1e9 * 365.25 / 12))
        #expect(isNear(downloads.peakEgressBitsPerSecond, 500 * 8.8e9 / 86_400 * 2.5))
    }

    /// The peak over the mean is that of viewers, also for actions, if a share of them is given.
    @Test func aGivenShareIsThePeakOfActionsToo() {
        let demand = Self.demand(.vod, [.peakShare: 0.33])
        #expect(isNear(demand.peakOverMean, 0.33 * 1_440 / 99))
        let ratio = Self.demand(.vod, [.peakToMean: 0.33 * 1_440 / 99])
        #expect(isNear(ratio.peakRequestsPerSecond, demand.peakRequestsPerSecond))
        #expect(isNear(ratio.peakEgressBitsPerSecond, demand.peakEgressBitsPerSecond))
    }

    @Test(arguments: [0.0, 0.6, 0.8, 1, 1.2, 3])
    func popularityIsZipfs(exponent: Double) {
        for titles in [1.0, 7, 200, 1_000, 50_000] {
            let sum = (1...Int(titles)).reduce(0.0) { $0 + pow(Double($1), -exponent) }
            for share in [0.001, 0.01, 0.1, 0.5, 0.9, 1] where titles * share >= 1 {
                let stored = Int((titles * share).rounded(.down))
                let top = (1...stored).reduce(0.0) { $0 + pow(Double($1), -exponent) }
                let found = ZipfPopularity(titles: titles, exponent: exponent)
                    .ofMostPopular(share: Double(stored) / titles)
                #expect(abs(found - top / sum) < 1e-5, "\(titles) titles, \(share)")
            }
        }
    }

    /// An edge that holds everything misses what is new; one that holds a tenth misses the tail as well.
    @Test func theHitRatioFollowsFromTheContent() {
        let large: [ScenarioInput: Double] = [.monthlyActiveUsers: 1e4]
        func ratio(_ given: [ScenarioInput: Double]) -> Double {
            Self.demand(.vod, large.merging(given) { $1 }).hitRatio
        }
        #expect(ratio([.changePerDay: 0]) == 1)
        #expect(isNear(ratio([.changePerDay: 0.001, .newTitleFactor: 0]), 1))
        let new = 1 - ratio([.changePerDay: 0.01, .newTitleFactor: 2, .titles: 1e6])
        #expect(isNear(new, 0.02))
        let top = ZipfPopularity(titles: 1_000, exponent: 0.8).ofMostPopular(share: 0.1)
        #expect(isNear(ratio([.storedShare: 0.1, .changePerDay: 0]), top))
        #expect(top > 0.5 && top < 0.6)
        // Each new segment is fetched once: many viewers share it.
        let few = 1 - ratio([.monthlyActiveUsers: 1e3])
        let many = 1 - ratio([.monthlyActiveUsers: 1e7])
        #expect(many < few / 100)
        #expect(ratio([.hitRatio: 0.8]) == 0.8)
    }

    /// All renditions of a channel with audio, each segment once.
    @Test func liveEdgesFetchEachSegmentOnce() {
        let live = Self.demand(
            .live, [.monthlyActiveUsers: 1e6, .titles: 2, .sites: 3, .attempts: 1])
        #expect(isNear(live.peakMissesPerSecond, 2 * 10 / 6 * 3))
        #expect(isNear(live.meanMissesPerSecond, live.peakMissesPerSecond))
        #expect(live.fillBytesPerDay == 0)
    }

    /// A ratio that the content cannot give is used, and named.
    @Test func aContradictingHitRatioIsNoted() throws {
        func notes(_ given: [ScenarioInput: Double]) throws -> [String] {
            var scenario = Scenario()
            scenario.given = given.mapValues { Estimate($0) }
            return try Plan(scenario).notes.filter { $0.contains("edge.hitRatio") }
        }
        #expect(try notes([.storedShare: 0.05, .hitRatio: 0.95]).count == 1)
        #expect(try notes([.changePerDay: 0, .hitRatio: 0.99]).isEmpty)
        #expect(try notes([:]).isEmpty)
    }

    /// A bit rate says what is stored beside it.
    @Test func aBitRateIsNotedWithTheLadder() throws {
        func note(_ kilobits: Double?) throws -> String? {
            var scenario = Scenario()
            scenario.given[.kilobitsPerSecond] = kilobits.map { Estimate($0) }
            return try Plan(scenario).notes.first { $0.hasPrefix("Viewers get ") }
        }
        let within = try #require(try note(4_000))
        #expect(
            within.contains("Storage and fill have all 9 renditions") && within.contains("--ladder")
        )
        #expect(!within.contains("in addition"))
        let beyond = try #require(try note(20_000))
        #expect(beyond.contains("it is stored in addition") && beyond.contains("all 10 renditions"))
        #expect(try note(nil) == nil)
    }

    /// 154 Gbit/s by a few servers of 100 Gbit/s, whose CPU sends the bytes with TLS.
    @Test func edgeServersAreOfAKindThatFits() {
        var scenario = Scenario()
        scenario.given = [
            .meanRequests: 5_000, .peakRequests: 11_000, .requestBytes: 1.75e6,
            .edgeCPUPerGigabyte: 0.8, .edgeRequestsPerCore: 10_000,
        ].mapValues { Estimate($0) }
        let large = Sizing(ScenarioValues(scenario)).edge
        #expect(large.megabitsPerSecond == 100_000 && large.cores == 64)
        // 154 / 100 at 70 %, and a spare one.
        #expect(large.servers == 4)
        #expect(isNear(large.coresInUse, 1.1 + 19.25 * 0.8))
        // 19.25 GB/s of disks that read 2 GB/s, at 70 %.
        #expect(large.disks == 14)
        scenario.given[.edgeCPUPerGigabyte] = Estimate(20)
        #expect(Sizing(ScenarioValues(scenario)).edge.servers == 10)
        scenario.given[.requestBytes] = Estimate(2e4)
        let small = Sizing(ScenarioValues(scenario)).edge
        #expect(small.megabitsPerSecond == 1_000 && small.cores == 4)
        scenario.given[.edgeMegabits] = Estimate(25_000)
        #expect(Sizing(ScenarioValues(scenario)).edge.cores == 32)
    }
}
