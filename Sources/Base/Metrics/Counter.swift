import Synchronization

/// A number that only grows. Safe from any thread; an addition takes no lock and allocates nothing.
package final class Counter: MetricSeries {
    private let count = Atomic<Int64>(0)

    package init() {}

    package var value: Int64 { count.load(ordering: .relaxed) }

    /// Adds `number`; a negative one counts as 0.
    package func add(_ number: Int64 = 1) {
        guard number > 0 else { return }
        count.wrappingAdd(number, ordering: .relaxed)
    }

    package func add(_ number: Int) { add(Int64(number)) }
}

/// The content of a series: a counter or a histogram.
package protocol MetricSeries: AnyObject, Sendable {}
