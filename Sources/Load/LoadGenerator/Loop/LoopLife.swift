internal import LoadModel
internal import Model

/// The phase of a loop, and how its load ended.
struct LoopLife {
    enum Phase {
        case waiting
        case running
        /// The load has ended; requests in flight may end within one request timeout.
        case draining
        case done
    }

    /// End of the load on the test's clock.
    let durationSeconds: Double
    private(set) var phase = Phase.waiting
    private(set) var ending = LoadResult.Ending.finished
    private(set) var failure: Failure?
    /// True if the caps are used up. Another loop may use them up before this one begins.
    private(set) var isCapped = false
    /// Time on the test's clock after which no request starts.
    private(set) var loadEndSeconds = Double.infinity

    init(durationSeconds: Double) { self.durationSeconds = durationSeconds }

    var isRunning: Bool { phase == .running }
    var isDone: Bool { phase == .done }
    /// True until the load has ended, and before its start.
    var isBeforeEnd: Bool { phase == .waiting || phase == .running }

    mutating func run() { phase = .running }

    mutating func cap() { isCapped = true }

    mutating func fail(_ failure: Failure) { self.failure = failure }

    mutating func drain(_ ending: LoadResult.Ending, atSeconds now: Double) {
        loadEndSeconds = now
        phase = .draining
        self.ending = ending
    }

    /// Ends the load, if it has not ended before.
    mutating func endLoad(atSeconds now: Double) { loadEndSeconds = min(loadEndSeconds, now) }

    mutating func end() { phase = .done }

    /// Returns true at the planned end of the load and later.
    func isAfterLoad(_ now: Double) -> Bool { now >= durationSeconds }

    /// Returns true once the load has ended, possibly before its planned end by a cap.
    func hasLoadEnded(_ now: Double) -> Bool { now >= min(loadEndSeconds, durationSeconds) }

    /// Returns the part of an interval in which requests could start.
    func loadSeconds(from start: Double, length: Double) -> Double {
        min(max(loadEndSeconds - start, 0), length)
    }
}
