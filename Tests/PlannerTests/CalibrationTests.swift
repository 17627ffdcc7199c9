import Foundation
import Planner
import Statistics
import Testing

@Suite struct CalibrationTests {
    private func near(_ value: Double?, _ expected: Double, _ part: Double = 1e-9) -> Bool {
        value.map { abs($0 - expected) <= part * abs(expected) } ?? false
    }

    /// What `dray benchmark transfer --json` prints.
    private func transfer(objects: Int, bytes: Int, seconds: Double, cpu: Double) -> String {
        """
        {"objects": \(objects), "failed": 0, "bytes": \(bytes), "connections": 32, \
        "seconds": \(seconds), "cpuSeconds": \(cpu), "peakResidentBytes": 21000000, \
        "objectsPerSecond": \(Double(objects) / seconds), "bytesPerSecond": 1, \
        "cpuSecondsPerGigabyte": \(cpu / Double(bytes) * 1e9), "cpuSecondsPer10000Objects": 1}
        """
    }

    @Test func oneRunOfTheEngine() throws {
        let run = transfer(objects: 10_000, bytes: 1_000_000_000, seconds: 4, cpu: 2.2)
        let found = try Calibration.read(run)
        #expect(near(found.values["worker.segmentsPerSecond"]?.likely, 2_500))
        #expect(near(found.values["worker.serviceSeconds"]?.likely, 32.0 / 2_500))
        #expect(near(found.values["worker.cpuSecondsPerGigabyte"]?.likely, 2.2 - 0.31))
        #expect(found.values["worker.cpuMicrosecondsPerSegment"] == nil)
    }

    /// Sizes separate CPU time of 30 µs an object from 2 s a gigabyte.
    @Test func runsOfDifferentSizesSeparateObjectsFromBytes() throws {
        func run(_ size: Int) -> String {
            transfer(
                objects: 10_000, bytes: 10_000 * size, seconds: 2,
                cpu: 10_000 * (30e-6 + 2e-9 * Double(size)))
        }
        for text in [
            "[\(run(1_000)), \(run(100_000)), \(run(1_000_000))]",
            "\(run(1_000))\n\n\(run(100_000))\n\(run(1_000_000))\n",
        ] {
            let found = try Calibration.read(text)
            #expect(near(found.values["worker.cpuMicrosecondsPerSegment"]?.likely, 30, 1e-6))
            #expect(near(found.values["worker.cpuSecondsPerGigabyte"]?.likely, 2, 1e-6))
            #expect(found.values["worker.cpuSecondsPerGigabyte"]?.count == 3)
        }
    }

    @Test func runsOfTheQueue() throws {
        let found = try Calibration.read(
            """
            [{"mode": "throughput", "apiPerSecond": 50000, "walBytesPerSegment": 500,
              "submitWALBytesPerSegment": 300,
              "cpuMicrosecondsPerSegment": {"postgres": 12, "coordinator": 4, "client": 3}},
             {"mode": "throughput", "apiPerSecond": 50000, "walBytesPerSegment": 500,
              "submitWALBytesPerSegment": 300,
              "cpuMicrosecondsPerSegment": {"postgres": 14, "coordinator": 5, "client": 3}}]
            """)
        let database = try #require(found.values["database.cpuMicrosecondsPerSegment"])
        #expect(database.likely == 13 && database.low < 12 && database.high > 14)
        #expect(database.low >= 0)
        #expect(found.values["coordinator.cpuMicrosecondsPerSegment"]?.likely == 4.5)
        #expect(found.values["database.walBytesPerSegment"]?.likely == 800)
    }

    @Test func runsOfAPool() throws {
        let law = Scalability(alpha: 0.03, beta: 0.001, gamma: 500)
        let runs = [1, 2, 4, 8, 16].map { workers in
            """
            {"workers": \(workers), "segmentsPerSecond": \(law.throughput(Double(workers))), \
            "serviceSeconds": [0.05, 0.06, 0.07, 0.05]}
            """
        }
        let found = try Calibration.read("[\(runs.joined(separator: ","))]")
        #expect(near(found.values["worker.contention"]?.likely, 0.03, 1e-4))
        #expect(near(found.values["worker.coherency"]?.likely, 0.001, 1e-4))
        #expect(near(found.values["worker.segmentsPerSecond"]?.likely, 500, 1e-4))
        let service = try #require(found.values["worker.serviceSeconds"])
        #expect(near(service.likely, 0.0575) && service.low < service.likely)
        #expect(service.count == 20)
        #expect(found.values["worker.serviceCV2"] != nil)
        let table = try Calibration.read("N,X\n1,485\n2,910\n4,1600\n")
        #expect(table.scalability != nil)
        // Two numbers of workers make no law, only what one of them does.
        let two = try Calibration.read("1,100\n2,180\n")
        #expect(two.scalability == nil && near(two.values["worker.segmentsPerSecond"]?.likely, 95))
    }

    /// A load test's ladder: an object with its steps, of which each has the sums of its times.
    @Test func aLoadTestsLadder() throws {
        let law = Scalability(alpha: 0.03, beta: 0.001, gamma: 500)
        var random = SeededRandom(seed: 8)
        var moments = Moments()
        let steps = [1.0, 2, 4, 8, 16].map { workers in
            var step = PoolMeasurement(workers: workers, segmentsPerSecond: law.throughput(workers))
            (step.segmentBytes, step.bytes, step.cpuSeconds) = (1_000_000, 1e9, 2.531)
            var service = PowerSums()
            for _ in 0..<200 {
                let time = random.gamma(shape: 2) / 20
                service.add(time)
                moments.add(time)
            }
            step.service = service
            return step
        }
        let json = String(decoding: try JSONEncoder().encode(["calibration": steps]), as: UTF8.self)
        let found = try Calibration.read(json)
        #expect(near(found.values["worker.contention"]?.likely, 0.03, 1e-4))
        #expect(near(found.values["worker.segmentsPerSecond"]?.likely, 500, 1e-4))
        #expect(near(found.values["worker.cpuSecondsPerGigabyte"]?.likely, 2.5))
        #expect(found.values["worker.measuredBytes"]?.likely == 1_000_000)
        let service = try #require(found.values["worker.serviceSeconds"])
        #expect(near(service.likely, moments.mean) && service.count == 1_000)
        #expect(near(service.high, moments.meanEstimate.high, 1e-6))
        #expect(near(found.values["worker.serviceCV2"]?.likely, moments.cv2, 1e-6))
        // Two of them, one a line.
        #expect(try Calibration.read("\(json)\n\(json)\n").values["worker.serviceCV2"] != nil)
        let wrong = json.replacing("\"count\":200", with: "\"count\":-200")
        let error = try #require(throws: PlannerError.self) { try Calibration.read(wrong) }
        #expect("\(error)".contains("service of measurement 1"))
    }

    /// A load test that was not at its limit, and reports it.
    @Test func aLoadTestThatMeasuresNoWorkersReportsWhy() throws {
        let json = #"{"calibration": [], "noCalibration": "run it with --users"}"#
        for text in [json, "[\(json)]", "\(json)\n\(json)\n"] {
            let error = try #require(throws: PlannerError.self) { try Calibration.read(text) }
            #expect("\(error)".contains("run it with --users"))
        }
    }

    /// A search measures a server: the rejection names the options that take it.
    @Test func aSearchIsRefusedWithTheOptionThatTakesIt() throws {
        let json =
            #"{"calibration": [], "noCalibration": "its load was limited by thresholds", "#
            + #""ladder": {"kind": "search", "highest": 200}}"#
        let error = try #require(throws: PlannerError.self) { try Calibration.read(json) }
        #expect("\(error)".contains("--origin-from") && "\(error)".contains("--edge-from"))
    }

    /// Runs of 1, 2 and 4 workers a percent off a straight line show no peak.
    @Test func noiseIsNotTakenForCoherency() throws {
        let found = try Calibration.read("1,76.2\n2,151.3\n4,296.9\n")
        let law = try #require(found.scalability).scalability
        #expect(law.beta == 0)
        #expect(abs(law.throughput(16) / 1_089 - 1) < 0.1)
        #expect(try #require(found.values["worker.coherency"]).high > 0)
        // What clearly bends is taken as it is.
        let bent = try Calibration.read("1,100\n2,180\n4,280\n8,300\n16,220\n")
        #expect(try #require(bent.scalability).scalability.beta > 0.001)
    }

    @Test(arguments: [
        ("{}", "without a usable measurement"), ("[]", "without a usable measurement"),
        ("[1]", "line 1"),
        ("{\"objectsPerSecond\": ", "line 1"), ("{\"objectsPerSecond\": 0}", "objectsPerSecond of"),
        ("{\"workers\": -2, \"segmentsPerSecond\": 3}", "workers of measurement 1 is -2"),
        ("{\"workers\": 1, \"segmentsPerSecond\": 1e300}", "segmentsPerSecond of measurement 1"),
        ("{\"workers\": 0.5, \"segmentsPerSecond\": 3}", "workers of measurement 1 is 0.5"),
        ("{\"workers\": 1, \"serviceSeconds\": [0, 0, 0]}", "serviceSeconds of measurement 1"),
        (Self.service(count: 3, sums: [1, 0.1, 0, 0]), "service of measurement 1"),
        // Cubes that are too large for their squares and fourth powers; none of no times; times of 0.
        (Self.service(count: 2, sums: [3, 5, 9.5, 17]), "service of measurement 1"),
        (Self.service(count: 0, sums: [1, 1, 1, 1]), "service of measurement 1"),
        (Self.service(count: 3, sums: [0, 0, 0, 0]), "service of measurement 1"),
        ("{\"workers\": 1}\n{\"workers\": \"two\"}", "line 2"), ("", "the table is empty"),
    ])
    func whatIsNoMeasurementIsNamed(text: String, says: String) throws {
        let error = try #require(throws: PlannerError.self) { _ = try Calibration.read(text) }
        #expect("\(error)".contains(says), "\(error)")
    }

    private static func service(count: Int, sums: [Double]) -> String {
        """
        {"workers": 1, "segmentsPerSecond": 3, "service": {"count": \(count), "sum": \(sums[0]), \
        "squares": \(sums[1]), "cubes": \(sums[2]), "fourthPowers": \(sums[3])}}
        """
    }

    /// Sums of 1 and 2, and of 1 and 1, are what times have.
    @Test func sumsAtTheirBoundsAreTaken() throws {
        for sums in [[3.0, 5, 9, 17], [2, 2, 2, 2]] {
            let found = try Calibration.read(Self.service(count: 2, sums: sums))
            #expect(near(found.values["worker.serviceSeconds"]?.likely, sums[0] / 2))
        }
    }

    /// 3.3 s for 100,000 segments of 1 KiB: 31 µs each are theirs, and 2 the bytes'.
    @Test func smallSegmentsAreNotTakenForBytes() throws {
        func pool(_ cpu: Double, _ size: Double) -> String {
            """
            {"workers": 1, "segmentsPerSecond": 1000, "segmentBytes": \(size), \
            "cpuSeconds": \(cpu), "bytes": \(100_000 * size)}
            """
        }
        func found(_ text: String, _ microseconds: Double = 31) throws -> (Double?, Double?) {
            let values = try Calibration.read(text, cpuMicrosecondsPerSegment: microseconds).values
            return (
                values["worker.cpuSecondsPerGigabyte"]?.likely,
                values["worker.cpuMicrosecondsPerSegment"]?.likely
            )
        }
        let alone = try found(pool(3.3, 1_024))
        #expect(near(alone.0, 0.2 / 0.1024, 1e-6) && alone.1 == nil)
        #expect(near(try found(pool(3.3, 1_024), 20).0, 1.3 / 0.1024, 1e-6))
        // No more than was measured is a segment's.
        let less = try found(pool(2, 1_024))
        #expect(less.0 == 0 && near(less.1, 20))
        // Two sizes determine both.
        let both = try found("[\(pool(3.3, 1_000)), \(pool(21.1, 90_000))]")
        #expect(near(both.0, 2, 1e-6) && near(both.1, 31, 1e-6))
    }

    @Test func intervalsOfMeasuredTimesHoldTheTruth() {
        var random = SeededRandom(seed: 31)
        var (means, variations) = (0, 0)
        for _ in 0..<200 {
            let moments = Moments((0..<400).map { _ in random.gamma(shape: 2) })
            let (mean, cv2) = (moments.meanEstimate, moments.cv2Estimate)
            means += mean.low <= 2 && 2 <= mean.high ? 1 : 0
            variations += cv2.low <= 0.5 && 0.5 <= cv2.high ? 1 : 0
        }
        #expect(means >= 180 && variations >= 175, "\(means), \(variations)")
        let few = Moments([3])
        #expect(few.meanEstimate.low == 3 && few.meanEstimate.high == 3 && few.cv2 == 0)
    }
}
