package import Statistics

/// An uncertain input: its low, likely and high value.
///
/// An exact input has three equal values.
package struct Estimate: Codable, Hashable, Sendable {
    package let low: Double
    package let likely: Double
    package let high: Double

    package init(low: Double, likely: Double, high: Double) {
        self.low = low
        self.likely = likely
        self.high = high
    }

    /// Creates an exact estimate.
    package init(_ value: Double) { self.init(low: value, likely: value, high: value) }

    package var isExact: Bool { !(low < high) }

    /// Returns all three times `factor`, which is not negative.
    package func scaled(by factor: Double) -> Estimate {
        Estimate(low: low * factor, likely: likely * factor, high: high * factor)
    }

    /// Draws from the triangular distribution of the three.
    package func draw(from random: inout SeededRandom) -> Double {
        isExact ? likely : random.triangular(low: low, likely: likely, high: high)
    }
}
