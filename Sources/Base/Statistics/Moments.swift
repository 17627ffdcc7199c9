import Glibc

/// Count, mean and variation of measured values with confidence intervals, in constant memory.
///
/// Sums of powers of the differences from the mean, updated value by value (Pébay 2008).
package struct Moments: Sendable, Hashable {
    package private(set) var count = 0
    package private(set) var mean = 0.0
    private var second = 0.0
    private var third = 0.0
    private var fourth = 0.0

    package init() {}

    package init(_ values: some Sequence<Double>) {
        for value in values { add(value) }
    }

    /// Creates the moments of `count` values from the sums of their powers.
    package init(
        count: Int, sum: Double, squares: Double, cubes: Double, fourthPowers: Double
    ) {
        guard count > 0 else { return }
        let number = Double(count)
        let middle = sum / number
        self.count = count
        mean = middle
        second = max(0, squares - number * middle * middle)
        third = cubes - 3 * middle * squares + 2 * number * middle * middle * middle
        fourth = max(
            0,
            fourthPowers - 4 * middle * cubes + 6 * middle * middle * squares
                - 3 * number * middle * middle * middle * middle)
    }

    package mutating func add(_ value: Double) {
        let before = Double(count)
        count += 1
        let number = Double(count)
        let step = (value - mean) / number
        let square = step * step
        let term = (value - mean) * step * before
        mean += step
        fourth +=
            term * square * (number * number - 3 * number + 3) + 6 * square * second
            - 4 * step * third
        third += term * step * (number - 2) - 3 * step * second
        second += term
    }

    /// Sample variance; 0 with fewer than two values.
    package var variance: Double { count > 1 ? second / Double(count - 1) : 0 }

    /// Variance over squared mean.
    package var cv2: Double { mean != 0 ? variance / (mean * mean) : 0 }

    /// The mean and its 95 % interval, by Student's t; without an interval for fewer than two
    /// values.
    package var meanEstimate: Measured {
        let margin =
            count > 1
            ? studentT95(count - 1) * (variance / Double(count)).squareRoot() : 0
        return Measured(
            low: mean - margin, likely: mean, high: mean + margin, count: count,
            isInterval: count > 1)
    }

    /// The squared coefficient of variation and its 95 % interval, by the delta method; with fewer
    /// than four values only a plausible range.
    package var cv2Estimate: Measured {
        guard count > 3, mean != 0 else {
            return Measured(
                low: 0, likely: cv2, high: max(cv2, 1), count: count, isInterval: false)
        }
        let number = Double(count)
        let (variance, skew, tail) = (second / number, third / number, fourth / number)
        let square = mean * mean
        let spread =
            4 * variance * variance * variance / (square * square * square)
            + (tail - variance * variance) / (square * square)
            - 4 * variance * skew / (square * square * mean)
        let margin = studentT95(count - 1) * (max(0, spread) / number).squareRoot()
        return Measured(
            low: max(0, cv2 - margin), likely: cv2, high: cv2 + margin, count: count)
    }
}

/// A measured figure: its likely value and its bounds.
package struct Measured: Sendable, Hashable, Codable {
    package let low: Double
    package let likely: Double
    package let high: Double
    /// Number of values, requests or runs.
    package let count: Int
    /// True if `low` and `high` are a 95 % interval; otherwise they are a guess or meaningless.
    private let isInterval: Bool

    /// Creates a figure; without `isInterval`, bounds of different values are an interval.
    package init(
        low: Double, likely: Double, high: Double, count: Int, isInterval: Bool? = nil
    ) {
        self.low = low
        self.likely = likely
        self.high = high
        self.count = count
        self.isInterval = isInterval ?? (low < high)
    }

    /// Creates a figure of one value, without an interval.
    package init(one value: Double, count: Int = 1) {
        self.init(low: value, likely: value, high: value, count: count, isInterval: false)
    }

    /// 95 % confidence interval; nil if unknown, as for one value.
    package var interval: ClosedRange<Double>? { isInterval ? low...high : nil }

    /// Returns all three times `factor`, which is not negative.
    package func scaled(by factor: Double) -> Measured {
        Measured(
            low: low * factor, likely: likely * factor, high: high * factor, count: count,
            isInterval: isInterval)
    }

    /// All three rounded to whole numbers, for counts.
    package var whole: Measured {
        Measured(
            low: low.rounded(), likely: likely.rounded(), high: high.rounded(), count: count,
            isInterval: isInterval)
    }

    /// The figure with a lower bound of at least 0, for quantities that cannot be negative.
    package var notNegative: Measured {
        Measured(
            low: max(0, low), likely: likely, high: high, count: count, isInterval: isInterval)
    }
}

/// Returns the 97.5 % quantile of Student's t for `freedom` degrees of freedom, 1 or more.
///
/// Exact for the first four; then by Cornish and Fisher's expansion (Abramowitz and Stegun 26.7.5),
/// to 0.001.
func studentT95(_ freedom: Int) -> Double {
    let exact = [12.706, 4.303, 3.182, 2.776]
    guard freedom > exact.count else { return exact[max(0, freedom - 1)] }
    let z = 1.959_963_985
    let n = Double(freedom)
    let (z3, z5, z7) = (z * z * z, pow(z, 5), pow(z, 7))
    return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n)
        + (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n)
}
