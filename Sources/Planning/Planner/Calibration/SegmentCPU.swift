import Statistics

/// CPU time of segments that are all of about one size: what of it is the bytes'.
///
/// One size does not tell a segment's part from that of its bytes, so what a segment takes besides them
/// comes from elsewhere. Measured together both stay what was measured.
package struct SegmentCPU {
    /// What a plan assumes a segment to take besides its bytes, in microseconds.
    package static var assumedMicroseconds: Double { ScenarioValues(Scenario())[.cpuPerSegment] }

    let secondsPerGigabyte: Measured
    /// Nil where the segment's part is what was given; less where all that was measured is less.
    let microsecondsPerSegment: Measured?

    /// Of measurements by the mean gigabytes of a segment, over 0 in one at least, and its CPU seconds.
    init(_ points: [(x: Double, y: Double)], microsecondsPerSegment: Double) {
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
