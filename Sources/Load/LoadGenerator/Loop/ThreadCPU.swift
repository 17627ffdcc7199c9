internal import Glibc
internal import LoadModel

/// The CPU time of a loop's thread since the last reading.
struct ThreadCPU {
    private var seconds = 0.0
    /// True if the last reading was after the planned end of the load.
    private var isAfterLoad = false

    /// Reads the time on the loop's thread for the first time.
    mutating func start() { seconds = Self.now }

    /// Adds the time since the last reading to the counts.
    mutating func take(into counts: inout LoadCounts, isAfterLoad isNow: Bool) {
        let now = Self.now
        counts.cpuSeconds += now - seconds
        if isAfterLoad { counts.afterEnd.cpuSeconds += now - seconds }
        seconds = now
        isAfterLoad = isNow
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
