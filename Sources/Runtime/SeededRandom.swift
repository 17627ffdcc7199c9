/// A small fast generator with a seed, for jitter and for tests that must repeat.
///
/// xoshiro256** 1.0 with its state filled by SplitMix64, both by Blackman and Vigna
/// (prng.di.unimi.it). Not for secrets: tokens come from `SystemRandomNumberGenerator`.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    package init(seed: UInt64) {
        var splitMix = SplitMix64(state: seed)
        state = (splitMix.next(), splitMix.next(), splitMix.next(), splitMix.next())
    }

    /// A generator with a seed from the operating system.
    package init() {
        var system = SystemRandomNumberGenerator()
        self.init(seed: system.next())
    }

    package mutating func next() -> UInt64 {
        let result = Self.rotated(state.1 &* 5, by: 7) &* 9
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = Self.rotated(state.3, by: 45)
        return result
    }

    private static func rotated(_ value: UInt64, by bits: UInt64) -> UInt64 {
        (value << bits) | (value >> (64 - bits))
    }
}

/// The generator that spreads a seed over xoshiro's state, as its authors advise.
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
