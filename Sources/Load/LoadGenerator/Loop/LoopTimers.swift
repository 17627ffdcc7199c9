internal import EventLoop

/// The timers of a loop.
struct LoopTimers {
    /// Delivers the interval of each second.
    let second: LoopTimer
    /// Ends the load, and then the wait for requests in flight.
    let end: LoopTimer
    /// Starts the next arrival of the open model.
    let arrival: LoopTimer
    /// Adjusts the number of users of the closed model.
    let level: LoopTimer

    /// Cancels the timers that start requests.
    func cancelLoad() {
        arrival.cancel()
        level.cancel()
    }

    func cancelAll() {
        second.cancel()
        end.cancel()
        cancelLoad()
    }
}
