import Synchronization

/// Counts repeated failures, so that a log has one line when they begin and one when they end.
///
/// Safe from any thread.
package final class FailureEpisodes: Sendable {
    /// Failures without a success between them.
    package struct Episode: Hashable, Sendable {
        package var count: Int
        package var seconds: Double
    }

    private struct Open {
        var count: Int
        let start: ContinuousClock.Instant
        var reported: ContinuousClock.Instant
        var failed: ContinuousClock.Instant
    }

    /// Time after which a failure that lasts is logged again.
    package static let reminder = Duration.seconds(600)

    private let now: @Sendable () -> ContinuousClock.Instant
    private let open = Mutex<[String: Open]>([:])

    package init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.now = now
    }

    /// Counts a failure; returns the episode so far if it is to be logged: at its begin, and then
    /// every ten minutes.
    package func failed(_ name: String) -> Episode? {
        let now = now()
        return open.withLock { open in
            guard var episode = open[name] else {
                open[name] = Open(count: 1, start: now, reported: now, failed: now)
                return Episode(count: 1, seconds: 0)
            }
            episode.count += 1
            episode.failed = now
            let isDue = now - episode.reported >= Self.reminder
            if isDue { episode.reported = now }
            open[name] = episode
            return isDue ? Self.closed(episode, now) : nil
        }
    }

    /// Returns the episode that a success ends; nil if nothing had failed.
    ///
    /// - Parameter start: when the work began that succeeded, if others fail under this name too: a
    ///   success does not end failures that came after its start.
    package func succeeded(
        _ name: String, since start: ContinuousClock.Instant? = nil
    ) -> Episode? {
        let now = now()
        return open.withLock { open in
            guard let episode = open[name], start.map({ $0 > episode.failed }) ?? true else {
                return nil
            }
            open[name] = nil
            return Self.closed(episode, now)
        }
    }

    private static func closed(_ open: Open, _ now: ContinuousClock.Instant) -> Episode {
        let length = (now - open.start).components
        return Episode(
            count: open.count,
            seconds: Double(length.seconds) + Double(length.attoseconds / 1_000_000_000_000_000)
                / 1_000)
    }
}
