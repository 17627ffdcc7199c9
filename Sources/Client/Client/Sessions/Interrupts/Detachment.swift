import Synchronization

/// Knows if a session still follows its catalog, and if the user has detached it.
///
/// Safe from any thread.
final class Detachment: Sendable {
    private enum Phase {
        case submitting
        case following
        case detached
        case over
    }

    private let phase = Mutex(Phase.submitting)

    /// True while the catalog would continue without this session.
    var isPossible: Bool { phase.withLock { $0 == .following } }

    var hasHappened: Bool { phase.withLock { $0 == .detached } }

    /// The cluster has all it needs.
    func begin() { phase.withLock { if $0 == .submitting { $0 = .following } } }

    /// The catalog has ended.
    func end() { phase.withLock { if $0 == .following { $0 = .over } } }

    /// Detaches; returns false if the catalog needs its session, or has ended.
    func detach() -> Bool {
        phase.withLock { phase in
            guard phase == .following else { return false }
            phase = .detached
            return true
        }
    }
}
