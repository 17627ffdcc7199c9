import API
import Model
import Transfer

/// A worker's quotas of origins' limits on its own clock: their ends and times of renewal. A value.
struct OriginQuotaTable {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var number: Int64
        var askedAt: Instant
        var end: Instant
        /// The quota's limits; a request after an unchanged quota waits longer.
        var limits: OriginQuota
        /// Time of the next request to the coordinator, while there is work, and its delay in
        /// seconds.
        var again: Instant?
        var againSeconds: Double?
        /// Start of the origin's idle time.
        var idleSince: Instant?
    }

    private var entries: [String: Entry] = [:]
    /// Last reported uses of quotas that were exceeded.
    private var reported: [String: OriginUse] = [:]
    /// Last reported uses of returned quotas.
    private var reportedOver: [String: OriginQuotaUse] = [:]
    /// Offset of the next report among the uses for which no worker waits.
    private var turn = 0

    var isEmpty: Bool { entries.isEmpty }

    /// The effect of one quota: limits that hold for `seconds` from now.
    struct Grant {
        var origin: String
        var limits: OriginQuota
        var seconds: Double
    }

    /// Applies an answer whose request was sent at `askedAt`. A quota is used for a little less
    /// than it lasts: its connections must be closed at the peer by its end. Answers may arrive out
    /// of order: a lower number than the last one is skipped.
    mutating func take(
        _ shares: [OriginQuota], askedAt: Instant, now: Instant = .now
    ) -> [Grant] {
        shares.compactMap { share in
            guard let origin = originName(of: share.origin) else { return nil }
            let number = share.number ?? 0
            // A restored database starts with lower numbers, so an ended quota's number does not
            // count.
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

    /// Returns the delay until the next request; it grows while the quota does not change.
    private func againSeconds(_ share: OriginQuota, _ last: Entry?) -> Double? {
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

    /// Returns true if a used quota has passed a third of its time, or should be requested again.
    mutating func needsRenewal(_ used: some Sequence<String>, now: Instant = .now) -> Bool {
        entries = entries.filter { $0.value.end > now }
        return used.contains { origin in
            guard let entry = entries[origin] else { return false }
            return now - entry.askedAt > (entry.end - entry.askedAt) / 3
                || entry.again.map { $0 <= now } ?? false
        }
    }

    /// Records if an origin is idle; returns true after it was idle for a while.
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

    /// Returns true if the use of an exceeded quota fell since the last report. Others wait for
    /// that.
    func isUnsettled(_ uses: [OriginUse]) -> Bool {
        uses.contains { use in
            guard let last = reported[use.origin] else { return use.isAbove }
            return use.connections < last.connections || use.requests < last.requests
        }
    }

    /// Returns the uses of one report, `most` at most: first those that others wait for, then the
    /// rest in rotation.
    mutating func next(
        _ uses: [(use: OriginQuotaUse, isAbove: Bool)], most: Int
    ) -> [OriginQuotaUse] {
        guard uses.count > most else { return uses.map(\.use) }
        let isAwaited = { (use: (use: OriginQuotaUse, isAbove: Bool)) in
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

    /// Returns true if a returned quota was not reported yet, or its use fell since.
    func hasUnreported(_ uses: [OriginQuotaUse]) -> Bool {
        uses.contains { use in
            guard use.isOver == true else { return false }
            guard let last = reportedOver[use.origin], last.number == use.number else {
                return true
            }
            return use.connections < last.connections || use.requests < last.requests
        }
    }

    /// Records that the coordinator received the uses of returned quotas.
    mutating func report(_ uses: [OriginQuotaUse]) {
        reportedOver = Dictionary(uses.filter { $0.isOver == true }.map { ($0.origin, $0) }) {
            first, _ in first
        }
    }

    /// Records that the coordinator received the uses of exceeded quotas.
    mutating func report(_ uses: [OriginUse]) {
        reported = Dictionary(uses.filter(\.isAbove).map { ($0.origin, $0) }) { first, _ in first }
    }

    /// Returns true if `number` is the origin's latest quota.
    func holds(_ origin: String, number: Int64) -> Bool { entries[origin]?.number == number }

    /// Removes a returned quota, unless a newer one arrived.
    mutating func forget(_ origin: String, number: Int64) {
        if holds(origin, number: number) { entries[origin] = nil }
    }
}

/// Idle time after which a quota is returned: about the time of a lease request.
let idleBeforeOver = Duration.milliseconds(200)
