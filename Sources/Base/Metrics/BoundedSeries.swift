import Synchronization

/// The series of a metric by the values of its labels, of which there may be a limited number: what
/// is beyond it shares the series `other`. Safe from any thread.
///
/// The first use of a value creates its series; a further use takes an uncontended lock. Keep the
/// series where its values are known.
package final class BoundedSeries<Series: MetricSeries>: Sendable {
    private struct State {
        var series: [String: Series] = [:]
        var entries: [(labels: [String], series: Series)] = []
        var other: Series?
    }

    private let labelCount: Int
    private let maxSeries: Int
    private let make: @Sendable () -> Series
    private let state = Mutex(State())

    /// - Parameters:
    ///   - labels: number of labels, 1 or 2.
    ///   - maxSeries: `other` included.
    package init(labels: Int, maxSeries: Int, _ make: @escaping @Sendable () -> Series) {
        labelCount = labels
        self.maxSeries = maxSeries
        self.make = make
    }

    /// The series of a metric with one label.
    package subscript(_ value: String) -> Series {
        precondition(labelCount == 1, "one value a label")
        return state.withLock { find(value, [value], &$0) }
    }

    package subscript(_ first: String, _ second: String) -> Series {
        precondition(labelCount == 2, "one value a label")
        return state.withLock { find("\(first)\u{0}\(second)", [first, second], &$0) }
    }

    private func find(
        _ key: String, _ labels: @autoclosure () -> [String], _ state: inout State
    ) -> Series {
        if let known = state.series[key] { return known }
        if state.entries.count >= maxSeries - 1 {
            let other = state.other ?? make()
            state.other = other
            return other
        }
        let series = make()
        state.series[key] = series
        state.entries.append((labels(), series))
        return series
    }

    /// All series, in the order of their creation, and `other` last.
    package var entries: [(labels: [String], series: Series)] {
        state.withLock { state in
            let other = [String](repeating: MetricFamily.other, count: labelCount)
            return state.entries + (state.other.map { [(other, $0)] } ?? [])
        }
    }
}
