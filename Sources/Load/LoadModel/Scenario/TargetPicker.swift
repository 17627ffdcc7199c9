import Glibc
import Statistics

/// Chooses targets at random, by weight or by Zipf's law, the same ones for the same seed.
///
/// A choice takes O(1) by the alias method. A value: used by one owner at a time.
///
/// Source: M. D. Vose, A linear algorithm for generating random numbers with a given distribution,
/// 1991.
package struct TargetPicker: Sendable {
    /// By column: the probability of its own target, and the target of the rest.
    private let own: [Double]
    private let other: [Int32]
    private var random: SeededRandom

    /// Creates a picker. `weights` are above 0, one per target, at least one; `.zipf` uses only
    /// their order.
    package init(weights: [Double], popularity: LoadPopularity, shard: LoadShard, seed: UInt64) {
        precondition(!weights.isEmpty)
        let weights = Self.weights(weights, popularity)
        random = shard.random(seed: seed, for: .targets)
        let mean = weights.reduce(0, +) / Double(weights.count)
        var own = weights.map { $0 / mean }
        var other = weights.indices.map { Int32($0) }
        var small = own.indices.filter { own[$0] < 1 }
        var large = own.indices.filter { own[$0] >= 1 }
        while let poor = small.popLast(), let rich = large.last {
            other[poor] = Int32(rich)
            own[rich] -= 1 - own[poor]
            if own[rich] < 1 {
                large.removeLast()
                small.append(rich)
            }
        }
        // Remaining columns are full except for rounding, so they keep their rest.
        self.own = own
        self.other = other
    }

    /// Returns weights that are proportional to the probabilities of targets.
    private static func weights(_ given: [Double], _ popularity: LoadPopularity) -> [Double] {
        switch popularity {
        case .weights: given
        case .zipf(let exponent): given.indices.map { pow(Double($0 + 1), -exponent) }
        }
    }

    /// Returns the index of the next target.
    package mutating func next() -> Int {
        guard own.count > 1 else { return 0 }
        let column = Int(random.next().multipliedFullWidth(by: UInt64(own.count)).high)
        return random.uniform() < own[column] ? column : Int(other[column])
    }
}
