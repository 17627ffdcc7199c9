import Model
import Synchronization

/// The origins that are left alone now, as this coordinator last read them. Safe from any thread.
///
/// Every answer to a worker carries them, so none of them costs a query.
final class CoolingOrigins: Sendable {
    private struct State {
        var origins: [(origin: String, end: ContinuousClock.Instant)] = []
        var version = 0
    }

    private let state = Mutex(State())

    /// Counts how often one was new or was to be left alone for longer.
    var version: Int { state.withLock { $0.version } }

    /// Takes what the database said, with seconds from now; true when the version changes.
    func set(_ cooling: [(origin: String, seconds: Double)]) -> Bool {
        let now = ContinuousClock.now
        let next = cooling.map { (origin: $0.origin, end: now + .seconds($0.seconds)) }
        return state.withLock { state in
            var known: [String: ContinuousClock.Instant] = [:]
            for old in state.origins { known[old.origin] = old.end }
            state.origins = next
            // Reading takes time; a tenth of a second later is not later.
            let isNews = next.contains { new in
                known[new.origin].map { $0 + .milliseconds(100) < new.end } ?? true
            }
            if isNews { state.version += 1 }
            return isNews
        }
    }

    /// What an answer carries; nil for none.
    var answer: [OriginCooldown]? {
        let now = ContinuousClock.now
        let cooling = state.withLock { $0.origins }.filter { $0.end > now }
        guard !cooling.isEmpty else { return nil }
        return cooling.map { origin, end in
            OriginCooldown(origin: origin, seconds: (end - now) / .seconds(1))
        }
    }
}
