import Model
import Services
import Synchronization

/// Lines in which starts wait for others of their site, without a connection to the database.
///
/// One line a site and coordinator: only its first start asks the database again, so that starts
/// which wait take no connections from others. Safe from any thread.
final class StartTurns: Sendable {
    /// A start's position in a line, which it leaves by `end`.
    struct Turn: Sendable {
        fileprivate let site: SiteID
        fileprivate let number: UInt64
        /// Triggered once the turn is the first of its line.
        fileprivate let isFirst = ShutdownSignal()
    }

    private struct State {
        var next: UInt64 = 0
        var lines: [SiteID: [Turn]] = [:]
    }

    private let state = Mutex(State())

    private let period: Duration

    /// - Parameter period: time after which the first of a line asks the database again, and all
    ///   check whether they are still wanted.
    init(period: Duration = .milliseconds(500)) { self.period = period }

    /// Appends a turn to a site's line.
    func join(_ site: SiteID) -> Turn {
        state.withLock { state in
            let turn = Turn(site: site, number: state.next)
            state.next += 1
            state.lines[site, default: []].append(turn)
            if state.lines[site]?.count == 1 { turn.isFirst.trigger() }
            return turn
        }
    }

    /// Waits until the turn is the first of its line; if it is, for a period.
    ///
    /// Throws `cluster.busy` once `isWanted` returns false, or when `end` is reached.
    func wait(
        for turn: Turn, until end: ContinuousClock.Instant, while isWanted: () -> Bool
    ) async throws(Failure) {
        var isReady = false
        while !isReady {
            if turn.isFirst.isDraining {
                try? await Task.sleep(for: period)
                isReady = true
            } else {
                isReady = await turn.isFirst.wait(atMost: period)
            }
            guard isWanted(), !Task.isCancelled else {
                throw Failure(.clusterBusy, "The sender of the request has left.")
            }
            guard ContinuousClock.now < end else {
                throw Failure(
                    .clusterBusy,
                    "Other starts of catalogs at this site have not ended. Try again later.")
            }
        }
    }

    /// Leaves the line; the next one becomes the first.
    func end(_ turn: Turn) {
        let first = state.withLock { state -> Turn? in
            state.lines[turn.site]?.removeAll { $0.number == turn.number }
            guard let first = state.lines[turn.site]?.first else {
                state.lines[turn.site] = nil
                return nil
            }
            return first
        }
        first?.isFirst.trigger()
    }
}
