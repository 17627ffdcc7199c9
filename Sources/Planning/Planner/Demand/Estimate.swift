package import Statistics

/// An uncertain input: its low, likely and high value.
///
/// A figure that is exactly known has all three alike.
package struct Estimate: Codable, Hashable, Sendable {
    package let low: Double
    package let likely: Double
    package let high: Double

    package init(low: Double, likely: Double, high: Double) {
        self.low = low
        self.likely = likely
        self.high = high
    }

    /// Exactly known.
    package init(_ value: Double) { self.init(low: value, likely: value, high: value) }

    package var isExact: Bool { !(low < high) }

    /// All three times `factor`, which is not negative.
    package func scaled(by factor: Double) -> Estimate {
        Estimate(low: low * factor, likely: likely * factor, high: high * factor)
    }

    /// A draw from the triangular distribution of the three.
    package func draw(from random: inout SeededRandom) -> Double {
        isExact ? likely : random.triangular(low: low, likely: likely, high: high)
    }
}
