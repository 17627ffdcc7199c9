import Model
import Transfer

/// A worker's shares of origins' limits on its own clock: how long each still holds, and when it has
/// to be renewed. A value.
struct ShareTable {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var number: Int64
        var askedAt: Instant
        var end: Instant
        /// What it allows; a share like the one before it is asked for again less soon.
        var limits: OriginShare
        /// When the coordinator is to be asked again, while there is work, and after how many seconds that is.
        var again: Instant?
        var againSeconds: Double?
        /// Since when there is nothing to do at the origin.
        var idleSince: Instant?
    }

    private var entries: [String: Entry] = [:]
    /// What was reported last of the shares of which more was used than they allow.
    private var reported: [String: OriginUse] = [:]
    /// What was reported last of shares that were given up.
    private var reportedOver: [String: OriginShareUse] = [:]
    /// Where the uses of the next report begin, of those that nobody waits for.
    private var turn = 0

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
            // Numbers of a database that was restored begin lower: those of a share that is over no longer count.
            if share.number != nil, let known = entries[origin], known.number > number,
                known.end > now
            {
                return nil
            }
            let given = Self.seconds(share.seconds)
            let end = askedAt + .seconds(given - min(given / 10, 0.25))
            let isLimited =
                share.connections != nil || share.requestsPerSecond != nil
                || share.bytesPerSecond != nil
            let again = againSeconds(share, entries[origin])
            let entry = Entry(
                number: number, askedAt: askedAt, end: end, limits: share,
                again: again.map { now + .seconds($0) }, againSeconds: again)
            entries[origin] = isLimited && end > now ? entry : nil
            return Grant(
                origin: origin, limits: share, seconds: now.duration(to: end) / .seconds(1))
        }
    }

    /// What is free now may have come free for this worker; where nothing does for a while, it is asked less often.
    private func againSeconds(_ share: OriginShare, _ last: Entry?) -> Double? {
        guard let given = share.againSeconds.map(Self.seconds) else { return nil }
        guard let last, let before = last.againSeconds,
            last.limits.connections == share.connections,
            last.limits.requestsPerSecond == share.requestsPerSecond,
            last.limits.bytesPerSecond == share.bytesPerSecond
        else { return given }
        return max(given, min(before * 1.5, 0.25))
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

    /// Whether less is used of a share than was reported while it was more than allowed. Others wait for that.
    func isUnsettled(_ uses: [OriginUse]) -> Bool {
        uses.contains { use in
            guard let last = reported[use.origin] else { return use.isAbove }
            return use.connections < last.connections || use.requests < last.requests
        }
    }

    /// The uses of one report, `most` at most: first those that others wait for, then the rest in turn.
    mutating func next(
        _ uses: [(use: OriginShareUse, isAbove: Bool)], most: Int
    ) -> [OriginShareUse] {
        guard uses.count > most else { return uses.map(\.use) }
        let isAwaited = { (use: (use: OriginShareUse, isAbove: Bool)) in
            use.isAbove || use.use.isOver == true
        }
        let awaited = uses.filter(isAwaited).prefix(most).map(\.use)
        let rest = uses.filter { !isAwaited($0) }.sorted { $0.use.origin < $1.use.origin }
        guard !rest.isEmpty else { return awaited }
        let count = min(most - awaited.count, rest.count)
        let begin = turn % rest.count
        turn = begin + count
        return awaited + (0..<count).map { rest[(begin + $0) % rest.count].use }
    }

    /// True when a share is given up that was not reported so, or less of one is used than was reported.
    func hasNews(_ uses: [OriginShareUse]) -> Bool {
        uses.contains { use in
            guard use.isOver == true else { return false }
            guard let last = reportedOver[use.origin], last.number == use.number else {
                return true
            }
            return use.connections < last.connections || use.requests < last.requests
        }
    }

    /// The coordinator has the uses of a heartbeat.
    mutating func report(_ uses: [OriginShareUse]) {
        reportedOver = Dictionary(uses.filter { $0.isOver == true }.map { ($0.origin, $0) }) {
            first, _ in first
        }
    }

    /// The coordinator knows what is used.
    mutating func report(_ uses: [OriginUse]) {
        reported = Dictionary(uses.filter(\.isAbove).map { ($0.origin, $0) }) { first, _ in first }
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
