internal import EventLoop
internal import Model

/// The timers of a transfer loop.
struct TransferLoopTimers {
    private let ticker: LoopTimer
    /// Time of the last tick.
    private(set) var tickedAt = 0.0
    /// Calls the scheduler's `tick`, on the engine's first loop.
    var limits: DeadlineTimer
    /// Continues transfers that wait for bytes of a limited rate.
    var meters: DeadlineTimer

    init(ticker: LoopTimer, limits: LoopTimer, meters: LoopTimer) {
        self.ticker = ticker
        self.limits = DeadlineTimer(limits)
        self.meters = DeadlineTimer(meters)
    }

    /// Starts to tick, unless it does.
    mutating func startTicks(everySeconds seconds: Double) {
        guard !ticker.isArmed else { return }
        ticker.schedule(afterSeconds: seconds)
        tickedAt = MonotonicClock.nowSeconds
    }

    /// Records a tick; returns the seconds since the last one.
    mutating func ticked(now: Double) -> Double {
        defer { tickedAt = now }
        return now - tickedAt
    }

    func tickAgain(afterSeconds seconds: Double) { ticker.schedule(afterSeconds: seconds) }

    func cancel() {
        ticker.cancel()
        limits.cancel()
        meters.cancel()
    }
}
