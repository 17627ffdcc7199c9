import Synchronization

/// The metrics of a process: declares them, and collects their samples. Safe from any thread.
///
///     let leases = registry.counter("dray_leases", "Leases that were granted.")
///     leases.add()
package final class MetricRegistry: Sendable {
    /// A metric with the source of its samples.
    struct Entry: Sendable {
        var family: MetricFamily
        var collect: @Sendable () -> [MetricSample]
    }

    /// Combines the values beyond the bound of a gauge.
    package enum Overflow: Sendable {
        case sum, maximum, minimum
    }

    private let state = Mutex<[Entry]>([])

    package init() {}

    /// All metrics, in the order of their declaration.
    package var families: [MetricFamily] { state.withLock { $0.map(\.family) } }

    var entries: [Entry] { state.withLock { $0 } }

    private func add(
        _ family: MetricFamily, _ collect: @escaping @Sendable () -> [MetricSample]
    ) {
        state.withLock { entries in
            precondition(
                !entries.contains { $0.family.sampleName == family.sampleName },
                "declared twice: \(family.name)")
            entries.append(Entry(family: family, collect: collect))
        }
    }

    // MARK: Counted by their owner

    package func counter(_ name: String, _ help: String) -> Counter {
        let counter = Counter()
        add(MetricFamily(name, .counter, help)) { [MetricSample([], counter.value)] }
        return counter
    }

    /// - Parameter maxSeries: `other` included.
    package func counters(
        _ name: String, _ labels: [String], maxSeries: Int, _ help: String
    ) -> BoundedSeries<Counter> {
        let family = MetricFamily(name, .counter, help, labels: labels, maxSeries: maxSeries)
        let counters = BoundedSeries(labels: labels.count, maxSeries: maxSeries) { Counter() }
        add(family) { counters.entries.map { MetricSample($0.labels, $0.series.value) } }
        return counters
    }

    package func histogram(
        _ name: String, exponents: ClosedRange<Int>, _ help: String
    ) -> DurationHistogram {
        let histogram = DurationHistogram(exponents: exponents)
        add(MetricFamily(name, .histogram, help)) {
            [MetricSample([], .histogram(histogram.snapshot))]
        }
        return histogram
    }

    // MARK: Read when they are scraped

    /// - Parameter read: returns nil for an unknown value, which has no sample.
    package func gauge(
        _ name: String, _ help: String, _ read: @escaping @Sendable () -> Double?
    ) {
        add(MetricFamily(name, .gauge, help)) { read().map { [MetricSample([], $0)] } ?? [] }
    }

    /// - Parameters:
    ///   - maxSeries: `other` included.
    ///   - read: returns the most important samples first: later ones become `other`.
    package func gauges(
        _ name: String, _ labels: [String], maxSeries: Int, overflow: Overflow = .sum,
        _ help: String, _ read: @escaping @Sendable () -> [MetricSample]
    ) {
        let family = MetricFamily(name, .gauge, help, labels: labels, maxSeries: maxSeries)
        add(family) { Self.bounded(read(), family, overflow) }
    }

    /// A counter that another object has; it must not shrink.
    package func counter(
        _ name: String, _ help: String, _ read: @escaping @Sendable () -> Double?
    ) {
        add(MetricFamily(name, .counter, help)) { read().map { [MetricSample([], $0)] } ?? [] }
    }

    /// Counters that another object has, within the bound.
    package func counters(
        _ name: String, _ labels: [String], maxSeries: Int, _ help: String,
        _ read: @escaping @Sendable () -> [MetricSample]
    ) {
        let family = MetricFamily(name, .counter, help, labels: labels, maxSeries: maxSeries)
        add(family) { Self.bounded(read(), family, .sum) }
    }

    package func info(_ name: String, _ labels: [(name: String, value: String)], _ help: String) {
        let family = MetricFamily(
            name, .info, help, labels: labels.map(\.name), maxSeries: labels.count + 1)
        add(family) { [MetricSample(labels.map(\.value), Int64(1))] }
    }

    private static func bounded(
        _ samples: [MetricSample], _ family: MetricFamily, _ overflow: Overflow
    ) -> [MetricSample] {
        guard samples.count > family.maxSeries else { return samples }
        let rest = samples[(family.maxSeries - 1)...].map(\.value.number)
        let value: Double? =
            switch overflow {
            case .sum: rest.reduce(0, +)
            case .maximum: rest.max()
            case .minimum: rest.min()
            }
        let labels = family.labels.map { _ in MetricFamily.other }
        return samples.prefix(family.maxSeries - 1) + [MetricSample(labels, value ?? 0)]
    }
}

extension MetricSample.Value {
    fileprivate var number: Double {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .histogram: 0
        }
    }
}
