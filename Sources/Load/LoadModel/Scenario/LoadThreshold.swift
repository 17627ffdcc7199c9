/// A condition that must hold at the end, such as `p99(first_byte) < 200ms`.
package struct LoadThreshold: Sendable, Equatable {
    package enum Comparison: String, Sendable, CaseIterable {
        case less = "<"
        case atMost = "<="
        case more = ">"
        case atLeast = ">="
    }

    /// The text as written.
    package var text: String
    package var figure: LoadFigure
    /// The group of requests that it limits; nil for all.
    package var group: LoadGroupKey?
    package var comparison: Comparison
    /// In the figure's own unit.
    package var value: Double
    /// Aborts the test when it does not hold after this time; nil to judge it only at the end.
    package var abortAfterSeconds: Double?
    /// True for the bound on errors that holds where a scenario sets none.
    package var isDefault = false

    package init(
        text: String, figure: LoadFigure, of group: LoadGroupKey? = nil, comparison: Comparison,
        value: Double
    ) {
        self.text = text
        self.figure = figure
        self.group = group
        self.comparison = comparison
        self.value = value
    }

    /// True if it limits how long users wait, so that it fails at some number of users.
    package var limitsTime: Bool {
        guard comparison == .less || comparison == .atMost else { return false }
        return switch figure {
        case .quantile, .mean, .maximum, .rebufferRatio, .lateSegmentRatio: true
        case .errorRate, .requestRate, .throughput, .failedViewerRatio, .lateSendRatio,
            .missedSendRatio:
            false
        }
    }
}

/// The figure that a threshold limits.
package enum LoadFigure: Sendable, Hashable {
    /// A quantile, 0 to 1, of a metric, in the metric's unit.
    case quantile(LoadMetric, Double)
    case mean(LoadMetric)
    case maximum(LoadMetric)
    /// Ratio of failed requests to all, 0 to 1.
    case errorRate
    /// Successful requests per second.
    case requestRate
    /// Bits of bodies per second.
    case throughput
    /// Ratio of waiting time to waiting and playing time of viewers, 0 to 1.
    case rebufferRatio
    /// Ratio of segments that arrived after the buffer was empty to all, 0 to 1.
    case lateSegmentRatio
    /// Ratio of viewers that could not play to the end.
    case failedViewerRatio
    /// Ratio of sends that the generator delayed to all, 0 to 1.
    case lateSendRatio
    /// Ratio of unsent due requests and viewers to these and all that were sent, 0 to 1.
    case missedSendRatio
}
