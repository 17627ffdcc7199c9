import Glibc
import Statistics

/// Chooses targets at random, by weight or by Zipf's law, the same ones for the same seed.
///
/// O(1) for each: the alias method. A value: used by one owner at a time.
///
/// Source: M. D. Vose, A linear algorithm for generating random numbers with a given distribution, 1991.
package struct TargetPicker: Sendable {
    /// For each column: the share of it that is its own, and whose the rest is.
    private let own: [Double]
    private let other: [Int32]
    private var random: SeededRandom

    /// `weights` are over 0, one for each target, one target at least; `.zipf` goes by their order alone.
    package init(weights: [Double], popularity: LoadPopularity, share: LoadShare, seed: UInt64) {
        precondition(!weights.isEmpty)
        let weights = Self.weights(weights, popularity)
        random = share.random(seed: seed, for: .targets)
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
        // What is left on either side is whole but for rounding: its rest is its own too.
        self.own = own
        self.other = other
    }

    /// Each target's share of all that are chosen is in proportion to these.
    private static func weights(_ given: [Double], _ popularity: LoadPopularity) -> [Double] {
        switch popularity {
        case .weights: given
        case .zipf(let exponent): given.indices.map { pow(Double($0 + 1), -exponent) }
        }
    }

    /// The place of the next target.
    package mutating func next() -> Int {
        guard own.count > 1 else { return 0 }
        let column = Int(random.next().multipliedFullWidth(by: UInt64(own.count)).high)
        return random.uniform() < own[column] ? column : Int(other[column])
    }
}
