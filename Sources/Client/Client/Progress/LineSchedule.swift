/// Decides when a line is due without a terminal: every five seconds, the first after five.
struct LineSchedule {
    private static let interval = Duration.seconds(5)
    /// Progress that comes once a second may come a little early; it is not made to wait for the next.
    private static let tolerance = Duration.milliseconds(500)

    private var last: ContinuousClock.Instant?

    /// Starts the time to the first line; later calls change nothing.
    mutating func begin(at now: ContinuousClock.Instant) { last = last ?? now }

    /// Returns true, and starts the time to the next line, if a line is due. A short run needs none.
    mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard let last else {
            begin(at: now)
            return false
        }
        guard now - last >= Self.interval - Self.tolerance else { return false }
        self.last = now
        return true
    }
}
