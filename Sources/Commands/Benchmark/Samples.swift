/// Figures of many samples: a pure value.
struct Samples: Sendable {
    private(set) var values: [Double] = []

    mutating func add(_ value: Double) { values.append(value) }

    mutating func add(_ others: Samples) { values += others.values }

    var count: Int { values.count }

    /// The sample below or at which the given fraction of all lies (nearest rank); 0 of none.
    func quantile(_ fraction: Double) -> Double {
        guard !values.isEmpty else { return 0 }
        let rank = Int((fraction * Double(values.count)).rounded(.up))
        return values.sorted()[min(max(rank, 1), values.count) - 1]
    }

    /// The middle one; of an even number, the mean of the middle two. 0 of none.
    var median: Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        let half = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
    }

    var greatest: Double { values.max() ?? 0 }
}

extension Double {
    /// Rounded to so many places, for reports.
    package func rounded(places: Int) -> Double {
        var factor = 1.0
        for _ in 0..<places { factor *= 10 }
        return (self * factor).rounded() / factor
    }

    /// A rate without digits that mean nothing.
    var wholeNumber: Int { isFinite ? Int(rounded()) : 0 }
}

extension Duration {
    package var inSeconds: Double { self / .seconds(1) }
}
