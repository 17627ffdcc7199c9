import Testing

@testable import LoadModel

@Suite struct ArrivalScheduleTests {
    private func times(
        _ stages: [LoadStage], _ process: LoadModel.ArrivalProcess = .constant,
        shard: LoadShard = .whole, seed: UInt64 = 1
    ) -> [Double] {
        var schedule = ArrivalSchedule(stages: stages, process: process, shard: shard, seed: seed)
        var times: [Double] = []
        while let time = schedule.next() { times.append(time) }
        return times
    }

    private func steady(_ rate: Double, seconds: Double) -> [LoadStage] {
        [LoadStage(seconds: seconds, from: rate, to: rate)]
    }

    private static let ramps = [
        LoadStage(seconds: 10, from: 0, to: 100), LoadStage(seconds: 0, from: 100, to: 40),
        LoadStage(seconds: 7.3, from: 40, to: 40), LoadStage(seconds: 5, from: 0, to: 0),
        LoadStage(seconds: 3, from: 200, to: 0),
    ]

    @Test func aConstantRateIsEvenlySpacedFromTheStart() {
        let times = times(steady(100, seconds: 30))
        #expect(times.count == 3_000)
        #expect(times.first == 0)
        for (index, time) in times.enumerated() {
            #expect(abs(time - Double(index) / 100) < 1e-12 * 30)
        }
    }

    @Test(arguments: [0.1, 0.3, 1.0 / 3, 0.7, 7.7, 333.3, 99_999.9])
    func whatDividesEvenlyHasNoArrivalAtItsEnd(rate: Double) {
        #expect(times(steady(rate, seconds: 3_000 / rate)).count == 3_000)
    }

    @Test func aRampHasItsArrivalsWhereTheIntegralIsWhole() {
        let up = times([LoadStage(seconds: 10, from: 0, to: 100)])
        #expect(up.count == 500)
        for (index, time) in up.enumerated() {
            #expect(abs(5 * time * time - Double(index)) < 1e-9)
        }
        // Down is up seen from the end.
        let down = times([LoadStage(seconds: 10, from: 100, to: 0)])
        #expect(down.count == 500)
        for index in 1..<500 { #expect(abs(down[index] - (10 - up[500 - index])) < 1e-9) }
    }

    @Test func jumpsAndTimesWithoutArrivalsArePassed() {
        let times = times(Self.ramps)
        #expect(times.count == 500 + 292 + 300)
        #expect(times == times.sorted())
        #expect(!times.contains { $0 > 17.3 && $0 < 22.3 - 1e-9 })
        #expect(times.last ?? 0 < 25.3)
        #expect(self.times([LoadStage(seconds: 60, from: 0, to: 0)]).isEmpty)
        #expect(self.times([]).isEmpty)
    }

    @Test(arguments: [1, 2, 3, 8])
    func shardsAreTogetherTheWhole(count: Int) {
        let shards = (0..<count).map {
            times(Self.ramps, shard: LoadShard(index: $0, count: count))
        }
        #expect(shards.flatMap(\.self).sorted() == times(Self.ramps))
        // So are a worker's loops its shard.
        let worker = LoadShard(index: count - 1, count: count)
        let loops = (0..<2).flatMap { times(Self.ramps, shard: worker.part($0, of: 2)) }
        #expect(loops.sorted() == shards[count - 1])
    }

    @Test func aMillionASecondKeepsItsStepAfterAWeek() {
        let week = 7 * 86_400.0
        // A shard that has one arrival in 10¹¹: what it does last is at the end of the week.
        let shard = LoadShard(index: 99_999_999_999, count: 100_000_000_000)
        let times = times(steady(1e6, seconds: week), shard: shard)
        #expect(times.count == 6)
        for (index, time) in times.enumerated() {
            #expect(abs(time - (Double(index + 1) * 1e5 - 1e-6)) < 1e-9)
        }
    }

    @Test(arguments: [UInt64(1), 2, 99])
    func poissonHasTheRateAsMeanAndAsVariance(seed: UInt64) {
        let times = times(steady(200, seconds: 1_000), .poisson, seed: seed)
        #expect(times == times.sorted())
        var counts = [Int](repeating: 0, count: 1_000)
        for time in times { counts[Int(time)] += 1 }
        let mean = Double(times.count) / 1_000
        let variance =
            counts.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / 999
        // Four standard errors: of the mean √(200/1000), of the variance 200·√(2/999).
        #expect(abs(mean - 200) < 4 * 0.447)
        #expect(abs(variance - 200) < 4 * 8.95)
        // Gaps are exponential: a share e⁻¹ of them is longer than the mean.
        let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
        let long = Double(gaps.count { $0 > 1.0 / 200 }) / Double(gaps.count)
        #expect(abs(long - 0.3679) < 4 * 0.0011)
    }

    @Test func poissonFollowsRampsAndTheSeed() {
        let stages = [LoadStage(seconds: 100, from: 0, to: 1_000)]
        let times = times(stages, .poisson)
        #expect(abs(times.count - 50_000) < 4 * 224)
        let early = times.count { $0 < 50 }
        #expect(abs(early - 12_500) < 4 * 112)
        #expect(self.times(stages, .poisson) == times)
        #expect(self.times(stages, .poisson, seed: 2) != times)
    }

    @Test func poissonShardsAreIndependentAndAddUp() {
        let stages = steady(1_000, seconds: 100)
        let shards = (0..<4).map { times(stages, .poisson, shard: LoadShard(index: $0, count: 4)) }
        for shard in shards { #expect(abs(shard.count - 25_000) < 4 * 158) }
        let all = shards.flatMap(\.self)
        #expect(Set(all).count == all.count)
    }

    @Test func usersOfAClosedTestRampAndAddUpOverShards() {
        let stages = [
            LoadStage(seconds: 10, from: 0, to: 100), LoadStage(seconds: 0, from: 100, to: 7),
            LoadStage(seconds: 10, from: 7, to: 7),
        ]
        let shards = (0..<3).map {
            ArrivalSchedule(
                stages: stages, process: .constant, shard: LoadShard(index: $0, count: 3), seed: 1)
        }
        for (time, users) in [
            (-1.0, 0), (0, 0), (3.14, 31), (9.99, 100), (10, 7), (15, 7), (20, 0),
        ] {
            let counts = shards.map { $0.closedUsers(atSeconds: time) }
            #expect(counts.reduce(0, +) == users)
            #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 1)
        }
    }
}

@Suite struct TargetPickerTests {
    private func frequencies(
        _ weights: [Double], _ popularity: LoadPopularity, draws: Int, seed: UInt64 = 1
    ) -> [Double] {
        var picker = TargetPicker(
            weights: weights, popularity: popularity, shard: .whole, seed: seed)
        var counts = [Double](repeating: 0, count: weights.count)
        for _ in 0..<draws { counts[picker.next()] += 1 }
        return counts.map { $0 / Double(draws) }
    }

    /// Each frequency is within five standard errors of its expectation.
    private func expect(_ frequencies: [Double], near weights: [Double], draws: Int) {
        let sum = weights.reduce(0, +)
        for (frequency, weight) in zip(frequencies, weights) {
            let share = weight / sum
            let error = (share * (1 - share) / Double(draws)).squareRoot()
            #expect(abs(frequency - share) <= 5 * error)
        }
    }

    @Test(arguments: [[1.0], [1, 1, 1], [5, 1, 0.5, 20], [1e-9, 1], [1e9, 1, 1e9]])
    func targetsAreChosenByTheirWeights(weights: [Double]) {
        expect(
            frequencies(weights, .weights, draws: 200_000), near: weights, draws: 200_000)
    }

    @Test func zipfGoesByRankAndExponent() {
        let ranks = (1...1_000).map(Double.init)
        let equal = [Double](repeating: 1, count: 1_000)
        let one = frequencies(equal, .zipf(exponent: 1), draws: 500_000)
        expect(one, near: ranks.map { 1 / $0 }, draws: 500_000)
        let two = frequencies(equal, .zipf(exponent: 2), draws: 500_000)
        expect(two, near: ranks.map { 1 / ($0 * $0) }, draws: 500_000)
        let none = frequencies(equal, .zipf(exponent: 0), draws: 500_000)
        expect(none, near: equal, draws: 500_000)
    }

    @Test func theSeedAndTheShardDecide() {
        let weights = [1.0, 2, 3]
        let first = frequencies(weights, .weights, draws: 100)
        #expect(frequencies(weights, .weights, draws: 100) == first)
        #expect(frequencies(weights, .weights, draws: 100, seed: 2) != first)
    }
}
