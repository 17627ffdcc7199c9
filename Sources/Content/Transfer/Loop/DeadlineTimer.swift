internal import EventLoop
internal import Model

/// A timer of a loop that fires at the earliest requested time.
struct DeadlineTimer {
    private let timer: LoopTimer
    private var time = Double.infinity

    init(_ timer: LoopTimer) { self.timer = timer }

    /// Fires at `time` of the monotonic clock or before.
    mutating func fire(by time: Double) {
        guard !timer.isArmed || time < self.time else { return }
        self.time = time
        timer.schedule(afterSeconds: time - MonotonicClock.nowSeconds)
    }

    /// Records that it fired.
    mutating func fired() { time = .infinity }

    func cancel() { timer.cancel() }
}
