package import Statistics

/// Splits the CPU time of segments of similar size into parts per segment and per byte.
///
/// One size cannot separate the two, so the time per segment is assumed. Their sum stays as
/// measured.
package struct SegmentCPU {
    /// Assumed CPU time of a segment besides its bytes, in microseconds.
    package static var assumedMicroseconds: Double { ScenarioValues(Scenario())[.cpuPerSegment] }

    package let secondsPerGigabyte: Measured
    /// Nil if the assumed time holds; lower if the measured total is lower.
    package let microsecondsPerSegment: Measured?

    /// Creates it from measurements: mean gigabytes of a segment, above 0 in at least one, and its
    /// CPU seconds.
    package init(_ points: [(x: Double, y: Double)], microsecondsPerSegment: Double) {
        let points = points.filter { $0.x > 0 }
        let most = Moments(points.map(\.y)).mean
        let own = min(microsecondsPerSegment * 1e-6, most)
        secondsPerGigabyte =
            Moments(points.map { max(0, $0.y - own) / $0.x }).meanEstimate.notNegative
        self.microsecondsPerSegment =
            own < microsecondsPerSegment * 1e-6
            ? Measured(one: own * 1e6, count: points.count) : nil
    }
}
