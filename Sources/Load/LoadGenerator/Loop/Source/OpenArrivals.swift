internal import LoadModel

/// The arrivals of the open model: those started, and those that are due.
struct OpenArrivals {
    private var schedule: LoadArrivals
    /// The next arrival; nil after the last.
    private(set) var next: LoadArrival?
    /// A second copy of the schedule, read up to now: counts due arrivals, sent or not.
    private var due: LoadArrivals
    private var nextDue: Double?
    private var dueCount: Int64 = 0
    private var startedCount: Int64 = 0
    /// Time until which due arrivals had no free slot.
    private(set) var blockedUntil = 0.0
    /// True while a due arrival waits for a free slot.
    private(set) var isBlocked = false

    init(_ schedule: LoadArrivals) {
        self.schedule = schedule
        due = schedule
        next = self.schedule.next()
        nextDue = due.next()?.seconds
    }

    /// Continues with another plan, which is the same up to now. Due arrivals stay due.
    mutating func change(to stages: [LoadStage]) {
        schedule.change(to: stages)
        due.change(to: stages)
        next = schedule.next()
        nextDue = due.next()?.seconds
    }

    /// Moves on to the next arrival, because this one starts.
    mutating func start() {
        next = schedule.next()
        startedCount += 1
    }

    /// Returns the number of arrivals that became due up to `seconds`.
    mutating func countDue(atSeconds seconds: Double) -> Int64 {
        let before = dueCount
        while let due = nextDue, due <= seconds {
            dueCount += 1
            nextDue = self.due.next()?.seconds
        }
        return dueCount - before
    }

    /// Due arrivals that were not started. More may have been started than are due: by a late loop,
    /// and by one that has learnt late of a lower rate.
    var backlog: Int64 { max(dueCount - startedCount, 0) }

    /// Drops due arrivals that were not started, and returns their number.
    mutating func dropBacklog() -> Int64 {
        defer { dueCount = startedCount }
        return backlog
    }

    mutating func block() { isBlocked = true }

    mutating func unblock(atSeconds now: Double) {
        isBlocked = false
        blockedUntil = now
    }
}
