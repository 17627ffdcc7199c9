import Model

/// A worker's shares of origins' limits on its own clock: how long each still holds, and when it has
/// to be renewed. A value.
struct ShareTable {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var number: Int64
        var askedAt: Instant
        var end: Instant
        /// When the coordinator is to be asked again, while there is work.
        var again: Instant?
        /// Since when there is nothing to do at the origin.
        var idleSince: Instant?
    }

    private var entries: [String: Entry] = [:]
    private var isAbove = false
    /// More is used of a share than it allows now, or was when that was looked at before.
    private(set) var isUnsettled = false

    var isEmpty: Bool { entries.isEmpty }

    /// What one share comes to: limits that hold for so many seconds from now.
    struct Grant {
        var origin: String
        var limits: OriginShare
        var seconds: Double
    }

    /// Takes what an answer says whose request was sent at `askedAt`. A share is used for a little
    /// less than it lasts: by its end its connections have to be closed at the other end too. Answers may
    /// overtake each other: a share with a lower number than the last one is skipped.
    mutating func take(
        _ shares: [OriginShare], askedAt: Instant, now: Instant = .now
    ) -> [Grant] {
        shares.compactMap { share in
            guard let origin = originName(of: share.origin) else { return nil }
            let number = share.number ?? 0
            if share.number != nil, let known = entries[origin], known.number > number {
                return nil
            }
            let given = Self.seconds(share.seconds)
            let end = askedAt + .seconds(given - min(given / 10, 0.25))
            let isLimited =
                share.connections != nil || share.requestsPerSecond != nil
                || share.bytesPerSecond != nil
            let entry = Entry(
                number: number, askedAt: askedAt, end: end,
                again: share.againSeconds.map { now + .seconds(Self.seconds($0)) })
            entries[origin] = isLimited && end > now ? entry : nil
            return Grant(
                origin: origin, limits: share, seconds: now.duration(to: end) / .seconds(1))
        }
    }

    private static func seconds(_ given: Double) -> Double {
        given.isFinite ? min(max(given, 0), 86_400) : 0
    }

    /// Whether a share that is used has lasted for a third of its time, or is to be asked for again.
    mutating func needsRenewal(_ used: some Sequence<String>, now: Instant = .now) -> Bool {
        entries = entries.filter { $0.value.end > now }
        return used.contains { origin in
            guard let entry = entries[origin] else { return false }
            return now - entry.askedAt > (entry.end - entry.askedAt) / 3
                || entry.again.map { $0 <= now } ?? false
        }
    }

    /// Notes whether there is anything to do at an origin; true when there has been nothing for a while.
    mutating func isOver(_ origin: String, isIdle: Bool, now: Instant = .now) -> Bool {
        guard isIdle else {
            entries[origin]?.idleSince = nil
            return false
        }
        guard let since = entries[origin]?.idleSince else {
            entries[origin]?.idleSince = now
            return false
        }
        return now - since >= idleBeforeOver
    }

    /// Notes whether more is used of a share than it allows now.
    mutating func note(isAbove: Bool) {
        isUnsettled = isAbove || self.isAbove
        self.isAbove = isAbove
    }

    /// Whether the share `number` is the origin's last one.
    func holds(_ origin: String, number: Int64) -> Bool { entries[origin]?.number == number }

    /// Forgets a share that was given up, unless another one has come since.
    mutating func forget(_ origin: String, number: Int64) {
        if holds(origin, number: number) { entries[origin] = nil }
    }
}

/// How long a share lies idle before it is given up: as long as it takes to get more work.
let idleBeforeOver = Duration.milliseconds(200)
