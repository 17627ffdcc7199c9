package import Statistics

/// Measurements of one second of a test, of one loop, process or machine, or of all. Intervals of
/// the same second are added without loss, and so are all seconds of a test.
///
/// A value: used by one owner at a time. A request counts in the second in which it ended.
package struct LoadInterval: Sendable, Equatable {
    /// Seconds since the start, from 0.
    package var second: Int
    /// Length of the second, 0 to 1: less than 1 if the test ended in it.
    package var lengthSeconds = 1.0
    /// Part of the second with load: after its end no request starts and requests in flight end.
    package var loadSeconds = 1.0
    /// True after the warm-up.
    package var isMeasured = true
    package var counts = LoadCounts()
    /// By `LoadMetric.rawValue`; nil for a metric without a value.
    private var histograms = [Histogram?](repeating: nil, count: LoadMetric.allCases.count)
    /// Failed requests by failure code.
    package var errors: [String: Int64] = [:]
    /// By machine identity; empty if the generator is this process alone.
    package var machines: [String: LoadMachine] = [:]

    package init(second: Int) { self.second = second }

    package mutating func record(_ value: Int64, _ metric: LoadMetric) {
        // Recording in place copies no histogram, as a comparison with nil would.
        guard histograms[metric.rawValue]?.record(value) == nil else { return }
        var histogram = Histogram()
        histogram.record(value)
        histograms[metric.rawValue] = histogram
    }

    /// The histogram of a metric; nil if nothing was recorded.
    package subscript(_ metric: LoadMetric) -> Histogram? {
        get { histograms[metric.rawValue] }
        set { histograms[metric.rawValue] = newValue }
    }

    /// Maximum number of failure codes, beyond which they count as `LoadBreakdown.others`, and of
    /// machines.
    static let (maxErrors, maxMachines) = (500, 1_000)

    /// Adds another interval of the same second or of a later one.
    package mutating func add(_ other: LoadInterval) {
        counts.add(other.counts)
        lengthSeconds = max(lengthSeconds, other.lengthSeconds)
        loadSeconds = max(loadSeconds, other.loadSeconds)
        for metric in LoadMetric.allCases {
            guard let histogram = other[metric] else { continue }
            if histograms[metric.rawValue] == nil { histograms[metric.rawValue] = Histogram() }
            histograms[metric.rawValue]?.add(histogram)
        }
        Self.add(other.errors, to: &errors)
        for (id, machine) in other.machines {
            if machines[id] != nil {
                machines[id]?.add(machine)
            } else if machines.count < Self.maxMachines {
                machines[id] = machine
            }
        }
    }

    static func add(_ counts: [String: Int64], to errors: inout [String: Int64]) {
        for (code, count) in counts {
            let isKnown = errors[code] != nil || errors.count < maxErrors
            errors[isKnown ? code : LoadBreakdown.others, default: 0] += count
        }
    }

    /// The machine with the busiest CPUs; nil if machines are not distinguished.
    package var busiestMachine: LoadMachine? {
        machines.sorted { $0.key < $1.key }.map(\.value).filter { $0.cores > 0 }.max {
            $0.cpuSeconds / $0.cores < $1.cpuSeconds / $1.cores
        }
    }

    /// Cores of all machines, each counted once and limited by quotas; nil if machines are not
    /// distinguished.
    package var machineCores: Double? {
        machines.isEmpty ? nil : machines.values.reduce(0) { $0 + $1.cores }
    }
}
