/// The path by which a transfer reached its next URL: redirects, waits and stops.
struct Route {
    var url: String
    var redirects: Int
    var isAtOrigin: Bool
    /// Seconds of the monotonic clock.
    var startedAt: Double
    /// Number of times that no connection was available.
    var postponements = 0
    var omissions = Omissions()
    /// Time of its stop in favor of others; the wait since then does not count as the transfer's
    /// own.
    var stoppedAt: Double?
    /// Number of consecutive stops that lost all received bytes.
    var losses = 0

    /// True if transfers that are not slow may have this one stopped. Only the first stop may lose
    /// bytes.
    var mayStop: Bool { losses == 0 }

    /// Returns the route for its next slot at `now`, without the time that it waited since its
    /// stop.
    func resumed(_ now: Double) -> Route {
        var resumed = self
        resumed.startedAt += stoppedAt.map { now - $0 } ?? 0
        resumed.stoppedAt = nil
        return resumed
    }
}
