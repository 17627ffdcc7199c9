import API
import EventLoop
import Glibc
import Model
import Synchronization

/// Counts this worker's work since it started, for heartbeats. Safe from any thread.
final class WorkTally: Sendable {
    private struct State {
        var done: WorkDone
        var reportedFetches = 0
    }

    private let state: Mutex<State>
    private let countsCPU: Bool
    /// The same by run of a catalog.
    let runs: RunTally

    /// Creates a tally; `countsCPU` must be true only if the process does nothing but this worker's
    /// work.
    init(connections: Int, countsCPU: Bool) {
        state = Mutex(
            State(done: WorkDone(connections: connections, cores: UsableCPUs.count)))
        self.countsCPU = countsCPU
        runs = RunTally(connections: connections)
    }

    /// Counts a successful fetch of a run.
    func ended(_ run: RunID, seconds: Double, bytes: Int64) {
        state.withLock { $0.done.add(seconds: seconds, bytes: bytes) }
        runs.ended(run, seconds: seconds)
    }

    /// Returns the counts to report; nil if no fetch has ended since the last report.
    func unreported(busySeconds: Double) -> WorkDone? {
        var unreported = state.withLock { $0.done.fetches > $0.reportedFetches ? $0.done : nil }
        unreported?.busySeconds = busySeconds
        if countsCPU { unreported?.cpuSeconds = Self.cpuSeconds }
        return unreported
    }

    func reported(_ done: WorkDone) {
        state.withLock { $0.reportedFetches = max($0.reportedFetches, done.fetches) }
    }

    private static var cpuSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
