import Model
import Testing

@testable import Planner

/// Plans from what was counted, and held against what was done.
@Suite struct MeasuredPlanTests {
    private static func values(_ given: [ScenarioInput: Double]) -> ScenarioValues {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        return ScenarioValues(scenario)
    }

    private func isNear(_ left: Double, _ right: Double) -> Bool {
        abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    }

    /// Requests that were counted go before those that users come to.
    @Test func countedRequestsReplaceReckonedOnes() {
        let demand = Demand(
            Self.values([
                .meanRequests: 200, .peakRequests: 500, .requestBytes: 1e6, .hitRatio: 0.9,
                .attempts: 1,
            ]))
        #expect(demand.meanRequestsPerSecond == 200)
        #expect(demand.peakRequestsPerSecond == 500)
        #expect(demand.peakEgressBitsPerSecond == 4e9)
        #expect(isNear(demand.egressBytesPerMonth, 200e6 * 86_400 * 365.25 / 12))
        #expect(isNear(demand.peakMissesPerSecond, 50))
        #expect(demand.missBytes == 1e6)
    }

    @Test func whatWasCountedGrowsWithTheAudience() throws {
        var scenario = Scenario()
        scenario.given = [
            .meanRequests: Estimate(200), .peakRequests: Estimate(500),
            .audienceGrowth: Estimate(1),
        ]
        let plan = try Plan(scenario)
        #expect(isNear(plan.growth.months[3].peakRequestsPerSecond, 4_000))
    }

    /// Four workers of 50 segments a second: 1,000 segments in 5 seconds, and what retries add.
    @Test func aRunIsPredicted() throws {
        let check = try RunCheck(
            Self.values([
                .segmentsPerSecond: 50, .contention: 0, .coherency: 0, .attempts: 1.1,
            ]),
            RunCheck.Run(segments: 1_000, bytes: 1e9, seconds: 5, retries: 80, workers: 4))
        let rows = Dictionary(uniqueKeysWithValues: check.rows.map { ($0.figure, $0) })
        let time = try #require(rows["time"])
        #expect(isNear(time.predicted, 5.5))
        #expect(isNear(try #require(time.error), 0.1))
        #expect(isNear(try #require(rows["segments a second"]).measured, 200))
        #expect(isNear(try #require(rows["retries"]).predicted, 100))
    }

    @Test func anOriginsLimitHoldsForARunToo() throws {
        let check = try RunCheck(
            Self.values([
                .segmentsPerSecond: 50, .contention: 0, .attempts: 1, .originRequests: 100,
            ]),
            RunCheck.Run(segments: 1_000, bytes: 1e9, seconds: 10, retries: 0, workers: 4))
        #expect(check.rows.first.map { isNear($0.predicted, 10) } == true)
    }

    @Test(arguments: [(0.0, 1.0, 1.0), (1, 0, 1), (1, 1, 0), (1, .nan, 1), (-1, 1, 1)])
    func aRunThatDidNothingIsRefused(segments: Double, bytes: Double, seconds: Double) {
        let error = #expect(throws: PlannerError.self) {
            try RunCheck(
                Self.values([:]),
                RunCheck.Run(
                    segments: segments, bytes: bytes, seconds: seconds, retries: 0, workers: 1))
        }
        #expect(error?.field.hasPrefix("totals.") == true)
    }

    private static func catalog(
        segments: Int, seconds: Double, retries: Int, state: CatalogState = .completed,
        adopted: Int64 = 0
    ) -> CatalogStatus {
        var totals = CatalogTotals()
        totals.segments = segments
        totals.segmentsDone = segments
        totals.seconds = seconds
        totals.retries = retries
        totals.adoptedBytes = adopted
        return CatalogStatus(
            id: CatalogID(rawValue: 1), name: "c", queue: "q", storageURL: "file:///srv/edge",
            state: state, generation: 1, totals: totals, active: [])
    }

    private static func status(_ catalogs: [CatalogStatus], workers: Int) -> ClusterStatus {
        ClusterStatus(
            version: "1", schemaVersion: 1, catalogs: catalogs, queues: [],
            workers: (0..<workers).map { number in
                ClusterStatus.WorkerStatus(
                    id: "\(number)", name: "w", activeTransfers: 0,
                    silentSeconds: 0)
            })
    }

    /// Two workers: 100 and 140 segments a second.
    @Test func aClustersHistoryTellsTheSpeedOfItsWorkers() throws {
        let history = ClusterHistory(
            Self.status(
                [
                    Self.catalog(segments: 1_000, seconds: 10, retries: 100),
                    Self.catalog(segments: 1_400, seconds: 10, retries: 0),
                    Self.catalog(segments: 50, seconds: 10, retries: 0),
                    Self.catalog(segments: 9_000, seconds: 1, retries: 0, state: .running),
                    Self.catalog(segments: 9_000, seconds: 1, retries: 0, adopted: 5),
                ], workers: 2))
        #expect(history.catalogs == 2)
        let speed = try #require(history.values["worker.segmentsPerSecond"])
        #expect(isNear(speed.likely, 60))
        #expect(speed.low < 50 && speed.high > 70)
        #expect(isNear(try #require(history.values["worker.attemptsPerSegment"]).likely, 1.05))
    }

    @Test func aClusterThatDidNothingTellsNothing() {
        #expect(ClusterHistory(Self.status([], workers: 3)).values.isEmpty)
        let catalog = Self.catalog(segments: 1_000, seconds: 10, retries: 0)
        let alone = ClusterHistory(Self.status([catalog], workers: 0))
        #expect(alone.values["worker.segmentsPerSecond"] == nil)
        #expect(alone.values["worker.attemptsPerSegment"] != nil)
    }
}
