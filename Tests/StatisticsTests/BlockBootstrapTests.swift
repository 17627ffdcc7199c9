import Testing

@testable import Statistics

@Suite struct BlockBootstrapTests {
    /// Seconds of a run in which each second has a level of its own: what is alike in a second is
    /// alike in an interval.
    private static func blocks(
        count: Int, perBlock: Int, level: (inout SeededRandom) -> Double, seed: UInt64
    ) -> [BlockBootstrap.Block] {
        var random = SeededRandom(seed: seed)
        return (0..<count).map { _ in
            let mean = level(&random)
            var histogram = Histogram()
            for _ in 0..<perBlock {
                histogram.record(Int64(mean + 1_000 * random.normal()))
            }
            return BlockBootstrap.Block(histogram: histogram, sums: [Double(perBlock)])
        }
    }

    @Test func theWholeIsThatOfAllValues() {
        let blocks = Self.blocks(count: 20, perBlock: 50, level: { _ in 20_000 }, seed: 3)
        let bootstrap = BlockBootstrap(blocks, quantiles: [0, 0.5, 0.99, 1], seed: 1)
        var all = Histogram()
        for block in blocks { all.add(block.histogram) }
        let whole = bootstrap.whole
        #expect(whole.sums == [1_000] && abs(whole.mean - all.mean) < 1e-6)
        // To the upper end of the last bin, which the maximum cuts off in a histogram.
        let expected = [0, 0.5, 0.99].map { Double(all.value(quantile: $0)) }
        #expect(Array(whole.quantiles.prefix(3)) == expected)
        #expect(whole.quantiles[3] >= Double(all.maximum ?? 0))
    }

    @Test func theSameSeedDrawsTheSame() {
        let blocks = Self.blocks(count: 10, perBlock: 20, level: { _ in 20_000 }, seed: 3)
        var (one, other) = (
            BlockBootstrap(blocks, quantiles: [0.5], seed: 9),
            BlockBootstrap(blocks, quantiles: [0.5], seed: 9)
        )
        #expect(one.draws(50).map(\.quantiles) == other.draws(50).map(\.quantiles))
    }

    /// The share of intervals that contain the true median is what they promise. Drawing single values
    /// would promise far too much: seconds are not alike.
    @Test func intervalsContainTheTruth() throws {
        var (held, heldOfValues) = (0, 0)
        let runs = 200
        for run in 0..<runs {
            let blocks = Self.blocks(
                count: 40, perBlock: 30, level: { 20_000 + 2_000 * $0.normal() },
                seed: UInt64(run) + 1)
            var bootstrap = BlockBootstrap(blocks, quantiles: [0.5], seed: 1)
            let interval = try #require(
                percentileInterval(
                    bootstrap.draws(300).map { $0.quantiles[0] }, confidence: 0.9))
            if interval.contains(20_000) { held += 1 }
            // The usual interval of independent values.
            let single = blocks.flatMap { block in
                block.histogram.occupied.flatMap { bin in
                    Array(repeating: bin.middle, count: Int(bin.count))
                }
            }
            let mean = single.reduce(0, +) / Double(single.count)
            let deviation =
                (single.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(single.count))
                .squareRoot()
            let width = 1.645 * deviation / Double(single.count).squareRoot()
            if abs(mean - 20_000) <= width { heldOfValues += 1 }
        }
        #expect((0.8...0.97).contains(Double(held) / Double(runs)), "\(held)")
        #expect(Double(heldOfValues) / Double(runs) < 0.6, "\(heldOfValues)")
    }

    @Test func anIntervalHasItsShare() {
        let numbers = (1...100).map(Double.init)
        #expect(percentileInterval(numbers.shuffled(), confidence: 0.9) == 5...95)
        #expect(percentileInterval([7], confidence: 0.9) == 7...7)
        #expect(percentileInterval([], confidence: 0.9) == nil)
    }
}
