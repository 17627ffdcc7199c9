import Statistics
import TestSupport
import Testing

@Suite(.computing) struct ScalabilityTests {
    private static func points(_ law: Scalability, _ numbers: [Double]) -> [(n: Double, x: Double)]
    {
        numbers.map { (n: $0, x: law.throughput($0)) }
    }

    /// Gunther's ray tracer on up to 64 processors.
    static let rayTracer: [(n: Double, x: Double)] = [
        (1, 20), (4, 78), (8, 130), (12, 170), (16, 190), (20, 200), (24, 210), (28, 230),
        (32, 260), (48, 280), (64, 310),
    ]

    @Test func rayTracerAsPublished() throws {
        let fit = try Scalability.fit(Self.rayTracer)
        #expect(abs(fit.scalability.alpha - 0.0578) < 5e-5)
        #expect(fit.scalability.beta == 0)
        #expect(abs(fit.scalability.gamma - 21.85) < 5e-3)
        #expect(fit.scalability.peakN == nil && fit.scalability.peakX == nil)
        #expect(abs(try #require(fit.scalability.limitX) - 378.2) < 0.1)
        #expect(try #require(fit.alpha).contains(fit.scalability.alpha))
        #expect(try #require(fit.beta).lowerBound == 0)
        #expect(try #require(fit.gamma).contains(fit.scalability.gamma))
        #expect(try #require(fit.peakN).upperBound == .infinity)
        #expect(fit.rSquared > 0.98)
        #expect(abs(fit.largestError - 0.0924) < 1e-3)
    }

    /// A law is found again in what it predicts, whatever the units and the numbers of workers.
    @Test func aLawIsFoundInItsOwnCurve() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<60 {
            let scale = [10, 100, 10_000][Int.random(in: 0..<3, using: &random)]
            let numbers = (0..<8).map { Double(1 + $0 * scale / 8) }
            let most = Double(scale)
            let law = Scalability(
                alpha: min(1, Double.random(in: 0...20, using: &random) / most),
                beta: Double.random(in: 0.01...20, using: &random) / (most * most),
                gamma: Double.random(in: 0.001...1e6, using: &random))
            let fit = try Scalability.fit(Self.points(law, numbers))
            #expect(fit.largestError < 1e-6, "\(law): \(fit.scalability)")
            #expect(abs(fit.scalability.gamma / law.gamma - 1) < 1e-5)
            #expect(abs(fit.scalability.alpha - law.alpha) < 1e-5 * (law.alpha + 1 / most))
            #expect(abs(fit.scalability.beta / law.beta - 1) < 1e-2)
        }
    }

    /// Of 40 noisy runs of one law, its intervals hold it nearly always.
    @Test func intervalsHoldTheTruth() throws {
        let law = Scalability(alpha: 0.05, beta: 0.001, gamma: 50)
        var random = SeededRandom(seed: 8)
        var held = (alpha: 0, beta: 0, gamma: 0)
        for _ in 0..<40 {
            let noisy = Self.points(law, (1...16).map { Double($0) * 2 - 1 }).map { point in
                (n: point.n, x: point.x + 5 * random.normal())
            }
            let fit = try Scalability.fit(noisy)
            held.alpha += try #require(fit.alpha).contains(law.alpha) ? 1 : 0
            held.beta += try #require(fit.beta).contains(law.beta) ? 1 : 0
            held.gamma += try #require(fit.gamma).contains(law.gamma) ? 1 : 0
        }
        #expect(held.alpha >= 34 && held.beta >= 34 && held.gamma >= 34, "\(held)")
    }

    @Test func whatTheLawCannotSayStaysWithinItsBounds() throws {
        // Each one more adds more than one: no contention at all is the nearest.
        let superlinear = try Scalability.fit([(1, 10), (2, 25), (4, 60), (8, 150)])
        #expect(superlinear.scalability.alpha == 0 && superlinear.scalability.beta == 0)
        #expect(superlinear.scalability.limitX == nil)
        // All of it takes turns.
        let turns = try Scalability.fit([(1, 10), (2, 10), (4, 10), (8, 10)])
        #expect(abs(turns.scalability.alpha - 1) < 1e-6)
        #expect(turns.rSquared == 1)
        // Worse than taking turns.
        let worse = try Scalability.fit([(1, 100), (2, 60), (4, 30), (8, 10)])
        #expect(worse.scalability.alpha <= 1 && worse.scalability.beta > 0)
        #expect(try #require(worse.scalability.peakN) < 2)
        // Nothing is left for an interval.
        #expect(try Scalability.fit([(1, 10), (2, 18), (4, 30)]).alpha == nil)
    }

    @Test(
        arguments: [
            ([(1, 10), (2, 18)], "2 different values"),
            ([(2, 1), (2, 2), (2, 3)], "1 different value"),
            ([], "0 different values"), ([(0.5, 10), (2, 18), (3, 20)], "N of point 1"),
            ([(1, 10), (2, -1), (3, 20)], "X of point 2"),
            ([(1, 10), (2, 11), (.nan, 20)], "N of point 3"),
            ([(1, 10), (2, 11), (3, .infinity)], "X of point 3"),
        ] as [([(Double, Double)], String)])
    func whatIsNoMeasurementIsNamed(points: [(Double, Double)], says: String) throws {
        let error = try #require(throws: FitError.self) {
            _ = try Scalability.fit(points.map { (n: $0.0, x: $0.1) })
        }
        #expect("\(error)".contains(says), "\(error)")
    }

    @Test func thePeakIsWhereThroughputIsLargest() throws {
        let law = Scalability(alpha: 0.02, beta: 0.0005, gamma: 3)
        let peak = try #require(law.peakN)
        #expect(abs(peak - 44.271_9) < 1e-3)
        #expect(law.throughput(peak) > law.throughput(peak + 0.5))
        #expect(law.throughput(peak) > law.throughput(peak - 0.5))
        #expect(law.peakX == law.throughput(peak))
        #expect(law.efficiency(1) == 1 && law.throughput(1) == 3 && law.throughput(0) == 0)
    }

    @Test func theFewestDoWhatIsWanted() throws {
        var random = SeededRandom(seed: 9)
        for _ in 0..<1_000 {
            let law = Scalability(
                alpha: Double.random(in: 0...0.2, using: &random),
                beta: Bool.random(using: &random) ? 0 : Double.random(in: 0...0.01, using: &random),
                gamma: 10)
            let wanted = Double.random(in: 1...400, using: &random)
            let found = law.fewest(forThroughput: wanted, atMost: 500)
            let expected = (1...500).first { law.throughput(Double($0)) >= wanted }
            #expect(found == expected, "\(law), \(wanted)")
        }
        #expect(Scalability(alpha: 0, beta: 0, gamma: 1).fewest(forThroughput: 0, atMost: 9) == 0)
        #expect(Scalability(alpha: 0, beta: 0, gamma: 1).fewest(forThroughput: 9, atMost: 8) == nil)
    }
}
