import Testing

@testable import Planner
@testable import Statistics

/// A worker's speed by size, and what bounds it.
@Suite struct MeasuredSpeedTests {
    private static func values(_ given: [ScenarioInput: Double]) -> ScenarioValues {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        return ScenarioValues(scenario)
    }

    private func isNear(_ left: Double, _ right: Double) -> Bool {
        abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    }

    /// 2,500 objects a second of 64 KiB are not 2,500 of 4 MiB: 0.4 ms, and 8 ms a megabyte more by
    /// the network.
    @Test func whatWasMeasuredHoldsForItsSize() {
        var given: [ScenarioInput: Double] = [
            .segmentsPerSecond: 2_500, .measuredBytes: 100_000, .nicMegabits: 1_000,
        ]
        func speed(_ bytes: Double) -> WorkerSpeed {
            WorkerSpeed(Self.values(given), bytes: bytes)
        }
        // 100,000 bytes take 0.8 ms of 1 Gbit/s: what was measured here cannot be had there.
        #expect(speed(100_000).bound == .network)
        given[.nicMegabits] = 10_000
        #expect(isNear(speed(100_000).segmentsPerSecond, 2_500))
        #expect(speed(100_000).bound == .measured)
        // 32 connections of 100 Mbit/s: 2.5 ns a byte.
        let larger = speed(1_100_000)
        #expect(isNear(larger.segmentsPerSecond, 1 / (0.4e-3 + 1e6 * 2.5e-9)))
        #expect(isNear(speed(50_000).segmentsPerSecond, 1 / (0.4e-3 - 5e4 * 2.5e-9)))
        // What was measured with several sizes goes before what is reckoned.
        given[.secondsPerGigabyte] = 3
        #expect(isNear(speed(1_100_000).segmentsPerSecond, 1 / (0.4e-3 + 3e-3)))
        // No byte takes more than all that was measured.
        given[.secondsPerGigabyte] = 1_000
        #expect(isNear(speed(200_000).segmentsPerSecond, 1_250))
        // Cores bound it as well.
        given[.machineCores] = 1
        given[.cpuPerGigabyte] = 20
        #expect(speed(1_100_000).bound == .cpu)
    }

    @Test func timesOfTransfersGrowWithTheirBytes() {
        let values = Self.values([
            .serviceSeconds: 0.1, .measuredBytes: 1e6, .connectionMegabits: 100,
        ])
        #expect(isNear(WorkerSpeed(values, bytes: 1e6).transferSeconds, 0.1))
        #expect(isNear(WorkerSpeed(values, bytes: 2e6).transferSeconds, 0.18))
        #expect(isNear(WorkerSpeed(values, bytes: 0).transferSeconds, 0.02))
        // Without a size it applies to any fetch.
        let plain = Self.values([.serviceSeconds: 0.1])
        #expect(WorkerSpeed(plain, bytes: 5e6).transferSeconds == 0.1)
    }

    @Test(
        arguments: [[:], [.segmentsPerSecond: 900, .measuredBytes: 65_536]]
            as [[ScenarioInput: Double]])
    func largerSegmentsAreNoFaster(given: [ScenarioInput: Double]) {
        let values = Self.values(given)
        let speeds = [0, 1e3, 65_536, 1e6, 1e8, 1e12].map { WorkerSpeed(values, bytes: $0) }
        for (less, more) in zip(speeds, speeds.dropFirst()) {
            #expect(less.segmentsPerSecond >= more.segmentsPerSecond)
            #expect(less.transferSeconds <= more.transferSeconds)
            #expect(more.segmentsPerSecond * more.segmentBytes <= 125e6 * (1 + 1e-9))
            #expect(more.segmentsPerSecond.isFinite && more.segmentsPerSecond > 0)
        }
    }

    /// Runs of two sizes separate the fixed time from that of bytes: 1 ms and 10 ns a byte.
    @Test func aPlanOfOtherSizesIsReckonedFromMeasurements() throws {
        func run(_ size: Double) -> String {
            let seconds = 1e-3 + 10e-9 * size
            return """
                {"objects": 1000, "bytes": \(1_000 * size), "connections": 32, "cpuSeconds": 0.1, \
                "objectsPerSecond": \(1 / seconds)}
                """
        }
        let found = try Calibration.read("[\(run(10_000)),\(run(90_000)),\(run(200_000))]")
        // Sizes are no noise of times.
        let service = try #require(found.values["worker.serviceSeconds"])
        #expect(isNear(service.low, service.likely) && isNear(service.high, service.likely))
        #expect(isNear(service.likely, 32 * (1e-3 + 10e-9 * 100_000)))
        var given: [ScenarioInput: Double] = [.nicMegabits: 100_000]
        for (path, measured) in found.values {
            given[try #require(ScenarioInput.named(path))] = measured.likely
        }
        let values = Self.values(given)
        for size in [0, 50_000, 4e6] {
            let speed = WorkerSpeed(values, bytes: size)
            #expect(abs(speed.segmentsPerSecond * (1e-3 + 10e-9 * size) - 1) < 1e-6)
            #expect(abs(speed.transferSeconds / 32 / (1e-3 + 10e-9 * size) - 1) < 1e-6)
        }
    }

    /// One run has no interval: its error is unknown.
    @Test func oneRunHasNoInterval() throws {
        let run = #"{"objectsPerSecond": 100, "objects": 10, "bytes": 1000, "connections": 4}"#
        let one = try Calibration.read(run)
        #expect(one.values["worker.segmentsPerSecond"]?.interval == nil)
        #expect(one.values["worker.measuredBytes"]?.likely == 100)
        let two = try Calibration.read("[\(run), \(run.replacing("100,", with: "120,"))]")
        let speed = try #require(two.values["worker.segmentsPerSecond"]?.interval)
        #expect(speed.lowerBound < 110 && speed.upperBound > 110)
        #expect(Moments([3]).meanEstimate.interval == nil)
        #expect(Moments([3, 3]).meanEstimate.interval == 3...3)
        #expect(Moments([3, 4]).cv2Estimate.interval == nil)
        // Any three numbers of workers fit the law.
        let three = try Calibration.read("1,100\n2,195\n4,370\n")
        #expect(three.values["worker.contention"]?.interval == nil)
        let six = try Calibration.read("1,100\n2,195\n4,370\n8,670\n16,1100\n32,1500\n")
        #expect(six.values["worker.contention"]?.interval != nil)
    }

    /// A pool's runs report their size.
    @Test func poolsHaveSizes() throws {
        let found = try Calibration.read(
            """
            {"workers": 1, "segmentsPerSecond": 80, "segmentBytes": 16384}
            {"workers": 2, "segmentsPerSecond": 160, "segmentBytes": 16384}
            """)
        #expect(found.values["worker.measuredBytes"]?.likely == 16_384)
        let without = try Calibration.read(#"{"workers": 1, "segmentsPerSecond": 80}"#)
        #expect(without.values["worker.measuredBytes"] == nil)
    }
}
