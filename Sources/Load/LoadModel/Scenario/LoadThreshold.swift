/// Something that must hold at the end, `p99(first_byte) < 200ms` for one.
package struct LoadThreshold: Sendable, Equatable {
    package enum Comparison: String, Sendable, CaseIterable {
        case less = "<"
        case atMost = "<="
        case more = ">"
        case atLeast = ">="
    }

    /// As it was written.
    package var text: String
    package var figure: LoadFigure
    package var comparison: Comparison
    /// In the figure's own unit.
    package var value: Double
    /// Ends the test as soon as it does not hold; nil for judging at the end alone.
    package var abortAfterSeconds: Double?

    package init(text: String, figure: LoadFigure, comparison: Comparison, value: Double) {
        self.text = text
        self.figure = figure
        self.comparison = comparison
        self.value = value
    }
}

/// What a threshold is about.
package enum LoadFigure: Sendable, Hashable {
    /// A quantile, 0 to 1, of a metric, in the metric's unit.
    case quantile(LoadMetric, Double)
    case mean(LoadMetric)
    case maximum(LoadMetric)
    /// Failed requests of all, 0 to 1.
    case errorRate
    /// Requests a second that ended well.
    case requestRate
    /// Bits of bodies a second.
    case throughput
    /// Time that viewers waited of the time that they waited and played, 0 to 1.
    case rebufferRatio
    /// Segments that came when there was nothing left to play, of all, 0 to 1.
    case lateSegmentRatio
    /// Viewers whose title could not be played to its end.
    case failedViewerRatio
    /// Sends that the generator itself was late with, of all, 0 to 1.
    case lateSendRatio
    /// Requests and viewers that were due and never sent, of these and all that were sent, 0 to 1.
    case missedSendRatio
}
