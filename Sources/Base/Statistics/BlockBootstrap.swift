/// Estimates how far figures of a series would vary if it were measured again: draws as many blocks
/// as there are, with replacement, and calculates the figures of each draw.
///
/// Blocks are adjacent parts of a run, such as its seconds. Neighbouring requests are alike, so
/// drawing single requests would make intervals too narrow; drawing blocks keeps what is alike
/// together. A value: used by one owner at a time.
///
/// Source: H. R. Künsch, The jackknife and the bootstrap for general stationary observations, 1989.
package struct BlockBootstrap {
    /// One part of a run.
    package struct Block: Sendable {
        package var histogram: Histogram
        /// Sums of any quantities, the same number in each block.
        package var sums: [Double]

        package init(histogram: Histogram, sums: [Double]) {
            self.histogram = histogram
            self.sums = sums
        }
    }

    /// The figures of one draw, or of the run itself.
    package struct Draw: Sendable {
        /// In the order of the quantiles; 0 without values.
        package var quantiles: [Double]
        /// Mean of the histogram's values; 0 without values.
        package var mean: Double
        package var sums: [Double]
    }

    /// A block's values: indexes in `values`, and their counts.
    private struct Counts {
        var bins: [(index: Int, count: Int64)] = []
        var total: Int64 = 0
        var sum = 0.0
        var sums: [Double]
    }

    /// Upper ends of all bins with a value, in order.
    private let values: [Double]
    private let blocks: [Counts]
    private let quantiles: [Double]
    private var random: SeededRandom

    /// Creates a bootstrap.
    ///
    /// - Parameters:
    ///   - blocks: one or more, with as many sums each.
    ///   - quantiles: 0 to 1, in rising order.
    package init(_ blocks: [Block], quantiles: [Double], seed: UInt64) {
        precondition(!blocks.isEmpty && zip(quantiles, quantiles.dropFirst()).allSatisfy(<))
        var upper: [Int64: Double] = [:]
        for block in blocks {
            for bin in block.histogram.occupied {
                upper[bin.lowest] = 2 * bin.middle - Double(bin.lowest)
            }
        }
        let lowest = upper.keys.sorted()
        let indexes = Dictionary(
            uniqueKeysWithValues: lowest.enumerated().map { ($0.element, $0.offset) })
        values = lowest.map { upper[$0] ?? 0 }
        self.blocks = blocks.map { block in
            var counts = Counts(sums: block.sums)
            counts.bins = block.histogram.occupied.map { (indexes[$0.lowest] ?? 0, $0.count) }
            counts.total = block.histogram.total
            counts.sum = block.histogram.sum
            return counts
        }
        self.quantiles = quantiles
        random = SeededRandom(seed: seed)
    }

    /// The figures of all blocks, each once.
    package var whole: Draw { figures(of: blocks.indices) }

    /// Returns the figures of `count` draws.
    package mutating func draws(_ count: Int) -> [Draw] {
        (0..<count).map { _ in
            let chosen = blocks.map { _ in
                Int(random.next().multipliedFullWidth(by: UInt64(blocks.count)).high)
            }
            return figures(of: chosen)
        }
    }

    private func figures(of chosen: some Sequence<Int>) -> Draw {
        var counts = [Int64](repeating: 0, count: values.count)
        var sums = [Double](repeating: 0, count: blocks[0].sums.count)
        var (total, sum): (Int64, Double) = (0, 0)
        for index in chosen {
            for bin in blocks[index].bins { counts[bin.index] += bin.count }
            total += blocks[index].total
            sum += blocks[index].sum
            for position in sums.indices { sums[position] += blocks[index].sums[position] }
        }
        return Draw(
            quantiles: quantiles(of: counts, total: total),
            mean: total > 0 ? sum / Double(total) : 0, sums: sums)
    }

    /// Returns all quantiles by nearest rank in one pass.
    private func quantiles(of counts: [Int64], total: Int64) -> [Double] {
        guard total > 0 else { return quantiles.map { _ in 0 } }
        var found: [Double] = []
        var seen: Int64 = 0
        for (index, count) in counts.enumerated() {
            seen += count
            while found.count < quantiles.count {
                let rank = (quantiles[found.count] * Double(total) * (1 - 1e-12)).rounded(.up)
                guard Double(seen) >= max(rank, 1) else { break }
                found.append(values[index])
            }
        }
        return found
    }
}

/// Returns the bounds between which a share `confidence` (0 to 1) of the numbers lies, with as many
/// below as above; nil without numbers.
package func percentileInterval(
    _ numbers: [Double], confidence: Double
) -> ClosedRange<Double>? {
    guard !numbers.isEmpty else { return nil }
    let sorted = numbers.sorted()
    func at(_ share: Double) -> Double {
        let rank = (share * Double(sorted.count)).rounded(.up)
        return sorted[min(max(Int(rank) - 1, 0), sorted.count - 1)]
    }
    let tail = (1 - min(max(confidence, 0), 1)) / 2
    return at(tail)...at(1 - tail)
}
