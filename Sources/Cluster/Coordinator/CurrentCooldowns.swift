import API
import JobQueue
import Model
import Synchronization

/// Origins in cooldown, as this coordinator last read them. Safe from any thread.
///
/// Every answer to a worker carries them, so none of them costs a query.
final class CurrentCooldowns: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var origin: CurrentCooldown
        var end: Instant
        /// Time of the first read of a cooldown of this length.
        var updatedAt: Instant
    }

    private struct State {
        var entries: [Entry] = []
        var changes = 0
        var version = CurrentCooldowns.version(of: [])
    }

    private let state = Mutex(State())
    /// Fired when a cooldown is new or longer.
    let signal = WorkSignal()

    /// Number of times that a cooldown was new or longer.
    var changes: Int { state.withLock { $0.changes } }

    /// Stores the database's list, with seconds from now; returns true if a cooldown is new or
    /// longer.
    func set(_ cooldowns: [CurrentCooldown]) -> Bool {
        let now = Instant.now
        let hasChanged = state.withLock { state in
            let known = Dictionary(state.entries.map { ($0.origin.origin, $0) }) { first, _ in first
            }
            var hasChanged = false
            state.entries = cooldowns.map { origin in
                var entry = Entry(
                    origin: origin, end: now + .seconds(origin.seconds), updatedAt: now)
                if let old = known[origin.origin], old.origin.until >= origin.until {
                    entry.updatedAt = old.updatedAt
                } else {
                    hasChanged = true
                }
                return entry
            }
            state.version = Self.version(of: cooldowns)
            if hasChanged { state.changes += 1 }
            return hasChanged
        }
        if hasChanged { signal.fire() }
        return hasChanged
    }

    /// The cooldowns for an answer; nil for none.
    var answer: [OriginCooldown]? { answer { _ in true } }

    /// Returns the cooldowns for a grant that was requested from the database at `askedAt`. Those
    /// of its jobs' origins are included only if they were read since: the database allowed the
    /// jobs before.
    func answer(to grant: LeaseGrant, askedAt: Instant) -> [OriginCooldown]? {
        var origins: Set<String>?
        return answer { entry in
            if origins == nil { origins = grant.origins }
            guard origins?.contains(entry.origin.origin) == true else { return true }
            return entry.updatedAt >= askedAt && !entry.origin.isTried
        }
    }

    private func answer(where isMeant: (Entry) -> Bool) -> [OriginCooldown]? {
        let now = Instant.now
        let cooldowns = state.withLock { $0.entries }.filter { $0.end > now && isMeant($0) }
        guard !cooldowns.isEmpty else { return nil }
        return cooldowns.map { entry in
            OriginCooldown(origin: entry.origin.origin, seconds: (entry.end - now) / .seconds(1))
        }
    }

    /// All cooldowns, with the version of the list.
    var list: CooldownList {
        CooldownList(version: state.withLock { $0.version }, cooldowns: answer ?? [])
    }

    /// Returns a hash of the list that is equal at all coordinators (FNV-1a, 64 bits).
    private static func version(of cooldowns: [CurrentCooldown]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        let texts = cooldowns.map { "\($0.origin) \($0.until)\n" }.sorted()
        for byte in texts.joined().utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
