import Glibc

/// A fast seeded generator for jitter, simulations, resampling and reproducible tests.
///
/// xoshiro256++ 1.0 with its state filled by SplitMix64, both by Blackman and Vigna
/// (prng.di.unimi.it). One thread at a time; `split` creates a generator for another one. Not for
/// secrets: tokens come from `SystemRandomNumberGenerator`.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    package init(seed: UInt64) {
        var splitMix = SplitMix64(state: seed)
        state = (splitMix.next(), splitMix.next(), splitMix.next(), splitMix.next())
    }

    /// Creates a generator with a seed from the operating system.
    package init() {
        var system = SystemRandomNumberGenerator()
        self.init(seed: system.next())
    }

    package mutating func next() -> UInt64 {
        let sum = state.0 &+ state.3
        let result = ((sum << 23) | (sum >> 41)) &+ state.0
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = (state.3 << 45) | (state.3 >> 19)
        return result
    }

    /// Returns an independent generator.
    package mutating func split() -> SeededRandom { SeededRandom(seed: next()) }
}

/// The generator that expands a seed to xoshiro's state, as its authors recommend.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

// MARK: Draws

extension SeededRandom {
    /// Returns a number between 0 and 1, both excluded, uniformly.
    package mutating func uniform() -> Double {
        (Double(next() >> 12) + 0.5) * 0x1p-52
    }

    /// Returns an exponential number with `mean` 0 or more.
    package mutating func exponential(mean: Double) -> Double { -mean * log(uniform()) }

    /// Returns a normal number with mean 0 and variance 1 (Marsaglia's polar method).
    package mutating func normal() -> Double {
        while true {
            let (first, second) = (2 * uniform() - 1, 2 * uniform() - 1)
            let square = first * first + second * second
            guard square < 1, square > 0 else { continue }
            return first * (-2 * log(square) / square).squareRoot()
        }
    }

    /// Returns a gamma number with `shape` above 0 and mean `shape` (Marsaglia and Tsang 2000).
    package mutating func gamma(shape: Double) -> Double {
        guard shape >= 1 else {
            return gamma(shape: shape + 1) * pow(uniform(), 1 / shape)
        }
        let base = shape - 1.0 / 3
        let scale = 1 / (9 * base).squareRoot()
        while true {
            let point = normal()
            let root = 1 + scale * point
            guard root > 0 else { continue }
            let cube = root * root * root
            if log(uniform()) < point * point / 2 + base - base * cube + base * log(cube) {
                return base * cube
            }
        }
    }

    /// Returns a triangular number from `low` to `high` with its peak at `likely`; `low` ≤ `likely`
    /// ≤ `high`.
    package mutating func triangular(low: Double, likely: Double, high: Double) -> Double {
        precondition(low <= likely && likely <= high)
        guard high > low else { return likely }
        let draw = uniform()
        let turn = (likely - low) / (high - low)
        return draw < turn
            ? low + (draw * (high - low) * (likely - low)).squareRoot()
            : high - ((1 - draw) * (high - low) * (high - likely)).squareRoot()
    }
}
