/// Totals of the ended viewers of a class.
package struct ViewerTotals: Sendable, Equatable, Codable {
    package var viewers: Int64 = 0
    package var failed: Int64 = 0
    /// Viewers that left because they waited too long.
    package var abandoned: Int64 = 0
    /// Viewers with a start-up time: with a first frame, or cut off while they waited for long.
    package var startups: Int64 = 0
    /// Sum and maximum of start-up times.
    package var startupSeconds = 0.0
    package var longestStartupSeconds = 0.0
    package var stalls: Int64 = 0
    package var playedSeconds = 0.0
    package var stalledSeconds = 0.0
    /// Bits of the played renditions: bit rate times time.
    package var playedBits = 0.0

    package init() {}

    /// Adds the totals of another process, which may contain any number; sums saturate.
    package mutating func add(_ other: ViewerTotals) {
        func add(_ count: Int64, to sum: inout Int64) {
            let (total, isOver) = sum.addingReportingOverflow(max(count, 0))
            sum = isOver ? .max : total
        }
        add(other.viewers, to: &viewers)
        add(other.failed, to: &failed)
        add(other.abandoned, to: &abandoned)
        add(other.startups, to: &startups)
        add(other.stalls, to: &stalls)
        startupSeconds += max(other.startupSeconds, 0)
        longestStartupSeconds = max(longestStartupSeconds, other.longestStartupSeconds)
        playedSeconds += max(other.playedSeconds, 0)
        stalledSeconds += max(other.stalledSeconds, 0)
        playedBits += max(other.playedBits, 0)
    }

    /// Nil without a start-up.
    package var meanStartupSeconds: Double? {
        startups > 0 ? startupSeconds / Double(startups) : nil
    }

    /// Nil without playback.
    package var rebufferRatio: Double? {
        let watched = playedSeconds + stalledSeconds
        return watched > 0 ? stalledSeconds / watched : nil
    }

    package var meanBitsPerSecond: Double? {
        playedSeconds > 0 ? playedBits / playedSeconds : nil
    }
}
