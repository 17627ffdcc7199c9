/// Statistics of many samples: a pure value.
struct Samples: Sendable {
    private(set) var values: [Double] = []

    mutating func add(_ value: Double) { values.append(value) }

    mutating func add(_ others: Samples) { values += others.values }

    var count: Int { values.count }

    /// Returns the quantile by nearest rank; 0 without samples.
    func quantile(_ fraction: Double) -> Double {
        guard !values.isEmpty else { return 0 }
        let rank = Int((fraction * Double(values.count)).rounded(.up))
        return values.sorted()[min(max(rank, 1), values.count) - 1]
    }

    /// The median; for an even number of samples, the mean of the middle two. 0 without samples.
    var median: Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        let half = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
    }
}

extension Double {
    /// Returns the number rounded to `places` decimal places.
    package func rounded(places: Int) -> Double {
        var factor = 1.0
        for _ in 0..<places { factor *= 10 }
        return (self * factor).rounded() / factor
    }

    /// The rate as a whole number; 0 if it is not finite.
    var wholeNumber: Int { isFinite ? Int(rounded()) : 0 }
}

extension Duration {
    package var inSeconds: Double { self / .seconds(1) }
}
