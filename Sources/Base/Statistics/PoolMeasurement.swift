/// A measurement of a pool for `--calibrate`: a run, or a step of a load test.
///
/// `{"workers": 4, "segmentsPerSecond": 3120, "segmentBytes": 65536, "service": {"count": …}}`;
/// several are in an array, one per line, or in the member `calibration` of an object.
package struct PoolMeasurement: Codable, Hashable, Sendable {
    package var workers: Double
    package var segmentsPerSecond: Double
    /// Mean bytes per segment.
    package var segmentBytes: Double?
    /// CPU seconds and bytes of all segments.
    package var cpuSeconds: Double?
    package var bytes: Double?
    /// Time of each segment on the network, in seconds.
    package var service: PowerSums?

    package init(workers: Double, segmentsPerSecond: Double) {
        self.workers = workers
        self.segmentsPerSecond = segmentsPerSecond
    }
}

/// Sums of the first to fourth powers of values: enough for mean, variance and their intervals, and
/// added without loss.
package struct PowerSums: Codable, Hashable, Sendable {
    package private(set) var count = 0
    package private(set) var sum = 0.0
    package private(set) var squares = 0.0
    package private(set) var cubes = 0.0
    package private(set) var fourthPowers = 0.0

    package init() {}

    package mutating func add(_ value: Double, count number: Int = 1) {
        let square = value * value
        count += number
        sum += value * Double(number)
        squares += square * Double(number)
        cubes += square * value * Double(number)
        fourthPowers += square * square * Double(number)
    }

    package mutating func add(_ other: PowerSums) {
        count += other.count
        sum += other.sum
        squares += other.squares
        cubes += other.cubes
        fourthPowers += other.fourthPowers
    }

    package var moments: Moments {
        Moments(
            count: count, sum: sum, squares: squares, cubes: cubes, fourthPowers: fourthPowers)
    }

    /// True if the sums of a file could come from times in seconds.
    ///
    /// By Cauchy and Schwarz's inequality, each sum is bounded by its two neighbours.
    package var isPlausible: Bool {
        let sums = [Double(count), sum, squares, cubes, fourthPowers]
        guard (0...1_000_000_000_000_000).contains(count),
            sums.allSatisfy({ $0 >= 0 && $0 <= 1e60 })
        else { return false }
        guard count > 0 else { return sums.allSatisfy { $0 == 0 } }
        // Written with fewer digits than calculated.
        let rounding = 1e-6
        return sum > 0
            && (1...3).allSatisfy { power in
                sums[power] * sums[power] <= sums[power - 1] * sums[power + 1] * (1 + rounding)
            }
    }
}
