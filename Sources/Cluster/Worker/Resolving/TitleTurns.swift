import Model

/// Schedules the titles that a worker reads: a few at a time, because each may hold tens of
/// megabytes of playlists.
///
/// A host has at most half of the slots while other hosts' titles wait. A slow title returns its
/// slot if another waits; each time, its next limit doubles. A value; the time is passed in.
struct TitleTurns<Title> {
    typealias Instant = ContinuousClock.Instant

    static var slots: Int { 8 }
    /// Maximum slots of a host while other hosts' titles wait.
    static var slotsPerHost: Int { slots / 2 }
    /// Minimum time for which a title keeps its slot.
    static var patience: Duration { .seconds(120) }
    /// The same if its host has more than half and another host has less.
    static var patienceBeyondHalf: Duration { .seconds(10) }
    private static var maxDoublings: Int { 3 }
    /// Maximum number of jobs whose returned slots are counted.
    private static var maxRemembered: Int { 1_000 }

    private struct Waiting {
        var title: Title
        var job: JobID
        var host: String
    }

    private struct Reading {
        var waiting: Waiting
        var startedAt: Instant
        var patience: Duration
        /// True if the title must return its slot.
        var isOver = false
    }

    private var waiting: [Waiting] = []
    private var reading: [Int: Reading] = [:]
    private var lastTurn = 0
    /// Number of consecutive slot returns by job.
    private var returns: [JobID: Int] = [:]

    var isAnyWaiting: Bool { !waiting.isEmpty }
    var mayStart: Bool { isAnyWaiting && reading.count < Self.slots }

    mutating func add(_ title: Title, of job: JobID, at host: String) {
        waiting.append(Waiting(title: title, job: job, host: host))
    }

    /// Starts the next title and returns it with its slot's number; nil if all slots are used or
    /// none waits.
    mutating func next(now: Instant) -> (turn: Int, title: Title)? {
        guard mayStart else { return nil }
        let counts = Dictionary(reading.values.map { ($0.waiting.host, 1) }, uniquingKeysWith: +)
        let index = waiting.firstIndex { counts[$0.host, default: 0] < Self.slotsPerHost }
        let next = waiting.remove(at: index ?? 0)
        lastTurn += 1
        let doublings = min(returns[next.job, default: 0], Self.maxDoublings)
        reading[lastTurn] = Reading(
            waiting: next, startedAt: now, patience: Self.patience * (1 << doublings))
        return (lastTurn, next.title)
    }

    mutating func end(_ turn: Int) {
        guard let ended = reading.removeValue(forKey: turn) else { return }
        let job = ended.waiting.job
        guard ended.isOver else {
            returns[job] = nil
            return
        }
        if returns.count >= Self.maxRemembered { returns = [:] }
        returns[job, default: 0] += 1
    }

    /// Returns all titles that must return their slots to waiting ones, until they end.
    mutating func titlesThatAreOver(now: Instant) -> [Title] {
        chooseThoseOver(now)
        return reading.values.filter(\.isOver).map(\.waiting.title)
    }

    /// Returns the next time after `now` at which a title may have to return its slot, unless titles are
    /// added, start or end before; nil for none.
    func nextCheck(after now: Instant) -> Instant? {
        guard !waiting.isEmpty else { return nil }
        return reading.values.lazy.filter { !$0.isOver }.flatMap { entry in
            [Self.patienceBeyondHalf, entry.patience].map { entry.startedAt + $0 }
        }.filter { $0 > now }.min()
    }

    private mutating func chooseThoseOver(_ now: Instant) {
        guard !waiting.isEmpty else { return }
        let staying = reading.values.filter { !$0.isOver }
        var free = Self.slots - staying.count
        var counts = Dictionary(staying.map { ($0.waiting.host, 1) }, uniquingKeysWith: +)
        for next in waiting {
            if free > 0 {
                free -= 1
            } else {
                guard let turn = turnThatIsOver(for: next.host, counts, now),
                    let host = reading[turn]?.waiting.host
                else { continue }
                reading[turn]?.isOver = true
                counts[host, default: 0] -= 1
            }
            counts[next.host, default: 0] += 1
        }
    }

    /// Returns the oldest eligible slot of the host that has the most.
    private func turnThatIsOver(for host: String, _ counts: [String: Int], _ now: Instant) -> Int? {
        let isBelowHalf = counts[host, default: 0] < Self.slotsPerHost
        return reading.filter { _, entry in
            guard !entry.isOver else { return false }
            let held = entry.startedAt.duration(to: now)
            let isBeyondHalf = counts[entry.waiting.host, default: 0] > Self.slotsPerHost
            return held >= entry.patience
                || isBelowHalf && isBeyondHalf && held >= Self.patienceBeyondHalf
        }.max {
            (counts[$0.value.waiting.host, default: 0], $1.key)
                < (counts[$1.value.waiting.host, default: 0], $0.key)
        }?.key
    }
}
