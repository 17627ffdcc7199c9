/// What a pool of some size did, as `--calibrate` reads it: a run, or a step of a load test's ladder.
///
/// `{"workers": 4, "segmentsPerSecond": 3120, "segmentBytes": 65536, "service": {"count": …}}`; a file that
/// holds several has them in an array, one a line, or in the member `calibration` of an object.
package struct PoolMeasurement: Codable, Hashable, Sendable {
    package var workers: Double
    package var segmentsPerSecond: Double
    /// On average.
    package var segmentBytes: Double?
    /// Of all segments, in CPU seconds and bytes.
    package var cpuSeconds: Double?
    package var bytes: Double?
    /// The time of each on the network, in seconds.
    package var service: PowerSums?

    package init(workers: Double, segmentsPerSecond: Double) {
        self.workers = workers
        self.segmentsPerSecond = segmentsPerSecond
    }
}

/// Sums of the first to fourth powers of values: all that their mean, their variance and the intervals of
/// both need, and added without loss.
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

    /// What a file may say of times in seconds: sums that some times have.
    ///
    /// By Cauchy and Schwarz's inequality, none is larger than what its two neighbours allow.
    package var isPlausible: Bool {
        let sums = [Double(count), sum, squares, cubes, fourthPowers]
        guard (0...1_000_000_000_000_000).contains(count),
            sums.allSatisfy({ $0 >= 0 && $0 <= 1e60 })
        else { return false }
        guard count > 0 else { return sums.allSatisfy { $0 == 0 } }
        // Written with fewer digits than they were reckoned with.
        let rounding = 1e-6
        return sum > 0
            && (1...3).allSatisfy { power in
                sums[power] * sums[power] <= sums[power - 1] * sums[power + 1] * (1 + rounding)
            }
    }
}
